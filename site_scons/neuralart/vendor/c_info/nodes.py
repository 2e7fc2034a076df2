"""The graph of a ``c_info.json``, and the tables about its nodes."""

from __future__ import annotations

import re
from dataclasses import replace

from neuralart.text.json_values import JsonValue
from neuralart.vendor.c_info.graph import EC_MAPPING, Access, Blob, Estimate, Graph, InfoNode, InfoOperator, Port

_EPOCH = re.compile(r"epoch_(\d{1,9})")
_AXIS = re.compile(r"(\w{1,12}): ?(\d{1,12}|None)\b", re.ASCII)
_BITS = re.compile(r"[a-z]{1,8}(\d{1,3})")
_KIND = re.compile(r"Node kind=(\S+)")


def _operator(item: JsonValue) -> InfoOperator:
    """A sub-node: up to 2.x its kind stands in a sentence, from 3.0 on it is a type."""
    kind = item.string_at("type")
    described = _KIND.search(item.string_at("description"))
    attributes = item.get("attributes")
    return InfoOperator(
        name=item.string_at("name"),
        type=kind or (described.group(1) if described else ""),
        mapping=item.string_at("mapping"),
        unit=attributes.string_at("HWUnit") if attributes else "",
    )


def _originals(item: JsonValue) -> tuple[str, ...]:
    """Layers of the model; texts in every file seen, numbers are taken as well."""
    return tuple(str(value) for value in item.list_of("original_nodes", str, int, wanted="a text"))


def _node(item: JsonValue) -> InfoNode:
    name = item.string_at("name")
    epoch = _EPOCH.fullmatch(name)
    item.need("id")
    return InfoNode(
        id=item.integer_at("id", minimum=0),
        name=name,
        number=int(epoch.group(1)) if epoch else None,
        mapping=item.string_at("mapping"),
        type=item.string_at("type"),
        macc=item.integer_at("macc", minimum=0),
        original=_originals(item),
        inputs=item.integers_at("inputs"),
        outputs=item.integers_at("outputs"),
        operators=tuple(_operator(entry) for entry in item.items_at("subgraph_nodes")),
        functions=item.strings_at("sw_functions"),
    )


def _old_port(item: JsonValue) -> Port | None:
    """``{NAME: {"data_type": "int8", "shape": "(BATCH: None, H: 96)"}}``, as 2.0 writes it for CPU targets."""
    name = next(iter(item.value)) if type(item.value) is dict and len(item.value) == 1 else "name"
    told = item.get(name) if name not in ("name", "shape") else None
    if told is None or type(told.value) is not dict:
        return None
    axes = _AXIS.findall(told.string_at("shape"))
    kind = told.string_at("data_type")
    bits = _BITS.fullmatch(kind)
    return Port(
        name=name,
        shape=tuple(int(length) if length.isdigit() else None for _, length in axes),
        axes=tuple(axis for axis, _ in axes),
        type=kind,
        bits=int(bits[1]) if bits else 0,
    )


def _port(item: JsonValue) -> Port:
    old = _old_port(item)
    if old is not None:
        return old
    data = item.get("data_format")
    return Port(
        name=item.string_at("name"),
        shape=item.list_of("shape", int, type(None), wanted="a whole number or null"),
        axes=item.strings_at("shape_map"),
        type=data.string_at("type") if data else "",
        bits=data.integer_at("size", minimum=0) if data else 0,
        scales=data.reals_at("scale") if data else (),
        zero_points=data.integers_at("zero") if data else (),
    )


def _declared(item: JsonValue, key: str) -> tuple[Port, ...]:
    """The model's inputs or outputs; 2.0 writes an empty object where it tells none."""
    found = item.get(key)
    return () if found is not None and found.value == {} else tuple(_port(entry) for entry in item.items_at(key))


def _executed(item: JsonValue) -> list[InfoNode]:
    """A node of the graph; from 3.0 on a blob is one, with its epochs below it: these follow it."""
    node = _node(item)
    if node.mapping != EC_MAPPING or node.number is not None:
        return [node]
    epochs = [_node(entry) for entry in item.items_at("subgraph_nodes")]
    return [replace(node, operators=()), *(replace(epoch, blob=node.id) for epoch in epochs)]


def read_graph(item: JsonValue) -> Graph:
    """One entry of ``graphs``."""
    return Graph(
        name=item.string_at("name"),
        inputs=item.integers_at("inputs"),
        outputs=item.integers_at("outputs"),
        nodes=tuple(node for entry in item.items_at("nodes") for node in _executed(entry)),
        edges=len(item.items_at("edges")),
        original_inputs=_declared(item, "original_inputs"),
        original_outputs=_declared(item, "original_outputs"),
    )


def read_access(item: JsonValue) -> Access:
    """One entry of ``memory_accesses``."""
    return Access(
        node=item.integer_at("node_id"),
        pool=item.integer_at("mpool_id"),
        reads=item.count_at("reads"),
        writes=item.count_at("writes"),
        read_cycles=item.count_at("read_cycles"),
        write_cycles=item.count_at("write_cycles"),
    )


def read_estimate(item: JsonValue) -> Estimate:
    """One entry of ``power_estimates``."""
    return Estimate(
        node=item.integer_at("node_id"),
        operations=item.count_at("ops"),
        compute_cycles=item.count_at("compute_cycles"),
        max_cycles=item.count_at("max_cycles"),
        npu_mw=item.real_at("average_acc_power_mw") or 0.0,
        memory_mw=item.real_at("average_memory_power_mw") or 0.0,
    )


def read_blob(item: JsonValue, graph: Graph | None) -> Blob:
    """One entry of ``ec_blobs_info``: 2.2 names the blob and its epochs, later releases the blob's node."""
    if item.get("blob_id") is None or graph is None:
        return Blob(item.string_at("name"), item.boolean_at("encrypted"), item.integers_at("nodes_id"))
    node = item.integer_at("blob_id", minimum=0)
    name = next((found.name for found in graph.nodes if found.id == node), item.string_at("name"))
    inside = tuple(found.id for found in graph.nodes if found.blob == node and not found.pseudo)
    # Without a node of that id it is the id itself that leads nowhere.
    return Blob(name, item.boolean_at("encrypted"), inside if name else (node,))


def read_ports(item: JsonValue, key: str) -> tuple[Port, ...]:
    """``original_inputs`` or ``original_outputs`` of another file that has them."""
    return _declared(item, key)
