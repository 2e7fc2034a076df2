"""Blocks of a report that the Neural-ART compiler adds: memory, used ranges, epochs."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from neuralart.vendor.report.tables import ReportLine
from neuralart.vendor.report.types import EpochCounts, PoolUsage, ReportEpoch

UNITS = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3}
_AMOUNT = r"([\d.,]{1,24})\s*(B|kB|MB|GB)"
_RANGE = r"\[0x([0-9A-Fa-f]{1,16}) - 0x([0-9A-Fa-f]{1,16})\]:"
_POOL = re.compile(
    rf"(\S.*?)\s+{_RANGE}\s+{_AMOUNT}\s*/\s*{_AMOUNT}\s*\([^)]*\)"
    rf"(?:\s*--\s*weights:\s*{_AMOUNT}\s*\([^)]*\)\s*activations:\s*{_AMOUNT}.*)?"
)
_USED = re.compile(rf"(\S.*?)\s+{_RANGE}\s+(0x[0-9A-Fa-f]{{1,16}}.*)")
_PART = re.compile(r"0x([0-9A-Fa-f]{1,16})\s*-\s*0x([0-9A-Fa-f]{1,16})")
_OLD_TOTAL = re.compile(r"Total number of epochs:\s*(\d{1,9}) of which (\d{1,9}) implemented in software")
_NEW_TOTAL = re.compile(r"Total number of epochs\s+(\d{1,9})")
_NEW_COUNT = re.compile(r">> (pure software|hybrid|pure hardware)\b.*?\s(\d{1,9})(?:\s+\(implemented in (\d{1,9}) .*)?")
_OLD_EPOCH = re.compile(r"epoch (\d{1,9})\s+-?([A-Za-z/_]{2,12}|\?\?)-?(?:\s+\(\s*(.*?)\s*\))?")
_NEW_EPOCH = re.compile(r"\|\s*epochs?[_ ]\s*(\d{1,9})(?:\s*->\s*(\d{1,9}))?\s*\|\s*(\S+)\s*\|\s*(.*?)\s*\|")
_EMPTY = re.compile(r"\|\s*<no executed epochs>\s*\|")
# Up to 2.x the list has no word for an epoch that needs both.
_KINDS = {"??": "HYBRID", "HW": "HW", "EC": "EC", "SW": "SW", "HYBRID": "HYBRID", "HW/SW": "HYBRID", "SW/HW": "HYBRID"}


def _block(lines: list[ReportLine], heading: str) -> list[ReportLine]:
    """Lines below a heading up to the line of equal signs."""
    at = next((i for i, line in enumerate(lines) if line.bare.startswith(heading)), None)
    if at is None:
        return []
    rest = lines[at + 1 :]
    end = next((i for i, line in enumerate(rest) if line.is_end), len(rest))
    return rest[:end]


def _bytes(number: str, unit: str) -> float:
    try:
        return float(number.replace(",", "")) * UNITS[unit]
    except ValueError:
        return math.nan


def read_pools(lines: list[ReportLine], notes: list[str]) -> tuple[PoolUsage, ...]:
    """The memory table, with the used range of each pool."""
    pools: list[PoolUsage] = []
    for line in _block(lines, "Memory usage information"):
        found = _POOL.fullmatch(line.bare)
        if found is None:
            if "[0x" in line.bare:
                notes.append(f"line {line.number}: '{line.bare[:60]}' was not understood in the memory table")
            continue
        name, low, high, used, unit, _size, _size_unit, weights, weights_unit, active, active_unit = found.groups()
        amounts = [
            _bytes(used, unit),
            _bytes(weights or "0", weights_unit or "B"),
            _bytes(active or "0", active_unit or "B"),
        ]
        if any(math.isnan(amount) for amount in amounts):
            notes.append(f"line {line.number}: '{line.bare[:60]}' was not understood in the memory table")
            continue
        # Three decimals are printed: half of the last one may be missing.
        uncertainty = math.ceil(UNITS[unit] / 2000) if unit != "B" else 0
        total, constants, activations = (round(amount) for amount in amounts)
        pools.append(PoolUsage(name, int(low, 16), int(high, 16), total, constants, activations, uncertainty))
    ranges = _ranges(lines, notes)
    return tuple(
        replace(pool, first=ranges[pool.name][0], last=ranges[pool.name][1]) if pool.name in ranges else pool
        for pool in pools
    )


def _ranges(lines: list[ReportLine], notes: list[str]) -> dict[str, tuple[int, int]]:
    """``Used memory ranges``: first and last address by the pool's name."""
    ranges: dict[str, tuple[int, int]] = {}
    for line in _block(lines, "Used memory ranges"):
        found = _USED.fullmatch(line.bare)
        parts = [(int(low, 16), int(high, 16)) for low, high in _PART.findall(found.group(4))] if found else []
        if found and parts:
            ranges[found.group(1)] = (min(low for low, _ in parts), max(high for _, high in parts))
        elif "[0x" in line.bare:
            notes.append(f"line {line.number}: '{line.bare[:60]}' was not understood in the used ranges")
    return ranges


def read_counts(lines: list[ReportLine]) -> EpochCounts | None:
    """``Total number of epochs``, in the style of up to 2.x or of 3.0 and later."""
    for i, line in enumerate(lines):
        old = _OLD_TOTAL.match(line.bare)
        if old:
            return EpochCounts(int(old.group(1)), int(old.group(2)))
        new = _NEW_TOTAL.fullmatch(line.bare)
        if new:
            figures: dict[str, int] = {}
            blobs = None
            for other in lines[i + 1 : i + 6]:
                found = _NEW_COUNT.match(other.bare)
                if found:
                    figures[found.group(1)] = int(found.group(2))
                    blobs = int(found.group(3)) if found.group(3) else blobs
            return EpochCounts(
                total=int(new.group(1)),
                software=figures.get("pure software", 0),
                hybrid=figures.get("hybrid"),
                hardware=figures.get("pure hardware"),
                blobs=blobs,
            )
    return None


def count_empty(lines: list[ReportLine]) -> int:
    """Blobs of the list that no epoch is executed in."""
    return sum(_EMPTY.match(line.bare) is not None for line in lines)


def read_epochs(lines: list[ReportLine], notes: list[str]) -> tuple[ReportEpoch, ...]:
    """The list of epochs in both styles; the tail of console output may begin in the middle of it."""
    epochs = []
    for line in lines:
        bare = line.bare
        new = _NEW_EPOCH.fullmatch(bare) if bare.startswith("|") else None
        old = _OLD_EPOCH.fullmatch(bare) if bare.startswith("epoch ") else None
        if new:
            number, last, kind, operators = new.group(1), new.group(2), new.group(3), new.group(4)
        elif old:
            number, last, kind, operators = old.group(1), None, old.group(2), old.group(3) or ""
        else:
            listed = re.match(r"\| epochs?[_ ] *\d|epoch \d", bare)
            if listed:
                notes.append(f"line {line.number}: '{bare[:60]}' was not understood in the list of epochs")
            continue
        known = _KINDS.get(kind.upper())
        if known is None:
            notes.append(f"line {line.number}: '{kind}' is no kind of epoch that is known")
            continue
        names = tuple(name.strip() for name in operators.split(",") if name.strip())
        epochs.append(ReportEpoch(int(number), int(last or number), known, names))
    return tuple(epochs)
