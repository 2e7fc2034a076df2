"""First fit: a list of things with sizes and lifetimes, a list of arenas, and addresses come out."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from neuralart.compilers.reference.arenas import Arena
from neuralart.compilers.reference.lifetimes import Block, Constant, live_bytes
from neuralart.compilers.reference.shortage import no_room_for_constants

_ALIGN_AFTER_CONSTANTS = 32


def _up(value: int, align: int) -> int:
    return -(-value // align) * align


def place_constants(
    items: Sequence[Constant], arenas: Sequence[Arena]
) -> tuple[dict[tuple[str, int], int], dict[str, int]]:
    """Addresses of constants by key, and the first free address of each arena by fname.

    Raises:
        NeuralArtError: One fits nowhere.
    """
    cursor = {arena.fname: arena.address for arena in arenas}
    addresses: dict[tuple[str, int], int] = {}
    for item in items:
        for arena in arenas:
            at = _up(cursor[arena.fname], item.align)
            if at + len(item.data) <= arena.end:
                addresses[item.key] = at
                cursor[arena.fname] = at + len(item.data)
                break
        else:
            raise no_room_for_constants(items, item, arenas)
    return addresses, cursor


@dataclass(order=True)
class _Placed:
    address: int
    end: int
    order: int
    block: Block


def _first_fit(block: Block, start: int, end: int, placed: Sequence[_Placed]) -> int | None:
    """The lowest address for a block beside those that live at the same time (sorted by address)."""
    at = _up(start, block.align)
    for other in placed:
        if other.end <= at or not block.meets(other.block):
            continue
        if at + block.size <= other.address:
            break
        at = _up(other.end, block.align)
    return at if at + block.size <= end else None


def place_blocks(
    sequence: Sequence[Block], arenas: Sequence[Arena], free_from: Mapping[str, int]
) -> tuple[dict[tuple[str, int], int], Block | None]:
    """First fit in the given sequence.

    Args:
        sequence: What to place, in this order.
        arenas: Preferred first.
        free_from: First free address per arena.

    Returns:
        Addresses by key, and the block that fitted nowhere (None if all did).
    """
    placed: dict[str, list[_Placed]] = {arena.fname: [] for arena in arenas}
    addresses: dict[tuple[str, int], int] = {}
    for order, block in enumerate(sequence):
        for arena in arenas:
            start = _up(free_from.get(arena.fname, arena.address), _ALIGN_AFTER_CONSTANTS)
            at = _first_fit(block, start, arena.end, placed[arena.fname])
            if at is not None:
                insort(placed[arena.fname], _Placed(at, at + block.size, order, block))
                addresses[block.key] = at
                break
        else:
            return addresses, block
    return addresses, None


def sequences(items: Sequence[Block], epochs: int) -> list[list[Block]]:
    """The sequences that are tried, the normal one (decreasing size) first."""
    live = live_bytes(items, epochs)

    def crowd(block: Block) -> int:
        return max(live[block.first + 1 : block.last + 2])

    ranks: list[Callable[[Block], tuple[int, ...]]] = [
        lambda block: (-block.size, block.first),
        lambda block: (-crowd(block), -block.size, block.first),
        lambda block: (-block.size * (block.last - block.first + 1), block.first),
        lambda block: (block.first, -block.size),
    ]
    return [sorted(items, key=lambda block: (*rank(block), block.key)) for rank in ranks]
