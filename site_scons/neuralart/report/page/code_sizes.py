"""What the bytes of a firmware are: functions, constants and variables, by the symbols of its ELF file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from neuralart.boards.types import Board
from neuralart.text.elf import FUNCTION, OBJECT, Elf, Section

CODE, CONSTANTS, DATA, ZEROED = "code", "constants", "variables with a first value", "zeroed memory"
UNNAMED = "(no symbol)"
"""Bytes that no symbol covers: fillings, literals of assembly, what the linker script reserves."""


@dataclass(frozen=True)
class SizedPart:
    """A function or an object of the firmware, or what is left of a section."""

    memory: str  # Where it is while the program runs
    kind: str  # CODE, CONSTANTS, DATA or ZEROED
    section: str
    name: str  # Symbol; UNNAMED: none
    address: int
    bytes: int


def _kind(section: Section, *, function: bool) -> str:
    if function:
        return CODE
    if not section.filled:
        return ZEROED
    if section.writable:
        return DATA
    return CONSTANTS


def sizes(elf: Elf, board: Board) -> tuple[SizedPart, ...]:
    """Every byte that the image occupies while it runs, once: sections, taken apart by symbols. The largest part first.
    Of several names of one place the first by the alphabet counts.
    """
    found = [part for section in elf.sections if section.allocated for part in _of_section(elf, section, board)]
    return tuple(sorted(found, key=lambda part: (-part.bytes, part.memory, part.address, part.name)))


def _of_section(elf: Elf, section: Section, board: Board) -> Iterator[SizedPart]:
    if not section.size:
        return
    region = board.region_at(section.address)
    memory = region.name if region is not None else f"0x{section.address:08x}"
    symbols = [
        # The lowest bit of a function's address says that it is Thumb code.
        (symbol.value & ~1 if symbol.kind == FUNCTION else symbol.value, -symbol.size, symbol.name, symbol.kind)
        for symbol in elf.symbols
        if symbol.section == section.index and symbol.kind in (FUNCTION, OBJECT) and symbol.size
    ]
    at, end, left = section.address, section.address + section.size, section.size
    for start, size, name, kind in sorted(symbols):
        low, high = max(start, at), min(start - size, end)
        if low < high:
            yield SizedPart(memory, _kind(section, function=kind == FUNCTION), section.name, name, low, high - low)
            at, left = high, left - (high - low)
    if left:
        yield SizedPart(
            memory, _kind(section, function=section.executable), section.name, UNNAMED, section.address, left
        )


def groups(parts: tuple[SizedPart, ...]) -> dict[tuple[str, str], int]:
    """Bytes by memory and kind, the largest group first."""
    sums = Counter[tuple[str, str]]()
    for part in parts:
        sums[part.memory, part.kind] += part.bytes
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
