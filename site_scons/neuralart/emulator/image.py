"""What is loaded into a machine before it starts: the ELF's segments and raw files, and the ELF's symbols."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes

# ELF specification: the section is in memory when the program runs.
SHF_ALLOC = 1 << 1


@dataclass(frozen=True)
class Load:
    """Bytes at an address.

    Attributes:
        name: What they are, for messages.
        address: Where they are loaded.
        data: The bytes.
    """

    name: str
    address: int
    data: bytes

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
    """An ELF file.

    Attributes:
        path: As named by the user.
        loads: Its segments with contents, by load address. A segment may begin with the headers of the file.
        symbols: Its functions.
        sections: Its sections with contents, by load address: what a binary made of it holds.
    """

    path: str
    loads: tuple[Load, ...]
    symbols: Symbols
    sections: tuple[Load, ...] = ()


def _sections(elf: Any) -> list[Load]:
    """Allocated sections with contents, at their load addresses."""
    found = []
    segments = [segment for segment in elf.iter_segments("PT_LOAD") if segment["p_filesz"]]
    for section in elf.iter_sections():
        if not section["sh_flags"] & SHF_ALLOC or section["sh_type"] == "SHT_NOBITS" or not section["sh_size"]:
            continue
        for segment in segments:
            inside = section["sh_offset"] - segment["p_offset"]
            if inside >= 0 and inside + section["sh_size"] <= segment["p_filesz"]:
                found.append(Load(section.name, segment["p_paddr"] + inside, section.data()))
                break
    return found


def read_elf(path: Path) -> Firmware:
    """Read an executable for Arm.

    Raises:
        NeuralArtError: Missing, no ELF, not for Arm, or without anything to load.
    """
    import io

    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    data = read_bytes(path)
    try:
        elf = ELFFile(io.BytesIO(data))
        if elf["e_machine"] != "EM_ARM" or elf["e_type"] != "ET_EXEC":
            raise NeuralArtError(f"{elf['e_type']} for {elf['e_machine']}, not an Arm executable", where=str(path))
        loads = tuple(
            Load(f"{path.name} segment {number}", segment["p_paddr"], segment.data())
            for number, segment in enumerate(elf.iter_segments("PT_LOAD"))
            if segment["p_filesz"]
        )
        sections = tuple(_sections(elf))
        table: Any = elf.get_section_by_name(".symtab")
        functions = [
            (symbol["st_value"] & ~1, symbol["st_size"], symbol.name)
            for symbol in (table.iter_symbols() if table is not None else ())
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF"
        ]
    except (ELFError, ValueError, KeyError, AssertionError, TypeError) as error:
        raise NeuralArtError(f"not an ELF file: {error}", where=str(path)) from error
    for load in loads:
        if load.end > 1 << 32:
            raise NeuralArtError(f"{load.name} ends behind 4 GiB", where=str(path))
    if not loads:
        raise NeuralArtError("nothing in it is to be loaded", where=str(path))
    return Firmware(str(path), loads, Symbols(functions), sections)


def read_raw(path: Path, address: int) -> Load:
    """A raw file that is loaded to an address.

    Raises:
        NeuralArtError: Missing, or it ends behind 4 GiB.
    """
    load = Load(path.name, address, read_bytes(path))
    if load.end > 1 << 32:
        raise NeuralArtError(f"{len(load.data)} bytes at 0x{address:08x} end behind 4 GiB", where=str(path))
    return load


def check_disjoint(loads: Sequence[Load]) -> None:
    """No two loads may write the same byte.

    Raises:
        NeuralArtError: Two overlap.
    """
    ordered = sorted((load for load in loads if load.data), key=lambda load: load.address)
    for first, second in itertools.pairwise(ordered):
        if second.address < first.end:
            raise NeuralArtError(
                f"{first.name} (0x{first.address:08x}..0x{first.end:08x}) and {second.name} "
                f"(0x{second.address:08x}..0x{second.end:08x}) overlap",
                hint="each must have a place of its own",
            )
