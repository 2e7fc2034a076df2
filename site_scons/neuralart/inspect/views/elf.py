"""Record of an Arm executable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.files import read_bytes
from neuralart.inspect.tables import address, plural, table
from neuralart.inspect.views import report_parts as parts

_ITEMS = "LL_ATON_EpochBlockItems_"


def record(path: Path) -> dict[str, Any]:
    """What an executable puts where, and which networks are linked into it. Raises NeuralArtError: it cannot be read,
    is damaged, or is no linked executable for a 32-bit Arm core.
    """
    from neuralart.memory.image import elf_facts

    image = elf_facts.read(path, read_bytes(path))
    attributes = image.attributes
    return {
        "kind": "elf",
        "entry": image.entry,
        "sections": [
            {
                **parts.fields(part, "name run load size"),
                "bytes": len(part.data),
                "executable": part.executable,
            }
            for part in image.parts
        ],
        "load_bytes": sum(len(part.data) for part in image.parts),
        "functions": len(image.functions),
        "networks": sorted(name.removeprefix(_ITEMS) for _, _, name in image.functions if name.startswith(_ITEMS)),
        "cpu": None
        if attributes is None
        else {
            **parts.fields(attributes, "arch profile fp_arch mve"),
            "hard_float": attributes.vfp_args == 1,
        },
    }


def text(record: dict[str, Any]) -> str:
    """For people."""
    entry = "no entry point" if record["entry"] is None else f"entry {address(record['entry'])}"
    networks = ", ".join(record["networks"]) or "none"
    lines = [
        f"Arm executable: {record['load_bytes']:,} bytes to load, {entry}, {plural(record['functions'], 'function')}",
        f"  networks: {networks}",
    ]
    rows = (
        [
            part["name"],
            address(part["run"]),
            address(part["load"]) if part["bytes"] else "-",
            part["size"],
            "code" if part["executable"] else "data" if part["bytes"] else "zeroed",
        ]
        for part in record["sections"]
    )
    return "\n".join([*lines, *table(("section", "runs at", "loaded at", "bytes", "what"), rows)]) + "\n"
