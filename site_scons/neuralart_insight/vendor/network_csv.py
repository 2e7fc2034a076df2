"""Reader of ``network.csv`` (``--csv-file``): the Neural-ART compiler's estimate of each epoch. A line of titles, one
line per epoch, then sums. Software epochs count no operations and no cycles, so the frames per second of the sums leave
the software out. The titles speak of per cent; the shares are from 0 to 1.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import NoReturn

from neuralart.errors import NeuralArtError
from neuralart.files import of_file

# Title of a column -> name of the figure.
_FIGURES = {
    "epoch OPS": "operations",
    **dict.fromkeys(("epoch compute (cyles)", "epoch compute (cycles)"), "compute_cycles"),
    **{"max (cycles)": "max_cycles", "epoch average ATON power (mW)": "npu_mw"},
    "epoch average memory power (mW)": "memory_mw",
}
# A version of the compiler cannot spell cycles.
_SHARED = ("epoch compute (cyles)", "epoch compute (cycles)", "max (cycles)", "epoch average ATON power")
_SHARES = {"epoch OPS vs total %", *(f"{title} vs Tot %" for title in (*_SHARED, "epoch average memory power"))}
_TRAFFIC = re.compile(r"(\S.*) \((r|w|r\+w|r cycles|w cycles|cycles)\)")
_BOTH = "r+w"
_PARTS = {"r": "read", "w": "written", "r cycles": "read_cycles", "w cycles": "write_cycles", "cycles": "cycles"}
SUMS = {
    **{"Total cycles": "cycles", "Total ideal cycles": "ideal_cycles", "Total OPS": "operations"},
    **{"Total ops/cycle": "operations_per_cycle", "Total ideal ops/cycle": "ideal_operations_per_cycle"},
    **{"Frames/sec": "frames_per_second", "Ideal Frames/sec": "ideal_frames_per_second"},
    **{"Average ATON power mW": "npu_mw", "Average memory power mW": "memory_mw"},
    **{"Average Total power mW": "total_mw", "TOPS/W": "tops_per_watt"},
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
        self.file, self.titles = file, titles
        plain = {*titles[:1], *_FIGURES, *_SHARES}
        # Pool or bus port of each column, and what it counts.
        self.traffic_of = [None if title in plain else _TRAFFIC.fullmatch(title) for title in titles]
        self.names = list(dict.fromkeys(found[1] for found in self.traffic_of if found))
        both = zip(titles, self.traffic_of, strict=True)
        self.notes = [f"unknown column '{title[:60]}'" for title, found in both if not found and title not in plain]
        twice = [title for title in titles if titles.count(title) > 1]
        if twice:
            self.fail(1, f"the column '{twice[0][:60]}' stands here twice")

    def fail(self, line: int, what: str) -> NoReturn:
        raise NeuralArtError(what, where=f"{self.file}:{line}")

    def number(self, cell: str, line: int, title: str) -> float:
        text = cell.strip()
        if text == "0":  # As most are
            return 0
        if _NUMBER.fullmatch(text) is None:
            self.fail(line, f"'{text[:40]}' under '{title}' is no number")
        value = float(text)
        return int(value) if value.is_integer() and abs(value) < 1 << 62 else value

    def traffic(self, cells: list[str], line: int, *, ports: bool) -> tuple[Traffic, ...]:
        parts: dict[str, dict[str, float]] = {name: {} for name in self.names if name.startswith("bus port") is ports}
        for title, found, cell in zip(self.titles, self.traffic_of, cells, strict=False):
            if found and found[1] in parts and cell.strip():
                parts[found[1]][found[2]] = self.number(cell, line, title)
        return tuple(
            Traffic(name, **{_PARTS[part]: value for part, value in given.items() if part != _BOTH})
            for name, given in parts.items()
        )

    def epoch(self, cells: list[str], line: int) -> CsvEpoch:
        if len(cells) != len(self.titles):
            self.fail(line, f"{len(cells)} cells under {len(self.titles)} titles")
        figures: dict[str, float] = {}
        for title, cell in zip(self.titles, cells, strict=True):
            if title in _FIGURES or title in _SHARES:
                figures[title] = self.number(cell, line, title)
        named = {name: figures[title] for title, name in _FIGURES.items() if title in figures}
        pools, ports = self.traffic(cells, line, ports=False), self.traffic(cells, line, ports=True)
        return CsvEpoch(int(cells[0]), pools, ports, **named)


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
    """The content of a ``network.csv``; NeuralArtError with ``file:line`` if it is none, or a cell holds no number."""
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


read = of_file(parse_network_csv)


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
