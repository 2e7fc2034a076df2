"""Record of an initializer as a C array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.tables import address, findings
from neuralart.vendor.network_c import pools


def record(path: Path) -> dict[str, Any]:
    """What such a file says; not its contents.

    Raises:
        NeuralArtError: It cannot be read, or is none.
    """
    import zlib

    found = pools.read_initializer(path)
    pool = found.pool
    return {
        "kind": "initializer_c",
        "symbol": found.symbol,
        "name": found.network,
        "pool": pool.fname if pool else "",
        "pool_name": pool.name if pool else "",
        "address": pool.address if pool else None,
        "size": pool.size if pool else None,
        "mode": pool.mode if pool else "",
        "bytes": found.size,
        "words": found.words,
        "crc32": zlib.crc32(found.data),
        "findings": [{"code": each.code, "where": each.where, "text": each.what} for each in found.problems],
    }


def text(record: dict[str, Any]) -> str:
    """For people."""
    pool = f"pool {record['pool']} ({record['pool_name']})" if record["pool"] else "a pool without description"
    place = f", {record['mode']}, base {address(record['address'])}" if record["address"] is not None else ""
    lines = [
        f"initializer of {pool}{place}",
        f"  array {record['symbol']}: {record['bytes']:,} bytes in {record['words']:,} words, "
        f"CRC-32 0x{record['crc32']:08x}",
    ]
    return "\n".join([*lines, *findings(record)]) + "\n"
