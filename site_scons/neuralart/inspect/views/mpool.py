"""Record of a memory-pool file of the Neural-ART compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.tables import address, plural, table
from neuralart.inspect.views import report_parts as parts
from neuralart.network.pools import PoolFile, default_initializers
from neuralart.vendor.mpool import read_noted


def as_record(pools: PoolFile, notes: tuple[str, ...] = ()) -> dict[str, Any]:
    """The record of a file that has been read."""
    return {
        "kind": "mpool",
        "prefix": pools.prefix,
        "pools": [
            {
                **parts.fields(pool, "fname name address size rights mode"),
                "format": pool.fformat,
                **parts.fields(pool, "throughput latency byte_width freq_ratio"),
                "read_mw": parts.finite(pool.read_power),
                "write_mw": parts.finite(pool.write_power),
                "cacheable": pool.cacheable,
                "constants_preferred": pool.constants_preferred,
            }
            for pool in pools.pools
        ],
        "enabled": len(pools.enabled),
        "initializers": list(default_initializers(pools)),
        "notes": list(notes),
    }


def record(path: Path) -> dict[str, Any]:
    """What the file says.

    Raises:
        NeuralArtError: It cannot be read or is damaged.
    """
    return as_record(*read_noted(path))


def text(record: dict[str, Any]) -> str:
    """For people."""
    lines = [f"memory pools: {plural(len(record['pools']), 'pool')}, enabled {record['enabled']}"]
    heads = ("file", "name", "base", "end", "size", "rights", "mode", "")
    rows = []
    for pool in record["pools"]:
        remarks = [
            word
            for word, said in (("constants first", pool["constants_preferred"]), ("cached", pool["cacheable"]))
            if said
        ]
        remarks += [] if pool["size"] else ["disabled"]
        rows.append(
            [
                pool["fname"],
                pool["name"],
                address(pool["address"]),
                address(pool["address"] + pool["size"]),
                pool["size"],
                pool["rights"],
                pool["mode"].removeprefix("USEMODE_").lower(),
                ", ".join(remarks),
            ]
        )
    lines += table(heads, rows)
    lines.append(f"  initializers are expected of: {', '.join(record['initializers']) or 'none'}")
    return "\n".join([*lines, *parts.notes(record)]) + "\n"
