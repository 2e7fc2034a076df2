"""Record of a ``c_info.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.inspect.tables import address, plural, table
from neuralart.inspect.tables import findings as finding_lines
from neuralart.inspect.views import report_parts as parts
from neuralart.report import offload
from neuralart.vendor import q_json
from neuralart.vendor.c_info import checks as c_info_checks
from neuralart.vendor.c_info import read as c_info
from neuralart.vendor.c_info.types import CPU, NPU, RESULTS, CInfo, InfoBuffer, InfoNode, InfoPool
from neuralart.vendor.q_json import QFile
from neuralart.vendor.report import checks as report_checks
from neuralart.vendor.report import read as generate_report

_SUFFIX = "_c_info.json"
_MODES = {"HW", "SW", "HYBRID", "EC"}
_FOOTPRINT = (
    "activations weights io_input io_output kernel_flash kernel_ram toolchain_flash toolchain_ram toolchain series"
)
_FLOWS = {NPU: "Neural-ART", CPU: "CPU target", RESULTS: "results of a validation"}


def _pool(pool: InfoPool, info: CInfo) -> dict[str, Any]:
    names = {other.id: other.name for other in info.pools}
    return {
        **parts.fields(pool, "id fname name file address symbol size used rights virtual"),
        "parts": [names.get(part, str(part)) for part in pool.parts],
        "cacheable": pool.cacheable,
        "score": parts.plain(pool.score),
        "initializers": pool.initialized,
        "user_allocated": pool.user_allocated,
        "buffers": len(pool.buffers),
    }


def _buffer(buffer: InfoBuffer, info: CInfo) -> dict[str, Any]:
    pool = next((pool for pool in info.pools if pool.id == buffer.pool), None)
    known = pool is not None and pool.address is not None
    return {
        "name": buffer.name,
        "pool": pool.name if pool else None,
        "address": (pool.address or 0) + buffer.offset if pool and known else None,
        "offset": buffer.offset,
        "bytes": buffer.size,
        "shape": list(buffer.shape),
        "axes": list(buffer.axes),
        "format": buffer.format.removeprefix("STAI_FORMAT_"),
        **parts.fields(buffer, "bits scales zero_points"),
    }


def _ports(info: CInfo, ids: tuple[int, ...]) -> list[dict[str, Any]]:
    buffers = {buffer.id: buffer for buffer in info.buffers}
    return [_buffer(buffers[number], info) for number in ids if number in buffers]


def _epoch(node: InfoNode, estimates: dict[int, Any]) -> dict[str, Any]:
    estimate = estimates.get(node.id)
    return {
        "number": node.number,
        "kind": node.kind if node.kind in _MODES else None,
        "operators": list(dict.fromkeys(operator.type for operator in node.operators if operator.type)),
        "operations": estimate.operations if estimate else None,
        "compute_cycles": estimate.compute_cycles if estimate else None,
        "max_cycles": estimate.max_cycles if estimate else None,
    }


def _layer(node: InfoNode) -> dict[str, Any]:
    return {
        **parts.fields(node, "id name type macc original functions"),
    }


def _validation(info: CInfo) -> dict[str, Any] | None:
    if not info.metrics and info.val_error is None and not info.executions:
        return None
    return {
        "device": info.device,
        "error": parts.finite(info.val_error),
        "error_kind": info.val_error_kind,
        "metrics": [
            {"description": metric.description, "figures": {name: parts.finite(value) for name, value in metric.values}}
            for metric in info.metrics
        ],
        "executions": [
            {
                **parts.fields(run, "counters cycles duration_ms percentage"),
            }
            for run in info.executions
        ],
    }


def _head(info: CInfo) -> dict[str, Any]:
    return {
        "kind": "c_info",
        "schema": info.schema,
        "flow": info.flow,
        **parts.core(info.core),
        "compiler_version": info.compiler or None,
        "name": info.name,
        "network_signature": info.signature,
        "generated": info.generated,
        "target": info.target,
        "model": {
            **parts.fields(info.model, "name type size parameters"),
            "files": [{"name": file.name, "signature": file.signature} for file in info.model.files],
        },
        "tools": [
            {"name": t.name, "version": t.version, "arguments": t.arguments, "environment": list(t.environment)}
            for t in info.tools
        ],
        "files": [{"name": file.name, "signature": file.signature} for file in info.files],
    }


def as_record(info: CInfo, path: Path | None = None) -> dict[str, Any]:
    """The record of a file that has been read.

    Args:
        info: It.
        path: The file, if those beside it are to be compared with it.
    """
    graph = info.graph
    numbers = {node.id: node.number for node in graph.nodes} if graph else {}
    kinds = [epoch.kind for epoch in info.epochs]
    estimates = {estimate.node: estimate for estimate in info.estimates}
    layers = graph.nodes if graph and info.flow == CPU else ()
    names = _names(info, path) if path is not None and info.flow == NPU else None
    return {
        **_head(info),
        "pools": [_pool(pool, info) for pool in info.pools],
        "totals": {
            "weights": info.weights_used,
            "activations": info.activations_used,
            "initializers": [pool.fname for pool in c_info_checks.initializers(info)] if info.flow == NPU else [],
        },
        "buffers": {
            "count": len(info.buffers),
            "constants": sum(buffer.constant for buffer in info.buffers),
            "constant_bytes": sum(buffer.size for buffer in info.buffers if buffer.constant),
        },
        "inputs": _ports(info, graph.inputs) if graph else [],
        "outputs": _ports(info, graph.outputs) if graph else [],
        "original_inputs": [parts.port(port) for port in graph.original_inputs] if graph else [],
        "original_outputs": [parts.port(port) for port in graph.original_outputs] if graph else [],
        "epoch_controller": bool(info.blobs) or "EC" in kinds,
        "epoch_kinds": {kind: kinds.count(kind) for kind in ("HW", "SW", "HYBRID", "EC")},
        "epochs": [_epoch(node, estimates) for node in info.epochs],
        "ec_blobs": [
            {
                "name": blob.name,
                "encrypted": blob.encrypted,
                "epochs": [numbers[node] for node in blob.nodes if numbers.get(node) is not None],
            }
            for blob in info.blobs
        ],
        "layers": [_layer(node) for node in layers],
        "macc": sum(node.macc for node in layers),
        "accesses": len(info.accesses),
        "offload": offload.as_data(offload.from_c_info(info, names)) if info.flow == NPU else None,
        "memory_footprint": parts.fields(info.footprint, _FOOTPRINT) if info.footprint else None,
        "validation": _validation(info),
        "findings": [
            *parts.findings("pool-use", c_info_checks.check_pools(info)),
            *parts.findings("references", c_info_checks.check_graph(info)),
            *parts.findings("footprint", c_info_checks.check_footprint(info)),
            *(_beside(info, path) if path is not None else []),
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
        raw = path.with_name(f"{name}_{pool.file}" if name else pool.file) if pool.file.endswith(".raw") else None
        if raw is not None and raw.is_file():
            sizes[pool.fname] = raw.stat().st_size
    found = parts.findings("raw-size", c_info_checks.check_raw_sizes(info, sizes)) if sizes else []
    for command in ("generate", "analyze"):
        file = path.with_name(f"{name}_{command}_report.txt")
        if name and file.is_file():
            try:
                report = generate_report.read(file)
            except NeuralArtError as error:
                found += parts.findings("report", [f"{file.name}: {error.what}"])
                continue
            texts = report_checks.check_against(report, info)
            found += parts.findings("report", [f"{file.name}: {text}" for text in texts])
    return found


def record(path: Path) -> dict[str, Any]:
    """What the file says.

    Raises:
        NeuralArtError: It cannot be read or is damaged.
    """
    return as_record(c_info.read(path), path)


def text(record: dict[str, Any]) -> str:
    """For people; pools that are not used are left out."""
    model = record["model"]
    lines = [
        f"c_info of {record['name'] or 'a network'}: {_FLOWS[record['flow']]}",
        f"  tool      ST Edge AI Core {record['core_version'] or 'unknown'}"
        + (f", compiler {record['compiler_version']}" if record["compiler_version"] else ""),
        f"  model     {', '.join(file['name'] for file in model['files']) or model['name'] or 'unknown'}"
        + (f", {plural(model['parameters'], 'parameter')}" if model["parameters"] else ""),
    ]
    used = [pool for pool in record["pools"] if pool["used"]]
    if record["pools"]:
        totals = record["totals"]
        lines += [
            "",
            f"{plural(len(record['pools']), 'pool')}, in use {len(used)}: {totals['weights']:,} bytes of weights, "
            f"{totals['activations']:,} bytes of activations (virtual pools are not added)",
        ]
        heads = ("pool", "base", "size", "used", "rights", "")
        lines += table(heads, ([*_pool_row(pool)] for pool in used))
    for title in ("inputs", "outputs"):
        if record[title]:
            lines += ["", f"{title}:"]
            heads = ("name", "address", "pool", "bytes", "type", "shape")
            lines += table(heads, ([*_port_row(port)] for port in record[title]))
    lines += _work(record)
    if record["validation"]:
        lines += _results(record["validation"])
    return "\n".join([*lines, *finding_lines(record), *parts.notes(record)]) + "\n"


def _pool_row(pool: dict[str, Any]) -> list[Any]:
    base = pool["symbol"] or None if pool["address"] is None else address(pool["address"])
    return [pool["name"], base, pool["size"], pool["used"], pool["rights"], "virtual" if pool["virtual"] else ""]


def _port_row(port: dict[str, Any]) -> list[Any]:
    where = None if port["address"] is None else address(port["address"])
    return [port["name"], where, port["pool"], port["bytes"], port["format"], "x".join(map(str, port["shape"]))]


def _work(record: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    if record["epochs"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in record["epoch_kinds"].items() if count)
        blobs = f" in {plural(len(record['ec_blobs']), 'blob')}" if record["ec_blobs"] else ""
        lines += [
            "",
            f"{plural(len(record['epochs']), 'epoch')}: {kinds}{blobs}; offload {record['offload']['percent']} %",
        ]
        rows = (
            [
                row["number"],
                row["kind"],
                ", ".join(row["operators"]) or "-",
                row["types"] or "-",
                row["reason"],
                "inserted by the front end" if row["inserted"] else ", ".join(row["layers"] or row["nodes"]) or "-",
            ]
            for row in record["offload"]["cpu_epochs"]
        )
        if record["offload"]["cpu_epochs"]:
            lines += table(("epoch", "kind", "operator", "types", "why on the CPU", "layer or node"), rows)
    if record["layers"]:
        lines += ["", f"{plural(len(record['layers']), 'layer')}, {record['macc']:,} MACC:"]
        rows = ([layer["name"], layer["type"], layer["macc"]] for layer in record["layers"])
        lines += table(("layer", "type", "macc"), rows)
    return lines


def _results(validation: dict[str, Any]) -> list[str]:
    lines = ["", f"validation{' on ' + validation['device'] if validation['device'] else ''}:"]
    for metric in validation["metrics"]:
        figures = (
            f"{name} {'n.a.' if value is None else format(value, 'g')}" for name, value in metric["figures"].items()
        )
        lines.append(f"  {metric['description']}: {', '.join(figures)}")
    times = [run["duration_ms"] for run in validation["executions"] if run["duration_ms"] is not None]
    if times:
        lines.append(f"  {plural(len(times), 'measured step')}, {sum(times):.3f} ms")
    return lines
