"""Says which memories of a board answer when an image starts, and what turns the others on."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.boards.types import Board, MemoryRegion
from neuralart.memory.image.image_facts import fold


def is_on(board: Board, region: MemoryRegion) -> bool:
    """Say whether the memory answers after the reset and the boot chain."""
    for window in board.windows:
        if window.region == region.name:
            return window.mapped_by_boot
    return region.on_at_reset


def turned_on_by(board: Board, region: MemoryRegion) -> str:
    """Say which registers and bits turn the memory on."""
    registers, enable = board.registers, region.enable
    for window in board.windows:
        if window.region == region.name:
            return (
                f"{region.name} answers when 0x{window.control:08x} & 0x{window.mask:x} == 0x{window.value:x}, "
                f"with clock bit {window.clock_bit} of 0x{window.clock_register:08x}"
            )
    steps = []
    if enable is not None and enable.clock_bit is not None and registers.memory_clock is not None:
        steps.append(f"set bit {enable.clock_bit} of 0x{registers.memory_clock:08x} (memory clock)")
    if enable is not None and enable.ramcfg_offset is not None and registers.ramcfg is not None:
        place = registers.ramcfg + enable.ramcfg_offset
        steps.append(f"clear bit {registers.shutdown_bit} of 0x{place:08x} (shutdown)")
    if steps:
        return f"{region.name} is turned on by the firmware: {', '.join(steps)}"
    return region.note or f"nothing in the board's file says what turns {region.name} on"


def pieces(board: Board, start: int, end: int) -> Iterator[tuple[MemoryRegion | None, int, int]]:
    """A range of addresses, cut where memories end.

    Yields:
        (memory or None, start, end): neighbors that lie in no memory are one piece.
    """
    at = fold(board, start)
    stop = at + end - start
    bounds = sorted({region.base for region in board.memory} | {r.alias for r in board.memory if r.alias is not None})
    while at < stop:
        region = board.region_at(at)
        if region is None:
            after = min([bound for bound in bounds if at < bound < stop and board.region_at(bound)], default=stop)
        else:
            base = region.base if region.base <= at < region.end else region.alias or 0
            after = min(stop, base + region.size)
        yield region, at, after
        at = after
