"""Record of a ``network.csv``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.tables import findings as finding_lines
from neuralart.inspect.tables import plural, table
from neuralart.inspect.views import report_parts as parts
from neuralart.vendor import network_csv
from neuralart.vendor.network_csv import NetworkCsv, Traffic

_SHOWN = 10


def _traffic(traffic: Traffic) -> dict[str, Any]:
    return {
        **parts.fields(traffic, "name read written read_cycles write_cycles cycles"),
    }


def as_record(found: NetworkCsv) -> dict[str, Any]:
    """The record of a table that has been read."""
    return {
        "kind": "network_csv",
        "clock_mhz": found.clock_mhz or None,
        "sums": {name: parts.finite(value) for name, value in found.sums},
        "pools": [
            {**_traffic(total), "used": dict(found.used).get(total.name)}
            for total in found.totals or tuple(Traffic(name) for name, _ in found.used)
        ],
        "epochs": [
            {
                **parts.fields(epoch, "number operations compute_cycles max_cycles npu_mw memory_mw"),
                "pools": [_traffic(pool) for pool in epoch.pools if pool.read or pool.written or pool.cycles],
                "ports": [_traffic(port) for port in epoch.ports if port.read or port.written],
            }
            for epoch in found.epochs
        ],
        "findings": parts.findings("sums", network_csv.check(found)),
        "notes": list(found.notes),
    }


def record(path: Path) -> dict[str, Any]:
    """What the file says. Raises NeuralArtError: it cannot be read or is damaged."""
    return as_record(network_csv.read(path))


def text(record: dict[str, Any]) -> str:
    """For people: the sums, the pools, and the epochs that take longest."""
    epochs = record["epochs"]
    lines = [f"compiler's estimate of {plural(len(epochs), 'epoch')}"]
    lines += table(("sum", ""), ([name.replace("_", " "), value] for name, value in record["sums"].items()))
    lines += ["", "traffic in bytes:"]
    rows = ([pool["name"], pool["read"], pool["written"], pool["used"]] for pool in record["pools"])
    lines += table(("pool", "read", "written", "used"), rows)
    longest = sorted(epochs, key=lambda epoch: (-(epoch["max_cycles"] or 0), epoch["number"]))[:_SHOWN]
    lines += ["", "longest epochs:"]
    columns = ("number", "operations", "compute_cycles", "max_cycles")
    rows = ([epoch[column] for column in columns] for epoch in longest if epoch["max_cycles"])
    lines += table(("epoch", "operations", "compute cycles", "max cycles"), rows)
    return "\n".join([*lines, *finding_lines(record), *parts.notes(record)]) + "\n"
