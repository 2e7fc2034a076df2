"""Records of what a compile tells: a report of ``generate``, ``analyze`` or ``validate``, and ``network.csv``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuralart.vendor import tables
from neuralart_insight.inspect.kinds import view
from neuralart_insight.report import offload
from neuralart_insight.vendor import network_csv
from neuralart_insight.vendor.network_csv import Traffic
from neuralart_insight.vendor.report import checks as report_checks
from neuralart_insight.vendor.report import read as generate_report
from neuralart_insight.vendor.report.types import Layer, Report

_SHOWN = 10
_TOTALS = "macc weights activations io"
_POOL = "name address size used weights activations uncertainty first last"


def _layer(layer: Layer) -> dict[str, Any]:
    shapes = [{"axes": [axis for axis, _ in each], "shape": [length for _, length in each]} for each in layer.outputs]
    said = {**tables.fields(layer, "m_id name type original"), "outputs": shapes}
    return {**said, **tables.fields(layer, "parameters bytes=size macc inputs")}


def _validation(report: Report) -> dict[str, Any] | None:
    found = report.validation
    if found is None:
        return None
    rows = [(row, {name: tables.finite(value) for name, value in row.figures}) for row in found.accuracy]
    return {
        **tables.fields(found, "samples duration_ms duration_spread cycles inferences_per_second"),
        "shares": {name: tables.finite(figure) for name, figure in found.shares},
        **tables.fields(found, "device attributes runtime"),
        "accuracy": [{"output": row.output, "figures": values, "tensor": row.tensor} for row, values in rows],
        "nodes": [tables.fields(node, "c_id m_id type duration_ms percent cycles name") for node in found.nodes],
    }


def _report(path: Path) -> dict[str, Any]:
    report = generate_report.read(path)
    return {
        **tables.fields(report, "command flow log"),
        **tables.core(report.core),
        "tool": report.tool or None,
        "compiler_version": report.compiler or None,
        **tables.fields(report, "created parameters compiler_arguments model"),
        "summary": dict(report.summary),
        "layers": [_layer(layer) for layer in report.layers],
        "model_totals": tables.fields(report.totals, _TOTALS) if report.totals else None,
        "c_totals": tables.fields(report.c_totals, _TOTALS) if report.c_totals else None,
        "pools": [tables.fields(pool, _POOL) for pool in report.pools],
        "epoch_counts": tables.fields(report.counts, "total software hybrid hardware blobs") if report.counts else None,
        "epochs": [tables.fields(epoch, "number last kind operators") for epoch in report.epochs],
        "empty_blobs": report.empty_blobs,
        "offload": offload.as_data(offload.from_report(report)) if report.counts or report.epochs else None,
        "target": report.target,
        "sections": [tables.fields(section, "module text rodata data bss") for section in report.sections],
        "flash": {"runtime": report.flash[0], "total": report.flash[1]} if report.flash else None,
        "ram": {"runtime": report.ram[0], "total": report.ram[1]} if report.ram else None,
        "files": list(report.files),
        "validation": _validation(report),
        **tables.fields(report, "elapsed_s=elapsed warnings errors"),
        "findings": tables.findings("sums", report_checks.check(report)),
        "notes": list(report.notes),
    }


def _report_lines(record: dict[str, Any]) -> Iterator[str]:
    """Pools that are not used are left out."""
    what = "console output" if record["log"] else "report"
    flow = {"npu": ", Neural-ART", "cpu": ", CPU target"}.get(record["flow"], "")
    compiler = f", compiler {record['compiler_version']}" if record["compiler_version"] else ""
    tool = f"ST Edge AI Core {record['core_version'] or 'unknown'}{compiler}"
    if record["tool"]:
        tool = f"{record['tool']} {record['compiler_version'] or ''}".rstrip()
    yield f"{what} of {record['command'] or 'a run'}{flow}"
    yield f"  tool      {tool}"
    yield f"  model     {record['model'] or 'unknown'}"
    if record["layers"] and (totals := record["model_totals"]):
        sums = f"{totals['macc'] or 0:,} MACC, {totals['weights'] or 0:,} bytes"
        yield f"  layers    {len(record['layers'])}, {sums}"
    if totals := record["c_totals"]:
        weights = f"{totals['weights'] or 0:,} bytes of weights"
        activations = f"{totals['activations'] or 0:,} bytes of activations"
        yield f"  C code    {totals['macc'] or 0:,} MACC, {weights}, {activations}"
    used, title = tables.used_pools(record, " (bytes, as far as printed):")
    if used:
        columns = "pool=name base=@address size used weights activations"
        yield from ("", title, *tables.rows(used, columns))
    if counts := record["epoch_counts"]:
        hybrid = "" if counts["hybrid"] is None else f", {counts['hybrid']} hybrid"
        share = f"; offload {record['offload']['percent']} %" if record["offload"] else ""
        count = tables.plural(counts["total"], "epoch")
        yield from ("", f"{count}: {counts['software']} software{hybrid}{share}")
        if software := [epoch for epoch in record["epochs"] if epoch["kind"] in ("SW", "HYBRID")]:
            yield from tables.rows(software, "epoch=number kind operators=&operators")
    for memory in ("flash", "ram"):
        if found := record[memory]:
            yield f"  {memory}: {found['total']:,} bytes, of it {found['runtime']:,} of the runtime"
    if record["validation"]:
        yield from _results(record["validation"])
    yield from (f"  error: {error[:200]}" for error in record["errors"])
    if warnings := record["warnings"]:
        yield f"  {tables.plural(len(warnings), 'warning')}, the first: {warnings[0][:160]}"


def _results(validation: dict[str, Any]) -> Iterator[str]:
    yield from ("", tables.validation_title(validation))
    if validation["duration_ms"] is not None:
        samples = tables.plural(validation["samples"] or 0, "sample")
        yield f"  {validation['duration_ms']} ms per inference, {samples}"
    for row in validation["accuracy"]:
        yield f"  {row['output']}: {tables.figures(row['figures'])}"
    if validation["nodes"]:
        nodes = ({**node, "name": node["name"] or str(node["c_id"])} for node in validation["nodes"])
        yield from tables.rows(nodes, "node=name type ms=duration_ms")


def _traffic(traffic: Traffic) -> dict[str, Any]:
    return tables.fields(traffic, "name read written read_cycles write_cycles cycles")


def _network_csv(path: Path) -> dict[str, Any]:
    found = network_csv.read(path)
    used = dict(found.used)
    return {
        "clock_mhz": found.clock_mhz or None,
        "sums": {name: tables.finite(value) for name, value in found.sums},
        "pools": [
            {**_traffic(total), "used": used.get(total.name)}
            for total in found.totals or tuple(Traffic(name) for name in used)
        ],
        "epochs": [
            {
                **tables.fields(epoch, "number operations compute_cycles max_cycles npu_mw memory_mw"),
                "pools": [_traffic(pool) for pool in epoch.pools if pool.read or pool.written or pool.cycles],
                "ports": [_traffic(port) for port in epoch.ports if port.read or port.written],
            }
            for epoch in found.epochs
        ],
        "findings": tables.findings("sums", network_csv.check(found)),
        "notes": list(found.notes),
    }


def _network_csv_lines(record: dict[str, Any]) -> Iterator[str]:
    """The sums, the pools, and the epochs that take longest."""
    epochs, sums = record["epochs"], record["sums"].items()
    yield f"compiler's estimate of {tables.plural(len(epochs), 'epoch')}"
    yield from tables.table(("sum", ""), ([name.replace("_", " "), value] for name, value in sums))
    yield from ("", "traffic in bytes:", *tables.rows(record["pools"], "pool=name read written used"))
    longest = sorted(epochs, key=lambda epoch: (-(epoch["max_cycles"] or 0), epoch["number"]))[:_SHOWN]
    known = [epoch for epoch in longest if epoch["max_cycles"]]
    columns = "epoch=number operations compute_cycles max_cycles"
    yield from ("", "longest epochs:", *tables.rows(known, columns))


REPORT = view(_report, _report_lines)
NETWORK_CSV = view(_network_csv, _network_csv_lines)
