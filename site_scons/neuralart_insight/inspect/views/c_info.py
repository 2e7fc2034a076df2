"""Record of a ``c_info.json``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import is_file
from neuralart.vendor.c_info import read as c_info
from neuralart.vendor.c_info.types import CPU, NPU, RESULTS, CInfo, InfoBuffer, InfoNode, InfoPool
from neuralart.vendor.tables import (
    address_or_none,
    core,
    fields,
    figures,
    findings,
    finite,
    plural,
    port,
    rows,
    used_pools,
    validation_title,
)
from neuralart_insight.inspect.kinds import view
from neuralart_insight.report import offload
from neuralart_insight.vendor import c_info_checks as c_info_checks
from neuralart_insight.vendor import q_json
from neuralart_insight.vendor.q_json import QFile
from neuralart_insight.vendor.report import checks as report_checks
from neuralart_insight.vendor.report import read as generate_report

_SUFFIX = "_c_info.json"
_MODES = ("HW", "SW", "HYBRID", "EC")
_FOOTPRINT = (
    "activations weights io_input io_output kernel_flash kernel_ram toolchain_flash toolchain_ram toolchain series"
)
_FLOWS = {NPU: "Neural-ART", CPU: "CPU target", RESULTS: "results of a validation"}


def _pool(pool: InfoPool, info: CInfo) -> dict[str, Any]:
    names = {other.id: other.name for other in info.pools}
    score = finite(pool.score)
    return {
        **fields(pool, "id fname name file address symbol size used rights virtual"),
        "parts": [names.get(part, str(part)) for part in pool.parts],
        "cacheable": pool.cacheable,
        # Whole in all but a few files.
        "score": int(score) if score is not None and score == int(score) else score,
        **fields(pool, "initializers=initialized user_allocated"),
        "buffers": len(pool.buffers),
    }


def _buffer(buffer: InfoBuffer, info: CInfo) -> dict[str, Any]:
    pool = next((pool for pool in info.pools if pool.id == buffer.pool), None)
    return {
        "name": buffer.name,
        "pool": pool.name if pool else None,
        "address": pool.address + buffer.offset if pool and pool.address is not None else None,
        **fields(buffer, "offset bytes=size shape axes"),
        "format": buffer.format.removeprefix("STAI_FORMAT_"),
        **fields(buffer, "bits scales zero_points"),
    }


def _ports(info: CInfo, ids: tuple[int, ...]) -> list[dict[str, Any]]:
    buffers = {buffer.id: buffer for buffer in info.buffers}
    return [_buffer(buffers[number], info) for number in ids if number in buffers]


def _epoch(node: InfoNode, estimate: Any) -> dict[str, Any]:
    costs = "operations compute_cycles max_cycles"
    return {
        "number": node.number,
        "kind": node.kind if node.kind in _MODES else None,
        "operators": list(dict.fromkeys(operator.type for operator in node.operators if operator.type)),
        **(fields(estimate, costs) if estimate else dict.fromkeys(costs.split())),
    }


def _validation(info: CInfo) -> dict[str, Any] | None:
    if not info.metrics and info.val_error is None and not info.executions:
        return None
    metrics = [(metric.description, {name: finite(value) for name, value in metric.values}) for metric in info.metrics]
    return {
        **fields(info, "device error=val_error error_kind=val_error_kind"),
        "metrics": [{"description": text, "figures": figures} for text, figures in metrics],
        "executions": [fields(run, "counters cycles duration_ms percentage") for run in info.executions],
    }


def _record(path: Path) -> dict[str, Any]:
    """What the file says; the files beside it are compared with it."""
    info = c_info.read(path)
    graph = info.graph
    numbers = {node.id: node.number for node in graph.nodes} if graph else {}
    kinds = [epoch.kind for epoch in info.epochs]
    estimates = {estimate.node: estimate for estimate in info.estimates}
    layers = graph.nodes if graph and info.flow == CPU else ()
    npu = info.flow == NPU
    return {
        **fields(info, "schema flow"),
        **core(info.core),
        "compiler_version": info.compiler or None,
        **fields(info, "name network_signature=signature generated target"),
        "model": {
            **fields(info.model, "name type size parameters"),
            "files": [fields(file, "name signature") for file in info.model.files],
        },
        "tools": [fields(tool, "name version arguments environment") for tool in info.tools],
        "files": [fields(file, "name signature") for file in info.files],
        "pools": [_pool(pool, info) for pool in info.pools],
        "totals": {
            "weights": info.weights_used,
            "activations": info.activations_used,
            "initializers": [pool.fname for pool in c_info_checks.initializers(info)] if npu else [],
        },
        "buffers": {
            "count": len(info.buffers),
            "constants": sum(buffer.constant for buffer in info.buffers),
            "constant_bytes": sum(buffer.size for buffer in info.buffers if buffer.constant),
        },
        "inputs": _ports(info, graph.inputs) if graph else [],
        "outputs": _ports(info, graph.outputs) if graph else [],
        "original_inputs": [port(each) for each in graph.original_inputs] if graph else [],
        "original_outputs": [port(each) for each in graph.original_outputs] if graph else [],
        "epoch_controller": bool(info.blobs) or "EC" in kinds,
        "epoch_kinds": {kind: kinds.count(kind) for kind in _MODES},
        "epochs": [_epoch(node, estimates.get(node.id)) for node in info.epochs],
        "ec_blobs": [
            {
                **fields(blob, "name encrypted"),
                "epochs": [numbers[node] for node in blob.nodes if numbers.get(node) is not None],
            }
            for blob in info.blobs
        ],
        "layers": [fields(node, "id name type macc original functions") for node in layers],
        "macc": sum(node.macc for node in layers),
        "accesses": len(info.accesses),
        "offload": offload.as_data(offload.from_c_info(info, _names(info, path))) if npu else None,
        "memory_footprint": fields(info.footprint, _FOOTPRINT) if info.footprint else None,
        "validation": _validation(info),
        "findings": [
            *findings("pool-use", c_info_checks.check_pools(info)),
            *findings("references", c_info_checks.check_graph(info)),
            *findings("footprint", c_info_checks.check_footprint(info)),
            *_beside(info, path),
        ],
        "notes": list(info.notes),
    }


def _names(info: CInfo, path: Path) -> QFile | None:
    """The quantization file beside it that was made of the same model by the same tool: it knows the layers."""
    signed = {file.signature for file in info.model.files if file.signature}
    for file in sorted(path.parent.glob("*_Q.json")):
        try:
            found = q_json.read(file)
        except NeuralArtError:
            continue
        if found.signature in signed and found.core == info.core:
            return found
    return None


def _beside(info: CInfo, path: Path) -> list[dict[str, str]]:
    """The initializers and the report of the same name against it; none of them need be there."""
    name = path.name.removesuffix(_SUFFIX) if path.name.endswith(_SUFFIX) else ""
    sizes = {}
    for pool in info.real_pools:
        raw = path.parent / (f"{name}_{pool.file}" if name else pool.file) if pool.file.endswith(".raw") else None
        if raw is not None and is_file(raw):
            sizes[pool.fname] = raw.stat().st_size
    found = findings("raw-size", c_info_checks.check_raw_sizes(info, sizes)) if sizes else []
    for command in ("generate", "analyze"):
        file = path.with_name(f"{name}_{command}_report.txt")
        if name and file.is_file():
            try:
                report = generate_report.read(file)
            except NeuralArtError as error:
                found += findings("report", [f"{file.name}: {error.what}"])
                continue
            texts = report_checks.check_against(report, info)
            found += findings("report", [f"{file.name}: {text}" for text in texts])
    return found


def _tool(record: dict[str, Any]) -> str:
    """The tools that compiled it: ST Edge AI Core and its compiler, or others by their names."""
    if record["core_version"] is None and not record["compiler_version"] and record["tools"]:
        return ", ".join(f"{tool['name']} {tool['version']}" for tool in record["tools"])
    compiler = f", compiler {record['compiler_version']}" if record["compiler_version"] else ""
    return f"ST Edge AI Core {record['core_version'] or 'unknown'}{compiler}"


def _lines(record: dict[str, Any]) -> Iterator[str]:
    """Pools that are not used are left out."""
    model = record["model"]
    parameters = f", {plural(model['parameters'], 'parameter')}" if model["parameters"] else ""
    names = ", ".join(file["name"] for file in model["files"]) or model["name"] or "unknown"
    yield f"c_info of {record['name'] or 'a network'}: {_FLOWS[record['flow']]}"
    yield f"  tool      {_tool(record)}"
    yield f"  model     {names}{parameters}"
    if record["pools"]:
        weights, activations = (record["totals"][key] for key in ("weights", "activations"))
        sums = f"{weights:,} bytes of weights, {activations:,} bytes of activations"
        used, title = used_pools(record, f": {sums} (virtual pools are not added)")
        marked = (
            {
                **pool,
                "base": address_or_none(pool["address"]) or pool["symbol"] or None,
                "virtual": "virtual" if pool["virtual"] else "",
            }
            for pool in used
        )
        yield from ("", title, *rows(marked, "pool=name base size used rights =virtual"))
    for title in ("inputs", "outputs"):
        if record[title]:
            columns = "name address=@address pool bytes type=format shape=*shape"
            yield from ("", f"{title}:", *rows(record[title], columns))
    yield from _epoch_lines(record)
    if record["layers"]:
        yield from ("", f"{plural(len(record['layers']), 'layer')}, {record['macc']:,} MACC:")
        yield from rows(record["layers"], "layer=name type macc")
    if validation := record["validation"]:
        yield from ("", validation_title(validation))
        for metric in validation["metrics"]:
            yield f"  {metric['description']}: {figures(metric['figures'])}"
        times = [run["duration_ms"] for run in validation["executions"] if run["duration_ms"] is not None]
        if times:
            yield f"  {plural(len(times), 'measured step')}, {sum(times):.3f} ms"


def _epoch_lines(record: dict[str, Any]) -> Iterator[str]:
    """How many epochs there are, and why some of them need the CPU."""
    if not record["epochs"]:
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in record["epoch_kinds"].items() if count)
    blobs = f" in {plural(len(record['ec_blobs']), 'blob')}" if record["ec_blobs"] else ""
    share = record["offload"]["percent"]
    yield from ("", f"{plural(len(record['epochs']), 'epoch')}: {kinds}{blobs}; offload {share} %")
    on_cpu = [
        {
            **row,
            "types": row["types"] or None,
            "origin": ["inserted by the front end"] if row["inserted"] else row["layers"] or row["nodes"],
        }
        for row in record["offload"]["cpu_epochs"]
    ]
    if on_cpu:
        columns = "epoch=number kind operator=&operators types why_on_the_CPU=reason layer_or_node=&origin"
        yield from rows(on_cpu, columns)


C_INFO = view(_record, _lines)
