"""The report for people and for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from neuralart.doctor.types import OK, Report, Row

SCHEMA = 1
_INDENT = " " * 10


def as_data(report: Report) -> dict[str, Any]:
    """Plain mappings, lists and texts."""
    return {
        "schema": SCHEMA,
        "neuralart": report.neuralart,
        "system": report.system,
        "project": report.project,
        "targets": list(report.targets),
        "ok": report.ok,
        "tools": [asdict(row) for row in report.rows],
        "remarks": [asdict(remark) for remark in report.remarks],
    }


def to_json(report: Report) -> str:
    """The same as text."""
    return json.dumps(as_data(report), indent=1) + "\n"


def _needed(row: Row) -> list[str]:
    said = []
    if row.need.build:
        said.append(f"{_INDENT}needed to build {', '.join(row.need.build)}")
    if row.need.use:
        said.append(f"{_INDENT}needed by {', '.join(row.need.use)}")
    return said


def _row(row: Row, width: int, version_width: int) -> list[str]:
    if row.status == OK:
        rest = "  ".join(part for part in (row.path, *row.details) if part)
        return [f"{row.status:<8}  {row.tool:<{width}}  {row.version or '?':<{version_width}}  {rest}".rstrip()]
    path = f" {row.path}" if row.path else ""
    lines = [f"{row.status:<8}  {row.tool:<{width}} {path} {row.problem}".rstrip()]
    lines += [f"{_INDENT}without it: {row.means}"] if row.means else []
    lines += _needed(row)
    return [*lines, f"{_INDENT}get it: {row.get}"] if row.get else lines


def text(report: Report) -> str:
    """For people."""
    of = f", {report.project}" if report.project else ", no project file"
    lines = [f"neuralart {report.neuralart} on {report.system}{of}", ""]
    width = max(len(row.tool) for row in report.rows)
    version_width = max(len(row.version) for row in report.rows if row.status == OK)
    for row in report.rows:
        lines += _row(row, width, version_width)
    lines += [""] if report.remarks else []
    lines += [f"{remark.level}: {remark.id}: {remark}" for remark in report.remarks]
    blocking = [row for row in report.rows if row.blocks]
    lines.append("")
    if blocking:
        lines.append("Missing for what was asked for: " + ", ".join(row.tool for row in blocking))
    elif not report.project:
        lines.append("There is no project file, so nothing is needed.")
    else:
        what = ", ".join(report.targets) or "building every variant"
        lines.append(f"Everything that {what} needs is there.")
    return "\n".join(lines) + "\n"
