"""Record of a report of ``generate``, ``analyze`` or ``validate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.tables import address, plural, table
from neuralart.inspect.tables import findings as finding_lines
from neuralart.inspect.views import report_parts as parts
from neuralart.report import offload
from neuralart.vendor.report import checks as report_checks
from neuralart.vendor.report import read as generate_report
from neuralart.vendor.report.types import Layer, Report, Totals


def _totals(totals: Totals | None) -> dict[str, Any] | None:
    if totals is None:
        return None
    return {"macc": totals.macc, "weights": totals.weights, "activations": totals.activations, "io": totals.io}


def _layer(layer: Layer) -> dict[str, Any]:
    return {
        **parts.fields(layer, "m_id name type original"),
        "outputs": [
            {"axes": [axis for axis, _ in shape], "shape": [length for _, length in shape]} for shape in layer.outputs
        ],
        "parameters": layer.parameters,
        "bytes": layer.size,
        "macc": layer.macc,
        "inputs": list(layer.inputs),
    }


def _counts(report: Report) -> dict[str, Any] | None:
    counts = report.counts
    if counts is None:
        return None
    return {
        **parts.fields(counts, "total software hybrid hardware blobs"),
    }


def _pools(report: Report) -> list[dict[str, Any]]:
    return [
        {
            **parts.fields(pool, "name address size used weights activations uncertainty first last"),
        }
        for pool in report.pools
    ]


def _validation(report: Report) -> dict[str, Any] | None:
    found = report.validation
    if found is None:
        return None
    return {
        **parts.fields(found, "samples duration_ms duration_spread cycles inferences_per_second"),
        "shares": {name: parts.finite(figure) for name, figure in found.shares},
        **parts.fields(found, "device attributes runtime"),
        "accuracy": [
            {
                "output": row.output,
                "figures": {name: parts.finite(value) for name, value in row.figures},
                "tensor": row.tensor,
            }
            for row in found.accuracy
        ],
        "nodes": [
            {
                **parts.fields(node, "c_id m_id type duration_ms percent cycles name"),
            }
            for node in found.nodes
        ],
    }


def as_record(report: Report) -> dict[str, Any]:
    """The record of a report that has been read."""
    return {
        "kind": "report",
        **parts.fields(report, "command flow log"),
        **parts.core(report.core),
        "compiler_version": report.compiler or None,
        **parts.fields(report, "created parameters compiler_arguments model"),
        "summary": dict(report.summary),
        "layers": [_layer(layer) for layer in report.layers],
        "model_totals": _totals(report.totals),
        "c_totals": _totals(report.c_totals),
        "pools": _pools(report),
        "epoch_counts": _counts(report),
        "epochs": [
            {"number": epoch.number, "last": epoch.last, "kind": epoch.kind, "operators": list(epoch.operators)}
            for epoch in report.epochs
        ],
        "empty_blobs": report.empty_blobs,
        "offload": offload.as_data(offload.from_report(report)) if report.counts or report.epochs else None,
        "target": report.target,
        "sections": [
            {"module": s.module, "text": s.text, "rodata": s.rodata, "data": s.data, "bss": s.bss}
            for s in report.sections
        ],
        "flash": {"runtime": report.flash[0], "total": report.flash[1]} if report.flash else None,
        "ram": {"runtime": report.ram[0], "total": report.ram[1]} if report.ram else None,
        "files": list(report.files),
        "validation": _validation(report),
        "elapsed_s": parts.finite(report.elapsed),
        "warnings": list(report.warnings),
        "errors": list(report.errors),
        "findings": parts.findings("sums", report_checks.check(report)),
        "notes": list(report.notes),
    }


def record(path: Path) -> dict[str, Any]:
    """What the file says. Raises NeuralArtError: it cannot be read or is no report."""
    return as_record(generate_report.read(path))


def text(record: dict[str, Any]) -> str:
    """For people; pools that are not used are left out."""
    what = "console output" if record["log"] else "report"
    flow = {"npu": "Neural-ART", "cpu": "CPU target"}.get(record["flow"], "")
    lines = [
        f"{what} of {record['command'] or 'a run'}{', ' + flow if flow else ''}",
        f"  tool      ST Edge AI Core {record['core_version'] or 'unknown'}"
        + (f", compiler {record['compiler_version']}" if record["compiler_version"] else ""),
        f"  model     {record['model'] or 'unknown'}",
    ]
    totals = record["model_totals"]
    if record["layers"] and totals:
        lines.append(
            f"  layers    {len(record['layers'])}, {totals['macc'] or 0:,} MACC, {totals['weights'] or 0:,} bytes"
        )
    c_totals = record["c_totals"]
    if c_totals:
        lines.append(
            f"  C code    {c_totals['macc'] or 0:,} MACC, {c_totals['weights'] or 0:,} bytes of weights, "
            f"{c_totals['activations'] or 0:,} bytes of activations"
        )
    used = [pool for pool in record["pools"] if pool["used"]]
    if used:
        lines += ["", f"{plural(len(record['pools']), 'pool')}, in use {len(used)} (bytes, as far as printed):"]
        rows = ([p["name"], address(p["address"]), p["size"], p["used"], p["weights"], p["activations"]] for p in used)
        lines += table(("pool", "base", "size", "used", "weights", "activations"), rows)
    lines += _epochs(record)
    for memory in ("flash", "ram"):
        if record[memory]:
            found = record[memory]
            lines.append(f"  {memory}: {found['total']:,} bytes, of it {found['runtime']:,} of the runtime")
    if record["validation"]:
        lines += _results(record["validation"])
    lines += [f"  error: {error[:200]}" for error in record["errors"]]
    if record["warnings"]:
        lines.append(f"  {plural(len(record['warnings']), 'warning')}, the first: {record['warnings'][0][:160]}")
    return "\n".join([*lines, *finding_lines(record), *parts.notes(record)]) + "\n"


def _epochs(record: dict[str, Any]) -> list[str]:
    counts = record["epoch_counts"]
    if not counts:
        return []
    hybrid = "" if counts["hybrid"] is None else f", {counts['hybrid']} hybrid"
    share = f"; offload {record['offload']['percent']} %" if record["offload"] else ""
    lines = ["", f"{plural(counts['total'], 'epoch')}: {counts['software']} software{hybrid}{share}"]
    software = [epoch for epoch in record["epochs"] if epoch["kind"] in ("SW", "HYBRID")]
    rows = ([epoch["number"], epoch["kind"], ", ".join(epoch["operators"]) or "-"] for epoch in software)
    return lines + (table(("epoch", "kind", "operators"), rows) if software else [])


def _results(validation: dict[str, Any]) -> list[str]:
    lines = ["", f"validation{' on ' + validation['device'] if validation['device'] else ''}:"]
    if validation["duration_ms"] is not None:
        lines.append(f"  {validation['duration_ms']} ms per inference, {plural(validation['samples'] or 0, 'sample')}")
    for row in validation["accuracy"]:
        figures = (
            f"{name} {'n.a.' if value is None else format(value, 'g')}" for name, value in row["figures"].items()
        )
        lines.append(f"  {row['output']}: {', '.join(figures)}")
    rows = ([node["name"] or str(node["c_id"]), node["type"], node["duration_ms"]] for node in validation["nodes"])
    return lines + (table(("node", "type", "ms"), rows) if validation["nodes"] else [])
