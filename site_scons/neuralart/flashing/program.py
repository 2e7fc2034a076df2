"""Writes a virtual flash by a plan, and compares it with one. Works on the device in memory; callers save it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.flashing.nor import ERASED, Nor
from neuralart.flashing.plan import FlashPlan, Write, contents


@dataclass(frozen=True)
class Written:
    """What became of one write."""

    write: Write
    erased: int  # Sectors that were erased and programmed
    kept: int  # Sectors that held these bytes already and were left alone
    # (first address, first address behind) of foreign data in those sectors that is erased now
    lost: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Mismatch:
    """Where a flash first differs from its plan."""

    write: Write  # Whose bytes differ
    offset: int  # Offset in its file
    expected: int  # The file's byte
    found: int  # The flash's byte

    def __str__(self) -> str:
        erased = " (erased)" if self.found == ERASED else ""
        return (
            f"'{self.write.name}' differs at 0x{self.write.address + self.offset:08x}: {self.write.file} "
            f"offset 0x{self.offset:x} is 0x{self.expected:02x}, the flash has 0x{self.found:02x}{erased}"
        )


def _sectors(write: Write, nor: Nor) -> range:
    chip = nor.chip
    first = (write.address - chip.base) // chip.sector
    return range(first, (write.end - chip.base - 1) // chip.sector + 1)


def check(plan: FlashPlan, nor: Nor) -> None:
    """Do all writes of a plan fit into this chip? NeuralArtError: one does not, or two need the same erase sector."""
    chip = nor.chip
    owner: dict[int, Write] = {}
    for write in plan.writes:
        if write.address < chip.base or write.end > chip.base + chip.size:
            raise NeuralArtError(
                f"'{write.name}' [0x{write.address:08x}, 0x{write.end:08x}) is not within the flash "
                f"[0x{chip.base:08x}, 0x{chip.base + chip.size:08x})",
                where=plan.where,
            )
        for number in _sectors(write, nor):
            if number in owner:
                other, start = owner[number], chip.base + number * chip.sector
                raise NeuralArtError(
                    f"'{other.name}' [0x{other.address:08x}, 0x{other.end:08x}) and '{write.name}' "
                    f"[0x{write.address:08x}, 0x{write.end:08x}) share the erase sector "
                    f"[0x{start:08x}, 0x{start + chip.sector:08x})",
                    where=plan.where,
                    hint=f"give each its own sectors of {chip.sector} bytes: writing one would erase the other",
                )
            owner[number] = write


def _foreign(nor: Nor, start: int, end: int) -> tuple[int, int] | None:
    """Smallest range of offsets within [start, end) outside of which everything is erased."""
    data = nor.read(start, end - start)
    blank = bytes([ERASED])
    kept = data.lstrip(blank)
    if not kept:
        return None
    return end - len(kept), start + len(data.rstrip(blank))


def _one(write: Write, data: bytes, nor: Nor) -> Written:
    chip = nor.chip
    begin = write.address - chip.base
    end = begin + len(data)
    erased, kept, lost = 0, 0, []
    for number in _sectors(write, nor):
        start = number * chip.sector
        first, last = max(start, begin), min(start + chip.sector, end)
        part = data[first - begin : last - begin]
        if nor.read(first, len(part)) == part:
            kept += 1
            continue
        for outside in (_foreign(nor, start, first), _foreign(nor, last, start + chip.sector)):
            if outside is not None:
                lost.append((chip.base + outside[0], chip.base + outside[1]))
        nor.erase(start, chip.sector)
        nor.program(first, part)
        erased += 1
    return Written(write, erased, kept, tuple(lost))


def program(plan: FlashPlan, nor: Nor, only: str | None = None, top: Path = Path()) -> tuple[Written, ...]:
    """Write what a plan says, all of which must fit, into a chip in memory; nothing unless all is in order.

    A sector that holds its bytes already is left alone. ``only`` is ``application``, ``model`` (initializers and their
    descriptor) or None; paths of the plan start from ``top``. NeuralArtError: a file has changed or is missing, or the
    plan does not fit into the chip.
    """
    check(plan, nor)
    writes = plan.chosen(only)
    files = contents(plan, writes, top)
    return tuple(_one(write, data, nor) for write, data in zip(writes, files, strict=True))


def _first_difference(one: bytes, other: bytes) -> int:
    """Index; the bytes are known to differ somewhere."""
    return next(n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


def verify(plan: FlashPlan, nor: Nor, only: str | None = None, top: Path = Path()) -> Mismatch | None:
    """Compare a chip with a plan. Returns the first difference in the order of the plan, or None. NeuralArtError: a
    file has changed or is missing, or the plan does not fit into the chip.
    """
    check(plan, nor)
    writes: Sequence[Write] = plan.chosen(only)
    for write, data in zip(writes, contents(plan, writes, top), strict=True):
        held = nor.read(write.address - nor.chip.base, len(data))
        if held != data:
            at = _first_difference(data, held)
            return Mismatch(write, at, data[at], held[at])
    return None
