"""A NOR flash as a device: erased bytes are 0xFF, programming only clears bits, erasing takes a whole sector.

The file format (``NARNOR1``) holds the sectors that are not erased and nothing else, so an empty chip of 128 MiB is a
file of 36 bytes; all numbers are little endian::

    8 bytes  "NARNOR1" and a zero byte
    u64      address of the chip's first byte
    u64      size in bytes
    u32      bytes of an erase sector
    u32      n, sectors that follow
    u32      CRC-32 (zlib) of the 24 bytes in front of it and of everything behind it
    n * u32  their numbers, ascending
    n * sector bytes

Equal contents make equal files, whatever was erased and programmed in between.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes
from neuralart.flashing.plan import FlashPlan, Write, contents
from neuralart.quick import dataclass

MAGIC = b"NARNOR1\0"
ERASED = 0xFF
_GEOMETRY = struct.Struct("<QQII")
_CRC = struct.Struct("<I")
_LARGEST_SECTOR = 1 << 24
"""Bytes; far more than any chip erases at once, and little enough to be held in memory."""
_HEADER = len(MAGIC) + _GEOMETRY.size + _CRC.size


@dataclass(frozen=True)
class Chip:
    """The geometry of a NOR flash."""

    base: int  # Address of its first byte where it is memory mapped
    size: int  # Bytes; a multiple of ``sector``
    sector: int  # Bytes that are erased at once

    def __str__(self) -> str:
        return f"{self.size} bytes at 0x{self.base:08x} in sectors of {self.sector}"


def chip_of(board: Board) -> Chip:
    """Find the NOR flash of a board. NeuralArtError: it has none, or its file says too little of it."""
    where = board.where or f"board {board.name}"
    try:
        base, size, sector = (int(board.flash[key]) for key in ("base", "size", "sector"))
    except KeyError as error:
        what = f"board {board.name} has no 'flash: {error.args[0]}': there is nothing to write to"
        raise NeuralArtError(what, where=where) from error
    if not 0 < sector <= _LARGEST_SECTOR or size % sector:
        raise NeuralArtError(f"flash of {size} bytes is not made of sectors of {sector} bytes", where=where)
    return Chip(base, size, sector)


def chips_of(board: Board) -> tuple[Chip, ...]:
    """List all flash of a board with known sectors: NOR flash, and flash in the chip."""
    inside = tuple(Chip(each.base, each.size, each.sector) for each in board.memory if each.sector)
    return (*((chip_of(board),) if "base" in board.flash else ()), *inside)


class Nor:
    """The contents of a chip. Offsets count from its first byte."""

    def __init__(self, chip: Chip) -> None:
        """An erased chip."""
        self.chip = chip
        self._blank = bytes([ERASED]) * chip.sector
        self._sectors: dict[int, bytearray] = {}

    def _check(self, verb: str, offset: int, count: int) -> None:
        if offset < 0 or count < 0 or offset + count > self.chip.size:
            what = f"{verb} of {count} bytes at offset 0x{offset:x}, the chip has {self.chip.size} bytes"
            raise NeuralArtError(what, where=f"flash at 0x{self.chip.base:08x}")

    def _parts(self, offset: int, count: int) -> Iterator[tuple[int, int, int]]:
        """(sector, first byte in it, bytes) that a range is made of."""
        while count:
            number, inside = divmod(offset, self.chip.sector)
            part = min(count, self.chip.sector - inside)
            yield number, inside, part
            offset, count = offset + part, count - part

    def read(self, offset: int, count: int) -> bytes:
        """Bytes of the chip. NeuralArtError: outside of the chip."""
        self._check("read", offset, count)
        return b"".join(
            bytes(self._sectors[number][inside : inside + part]) if number in self._sectors else self._blank[:part]
            for number, inside, part in self._parts(offset, count)
        )

    def erase(self, offset: int, count: int) -> None:
        """Erase whole sectors. NeuralArtError: outside of the chip, or not whole sectors."""
        self._check("erase", offset, count)
        if offset % self.chip.sector or count % self.chip.sector:
            what = f"erase of {count} bytes at offset 0x{offset:x}, sectors have {self.chip.sector} bytes"
            raise NeuralArtError(what, where=f"flash at 0x{self.chip.base:08x}")
        for number, _, _ in self._parts(offset, count):
            self._sectors.pop(number, None)

    def program(self, offset: int, data: bytes) -> None:
        """Clear bits, across pages too. NeuralArtError: outside of the chip, or a bit would have to become 1; nothing
        was programmed.
        """
        self._check("program", offset, len(data))
        held = self.read(offset, len(data))
        # Long equal or erased stretches are the rule: one number is compared before bytes are looked at.
        if int.from_bytes(data, "little") & ~int.from_bytes(held, "little"):
            at = next(n for n, (new, old) in enumerate(zip(data, held, strict=True)) if new & ~old)
            what = f"programming 0x{data[at]:02x} over 0x{held[at]:02x} at offset 0x{offset + at:x}"
            where = f"flash at 0x{self.chip.base:08x}"
            raise NeuralArtError(f"{what}: bits turn from 0 to 1 by erasing only", where=where)
        at = 0
        for number, inside, part in self._parts(offset, len(data)):
            sector = self._sectors.setdefault(number, bytearray(self._blank))
            sector[inside : inside + part] = data[at : at + part]
            at += part

    def contents(self) -> Iterator[tuple[int, bytes]]:
        """Yield offset and bytes of each sector that is not erased, ascending."""
        for number in sorted(self._sectors):
            if self._sectors[number] != self._blank:
                yield number * self.chip.sector, bytes(self._sectors[number])

    def runs(self) -> Iterator[tuple[int, bytes]]:
        """Yield offset and bytes of each stretch of adjoining sectors that are not erased, ascending."""
        sector = self.chip.sector
        numbered = enumerate(self.contents())
        for _, group in itertools.groupby(numbered, key=lambda pair: pair[1][0] // sector - pair[0]):
            rows = [row for _, row in group]
            yield rows[0][0], b"".join(data for _, data in rows)

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all. NeuralArtError: the place cannot be written."""
        rows = list(self.contents())
        geometry = _GEOMETRY.pack(self.chip.base, self.chip.size, self.chip.sector, len(rows))
        index = struct.pack(f"<{len(rows)}I", *(offset // self.chip.sector for offset, _ in rows))
        body = b"".join([index, *(data for _, data in rows)])
        write_bytes(path, b"".join([MAGIC, geometry, _CRC.pack(zlib.crc32(body, zlib.crc32(geometry))), body]))


def load(path: Path) -> Nor:
    """Read a file that :meth:`Nor.save` wrote. NeuralArtError: missing, no such file, cut short or damaged."""
    data = read_bytes(path)
    where, hint = str(path), "delete it, then flash everything again"
    if data[: len(MAGIC)] != MAGIC:
        raise NeuralArtError("not a virtual flash: it does not begin with NARNOR1", where=f"{where}@0x0")
    if len(data) < _HEADER:
        raise NeuralArtError(f"cut short: {len(data)} bytes, the header has {_HEADER}", where=where, hint=hint)
    base, size, sector, count = _GEOMETRY.unpack_from(data, len(MAGIC))
    expected = _HEADER + count * (4 + sector)
    if len(data) != expected:
        what = f"{len(data)} bytes, but {count} sectors of {sector} bytes make {expected}"
        raise NeuralArtError(what, where=where, hint=hint)
    (crc,) = _CRC.unpack_from(data, _HEADER - _CRC.size)
    body = memoryview(data)[_HEADER:]
    computed = zlib.crc32(body, zlib.crc32(memoryview(data)[len(MAGIC) : _HEADER - _CRC.size]))
    if crc != computed:
        raise NeuralArtError(f"damaged: CRC 0x{crc:08x}, computed 0x{computed:08x}", where=where, hint=hint)
    numbers = struct.unpack_from(f"<{count}I", data, _HEADER)
    if not 0 < sector <= _LARGEST_SECTOR or size % sector or base + size > 1 << 32:
        raise NeuralArtError(f"no such chip: {Chip(base, size, sector)}", where=where, hint=hint)
    if list(numbers) != sorted(set(numbers)) or any(number >= size // sector for number in numbers):
        raise NeuralArtError("the numbers of its sectors do not ascend within the chip", where=where, hint=hint)
    nor = Nor(Chip(base, size, sector))
    for at, number in enumerate(numbers):
        begin = 4 * count + at * sector
        nor.program(number * sector, bytes(body[begin : begin + sector]))
    return nor


def load_for(path: Path, board: Board) -> Nor:
    """Read the virtual flash of a board. NeuralArtError: there is none, it is damaged, or a chip of another board."""
    chip = chip_of(board)
    if not path.exists():
        hint = "write it: scons flash-VARIANT, or neuralart flash --plan PLAN --nor FILE"
        raise NeuralArtError("there is no virtual flash yet", where=str(path), hint=hint)
    nor = load(path)
    if nor.chip != chip:
        hint = "each board needs a file of its own"
        raise NeuralArtError(f"it is a chip of {nor.chip}, board {board.name} has {chip}", where=str(path), hint=hint)
    return nor


@dataclass(frozen=True)
class Written:
    """The result of one write."""

    write: Write
    erased: int  # Sectors that were erased and programmed
    kept: int  # Sectors that held these bytes already and were left alone
    lost: tuple[tuple[int, int], ...] = ()  # [first, behind) of foreign data there that is erased now


@dataclass(frozen=True)
class Mismatch:
    """The first difference of a flash from its plan."""

    write: Write  # Whose bytes differ
    offset: int  # Offset in its file
    expected: int  # The file's byte
    found: int  # The flash's byte

    def __str__(self) -> str:
        erased = " (erased)" if self.found == ERASED else ""
        what = f"'{self.write.name}' differs at 0x{self.write.address + self.offset:08x}: {self.write.file} offset"
        return f"{what} 0x{self.offset:x} is 0x{self.expected:02x}, the flash has 0x{self.found:02x}{erased}"


def _parts_of(write: Write, data: bytes, chip: Chip) -> Iterator[tuple[int, int, bytes]]:
    """(sector, offset in the chip, bytes) of what a write says."""
    begin = write.address - chip.base
    for number in sectors_of(write, chip):
        start = number * chip.sector
        first, last = max(start, begin), min(start + chip.sector, begin + len(data))
        yield number, first, data[first - begin : last - begin]


def sectors_of(write: Write, chip: Chip) -> range:
    """Numbers of the sectors that a write touches."""
    first = (write.address - chip.base) // chip.sector
    return range(first, (write.end - chip.base - 1) // chip.sector + 1)


def changes(write: Write, data: bytes, nor: Nor, *, force: bool = False) -> list[tuple[int, bytes]]:
    """Address and bytes of each stretch of adjoining sectors to write; ``force``: also those that are right."""
    found: list[tuple[int, bytearray]] = []
    behind = -1
    for number, first, part in _parts_of(write, data, nor.chip):
        if not force and nor.read(first, len(part)) == part:
            continue
        if number != behind:
            found.append((nor.chip.base + first, bytearray()))
        found[-1][1].extend(part)
        behind = number + 1
    return [(address, bytes(stretch)) for address, stretch in found]


def _ranged(write: Write) -> str:
    return f"'{write.name}' [0x{write.address:08x}, 0x{write.end:08x})"


def check_plan(plan: FlashPlan, nor: Nor) -> None:
    """Check that all writes fit into a chip. NeuralArtError: one does not, or two need the same erase sector."""
    chip = nor.chip
    owner: dict[int, Write] = {}
    for write in plan.writes:
        if write.address < chip.base or write.end > chip.base + chip.size:
            inside = f"[0x{chip.base:08x}, 0x{chip.base + chip.size:08x})"
            raise NeuralArtError(f"{_ranged(write)} is not within the flash {inside}", where=plan.where)
        for number in sectors_of(write, chip):
            if number in owner:
                start = chip.base + number * chip.sector
                what = f"{_ranged(owner[number])} and {_ranged(write)} share the erase sector"
                what += f" [0x{start:08x}, 0x{start + chip.sector:08x})"
                hint = f"give each its own sectors of {chip.sector} bytes: writing one would erase the other"
                raise NeuralArtError(what, where=plan.where, hint=hint)
            owner[number] = write


def _foreign(nor: Nor, start: int, end: int) -> tuple[int, int] | None:
    """Smallest range of offsets within [start, end) outside of which everything is erased."""
    data = nor.read(start, end - start)
    blank = bytes([ERASED])
    kept = data.lstrip(blank)
    if not kept:
        return None
    return end - len(kept), start + len(data.rstrip(blank))


def apply(write: Write, data: bytes, nor: Nor, *, force: bool = False) -> Written:
    """Write to a chip in memory. ``force``: also sectors that are right."""
    chip = nor.chip
    erased, kept, lost = 0, 0, []
    for number, first, part in _parts_of(write, data, chip):
        if not force and nor.read(first, len(part)) == part:
            kept += 1
            continue
        start = number * chip.sector
        for outside in (_foreign(nor, start, first), _foreign(nor, first + len(part), start + chip.sector)):
            if outside is not None:
                lost.append((chip.base + outside[0], chip.base + outside[1]))
        nor.erase(start, chip.sector)
        nor.program(first, part)
        erased += 1
    return Written(write, erased, kept, tuple(lost))


def program_plan(
    plan: FlashPlan, nor: Nor, only: str | None = None, top: Path = Path(), *, force: bool = False
) -> tuple[Written, ...]:
    """Write what a plan says, all of which must fit, into a chip in memory; nothing unless all is in order.

    A sector that holds its bytes already is left alone unless ``force`` is given. ``only`` is ``application``,
    ``model`` (initializers and their descriptor) or None; paths of the plan start from ``top``. NeuralArtError: a file
    has changed or is missing, or the plan does not fit into the chip.
    """
    check_plan(plan, nor)
    writes = plan.chosen(only)
    files = contents(plan, writes, top)
    return tuple(apply(write, data, nor, force=force) for write, data in zip(writes, files, strict=True))


def mismatch_of(write: Write, data: bytes, held: bytes) -> Mismatch | None:
    """Find the first byte that differs from a write; None: none does."""
    if data == held:
        return None
    at = next(n for n, (one, other) in enumerate(zip(data, held, strict=True)) if one != other)
    return Mismatch(write, at, data[at], held[at])


def verify_plan(plan: FlashPlan, nor: Nor, only: str | None = None, top: Path = Path()) -> Mismatch | None:
    """Find the first difference of a chip from a plan, or None. NeuralArtError: a file has changed, or does not fit."""
    check_plan(plan, nor)
    writes = plan.chosen(only)
    for write, data in zip(writes, contents(plan, writes, top), strict=True):
        if found := mismatch_of(write, data, nor.read(write.address - nor.chip.base, len(data))):
            return found
    return None
