"""Reader of ``c_info.json``, what a compile tells about the network it made.

Two programs write it: the compiler (into its workspace) and the front end, which adds the memory footprint, the
model's own inputs and outputs and, after a validation, its results. A validation on the NPU leaves out graph, buffers
and pools. Keys that are not known are kept as notes; known ones must have their type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from neuralart.files import of_file
from neuralart.text.json_values import JsonValue, parse_tool
from neuralart.vendor import releases
from neuralart.vendor.c_info import types as c

Made = TypeVar("Made")
SCHEMA_MAJOR = 2
CORE_TOOL, COMPILER_TOOL = "ST.EdgeAI.Core", "ATONN Compiler"
# Not aton_execution_time: a validation writes it for c.CPU targets, too.
_NPU_KEYS = ("ec_blobs_info", "memory_accesses", "power_estimates")
TOP_KEYS = (
    *("aton_execution_time", "buffers", "environment", "graphs", "json_schema_version", "memory_footprint"),
    *("memory_pools", "validation", *_NPU_KEYS),
)
_ENVIRONMENT = ("device", "generated_model", "network_signature", "target", "test_name", "tools")
_SIZES = ("activations", "weights", "kernel_flash", "kernel_ram", "toolchain_flash", "toolchain_ram")
_EPOCH = re.compile(r"epoch_(\d{1,9})")
_AXIS = re.compile(r"(\w{1,12}): ?(\d{1,12}|None)\b", re.ASCII)
_BITS = re.compile(r"[a-z]{1,8}(\d{1,3})")
_KIND = re.compile(r"Node kind=(\S+)")
# How a field is read, by its type; sizes, ids and counts are not below 0.
_READERS: dict[str, Callable[[JsonValue, str], Any]] = {
    "str": JsonValue.string_at,
    "bool": JsonValue.boolean_at,
    "int": lambda item, key: item.integer_at(key, minimum=0),
    "float": lambda item, key: item.real_at(key) or 0.0,
    "tuple[str, ...]": JsonValue.strings_at,
    "tuple[int, ...]": JsonValue.integers_at,
    "tuple[float, ...]": JsonValue.reals_at,
}
# Stands for an object that is left out.
NOTHING = parse_tool(b"{}", "")


def _record(kind: type[Made], item: JsonValue, fields: str, **more: Any) -> Made:
    """A record of an object of the file. ``kind``: a dataclass; ``fields``: names of fields, with ``=key`` where the
    file calls them otherwise; ``more``: the fields that are not read in the usual way.
    """
    for word in fields.split():
        field, _, key = word.partition("=")
        more[field] = _READERS[kind.__annotations__[field]](item, key or field)
    return kind(**more)


def _address(item: JsonValue) -> tuple[int | None, str]:
    """``"1895825408"``, a C symbol, ``"NULL"`` or nothing."""
    found = item.get("address")
    if found is None:
        return None, ""
    if type(found.value) is int and found.value >= 0:
        return found.value, ""
    if type(found.value) is str:
        text = found.string().strip()
        if re.fullmatch(r"[0-9]{1,20}", text):
            return int(text), ""
        if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", text):
            return int(text, 16), ""
        if text in ("NULL", "") or re.fullmatch(r"[A-Za-z_]\w{0,254}", text, re.ASCII):
            return None, "" if text == "NULL" else text
    hint = 'a decimal number in quotes, a C symbol or "NULL" is written there'
    found.fail(f"{found.name} is {found.value!r:.60}", hint)


def _pool(item: JsonValue) -> c.InfoPool:
    address, symbol = _address(item)
    size = item.integer_at("size_bytes", default=-1, minimum=-1)
    parts = item.integers_at("subpools")
    attributes = item.get("attributes") or NOTHING
    for key in ("id", "used_size_bytes"):
        item.need(key)
    return _record(
        c.InfoPool,
        item,
        "id name file=fname used=used_size_bytes rights buffers cacheable user_allocated alignment",
        address=address,
        symbol=symbol,
        size=None if size < 0 else size,
        virtual=bool(parts) or item.boolean_at("virtual"),
        parts=parts,
        initialized=attributes.boolean_at("use_for_initrs") if attributes.get("use_for_initrs") else None,
        score=attributes.real_at("score"),
        byte_width=attributes.integer_at("byte_width", minimum=0),
        freq_ratio=attributes.real_at("freq_ratio") or 0.0,
    )


def _buffer(item: JsonValue) -> c.InfoBuffer:
    epochs, quantized = item.get("epochs") or NOTHING, item.get("intq") or NOTHING
    item.need("id")
    flags = item.string_at("flags")
    # A size that is not fixed is a name, null, 0 or -1.
    sizes = item.list_of("shape", int, str, type(None), wanted="a whole number")
    return _record(
        c.InfoBuffer,
        item,
        "id name offset=offset_start size=size_bytes constant=is_param format bits=nbits axes=shape_map channel_first "
        "channel_last",
        pool=item.integer_at("mpool_id", default=-1),
        shape=tuple(size if type(size) is int and size > 0 else None for size in sizes),
        batch=item.integer_at("batch", default=1),
        first=epochs.integer_at("start"),
        last=epochs.integer_at("end"),
        scales=quantized.reals_at("scales") or quantized.reals_at("scale"),
        zero_points=quantized.integers_at("offsets") or quantized.integers_at("zero"),
        flags=tuple(flags.split("|")) if flags else (),
    )


def _footprint(item: JsonValue | None) -> c.Footprint | None:
    if item is None:
        return None
    sizes = {key: None if item.get(key) is None else item.integer_at(key) for key in _SIZES}
    io = (*item.integers_at("io"), None, None)
    return _record(c.Footprint, item, "toolchain series", io_input=io[0], io_output=io[1], **sizes)


def _operator(item: JsonValue) -> c.InfoOperator:
    """A sub-node: up to 2.x its kind stands in a sentence, from 3.0 on it is a type."""
    kind = item.string_at("type")
    described = _KIND.search(item.string_at("description"))
    unit = (item.get("attributes") or NOTHING).string_at("HWUnit")
    return _record(c.InfoOperator, item, "name mapping", type=kind or (described[1] if described else ""), unit=unit)


def _node(item: JsonValue) -> c.InfoNode:
    epoch = _EPOCH.fullmatch(item.string_at("name"))
    item.need("id")
    # Layers of the model; texts in every file seen, numbers are taken as well.
    originals = item.list_of("original_nodes", str, int, wanted="a text")
    return _record(
        c.InfoNode,
        item,
        "id name mapping type macc inputs outputs functions=sw_functions",
        number=int(epoch[1]) if epoch else None,
        original=tuple(map(str, originals)),
        operators=tuple(_operator(entry) for entry in item.items_at("subgraph_nodes")),
    )


def _executed(item: JsonValue) -> list[c.InfoNode]:
    """A node of the graph; from 3.0 on a blob is one, with its epochs below it: these follow it."""
    node = _node(item)
    if node.mapping != c.EC_MAPPING or node.number is not None:
        return [node]
    epochs = [_node(entry) for entry in item.items_at("subgraph_nodes")]
    return [replace(node, operators=()), *(replace(epoch, blob=node.id) for epoch in epochs)]


def _port(item: JsonValue) -> c.InfoPort:
    # 2.0 writes {NAME: {"data_type": "int8", "shape": "(BATCH: None, H: 96)"}} for c.CPU targets.
    name = next(iter(item.value)) if type(item.value) is dict and len(item.value) == 1 else "name"
    told = item.get(name) if name not in ("name", "shape") else None
    if told is not None and type(told.value) is dict:
        axes = _AXIS.findall(told.string_at("shape"))
        shape = tuple(int(length) if length.isdigit() else None for _, length in axes)
        kind = told.string_at("data_type")
        bits = _BITS.fullmatch(kind)
        return c.InfoPort(name, shape, tuple(axis for axis, _ in axes), kind, int(bits[1]) if bits else 0)
    data = item.get("data_format") or NOTHING
    shape = item.list_of("shape", int, type(None), wanted="a whole number or null")
    form = _record(c.InfoPort, data, "type bits=size scales=scale zero_points=zero", name=item.string_at("name"))
    return replace(form, shape=shape, axes=item.strings_at("shape_map"))


def declared_ports(item: JsonValue, key: str) -> tuple[c.InfoPort, ...]:
    """The model's inputs or outputs (``original_...``); 2.0 writes an empty object where it tells none."""
    found = item.get(key)
    return () if found is not None and found.value == {} else tuple(_port(entry) for entry in item.items_at(key))


def _graph(item: JsonValue) -> c.Graph:
    return _record(
        c.Graph,
        item,
        "name inputs outputs",
        nodes=tuple(node for entry in item.items_at("nodes") for node in _executed(entry)),
        edges=len(item.items_at("edges")),
        original_inputs=declared_ports(item, "original_inputs"),
        original_outputs=declared_ports(item, "original_outputs"),
    )


def _access(item: JsonValue) -> c.Access:
    figures = (item.count_at(key) for key in ("reads", "writes", "read_cycles", "write_cycles"))
    return c.Access(item.integer_at("node_id"), item.integer_at("mpool_id"), *figures)


def _estimate(item: JsonValue) -> c.Estimate:
    figures = (item.count_at(key) for key in ("ops", "compute_cycles", "max_cycles"))
    powers = (item.real_at(key) or 0.0 for key in ("average_acc_power_mw", "average_memory_power_mw"))
    return c.Estimate(item.integer_at("node_id"), *figures, *powers)


def _blob(item: JsonValue, graph: c.Graph | None) -> c.Blob:
    """2.2 names the blob and its epochs, later releases the blob's node."""
    if item.get("blob_id") is None or graph is None:
        return _record(c.Blob, item, "name encrypted nodes=nodes_id")
    node = item.integer_at("blob_id", minimum=0)
    name = next((found.name for found in graph.nodes if found.id == node), item.string_at("name"))
    inside = tuple(found.id for found in graph.nodes if found.blob == node and not found.pseudo)
    # Without a node of that id it is the id itself that leads nowhere.
    return c.Blob(name, item.boolean_at("encrypted"), inside if name else (node,))


def _schema(root: JsonValue) -> str:
    if type(root.value) is not dict or root.get("json_schema_version") is None:
        root.fail("not a c_info.json: there is no 'json_schema_version'")
    text = root.string_at("json_schema_version")
    found = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", text)
    if found is None or int(found[1]) != SCHEMA_MAJOR:
        what = f"schema '{text}', this version reads {SCHEMA_MAJOR}.x"
        root.need("json_schema_version").fail(what, "written by another generation of the tool?")
    return text


def _files(item: JsonValue) -> tuple[c.NamedFile, ...]:
    return tuple(_record(c.NamedFile, each, "name signature") for each in item.items_at("model_files"))


def _tool(item: JsonValue) -> c.InfoTool:
    version, arguments = " ".join(item.string_at("version").split()), item.string_at("arguments").strip()
    return _record(c.InfoTool, item, "name environment", version=version, arguments=arguments)


def _source_model(tools: list[JsonValue]) -> c.SourceModel:
    """What the first tool was given: the later ones are given what the first one made of it."""
    item = next((item for tool in tools if (item := tool.get("input_model")) is not None), NOTHING)
    return _record(c.SourceModel, item, "name type size parameters=n_params", files=_files(item))


def _metric(item: JsonValue) -> c.Metric:
    # "n.a." stands for a figure that was not asked for.
    figures = (
        (key, None if type(item.value[key]) is str else item.real_at(key)) for key in item.mapping() if key != "desc"
    )
    return c.Metric(item.string_at("desc"), tuple(figures))


def _execution(item: JsonValue) -> c.Execution:
    counters = item.integers_at("counters")
    cycles = item.integer_at("cycles", default=sum(counters))
    return _record(c.Execution, item, "duration_ms percentage", counters=counters, cycles=cycles)


def _notes(root: JsonValue, environment: JsonValue, schema: str, graphs: int) -> tuple[str, ...]:
    notes = [f"unknown key '{key}'" for key in root.strange(TOP_KEYS)]
    notes += [f"unknown key 'environment.{key}'" for key in environment.strange(_ENVIRONMENT)]
    if schema != f"{SCHEMA_MAJOR}.0":
        notes.append(f"schema {schema} read as {SCHEMA_MAJOR}.0")
    return (*notes, f"{graphs} graphs, the first one is shown") if graphs > 1 else tuple(notes)


def parse_c_info(data: bytes, file: str) -> c.CInfo:
    """The content of a ``c_info.json``; NeuralArtError with ``file:line:column`` if it is none, or a value is wrong."""
    root = parse_tool(data, file, releases.synonyms())
    schema = _schema(root)
    environment = root.get("environment") or NOTHING
    listed = environment.items_at("tools")
    tools = tuple(_tool(item) for item in listed)
    compiler = next((tool.version for tool in tools if tool.name == COMPILER_TOOL), "")
    generated = environment.get("generated_model") or NOTHING
    graphs = root.items_at("graphs")
    graph = _graph(graphs[0]) if graphs else None
    validation = root.get("validation") or NOTHING
    npu = bool(compiler) or any(root.get(key) is not None for key in _NPU_KEYS)
    return c.CInfo(
        file=file,
        schema=schema,
        flow=(c.NPU if npu else c.CPU) if graph else c.RESULTS,
        tools=tools,
        core=next((releases.parse_core(tool.version) for tool in tools if tool.name == CORE_TOOL), None),
        compiler=compiler,
        name=generated.string_at("name"),
        generated=generated.string_at("generated_time"),
        signature=environment.string_at("network_signature"),
        target=environment.string_at("target"),
        device=environment.string_at("device"),
        model=_source_model(listed),
        files=_files(generated),
        pools=tuple(_pool(item) for item in root.items_at("memory_pools")),
        buffers=tuple(_buffer(item) for item in root.items_at("buffers")),
        graph=graph,
        accesses=tuple(_access(item) for item in root.items_at("memory_accesses")),
        estimates=tuple(_estimate(item) for item in root.items_at("power_estimates")),
        blobs=tuple(_blob(item, graph) for item in root.items_at("ec_blobs_info")),
        footprint=_footprint(root.get("memory_footprint")),
        val_error=validation.real_at("val_error"),
        val_error_kind=validation.string_at("val_error_desc"),
        metrics=tuple(_metric(item) for item in validation.items_at("val_metrics")),
        executions=tuple(_execution(item) for item in root.items_at("aton_execution_time")),
        notes=_notes(root, environment, schema, len(graphs)),
    )


read = of_file(parse_c_info)
