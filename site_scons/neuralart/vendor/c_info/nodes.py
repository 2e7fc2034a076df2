"""The graph of a ``c_info.json``, and the tables about its nodes."""

from __future__ import annotations

import re
from dataclasses import replace

from neuralart.network.located import Item
from neuralart.vendor.c_info.graph import EC_MAPPING, Access, Blob, Estimate, Graph, InfoNode, InfoOperator, Port

_EPOCH = re.compile(r"epoch_(\d{1,9})")
_AXIS = re.compile(r"(\w{1,12}): ?(\d{1,12}|None)\b", re.ASCII)
_BITS = re.compile(r"[a-z]{1,8}(\d{1,3})")
_KIND = re.compile(r"Node kind=(\S+)")


def _operator(item: Item) -> InfoOperator:
    """A sub-node: up to 2.x its kind stands in a sentence, from 3.0 on it is a type."""
    kind = item.text("type")
    described = _KIND.search(item.text("description"))
    attributes = item.get("attributes")
    return InfoOperator(
        name=item.text("name"),
        type=kind or (described.group(1) if described else ""),
        mapping=item.text("mapping"),
        unit=attributes.text("HWUnit") if attributes else "",
    )


def _originals(item: Item) -> tuple[str, ...]:
    """Layers of the model; texts in every file seen, numbers are taken as well."""
    return tuple(str(value) for value in item.list_of("original_nodes", str, int, wanted="a text"))


def _node(item: Item) -> InfoNode:
    name = item.text("name")
    epoch = _EPOCH.fullmatch(name)
    item.need("id")
    return InfoNode(
        id=item.integer("id", minimum=0),
        name=name,
        number=int(epoch.group(1)) if epoch else None,
        mapping=item.text("mapping"),
        type=item.text("type"),
        macc=item.integer("macc", minimum=0),
        original=_originals(item),
        inputs=item.integers("inputs"),
        outputs=item.integers("outputs"),
        operators=tuple(_operator(entry) for entry in item.entries("subgraph_nodes")),
        functions=item.texts("sw_functions"),
    )


def _old_port(item: Item) -> Port | None:
    """``{NAME: {"data_type": "int8", "shape": "(BATCH: None, H: 96)"}}``, as 2.0 writes it for CPU targets."""
    name = next(iter(item.value)) if type(item.value) is dict and len(item.value) == 1 else "name"
    told = item.get(name) if name not in ("name", "shape") else None
    if told is None or type(told.value) is not dict:
        return None
    axes = _AXIS.findall(told.text("shape"))
    kind = told.text("data_type")
    bits = _BITS.fullmatch(kind)
    return Port(
        name=name,
        shape=tuple(int(length) if length.isdigit() else None for _, length in axes),
        axes=tuple(axis for axis, _ in axes),
        type=kind,
        bits=int(bits[1]) if bits else 0,
    )


def _port(item: Item) -> Port:
    old = _old_port(item)
    if old is not None:
        return old
    data = item.get("data_format")
    return Port(
        name=item.text("name"),
        shape=item.list_of("shape", int, type(None), wanted="a whole number or null"),
        axes=item.texts("shape_map"),
        type=data.text("type") if data else "",
        bits=data.integer("size", minimum=0) if data else 0,
        scales=data.reals("scale") if data else (),
        zero_points=data.integers("zero") if data else (),
    )


def _declared(item: Item, key: str) -> tuple[Port, ...]:
    """The model's inputs or outputs; 2.0 writes an empty object where it tells none."""
    found = item.get(key)
    return () if found is not None and found.value == {} else tuple(_port(entry) for entry in item.entries(key))


def _executed(item: Item) -> list[InfoNode]:
    """A node of the graph; from 3.0 on a blob is one, with its epochs below it: these follow it."""
    node = _node(item)
    if node.mapping != EC_MAPPING or node.number is not None:
        return [node]
    epochs = [_node(entry) for entry in item.entries("subgraph_nodes")]
    return [replace(node, operators=()), *(replace(epoch, blob=node.id) for epoch in epochs)]


def read_graph(item: Item) -> Graph:
    """One entry of ``graphs``."""
    return Graph(
        name=item.text("name"),
        inputs=item.integers("inputs"),
        outputs=item.integers("outputs"),
        nodes=tuple(node for entry in item.entries("nodes") for node in _executed(entry)),
        edges=len(item.entries("edges")),
        original_inputs=_declared(item, "original_inputs"),
        original_outputs=_declared(item, "original_outputs"),
    )


def read_access(item: Item) -> Access:
    """One entry of ``memory_accesses``."""
    return Access(
        node=item.integer("node_id"),
        pool=item.integer("mpool_id"),
        reads=item.count("reads"),
        writes=item.count("writes"),
        read_cycles=item.count("read_cycles"),
        write_cycles=item.count("write_cycles"),
    )


def read_estimate(item: Item) -> Estimate:
    """One entry of ``power_estimates``."""
    return Estimate(
        node=item.integer("node_id"),
        operations=item.count("ops"),
        compute_cycles=item.count("compute_cycles"),
        max_cycles=item.count("max_cycles"),
        npu_mw=item.real("average_acc_power_mw") or 0.0,
        memory_mw=item.real("average_memory_power_mw") or 0.0,
    )


def read_blob(item: Item, graph: Graph | None) -> Blob:
    """One entry of ``ec_blobs_info``: 2.2 names the blob and its epochs, later releases the blob's node."""
    if item.get("blob_id") is None or graph is None:
        return Blob(item.text("name"), item.flag("encrypted"), item.integers("nodes_id"))
    node = item.integer("blob_id", minimum=0)
    name = next((found.name for found in graph.nodes if found.id == node), item.text("name"))
    inside = tuple(found.id for found in graph.nodes if found.blob == node and not found.pseudo)
    # Without a node of that id it is the id itself that leads nowhere.
    return Blob(name, item.flag("encrypted"), inside if name else (node,))


def read_ports(item: Item, key: str) -> tuple[Port, ...]:
    """``original_inputs`` or ``original_outputs`` of another file that has them."""
    return _declared(item, key)
