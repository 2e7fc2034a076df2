"""Reader of ``c_info.json``, what a compile tells about the network it made.

Two programs write it: the compiler (into its workspace) and the front end, which adds the memory footprint, the
model's own inputs and outputs and, after a validation, its results. A validation on the NPU leaves out graph, buffers
and pools.
Keys that are not known are kept as notes; known ones must have their type.
"""

from __future__ import annotations

import re
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text.json_values import JsonValue, parse_tool
from neuralart.vendor import releases
from neuralart.vendor.c_info.graph import Execution, Metric
from neuralart.vendor.c_info.memory import read_buffer, read_footprint, read_pool
from neuralart.vendor.c_info.nodes import read_access, read_blob, read_estimate, read_graph
from neuralart.vendor.c_info.types import CPU, NPU, RESULTS, CInfo, NamedFile, SourceModel, Tool
from neuralart.vendor.core_version import parse_core

SCHEMA_MAJOR = 2
CORE_TOOL, COMPILER_TOOL = "ST.EdgeAI.Core", "ATONN Compiler"
TOP_KEYS = (
    "aton_execution_time",
    "buffers",
    "ec_blobs_info",
    "environment",
    "graphs",
    "json_schema_version",
    "memory_accesses",
    "memory_footprint",
    "memory_pools",
    "power_estimates",
    "validation",
)
# Not aton_execution_time: a validation writes it for CPU targets, too.
_NPU_KEYS = ("ec_blobs_info", "memory_accesses", "power_estimates")
_ENVIRONMENT = ("device", "generated_model", "network_signature", "target", "test_name", "tools")


def _schema(root: JsonValue) -> str:
    if type(root.value) is not dict or root.get("json_schema_version") is None:
        root.fail("not a c_info.json: there is no 'json_schema_version'")
    text = root.string_at("json_schema_version")
    found = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", text)
    if found is None or int(found.group(1)) != SCHEMA_MAJOR:
        root.need("json_schema_version").fail(
            f"schema '{text}', this version reads {SCHEMA_MAJOR}.x", "written by another generation of the tool?"
        )
    return text


def _files(item: JsonValue | None, key: str) -> tuple[NamedFile, ...]:
    if item is None:
        return ()
    return tuple(NamedFile(entry.string_at("name"), entry.string_at("signature")) for entry in item.items_at(key))


def _tool(item: JsonValue) -> Tool:
    return Tool(
        item.string_at("name"),
        " ".join(item.string_at("version").split()),
        item.string_at("arguments").strip(),
        item.strings_at("environment"),
    )


def _source_model(tools: list[JsonValue]) -> SourceModel:
    """What the first tool was given: the later ones are given what the first one made of it."""
    for tool in tools:
        item = tool.get("input_model")
        if item is not None:
            return SourceModel(
                item.string_at("name"),
                item.string_at("type"),
                item.integer_at("size", minimum=0),
                item.integer_at("n_params", minimum=0),
                _files(item, "model_files"),
            )
    return SourceModel()


def _metric(item: JsonValue) -> Metric:
    figures: list[tuple[str, float | None]] = []
    for key, value in item.value.items():
        if key != "desc":
            # "n.a." stands for a figure that was not asked for.
            figures.append((key, None if type(value) is str else item.real_at(key)))
    return Metric(item.string_at("desc"), tuple(figures))


def _execution(item: JsonValue) -> Execution:
    counters = item.integers_at("counters")
    return Execution(
        counters=counters,
        cycles=item.integer_at("cycles", default=sum(counters)),
        duration_ms=item.real_at("duration_ms") or 0.0,
        percentage=item.real_at("percentage") or 0.0,
    )


def _notes(root: JsonValue, environment: JsonValue | None, schema: str) -> tuple[str, ...]:
    notes = [f"unknown key '{key}'" for key in root.strange(TOP_KEYS)]
    if environment is not None:
        notes += [f"unknown key 'environment.{key}'" for key in environment.strange(_ENVIRONMENT)]
    if schema != f"{SCHEMA_MAJOR}.0":
        notes.append(f"schema {schema} read as {SCHEMA_MAJOR}.0")
    graphs = root.items_at("graphs")
    if len(graphs) > 1:
        notes.append(f"{len(graphs)} graphs, the first one is shown")
    return tuple(notes)


def parse_c_info(data: bytes, file: str) -> CInfo:
    """Read the content of a ``c_info.json``.

    Args:
        data: The file's bytes.
        file: Its name for messages.

    Raises:
        NeuralArtError: It is none, or a known key has a value of the wrong type; ``where`` is ``file:line:column``.
    """
    root = parse_tool(data, file, releases.synonyms())
    schema = _schema(root)
    environment = root.get("environment")
    listed = environment.items_at("tools") if environment else []
    tools = tuple(_tool(item) for item in listed)
    core = next((parse_core(tool.version) for tool in tools if tool.name == CORE_TOOL), None)
    compiler = next((tool.version for tool in tools if tool.name == COMPILER_TOOL), "")
    generated = environment.get("generated_model") if environment else None
    graphs = root.items_at("graphs")
    graph = read_graph(graphs[0]) if graphs else None
    validation = root.get("validation")
    npu = bool(compiler) or any(root.get(key) is not None for key in _NPU_KEYS)
    return CInfo(
        file=file,
        schema=schema,
        flow=(NPU if npu else CPU) if graph else RESULTS,
        tools=tools,
        core=core,
        compiler=compiler,
        name=generated.string_at("name") if generated else "",
        generated=generated.string_at("generated_time") if generated else "",
        signature=environment.string_at("network_signature") if environment else "",
        target=environment.string_at("target") if environment else "",
        device=environment.string_at("device") if environment else "",
        model=_source_model(listed),
        files=_files(generated, "model_files"),
        pools=tuple(read_pool(item) for item in root.items_at("memory_pools")),
        buffers=tuple(read_buffer(item) for item in root.items_at("buffers")),
        graph=graph,
        accesses=tuple(read_access(item) for item in root.items_at("memory_accesses")),
        estimates=tuple(read_estimate(item) for item in root.items_at("power_estimates")),
        blobs=tuple(read_blob(item, graph) for item in root.items_at("ec_blobs_info")),
        footprint=read_footprint(root.get("memory_footprint")),
        val_error=validation.real_at("val_error") if validation else None,
        val_error_kind=validation.string_at("val_error_desc") if validation else "",
        metrics=tuple(_metric(item) for item in validation.items_at("val_metrics")) if validation else (),
        executions=tuple(_execution(item) for item in root.items_at("aton_execution_time")),
        notes=_notes(root, environment, schema),
    )


def read(path: Path, display: str = "") -> CInfo:
    """Read a ``c_info.json``.

    Args:
        path: Where it is.
        display: Its name in messages; by default the path.

    Raises:
        NeuralArtError: It cannot be read, or as :func:`parse_c_info`.
    """
    return parse_c_info(read_bytes(path), display or str(path))


def signature_of(data: bytes) -> str:
    """What the tool signs a model file with: ``0x`` and the MD5 of its bytes."""
    import hashlib

    return "0x" + hashlib.md5(data, usedforsecurity=False).hexdigest()


def check_model(info: CInfo, data: bytes, name: str) -> None:
    """Compare a model with the one the network was made of.

    Args:
        info: The information.
        data: Bytes of the model file.
        name: Its name for the message.

    Raises:
        NeuralArtError: It is another one. A file without a signature says nothing, and nothing is raised.
    """
    signed = [file for file in info.model.files if file.signature]
    found = signature_of(data)
    if signed and found not in [file.signature.lower() for file in signed]:
        raise NeuralArtError(
            f"{name} is not the model this network was made of: its MD5 is {found}, "
            f"{signed[0].name} had {signed[0].signature}",
            where=info.file,
            hint="compile the network again",
        )
