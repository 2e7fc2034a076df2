"""Record of a memory-pool file for CPU targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.tables import address, plural, table
from neuralart.inspect.tables import findings as finding_lines
from neuralart.inspect.views import report_parts as parts
from neuralart.vendor import h7_files
from neuralart.vendor.h7_files import CpuPools


def as_record(found: CpuPools) -> dict[str, Any]:
    """The record of a file that has been read."""
    return {
        "kind": "h7_pools",
        "version": found.version,
        "pools": [
            {
                **parts.fields(pool, "name address size usable throughput latency"),
            }
            for pool in found.pools
        ],
        "findings": parts.findings("pools", h7_files.check_cpu_pools(found)),
        "notes": list(found.notes),
    }


def record(path: Path) -> dict[str, Any]:
    """What the file says.

    Raises:
        NeuralArtError: It cannot be read or is damaged.
    """
    return as_record(h7_files.read_cpu_pools(path))


def text(record: dict[str, Any]) -> str:
    """For people."""
    lines = [f"memory pools of a CPU target: {plural(len(record['pools']), 'pool')}"]
    rows = (
        [
            pool["name"],
            None if pool["address"] is None else address(pool["address"]),
            pool["size"],
            pool["usable"],
            pool["throughput"] or None,
            pool["latency"] or None,
        ]
        for pool in record["pools"]
    )
    lines += table(("pool", "base", "size", "usable", "throughput", "latency"), rows)
    return "\n".join([*lines, *finding_lines(record), *parts.notes(record)]) + "\n"
