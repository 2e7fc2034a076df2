"""Record of the project description of an STM32H7 application (``stmaic_<board>.conf``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.views import report_parts as parts
from neuralart.vendor import h7_files
from neuralart.vendor.h7_files import CpuProject


def as_record(found: CpuProject) -> dict[str, Any]:
    """The record of a file that has been read."""
    return {
        "kind": "h7_conf",
        **parts.fields(found, "version description series boards builder"),
        "variables": dict(found.variables),
        "copies": [list(words) for words in found.copies],
        "sizes": dict(found.sizes),
        **parts.fields(found, "pool_file configurations notes"),
    }


def record(path: Path) -> dict[str, Any]:
    """What the file says.

    Raises:
        NeuralArtError: It cannot be read or is damaged.
    """
    return as_record(h7_files.read_cpu_project(path))


def text(record: dict[str, Any]) -> str:
    """For people."""
    lines = [
        f"project description: {record['description'] or 'without a title'}",
        f"  series    {record['series'] or 'unknown'}",
        f"  boards    {', '.join(record['boards']) or 'none'}",
        f"  builder   {record['builder'] or 'unknown'}, builds {', '.join(record['configurations']) or 'none'}",
        f"  pools     {record['pool_file'] or 'not named'}",
    ]
    lines += [f"  {name}: {size:,} bytes" for name, size in record["sizes"].items()]
    return "\n".join([*lines, *parts.notes(record)]) + "\n"
