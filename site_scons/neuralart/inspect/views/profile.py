"""Record of a profile file of the Neural-ART compiler (``neural_art.json``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.tables import plural
from neuralart.inspect.views import report_parts as parts
from neuralart.vendor.profile import ProfileFile, read_profiles


def as_record(found: ProfileFile) -> dict[str, Any]:
    """The record of a file that has been read."""
    return {
        "kind": "profile",
        "profiles": [
            {
                "name": entry.name,
                "memory_pool": entry.memory_pool,
                "memory_pool_found": entry.found,
                "machine_desc": entry.machine_desc,
                "options": list(entry.options),
                "epoch_controller": "--enable-epoch-controller" in entry.options,
                "line": entry.line,
            }
            for entry in found.profiles
        ],
        "globals": list(found.global_keys),
        "notes": list(found.notes),
    }


def record(path: Path) -> dict[str, Any]:
    """What the file says.

    Raises:
        NeuralArtError: It cannot be read or is damaged.
    """
    return as_record(read_profiles(path))


def text(record: dict[str, Any]) -> str:
    """For people."""
    lines = [f"profiles of the compiler: {plural(len(record['profiles']), 'profile')}"]
    for entry in record["profiles"]:
        missing = "" if entry["memory_pool_found"] in (True, None) else " (not there)"
        lines += [
            f"  {entry['name']}",
            f"    memory pools  {entry['memory_pool'] or 'not named'}{missing}",
            f"    options       {' '.join(entry['options']) or 'none'}",
        ]
        if entry["machine_desc"]:
            lines.append(f"    machine       {entry['machine_desc']}")
    return "\n".join([*lines, *parts.notes(record)]) + "\n"
