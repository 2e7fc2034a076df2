"""Record of an Intel HEX file: which bytes it puts where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.files import read_bytes
from neuralart.inspect.tables import address, plural, table
from neuralart.text.ihex import parse


def record(path: Path) -> dict[str, Any]:
    """Which bytes a HEX file puts where. Raises NeuralArtError: it cannot be read or is damaged."""
    import zlib

    found = parse(read_bytes(path), str(path))
    return {
        "kind": "ihex",
        "segments": [{"address": at, "bytes": len(data), "crc32": zlib.crc32(data)} for at, data in found.parts],
        "bytes": sum(len(data) for _, data in found.parts),
        "start": found.start,
    }


def text(record: dict[str, Any]) -> str:
    """For people."""
    rows = (
        [
            address(part["address"]),
            address(part["address"] + part["bytes"] - 1),
            part["bytes"],
            f"0x{part['crc32']:08x}",
        ]
        for part in record["segments"]
    )
    lines = [f"Intel HEX: {record['bytes']:,} bytes in {plural(len(record['segments']), 'segment')}"]
    return "\n".join([*lines, *table(("first", "last", "bytes", "CRC-32"), rows)]) + "\n"
