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


@dataclass(frozen=True)
class Strategy:
    """One way to place the same things.

    Attributes:
        sequence: What to place, in this order.
        from_top: Keys of blocks that go to the highest address that is free, not to the lowest.
        height: How far above its first free address an arena is used at most when filling from the top.
    """

    sequence: tuple[Block, ...]
    from_top: frozenset[tuple[str, int]] = frozenset()
    height: int = 0


def _lowest(block: Block, start: int, end: int, placed: Sequence[_Placed]) -> int | None:
    """The lowest address for a block beside those that live at the same time (sorted by address)."""
    at = _up(start, block.align)
    for other in placed:
        if other.end <= at or not block.meets(other.block):
            continue
        if at + block.size <= other.address:
            break
        at = _up(other.end, block.align)
    return at if at + block.size <= end else None


def _highest(block: Block, start: int, end: int, placed: Sequence[_Placed]) -> int | None:
    """The highest address likewise."""
    at = (end - block.size) // block.align * block.align
    for other in sorted(placed, key=lambda each: -each.end):
        if other.address >= at + block.size or not block.meets(other.block):
            continue
        if other.end <= at:
            break
        at = (other.address - block.size) // block.align * block.align
    return at if at >= start else None


def place_blocks(
    strategy: Strategy, arenas: Sequence[Arena], free_from: Mapping[str, int]
) -> tuple[dict[tuple[str, int], int], Block | None]:
    """Place in the order of a strategy, each block into the first arena with a gap.

    Args:
        strategy: In which order, and from which end.
        arenas: Preferred first.
        free_from: First free address per arena.

    Returns:
        Addresses by key, and the block that fitted nowhere (None if all did).
    """
    placed: dict[str, list[_Placed]] = {arena.fname: [] for arena in arenas}
    addresses: dict[tuple[str, int], int] = {}
    for order, block in enumerate(strategy.sequence):
        for arena in arenas:
            start = _up(free_from.get(arena.fname, arena.address), _ALIGN_AFTER_CONSTANTS)
            if block.key in strategy.from_top:
                at = _highest(block, start, min(arena.end, start + strategy.height), placed[arena.fname])
            else:
                at = _lowest(block, start, arena.end, placed[arena.fname])
            if at is not None:
                insort(placed[arena.fname], _Placed(at, at + block.size, order, block))
                addresses[block.key] = at
                break
        else:
            return addresses, block
    return addresses, None


def strategies(items: Sequence[Block], epochs: int) -> list[Strategy]:
    """The strategies that are tried, the normal one (first fit by decreasing size) first.

    The last ones fill from both ends, by turns of the epoch that makes a block: what follows each other in a chain then
    lies at opposite ends, and the largest sum of neighbours is enough.
    """
    live = live_bytes(items, epochs)
    peak = _up(max(live, default=0), _ALIGN_AFTER_CONSTANTS)

    def crowd(block: Block) -> int:
        return max(live[block.first + 1 : block.last + 2])

    ranks: list[Callable[[Block], tuple[int, ...]]] = [
        lambda block: (-block.size, block.first),
        lambda block: (-crowd(block), -block.size, block.first),
        lambda block: (-block.size * (block.last - block.first + 1), block.first),
        lambda block: (block.first, -block.size),
    ]
    ordered = [tuple(sorted(items, key=lambda block: (*rank(block), block.key))) for rank in ranks]
    tops = frozenset(block.key for block in items if block.first % 2)
    both = [Strategy(each, tops, height) for height in (peak, 1 << 32) for each in (ordered[0], ordered[3])]
    return [*(Strategy(each) for each in ordered), *both]
