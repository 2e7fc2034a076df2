"""Record of ``atonn_options.ini``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.views import report_parts as parts
from neuralart.vendor import atonn_options
from neuralart.vendor.atonn_options import AtonnOptions


def as_record(found: AtonnOptions) -> dict[str, Any]:
    """The record of a file that has been read."""
    return {
        "kind": "atonn_options",
        "tool": found.tool,
        "version": ".".join(map(str, found.version)) if found.version else None,
        "folder": found.folder,
        "options": dict(found.options),
        "notes": list(found.notes),
    }


def record(path: Path) -> dict[str, Any]:
    """What the file says. Raises NeuralArtError: it cannot be read or is damaged."""
    return as_record(atonn_options.read(path))


def text(record: dict[str, Any]) -> str:
    """For people."""
    lines = [f"options of the Neural-ART compiler {record['version'] or 'of unknown version'}"]
    lines += [
        f"  {name}" if value is True else f"  {name} = {str(value).lower() if value is False else value}"
        for name, value in record["options"].items()
    ]
    return "\n".join([*lines, *parts.notes(record)]) + "\n"
