"""``neuralart doctor``: is everything there that the project needs, and what does each missing thing mean?"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import project_folder
from neuralart.text.sizes import number_that
from neuralart.vendor.tools import OK, Host, ToolRow

if TYPE_CHECKING:
    from neuralart_insight.doctor.examine import Examination

SCHEMA = 1
_DEFAULT = "variants.yaml"
_SECONDS = number_that(lambda value: 0 < value <= 600, "is no number of seconds up to 600")


def to_json(report: Examination) -> str:
    """For programs."""
    data = asdict(report)
    tools, remarks = data.pop("rows"), data.pop("remarks")
    return json.dumps({"schema": SCHEMA, **data, "ok": report.ok, "tools": tools, "remarks": remarks}, indent=1) + "\n"


def _row_lines(row: ToolRow, width: int, version_width: int) -> list[str]:
    if row.status == OK:
        rest = "  ".join(part for part in (row.path, *row.details) if part)
        return [f"{row.status:<8}  {row.tool:<{width}}  {row.version or '?':<{version_width}}  {rest}".rstrip()]
    path = f" {row.path}" if row.path else ""
    lines = [f"{row.status:<8}  {row.tool:<{width}} {path} {row.problem}".rstrip()]
    need = (", ".join(row.need.build), ", ".join(row.need.use))
    heads = ("without it: ", "needed to build ", "needed by ", "get it: ")
    said = zip(heads, (row.means, *need, row.get), strict=True)
    return [*lines, *(f"{' ' * 10}{head}{text}" for head, text in said if text)]


def as_text(report: Examination) -> str:
    """For people."""
    of = f", {report.project}" if report.project else ", no project file"
    lines = [f"neuralart {report.neuralart} on {report.system}{of}", ""]
    width = max(len(row.tool) for row in report.rows)
    version_width = max(len(row.version) for row in report.rows if row.status == OK)
    for row in report.rows:
        lines += _row_lines(row, width, version_width)
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


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add, text = parser.add_argument, "a variant, or run-VARIANT and the like (default: build all variants)"
    add("targets", nargs="*", metavar="TARGET", help=text)
    add("--file", type=Path, metavar="FILE", help="project file (default: variants.yaml, if there is one)")
    add("--json", action="store_true", help="for programs")
    add("--path-only", action="store_true", help="look for programs on PATH alone")
    text = "time limit of each program's answer (default: 10)"
    add("--seconds", type=_SECONDS, default=10.0, metavar="N", help=text)


def run(args: argparse.Namespace) -> int:
    """Print the report: 0, or 1 if something is missing that the targets need."""
    import os
    import sys

    from neuralart import boards, config
    from neuralart.vendor.tools import system_of
    from neuralart_insight.doctor.examine import examine

    default = project_folder.default(_DEFAULT)
    file: Path | None = args.file or (default if default.is_file() else None)
    variants = []
    others = {}
    if file is not None:
        project = config.read(file, file.as_posix())
        extra = [file.parent / path for path in project.config.boards]
        for name in project.config.titles:
            variant = project.variant(name)
            variants.append((variant, boards.load(variant.booted[0], extra, variant.booted[1])))
            for other in variant.relocatable.also_on if variant.relocatable is not None else ():
                others[other] = boards.load(other, extra, variant.said("relocatable"))
    host = Host(os.environ, system_of(sys.platform), args.seconds, not args.path_only)
    project_file, folder = (file.as_posix(), file.parent) if file is not None else ("", Path())
    report = examine(host, variants, args.targets, project=project_file, folder=folder, others=others)
    print(to_json(report) if args.json else as_text(report), end="")
    return 0 if report.ok else 1
