"""What is loaded into a machine before it starts: the ELF's segments and raw files, and the ELF's symbols."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text.elf import FUNCTION, UNDEFINED, Elf


@dataclass(frozen=True)
class Load:
    """Bytes at an address."""

    name: str  # What they are, for messages
    address: int  # Where they are loaded
    data: bytes  # The bytes

    @property
    def end(self) -> int:
        """First address behind them."""
        return self.address + len(self.data)


class Symbols:
    """Names of code addresses."""

    def __init__(self, functions: Sequence[tuple[int, int, str]]) -> None:
        """Takes (address without the Thumb bit, size in bytes, name)."""
        self._functions = sorted(functions)
        self._starts = [start for start, _, _ in self._functions]

    def address_of(self, name: str) -> int | None:
        """Where a function begins; None if there is none of this name."""
        return next((start for start, _, other in self._functions if other == name), None)

    def name_at(self, address: int) -> str:
        """``copy+0x12``; empty when no function is there."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return ""
        start, size, name = self._functions[at]
        if address >= start + max(size, 4):
            return ""
        return f"{name}+0x{address - start:x}" if address > start else name

    def describe(self, pc: int) -> str:
        """``copy+0x12 (pc 0x3400121a)`` or ``pc 0x3400121a``."""
        name = self.name_at(pc)
        return f"{name} (pc 0x{pc:08x})" if name else f"pc 0x{pc:08x}"


@dataclass(frozen=True)
class Firmware:
    """An ELF file."""

    path: str  # As named by the user
    # Its segments with contents, by load address. A segment may begin with the headers of the file
    loads: tuple[Load, ...]
    symbols: Symbols  # Its functions
    sections: tuple[Load, ...] = ()  # Its sections with contents, by load address: what a binary made of it holds


def read_elf(path: Path) -> Firmware:
    """Read an executable for Arm. NeuralArtError: missing, no ELF, not for Arm, or without anything to load."""
    elf = Elf(read_bytes(path), str(path))
    if elf.machine != "EM_ARM" or elf.kind != "ET_EXEC":
        raise NeuralArtError(f"{elf.kind} for {elf.machine}, not an Arm executable", where=str(path))
    loads: list[Load] = []
    for number, segment in enumerate(elf.segments):
        name = f"{path.name} segment {number}"
        if segment.file_size:
            loads.append(Load(name, segment.load, elf.bytes_of(segment, name)))
        if loads and loads[-1].end > 1 << 32:
            raise NeuralArtError(f"{name} ends behind 4 GiB", where=str(path))
    if not loads:
        raise NeuralArtError("nothing in it is to be loaded", where=str(path))
    placed = [(section, elf.load_address(section)) for section in elf.sections if section.allocated and section.filled]
    sections = [
        Load(section.name, address, elf.bytes_of(section, section.name))
        for section, address in placed
        if address is not None
    ]
    functions = [
        (symbol.value & ~1, symbol.size, symbol.name)
        for symbol in elf.symbols
        if symbol.kind == FUNCTION and symbol.section != UNDEFINED
    ]
    return Firmware(str(path), tuple(loads), Symbols(functions), tuple(sections))


def read_raw(path: Path, address: int) -> Load:
    """A raw file that is loaded to an address. NeuralArtError: missing, or it ends behind 4 GiB."""
    load = Load(path.name, address, read_bytes(path))
    if load.end > 1 << 32:
        raise NeuralArtError(f"{len(load.data)} bytes at 0x{address:08x} end behind 4 GiB", where=str(path))
    return load


def check_disjoint(loads: Sequence[Load]) -> None:
    """No two loads may write the same byte. NeuralArtError: two overlap."""
    ordered = sorted((load for load in loads if load.data), key=lambda load: load.address)
    for first, second in itertools.pairwise(ordered):
        if second.address < first.end:
            raise NeuralArtError(
                f"{first.name} (0x{first.address:08x}..0x{first.end:08x}) and {second.name} "
                f"(0x{second.address:08x}..0x{second.end:08x}) overlap",
                hint="each must have a place of its own",
            )
