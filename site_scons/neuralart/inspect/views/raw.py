"""Record of the contents of a memory pool (``network_atonbuf.<pool>.raw``): all its name and bytes tell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from neuralart.files import read_bytes

_NAME = re.compile(r"(?:(?P<name>.+)_)?(?P<prefix>[^_.]+)\.(?P<pool>\w+)\.(?:raw|bin)", re.I)


def record(path: Path) -> dict[str, Any]:
    """Size, checksum and, from the name, network and pool. Raises NeuralArtError: it cannot be read."""
    import zlib

    data = read_bytes(path)
    named = _NAME.fullmatch(path.name)
    filled = data.rstrip(b"\0")
    return {
        "kind": "raw",
        "name": (named["name"] or "") if named else "",
        "prefix": named["prefix"] if named else "",
        "pool": named["pool"] if named else "",
        "bytes": len(data),
        "crc32": zlib.crc32(data),
        "zeros_at_end": len(data) - len(filled),
        "blank": not data.strip(b"\xff") or not filled,
    }


def text(record: dict[str, Any]) -> str:
    """For people."""
    pool = f"pool {record['pool']}" if record["pool"] else "a pool its name does not tell"
    owner = f" of network '{record['name']}'" if record["name"] else ""
    blank = ", all of one value: as of an erased memory" if record["blank"] and record["bytes"] else ""
    return f"contents of {pool}{owner}: {record['bytes']:,} bytes, CRC-32 0x{record['crc32']:08x}{blank}\n"
