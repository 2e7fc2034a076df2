"""``neuralart boards``: list the boards, or show the memory map of one; ``--connected``: those on cables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.text.sizes import size_text

if TYPE_CHECKING:
    from neuralart.boards.types import Board


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this board instead of the list")
    parser.add_argument("--json", action="store_true", help="for programs; addresses and sizes are plain integers")
    text = "list the debug probes on this machine: as neuralart device list"
    parser.add_argument("--connected", action="store_true", help=text)
    text = "a board file of your own (may be given several times)"
    parser.add_argument("--board-file", action="append", default=[], type=Path, metavar="FILE", help=text)


def run(args: argparse.Namespace) -> int:
    """Print what was asked for. NeuralArtError: no such board, or a board file is wrong."""
    from neuralart import boards

    if args.connected:
        args.then = ["device", "list", *(["--json"] if args.json else [])]
        return 0
    extra: list[Path] = args.board_file
    if args.name is None:
        loaded = [boards.load(name, extra) for name in boards.names(extra)]
        print(_json([as_data(board) for board in loaded]) if args.json else listing(loaded))
    else:
        board = boards.load(args.name, extra)
        print(_json(as_data(board)) if args.json else description(board))
    return 0


def _json(data: Any) -> str:
    import json

    return json.dumps(data, indent=1)


def as_data(board: Board) -> dict[str, Any]:
    """A board as plain mappings, lists, texts and integers."""
    from dataclasses import asdict

    data = asdict(board)
    del data["places"]
    return data


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the columns of rows below each other."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def listing(boards: Sequence[Board]) -> str:
    rows = [("BOARD", "TARGET", "CPU", "MACHINES", "TITLE")]
    rows += [(b.name, b.target, b.cpu, ",".join(b.machines), b.title) for b in boards]
    return "\n".join(table(rows))


def _memory_rows(board: Board) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("MEMORY", "ADDRESS", "ALIAS", "SIZE", "KIND", "OWNER", "POOL", "AT RESET", "GATES")]
    for region in board.memory:
        alias = f"0x{region.alias:08x}" if region.alias is not None else "-"
        place = region.name, f"0x{region.base:08x}", alias, size_text(region.size), region.kind, region.owner
        state = "on" if region.on_at_reset else "off"
        words = []
        if region.enable is not None and region.enable.clock_bit is not None:
            words.append(f"clock bit {region.enable.clock_bit}")
        if region.enable is not None and region.enable.ramcfg_offset is not None:
            words.append(f"RAMCFG+0x{region.enable.ramcfg_offset:03x} bit {board.registers.shutdown_bit}")
        rows.append((*place, region.pool_name or "-", state, ", ".join(words) or "-"))
    return rows


def description(board: Board) -> str:
    aliases = ", aliases non-secure" if any(region.alias is not None for region in board.memory) else ""
    secure = f"addresses are those of the secure state{aliases}" if board.security == "secure" else "one security state"
    lines = [f"{board.name}: {board.title}", f"target {board.target}, device {board.device}, {board.cpu}", secure]
    lines += ["", *table(_memory_rows(board)), ""]
    for name, section in (("code", board.code), ("data", board.data)):
        if section is not None:
            start = board.region(section.region).base + section.offset
            lines.append(f"{name}: 0x{start:08x}, {size_text(section.size)}, from {section.region}")
    for machine in board.machines.values():
        model = f" {machine.model}" if machine.model else ""
        lines.append(f"machine {machine.kind}{model}: {machine.isa}; {' '.join(machine.cpu_flags)}")
        if machine.note:
            lines.append(f"  {machine.note}")
    if board.console is not None:
        lines.append(f"console: {board.console.driver} at 0x{board.console.base:08x}")
    if board.flash:
        flash = board.flash
        lines.append(
            f"flash: {flash['part']} at 0x{int(flash['base']):08x}, {size_text(int(flash['size']))}, "
            f"sector {size_text(int(flash['sector']))}, page {flash['page']}, loader {flash['loader'] or '-'}"
        )
    lines += [f"clock {name}: {clock}" for name, clock in board.clocks.items()]
    lines += [f"slot {name}: 0x{address:08x}" for name, address in board.slots.items()]
    if board.boot is not None:
        boot = board.boot
        lines.append(
            f"boot: {size_text(boot.copy_size)} "
            f"{f'in slot {boot.slot}' if boot.in_place else f'from slot {boot.slot} to 0x{boot.copy_to:08x}'}, "
            f"vector table behind 0x{boot.header:x} bytes"
            f"{f', image header {boot.header_version}' if boot.header_version else ''}"
        )
    for window in board.windows:
        lines.append(
            f"window {window.region}: mapped when 0x{window.control:08x} & 0x{window.mask:x} is 0x{window.value:x}, "
            f"clock 0x{window.clock_register:08x} bit {window.clock_bit}"
            f"{'; the boot chain maps it' if window.mapped_by_boot else '; the application has to map it'}"
        )
    lines += [f"switches for {mode}: {words}" for mode, words in board.switches.items()]
    lines += [f"{region.name}: {region.note}" for region in board.memory if region.note]
    for name, path in (("pool file", board.mpool), ("profile", board.profile)):
        lines.append(f"{name}: {path or '-'}")
    if board.memory_pools:
        lines.append(f"pool file without an NPU: {board.memory_pools}")
    return "\n".join([*lines, *([f"note: {board.note}"] if board.note else [])])
