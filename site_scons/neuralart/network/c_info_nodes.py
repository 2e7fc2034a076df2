"""The graph of a ``c_info.json``, and the tables about its nodes."""

from __future__ import annotations

import re

from neuralart.network.c_info_graph import Access, Blob, Estimate, Graph, InfoNode, InfoOperator, Port
from neuralart.network.located import Item

_EPOCH = re.compile(r"epoch_(\d{1,9})")
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


def _port(item: Item) -> Port:
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


def read_graph(item: Item) -> Graph:
    """One entry of ``graphs``."""
    return Graph(
        name=item.text("name"),
        inputs=item.integers("inputs"),
        outputs=item.integers("outputs"),
        nodes=tuple(_node(entry) for entry in item.entries("nodes")),
        edges=len(item.entries("edges")),
        original_inputs=tuple(_port(entry) for entry in item.entries("original_inputs")),
        original_outputs=tuple(_port(entry) for entry in item.entries("original_outputs")),
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


def read_blob(item: Item) -> Blob:
    """One entry of ``ec_blobs_info``."""
    return Blob(item.text("name"), item.flag("encrypted"), item.integers("nodes_id"))


def read_ports(item: Item, key: str) -> tuple[Port, ...]:
    """``original_inputs`` or ``original_outputs`` of another file that has them."""
    return tuple(_port(entry) for entry in item.entries(key))
