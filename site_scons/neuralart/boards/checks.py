"""Checks of a board whose parts are right one by one."""

from __future__ import annotations

from neuralart.boards.types import Board, BoardSection, MemoryRegion
from neuralart.errors import nearest
from neuralart.text.values import Value


def check(board: Board, top: Value) -> None:
    """Check memories, registers, sections, flash and slots together. NeuralArtError: something does not fit."""
    memory = top.mapping()["memory"]
    if not board.memory:
        raise memory.error("is empty", "a board needs at least one memory")
    _check_overlaps(board, memory)
    _check_pool_names(board, memory)
    _check_enables(board, memory)
    taken: list[tuple[str, int, int]] = []
    for key, section in (("code", board.code), ("data", board.data)):
        if section is not None:
            start = _check_section(board, section, top.mapping()[key])
            for other, begin, end in taken:
                if start < end and begin < start + section.size:
                    raise top.mapping()[key].error(
                        f"[{start:#010x}, {start + section.size:#010x}) overlaps {other} [{begin:#010x}, {end:#010x})"
                    )
            taken.append((key, start, start + section.size))
    _check_flash(board, top)
    _check_boot(board, top)
    _check_windows(board, top)


def _spans(region: MemoryRegion) -> list[tuple[int, int, str, MemoryRegion]]:
    spans = [(region.base, region.base + region.size, "base", region)]
    if region.alias is not None:
        spans.append((region.alias, region.alias + region.size, "alias", region))
    return spans


def _check_overlaps(board: Board, memory: Value) -> None:
    spans = sorted((span for region in board.memory for span in _spans(region)), key=lambda span: span[:2])
    # Who is to blame: what the board's own file says before what it is based on, then the later of the two.
    entries = memory.mapping()
    blame = {r.name: (entries[r.name].file == memory.file, index) for index, r in enumerate(board.memory)}
    last = spans[0]
    for span in spans[1:]:
        if span[0] < last[1]:
            new, old = (span, last) if blame[span[3].name] >= blame[last[3].name] else (last, span)
            raise entries[new[3].name].error(
                f"{new[2]} [{new[0]:#010x}, {new[1]:#010x}) overlaps {old[3].name} "
                f"{old[2]} [{old[0]:#010x}, {old[1]:#010x})"
            )
        if span[1] > last[1]:
            last = span


def _check_pool_names(board: Board, memory: Value) -> None:
    seen: dict[str, str] = {}
    for region in board.memory:
        if region.pool_name and seen.setdefault(region.pool_name, region.name) != region.name:
            raise (
                memory.mapping()[region.name]
                .mapping()["pool_name"]
                .error(f"'{region.pool_name}' is the pool name of {seen[region.pool_name]} already")
            )


def _check_enables(board: Board, memory: Value) -> None:
    registers = board.registers
    for region in board.memory:
        if region.enable is None:
            continue
        place = memory.mapping()[region.name].mapping()["enable"]
        if region.enable.clock_bit is not None and registers.memory_clock is None:
            raise place.error("clock_bit needs 'registers: memory_clock'")
        if region.enable.ramcfg_offset is not None and None in (registers.ramcfg, registers.shutdown_bit):
            raise place.error("ramcfg_offset needs 'registers: ramcfg' and 'shutdown_bit'")


def _check_section(board: Board, section: BoardSection, place: Value) -> int:
    """A section may run on into the memory that follows without a gap (FLEXRAM and AXISRAM1 of the STM32N6)."""
    known = {region.name: region for region in board.memory}
    if section.region not in known:
        raise place.mapping()["region"].error(f"no memory '{section.region}'", nearest(section.region, tuple(known)))
    region = known[section.region]
    start = region.base + section.offset
    if section.offset >= region.size:
        raise place.mapping()["offset"].error(f"{section.offset:#x} is outside {region.name} ({region.size:#x} bytes)")
    at = start
    while at < start + section.size:
        below = next((r for r in board.memory if r.base <= at < r.end), None)
        if below is None:
            raise place.mapping()["size"].error(
                f"{section.size:#x} bytes from {start:#010x} run over the end of memory at {at:#010x}"
            )
        if not below.on_at_reset:
            raise place.error(f"{below.name} is off after reset, firmware cannot start there")
        at = below.end
    return start


def _check_flash(board: Board, top: Value) -> None:
    fields = top.mapping()
    first, last = 0, 0
    if board.flash:
        place = fields["flash"].mapping()["base"]
        first = int(board.flash["base"])
        last = first + int(board.flash["size"])
        region = board.region_at(first)
        if region is None or region.kind != "flash" or last > region.end:
            raise place.error(f"[{first:#010x}, {last:#010x}) is not inside a memory of kind flash")
        if first % int(board.flash["sector"]):
            raise place.error(f"{first:#010x} is not a multiple of the sector, {board.flash['sector']} bytes")
    named = {("slots", name): address for name, address in board.slots.items()}
    if board.relocatable is not None:
        slots = board.relocatable
        named |= {("relocatable", name): getattr(slots, name) for name in ("table", "model", "params")}
    for (group, name), address in named.items():
        place = fields[group].mapping()[name]
        region = board.region_at(address)
        if region is None or region.kind != "flash":
            raise place.error(f"{address:#010x} is not in a memory of kind flash")
        if board.flash and not first <= address < last:
            raise place.error(f"{address:#010x} is outside {board.flash['part']} [{first:#010x}, {last:#010x})")
        if board.flash and address % int(board.flash["sector"]):
            raise place.error(f"{address:#010x} is not a multiple of the sector, {board.flash['sector']} bytes")


def _check_boot(board: Board, top: Value) -> None:
    """What is copied goes into memory that is on, and the code begins behind the header."""
    boot = board.boot
    if boot is None:
        return
    place = top.mapping()["boot"].mapping()
    if boot.slot not in board.slots:
        raise place["slot"].error(f"no slot '{boot.slot}'", nearest(boot.slot, tuple(board.slots)))
    slot = board.slots[boot.slot]
    if board.flash and slot + boot.copy_size > int(board.flash["base"]) + int(board.flash["size"]):
        raise place["copy_size"].error(
            f"{boot.copy_size:#x} bytes from slot {boot.slot} at {slot:#010x} run over the end of {board.flash['part']}"
        )
    at = boot.copy_to
    while at < boot.copy_to + boot.copy_size:
        below = next((r for r in board.memory if r.base <= at < r.end), None)
        if below is None or below.kind == "flash" or not below.on_at_reset:
            raise place["copy_to"].error(
                f"[{boot.copy_to:#010x}, {boot.copy_to + boot.copy_size:#010x}): "
                + (f"{below.name} is no RAM that is on after reset" if below else f"there is no memory at {at:#010x}")
            )
        at = below.end
    if board.code is None:
        return
    start = board.region(board.code.region).base + board.code.offset
    if start != boot.copy_to + boot.header:
        raise place["header"].error(
            f"copy_to + header is {boot.copy_to + boot.header:#010x}, but 'code' begins at {start:#010x}"
        )
    if start + board.code.size > boot.copy_to + boot.copy_size:
        raise place["copy_size"].error(
            f"'code' ends at {start + board.code.size:#010x}, what is copied at {boot.copy_to + boot.copy_size:#010x}"
        )


def _check_windows(board: Board, top: Value) -> None:
    """A control register is no memory: a wrong address must not be written to as if it were one."""
    place = top.mapping().get("windows")
    for item in place.items() if place is not None else ():
        for key in ("control", "clock_register"):
            address = item.mapping()[key].integer()
            region = board.region_at(address)
            if region is not None:
                raise item.mapping()[key].error(f"{address:#010x} is in memory {region.name}, not a register")
