"""Reader of ``network.csv`` (``--csv-file``): the Neural-ART compiler's estimate of each epoch.

A line of titles, one line per epoch, then sums. Software epochs count no operations and no cycles, so the frames per
second of the sums leave the software out. The titles speak of per cent; the shares are from 0 to 1.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes

# Title of a column -> name of the figure.
_FIGURES = {
    "epoch OPS": "operations",
    "epoch OPS vs total %": "operations_share",
    "epoch compute (cyles)": "compute_cycles",
    "epoch compute (cyles) vs Tot %": "compute_share",
    "epoch compute (cycles)": "compute_cycles",
    "epoch compute (cycles) vs Tot %": "compute_share",
    "max (cycles)": "max_cycles",
    "max (cycles) vs Tot %": "max_share",
    "epoch average ATON power (mW)": "npu_mw",
    "epoch average ATON power vs Tot %": "npu_share",
    "epoch average memory power (mW)": "memory_mw",
    "epoch average memory power vs Tot %": "memory_share",
}
_TRAFFIC = re.compile(r"(\S.*) \((r|w|r\+w|r cycles|w cycles|cycles)\)")
_PARTS = {"r": "read", "w": "written", "r+w": "both", "r cycles": "read_cycles", "w cycles": "write_cycles"}
_PARTS["cycles"] = "cycles"
SUMS = {
    "Total cycles": "cycles",
    "Total ideal cycles": "ideal_cycles",
    "Total OPS": "operations",
    "Total ops/cycle": "operations_per_cycle",
    "Total ideal ops/cycle": "ideal_operations_per_cycle",
    "Frames/sec": "frames_per_second",
    "Ideal Frames/sec": "ideal_frames_per_second",
    "Average ATON power mW": "npu_mw",
    "Average memory power mW": "memory_mw",
    "Average Total power mW": "total_mw",
    "TOPS/W": "tops_per_watt",
}
_CLOCK = re.compile(r"\((\d{1,6}) MHz\)")
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,4})?|inf|nan|-nan)")


@dataclass(frozen=True)
class Traffic:
    """Bytes over one pool or bus port, and NPU cycles they take (0 for a bus port)."""

    name: str
    read: float = 0
    written: float = 0
    read_cycles: float = 0
    write_cycles: float = 0
    cycles: float = 0


@dataclass(frozen=True)
class CsvEpoch:
    """A line."""

    number: int  # Of the epoch
    pools: tuple[Traffic, ...]  # Traffic over each pool, in the order of the columns
    ports: tuple[Traffic, ...]  # Traffic over each port of the bus
    operations: float = 0  # Estimated
    compute_cycles: float = 0  # NPU cycles of the arithmetic
    max_cycles: float = 0  # NPU cycles of what takes longest
    npu_mw: float = 0  # Average power, mW
    memory_mw: float = 0  # The same of the memories


@dataclass(frozen=True)
class NetworkCsv:
    """The table."""

    file: str  # Its name as shown to the user
    epochs: tuple[CsvEpoch, ...]  # In its order; the parameters and the return are epochs here
    totals: tuple[Traffic, ...] = ()  # Of each pool, as the file sums them
    used: tuple[tuple[str, int | None], ...] = ()  # Printed size used of each pool in bytes; None where nothing is used
    sums: tuple[tuple[str, float], ...] = ()  # Name of :data:`SUMS` -> figure
    clock_mhz: int = 0  # NPU clock that frames and powers are given for; 0 if not told
    notes: tuple[str, ...] = ()  # Columns and lines that were not understood


class _Table:
    """The columns, and what is wrong with a cell."""

    def __init__(self, file: str, titles: list[str]) -> None:
        self.file = file
        self.titles = titles
        self.notes: list[str] = []
        self.names: list[str] = []
        for title in titles[1:]:
            found = _TRAFFIC.fullmatch(title)
            if found and title not in _FIGURES and found.group(1) not in self.names:
                self.names.append(found.group(1))
            elif not found and title not in _FIGURES:
                self.notes.append(f"unknown column '{title[:60]}'")
        twice = [title for title in titles if titles.count(title) > 1]
        if twice:
            self.fail(1, f"the column '{twice[0][:60]}' stands here twice")

    def fail(self, line: int, what: str) -> NoReturn:
        raise NeuralArtError(what, where=f"{self.file}:{line}")

    def number(self, cell: str, line: int, title: str) -> float:
        text = cell.strip()
        if _NUMBER.fullmatch(text) is None:
            self.fail(line, f"'{text[:40]}' under '{title}' is no number")
        value = float(text)
        return int(value) if value.is_integer() and abs(value) < 1 << 62 else value

    def traffic(self, cells: list[str], line: int, *, ports: bool) -> tuple[Traffic, ...]:
        parts: dict[str, dict[str, float]] = {name: {} for name in self.names if name.startswith("bus port") is ports}
        for title, cell in zip(self.titles[1:], cells[1:], strict=False):
            found = _TRAFFIC.fullmatch(title)
            if found and found.group(1) in parts and title not in _FIGURES and cell.strip():
                parts[found.group(1)][_PARTS[found.group(2)]] = self.number(cell, line, title)
        fields = ("read", "written", "read_cycles", "write_cycles", "cycles")
        return tuple(Traffic(name, *(given.get(field, 0) for field in fields)) for name, given in parts.items())

    def epoch(self, cells: list[str], line: int) -> CsvEpoch:
        if len(cells) != len(self.titles):
            self.fail(line, f"{len(cells)} cells under {len(self.titles)} titles")
        figures: dict[str, float] = {}
        for title, cell in zip(self.titles, cells, strict=True):
            name = _FIGURES.get(title, "")
            if name:
                figures[name] = self.number(cell, line, title)
        return CsvEpoch(
            number=int(cells[0]),
            pools=self.traffic(cells, line, ports=False),
            ports=self.traffic(cells, line, ports=True),
            **{name: value for name, value in figures.items() if not name.endswith("_share")},
        )


def _used(text: str) -> int | None:
    found = re.fullmatch(r"([\d.]{1,20}) (B|KB|MB|GB)", text.strip())
    if found is None:
        return None
    unit = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}[found.group(2)]
    try:
        return round(float(found.group(1)) * unit)
    except ValueError:
        return None


def parse_network_csv(data: bytes, file: str) -> NetworkCsv:
    """Read the content of a ``network.csv``.

    Args:
        data: The file's bytes.
        file: Its name for messages.

    Raises:
        NeuralArtError: It is none, or a cell holds no number; ``where`` is ``file:line``.
    """
    text = data.decode("utf-8-sig", "replace")
    try:
        reader = csv.reader(io.StringIO(text, newline=""))
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise NeuralArtError(f"not a network.csv: {error}", where=file) from error
    if not rows or rows[0][1][0].strip() != "epochs":
        raise NeuralArtError("not a network.csv: the first title is not 'epochs'", where=f"{file}:1")
    table = _Table(file, [title.strip() for title in rows[0][1]])
    epochs: list[CsvEpoch] = []
    totals: tuple[Traffic, ...] = ()
    used: list[tuple[str, int | None]] = []
    sums: list[tuple[str, float]] = []
    clock = 0
    for line, cells in rows[1:]:
        label = cells[0].strip()
        if re.fullmatch(r"[0-9]{1,9}", label):
            epochs.append(table.epoch(cells, line))
        elif label == "Total":
            totals = table.traffic(cells, line, ports=False)
        elif label in table.names and len(cells) > 1:
            used.append((label, _used(cells[1])))
        elif (name := SUMS.get(_CLOCK.sub("", label).strip())) and len(cells) > 1:
            sums.append((name, table.number(cells[1], line, label)))
            found = _CLOCK.search(label)
            clock = int(found.group(1)) if found else clock
        elif label and label != "BW":
            table.notes.append(f"line {line}: '{label[:60]}' was not understood")
    return NetworkCsv(file, tuple(epochs), totals, tuple(used), tuple(sums), clock, tuple(table.notes))


def read(path: Path, display: str = "") -> NetworkCsv:
    """Read a ``network.csv``.

    Raises:
        NeuralArtError: It cannot be read, or as :func:`parse_network_csv`.
    """
    return parse_network_csv(read_bytes(path), display or str(path))


def check(table: NetworkCsv) -> tuple[str, ...]:
    """Sums against the lines: findings, none if all is well. Cycles are rounded per line, by 1 at most."""
    findings = []
    numbers = [epoch.number for epoch in table.epochs]
    if len(set(numbers)) != len(numbers):
        findings.append("an epoch stands in two lines")
    for column, total in enumerate(table.totals):
        for field in ("read", "written"):
            added = sum(getattr(epoch.pools[column], field) for epoch in table.epochs)
            # Six digits are printed from a million million on.
            if abs(added - getattr(total, field)) > max(1.0, added * 1e-5):
                findings.append(f"{total.name}: {getattr(total, field)} bytes {field} in total, the lines have {added}")
    sums = dict(table.sums)
    for name, field in (("cycles", "max_cycles"), ("ideal_cycles", "compute_cycles"), ("operations", "operations")):
        if name in sums:
            added = sum(getattr(epoch, field) for epoch in table.epochs)
            if abs(added - sums[name]) > max(len(table.epochs), added * 1e-5):
                findings.append(f"{sums[name]} {name} in total, the lines have {added}")
    return tuple(findings)
