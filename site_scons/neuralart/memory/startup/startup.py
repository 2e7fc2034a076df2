"""``npu_memory_init.[ch]``: tables of the memories that an image needs; firmware/runtime/memory turns them on. Banks
that no buffer touches are not in them, so they stay off. Sizes and checksums of constants are not in them either: those
stand in the identity descriptor in flash, so that new weights need no new firmware.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from neuralart.boards.types import Board, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.strategies import Initializer, Layout
from neuralart.memory.regions import Span, check_disjoint, firmware_spans, fold_alias, network_spans, touched_regions
from neuralart.memory.startup.tables import (
    Rows,
    bank_rows,
    initializer_rows,
    mpu_rows,
    network_rows,
    register_lines,
    window_rows,
)
from neuralart.network.facts import Network

HEADER = Path(__file__).with_name("npu_memory_init.h").read_text("utf-8")
"""Text of ``npu_memory_init.h``."""

# The row of an error is one byte, and 0xff stands for none.
_MOST_ROWS = 254
# Bytes of an identity descriptor that are trusted when the layout does not say how large its place is.
_DESCRIPTOR_CAPACITY = 4096


def used_initializers(layout: Layout, networks: Sequence[Network]) -> list[Initializer]:
    """Initializers that have bytes: those of pools with constants. Declared ones without any are skipped.
    NeuralArtError: the layout does not say how the constants of a pool reach it.
    """
    known = {(item.network, item.pool) for item in layout.initializers}
    full = {(network.name, pool.fname): pool for network in networks for pool in network.initializers}
    for (name, fname), pool in full.items():
        if (name, fname) not in known:
            declared = [item.pool for item in layout.initializers if item.network == name]
            what = f"pool {fname} of network {name} holds {pool.weights} bytes of constants"
            hint = f"declare it: initializers: [{', '.join([*declared, fname])}]"
            where = f"board {layout.board}"
            raise NeuralArtError(f"{what}, but no initializer is declared for it", where=where, hint=hint)
    return [item for item in layout.initializers if (item.network, item.pool) in full]


def _flash_addresses(board: Board, layout: Layout, initializers: Sequence[Initializer]) -> Iterable[int]:
    """What start-up reads besides the pools."""
    yield from (fold_alias(board, item.load_address) for item in initializers if item.load_address)
    if layout.descriptor is not None and any(item.strategy != "link" for item in initializers):
        yield fold_alias(board, layout.descriptor)


def _descriptor(board: Board, layout: Layout, initializers: Sequence[Initializer]) -> tuple[int, int]:
    """Address and capacity of the identity descriptor; (0, 0) without one."""
    if layout.descriptor is None:
        for item in initializers:
            if item.strategy in ("boot-copy", "external-loader"):
                what = f"the initializer of pool {item.pool} of network {item.network} is loaded by strategy"
                what += f" {item.strategy}, which needs an identity descriptor in flash"
                hint = "the board needs 'flash:', or take strategy link"
                raise NeuralArtError(what, where=f"board {board.name}", hint=hint)
        return 0, 0
    sizes = [p.size for p in layout.placements if p.kind == "descriptor" and p.start == layout.descriptor]
    return fold_alias(board, layout.descriptor), max([*sizes, 0]) or _DESCRIPTOR_CAPACITY


def _table(name: str, rows: Rows) -> list[str]:
    if len(rows) > _MOST_ROWS:
        raise NeuralArtError(f"{len(rows)} {name.replace('_', ' ')}s, start-up code knows {_MOST_ROWS} at most")
    head = f"static const npu_memory_{name}_t {name}s[] = {{"
    return [head, *(f"    {row}," for row in rows), "};", ""] if rows else []


def _refuse_dead(board: Board, touched: Sequence[MemoryRegion], spans: Sequence[Span], with_firmware: bool) -> None:
    """A memory that neither the reset, nor the boot chain, nor this code brings up. One behind a controller may be
    brought up by an application of the user's own; start-up code looks whether it was.
    """
    windows = {window.region: window for window in board.windows}
    for region in touched:
        window = windows.get(region.name)
        hoped_for = window is not None and (window.mapped_by_boot or not with_firmware)
        if region.enable is None and not region.on_at_reset and not hoped_for:
            users = ", ".join(str(span) for span in spans if span.start < region.end and region.base < span.end)
            what = f"{users} lies in {region.name}, which does not answer after reset"
            hint = f"disable that pool (size 0), or set on_at_reset: true for {region.name}"
            hint += " in a board file of your own if your boot chain initializes it"
            what += " and which the start-up code cannot turn on"
            raise NeuralArtError(what, where=f"board {board.name}", hint=hint)


def source(board: Board, layout: Layout, networks: Sequence[Network], *, with_firmware: bool = True) -> str:
    """Text of ``npu_memory_init.c``.

    ``networks``: all of the image, in the order in which the identity descriptor numbers them; ``with_firmware``: the
    image is laid out as the board says (not by the user's own linker script). NeuralArtError: ranges overlap or lie in
    no memory, the board does not say how to turn a memory on, or an initializer cannot be brought to its pool.
    """
    spans = [span for network in networks for span in network_spans(board, network)]
    check_disjoint([*spans, *(firmware_spans(board) if with_firmware else [])], f"board {board.name}")
    touched = touched_regions(board, spans)
    _refuse_dead(board, touched, spans, with_firmware)
    # A loader of the firmware brings those of a relocatable model.
    initializers = used_initializers(layout, networks) if layout.loaded is None else []
    flash = [board.region_at(at) for at in _flash_addresses(board, layout, initializers)]
    reached = {region.name for region in (*flash, *touched) if region}
    descriptor, capacity = _descriptor(board, layout, initializers)
    externs, linked = initializer_rows(board, networks, initializers)
    tables = {"window": window_rows(board, reached), "bank": bank_rows(board, touched, spans)}
    tables |= {"mpu_region": mpu_rows(board, touched), "network": network_rows(networks), "initializer": linked}
    lines = [
        f"/* {board.name}: memories and constants of {', '.join(network.name for network in networks)}. Generated. */",
        *([f"/* Registers: {board.registers.source} */"] if board.registers.source else []),
        '#include "npu_memory_init.h"',
        "",
        *externs,
    ]
    for name, rows in tables.items():
        lines += _table(name, rows)
    lines += ["static const npu_memory_tables_t tables = {"]
    lines += register_lines(board, touched)
    for name, rows in tables.items():
        if rows:
            lines += [f"    .{name}s = {name}s,", f"    .{name}_count = {len(rows)},"]
    if capacity and initializers:
        lines += [f"    .descriptor = 0x{descriptor:08x}u,", f"    .descriptor_capacity = 0x{capacity:x}u,"]
    return "\n".join([*lines, "};", "", "int npu_memory_init(void) { return npu_memory_bring_up(&tables); }", ""])
