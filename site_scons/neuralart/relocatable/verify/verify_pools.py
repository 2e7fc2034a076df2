"""Checks the memory-pool table: itself, against context and params, against the memories of boards."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.findings import Finding, error, warning
from neuralart.relocatable.format import types as form
from neuralart.relocatable.format.types import Image, PoolDescriptor, align8, ec_front

if TYPE_CHECKING:
    from neuralart.boards.types import Board


# Memory-mapped serial flash of the STM32N6: a copy there is a plain store to a NOR.
NOR_FLASH = range(0x70000000, 0x80000000)
# type, data -> (id, writable) as the vendor's decision table makes them.
_COMBINATIONS = {
    (form.RELOC, form.PARAM): (0, False),
    (form.RELOC, form.ACTIV): (1, True),
    (form.RELOC, form.MIXED): (1, True),
    (form.COPY, form.MIXED): (0, True),
    (form.COPY, form.PARAM): (0, False),
    (form.RESET, form.ACTIV): (0, True),
}


def _name(number: int, pool: PoolDescriptor) -> str:
    return f"pool {number} ({pool.name}, 0x{pool.flags:08x})"


def _kind(number: int, pool: PoolDescriptor) -> Iterator[Finding]:
    who = _name(number, pool)
    if pool.type == 0:
        yield error("pools", f"{who} is unused, such pools are not in the table")
    elif pool.type not in form.TYPES:
        yield error("pools", f"{who} has the unknown type {pool.type}: a loader handles RELOC, COPY and RESET")
    elif pool.data not in form.DATA:
        yield error("pools", f"{who} has the unknown kind of data {pool.data}: known are PARAM, ACTIV and MIXED")
    elif pool.attributes not in form.ATTRIBUTES:
        yield error("pools", f"{who} has the attributes {pool.attributes}: known are 1, 2, 5 and 6")
    elif (pool.type, pool.data) not in _COMBINATIONS:
        yield error("pools", f"{who} is {form.TYPES[pool.type]}.{form.DATA[pool.data]}, which no pool can be")
    else:
        number_id, writable = _COMBINATIONS[pool.type, pool.data]
        if pool.id != number_id:
            yield error(
                "pools", f"{who} has the id {pool.id}, {form.TYPES[pool.type]}.{form.DATA[pool.data]} has {number_id}"
            )
        if bool(pool.attributes & form.WRITE) != writable:
            need = "written" if writable else "read only"
            yield error(
                "pools", f"{who} is {pool.notation}, a {form.TYPES[pool.type]}.{form.DATA[pool.data]} pool is {need}"
            )
    if pool.size == 0:
        yield error("pools", f"{who} has no bytes, such pools are not in the table")


def _destination(image: Image, number: int, pool: PoolDescriptor) -> Iterator[Finding]:
    who, dst = _name(number, pool), pool.dst
    if pool.type == form.RELOC and dst:
        yield error("pools", f"{who} is relocated and has the fixed destination 0x{dst:08x}")
    if pool.type not in (form.COPY, form.RESET):
        return
    if not dst:
        yield error("pools", f"{who} has no destination")
    elif dst % 4:
        yield error("pools", f"{who} has the destination 0x{dst:08x}, not a multiple of 4")
    elif dst + align8(pool.size) > 1 << 32:
        yield error("pools", f"{who}: {pool.size} bytes from 0x{dst:08x} leave the address space")
    elif pool.type == form.COPY and dst in NOR_FLASH:
        remedy = "give the pool the mode USEMODE_RELATIVE in the .mpool and compile the network again"
        yield error("pools", f"{who} would be copied to 0x{dst:08x}, which is memory-mapped flash", remedy)
    elif dst >> 28 in (2, 3) and (dst >> 28 == 3) != image.flags.secure:
        state = ("non-secure", "secure")
        what = f"{who} goes to 0x{dst:08x}, the {state[dst >> 28 == 3]} alias, the image is for the"
        yield warning("pools", f"{what} {state[dst >> 28 == 2]} state")


def _twice(image: Image) -> Iterator[Finding]:
    seen: dict[int, int] = {}
    for number, pool in enumerate(image.pools):
        if pool.type == form.RELOC and pool.id in seen:
            yield error("pools", f"pools {seen[pool.id]} and {number} are both relocated with id {pool.id}")
        elif pool.type == form.RELOC:
            seen[pool.id] = number
    fixed = [(n, pool) for n, pool in enumerate(image.pools) if pool.type in (form.COPY, form.RESET) and pool.dst]
    fixed.sort(key=lambda row: row[1].dst)
    for (first, low), (second, high) in itertools.pairwise(fixed):
        if low.dst + low.size > high.dst:
            what = f"pools {first} ({low.name}) and {second} ({high.name}) share {low.dst + low.size - high.dst} bytes"
            yield error("pools", f"{what} from 0x{high.dst:08x}")


def _data_place(image: Image, number: int, pool: PoolDescriptor, front: int) -> Iterator[Finding]:
    """Where a pool's initial data begin."""
    who, start = _name(number, pool), pool.foff
    first = pool.type == form.RELOC and pool.data == form.PARAM
    if start % 8:
        yield error("pools", f"{who} has its data at params+0x{start:x}, not a multiple of 8")
    # PARAM_0 begins at the blobs themselves; the weights' addresses count them in.
    end = start + pool.size + (front if first else 0)
    if image.params is not None and end > len(image.params):
        what = f"{who}: data from params+0x{start:x} to 0x{end:x} leave the {len(image.params)} bytes of params"
        yield error("pools", what)
    elif first and start and front:
        what = f"{who} begins at params+0x{start:x}, but epoch-controller blobs in front need it at 0"
        yield error("pools", what, "place the pool with the constants above the others, or keep the blobs in the code")
    elif not first and start < front:
        what = f"{who} has its data at params+0x{start:x}, where epoch-controller blobs of {front} bytes stand"
        yield error("pools", what, "some tools move COPY.PARAM pools only; build the image with this one")


def _initial_data(image: Image) -> Iterator[Finding]:
    """Offsets into the params: inside, apart from each other, behind the blobs that precede the raw data."""
    front = ec_front(image)
    holders = [(n, pool) for n, pool in enumerate(image.pools) if pool.data in (form.PARAM, form.MIXED) and pool.size]
    for number, pool in holders:
        yield from _data_place(image, number, pool, front)
    holders.sort(key=lambda row: (row[1].foff, row[0]))
    for (first, low), (second, high) in itertools.pairwise(holders):
        if low.foff + low.size > high.foff:
            what = f"pools {first} ({low.name}) and {second} ({high.name}) share initial data at params+0x{high.foff:x}"
            yield error("pools", what)


def check_table(image: Image) -> Iterator[Finding]:
    """Check each pool, and that no two of them share a place."""
    if len(image.pools) > form.MOST_POOLS:
        yield error("pools", f"the table has {len(image.pools)} pools, a loader takes {form.MOST_POOLS}")
    for number, pool in enumerate(image.pools):
        yield from _kind(number, pool)
        yield from _destination(image, number, pool)
    yield from _twice(image)
    yield from _initial_data(image)


def _within(image: Image, name: str, value: int, kind: int, what: str) -> Iterator[Finding]:
    """A number that pools of one kind, and the mixed ones, must have room for. It may be less than their sizes: those
    may be rounded, and have gaps.
    """
    own = sum(pool.size for pool in image.pools if pool.data == kind)
    room = own + sum(pool.size for pool in image.pools if pool.data == form.MIXED)
    if value > room + 8 * len(image.pools) or (own and not value):
        yield error("pools", f"{name} of the context is {value}, the pools of the table have {room} bytes for {what}")


def _holders(image: Image) -> list[tuple[int, int]]:
    """Stretches of the params that pools say are theirs, blobs in front included; sorted."""
    front = ec_front(image)
    found = [(0, front)] if front else []
    for pool in image.pools:
        if pool.data in (form.PARAM, form.MIXED):
            extra = front if pool.type == form.RELOC and pool.data == form.PARAM else 0
            found.append((pool.foff, pool.foff + extra + align8(pool.size)))
    return sorted(found)


def _nobodys(image: Image) -> Iterator[Finding]:
    """Bytes of the params that no pool holds."""
    blob, size = image.params, image.context.params_bin_sz
    if blob is None:
        listed = sum(align8(pool.size) for pool in image.pools if pool.data in (form.PARAM, form.MIXED))
        if size != listed:
            yield warning("pools", f"params_bin_sz is {size}, the pools of the table have {listed} bytes of params")
        return
    end, at = min(len(blob), ec_front(image) + size), 0
    for first, behind in [*_holders(image), (end, end)]:
        if first > at and at < end:
            count = min(first, end) - at
            text = f"{count} bytes of params from params+0x{at:x} belong to no pool"
            if any(blob[at : at + count]):
                yield error("pools", text, "the table's sizes are wrong, or the params are of another build")
            else:
                yield warning("pools", f"{text}; they are zero")
        at = max(at, behind)


def check_sums(image: Image) -> Iterator[Finding]:
    """Check the sums of the context against the table and the bytes of the params."""
    yield from _within(image, "acts_sz", image.context.acts_sz, form.ACTIV, "activations")
    yield from _within(image, "params_sz", image.context.params_sz, form.PARAM, "constants")
    yield from _nobodys(image)


# What external memory controllers of the STM32N6 map: which chips are behind them is the board's matter.
_EXTERNAL = range(0x60000000, 0xA0000000)
_WINDOW = 1 << 28


class WritableMemories:
    """Memory that programs may write, as ranges; adjoining ones are one.

    Attributes:
        names: Boards that they are of, for messages.
        any_board: The board is not known: external memory may be larger than that of the boards known here.
    """

    def __init__(self, boards: Sequence[Board], *, any_board: bool = False) -> None:
        """Memories of boards, through either alias."""
        self.names = ", ".join(board.name for board in boards)
        self.any_board = any_board
        self._ranges = [_joined(board, any_board) for board in boards]

    def holds(self, start: int, end: int) -> bool:
        """Whether all of a range is memory of one of the boards."""
        return any(low <= start and end <= high for ranges in self._ranges for low, high in ranges)


def _joined(board: Board, any_board: bool) -> list[tuple[int, int]]:
    places = [
        (base, base + region.size)
        for region in board.memory
        # An emulated board has external memory wherever there is room for it.
        if region.kind in ("ram", "psram") and (region.pool_name or not any_board or region.base not in _EXTERNAL)
        for base in (region.base, region.alias)
        if base is not None
    ]
    made: list[tuple[int, int]] = []
    for low, high in sorted(places):
        if made and low <= made[-1][1]:
            made[-1] = (made[-1][0], max(high, made[-1][1]))
        else:
            made.append((low, high))
    return made


def of_board(name: str = "", files: Sequence[Path] = ()) -> WritableMemories:
    """Memories of a board; without a name, of all built-in boards with a core that loads relocatable models.
    NeuralArtError: there is no such board.
    """
    from neuralart import boards

    if name:
        return WritableMemories([boards.load(name, files)])
    every = [boards.load(each) for each in boards.names()]
    return WritableMemories([board for board in every if board.mpool and board.cpu == "cortex-m55"], any_board=True)


def check_memories(image: Image, memories: WritableMemories) -> Iterator[Finding]:
    """Check that the fixed destinations of pools are in memory that a board has."""
    for number, pool in enumerate(image.pools):
        start, end = pool.dst, pool.dst + align8(pool.size)
        if pool.type not in (form.COPY, form.RESET) or not start or end > 1 << 32 or memories.holds(start, end):
            continue
        who = f"pool {number} ({pool.name}, 0x{pool.flags:08x})"
        text = f"{who}: [0x{start:08x}, 0x{end:08x}) is not all memory of {memories.names}"
        if memories.any_board and start in _EXTERNAL and start // _WINDOW == (end - 1) // _WINDOW:
            yield warning("pools", text, "name yours with --board or --board-file")
        else:
            yield error("pools", text)
