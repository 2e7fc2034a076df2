"""Addresses for things with sizes and lifetimes: first fit in several orders, and the lowest result counts."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from neuralart.errors import NeuralArtError
from neuralart_reference.planning.arenas import Arena
from neuralart_reference.planning.lifetimes import Block, Constant, Key, live_bytes

ASK_FIT = "'neuralart fit MODEL' says if 'memory: smallest' or another board would do"
"""The end of each hint of a model that is too large."""
_LONGEST, _HEAD = 60, 20
_ALIGN_AFTER_CONSTANTS = 32
_ORDERS = 400
"""So many further orders are tried at most, fewer when there are many blocks: each compares every pair of them."""
_WORK = 10_000_000
_TRIED = 4


def brief(name: str) -> str:
    """A tensor's name for a message: of layers that were fused the first one, of a long name both ends."""
    first, _, more = name.partition(";")
    text = f"{first};..." if more else first
    return text if len(text) <= _LONGEST else f"{text[:_HEAD]}...{text[_HEAD + 3 - _LONGEST :]}"


def _up(value: int, align: int) -> int:
    return -(-value // align) * align


def _no_room(items: Sequence[Constant], item: Constant, arenas: Sequence[Arena]) -> NeuralArtError:
    """The error when an initializer fits nowhere."""
    total = sum(len(each.data) for each in items)
    listed = ", ".join(f"{arena.fname} {arena.size}" for arena in arenas)
    return NeuralArtError(
        f"constants do not fit: {total} bytes in all, '{brief(item.label)}' with {len(item.data)} bytes found no "
        f"place; bytes per pool: {listed}",
        where=arenas[0].pools[0].where.rsplit(":", 2)[0] if arenas else "",
        hint="enlarge a pool that prefers constants, or enable one (size, ACC_READ, constants_preferred); " + ASK_FIT,
    )


def place_constants(items: Sequence[Constant], arenas: Sequence[Arena]) -> tuple[dict[Key, int], dict[str, int]]:
    """Addresses of constants by key, and the first free address of each arena; NeuralArtError when one fits nowhere."""
    cursor = {arena.fname: arena.address for arena in arenas}
    addresses: dict[Key, int] = {}
    for item in items:
        for arena in arenas:
            at = _up(cursor[arena.fname], item.align)
            if at + len(item.data) <= arena.end:
                addresses[item.key] = at
                cursor[arena.fname] = at + len(item.data)
                break
        else:
            raise _no_room(items, item, arenas)
    return addresses, cursor


_Placed = tuple[int, int, int, int]
"""First address, end, first and last epoch. No class, and no block: these are made, compared and read most."""


@dataclass(frozen=True)
class PlacingOrder:
    """One way to place the same things."""

    sequence: tuple[Block, ...]  # what to place, in this order
    # Keys of blocks that go to the highest address that is free, not to the lowest
    from_top: frozenset[Key] = frozenset()
    height: int = 0  # how far above its first free address an arena is used at most when filling from the top


def _lowest(block: Block, start: int, end: int, placed: Sequence[_Placed]) -> int | None:
    """The lowest address for a block beside those that live at the same time (sorted by address)."""
    size, align, first, last = block.size, block.align, block.first, block.last
    at = -(-start // align) * align
    for address, top, begin, stop in placed:
        if top > at and first <= stop and begin <= last:
            if at + size <= address:
                break
            at = -(-top // align) * align
    return at if at + size <= end else None


def _highest(block: Block, start: int, end: int, placed: Sequence[_Placed]) -> int | None:
    """The highest address likewise."""
    size, align, first, last = block.size, block.align, block.first, block.last
    at = (end - size) // align * align
    for address, top, begin, stop in sorted(placed, key=itemgetter(1), reverse=True):
        if address < at + size and first <= stop and begin <= last:
            if top <= at:
                break
            at = (address - size) // align * align
    return at if at >= start else None


def _shown(
    block: Block, blocks: Mapping[Key, Block], outputs: Mapping[Key, Block], addresses: Mapping[Key, int]
) -> dict[_Placed, _Placed]:
    """What is in the way of a block instead of its input and its output, where it may overlap them: placed -> seen.

    An input is in the way of its output from where the output must not reach; an output is in the way of its input up
    to where that may begin.
    """
    shown: dict[_Placed, _Placed] = {}
    source, target = blocks.get(block.over.key) if block.over is not None else None, outputs.get(block.key)
    if source is not None and block.over is not None and source.key in addresses:
        at, end = addresses[source.key], addresses[source.key] + source.size
        free = at + block.size - block.over.distance
        shown[at, end, source.first, source.last] = free, end, source.first, source.last
    if target is not None and target.over is not None and target.key in addresses:
        at = addresses[target.key]
        free = at + target.over.distance
        shown[at, at + target.size, target.first, target.last] = at, free, target.first, target.last
    return shown


def _instead(placed: Sequence[_Placed], shown: Mapping[_Placed, _Placed]) -> list[_Placed]:
    """What is placed in an arena, with what is seen of it instead."""
    seen = list(placed)
    for old, new in shown.items():
        if old in placed:
            seen.remove(old)
            insort(seen, new)
    return seen


def place_blocks(
    strategy: PlacingOrder, arenas: Sequence[Arena], free_from: Mapping[str, int]
) -> tuple[dict[Key, int], Block | None]:
    """Place in the order of a strategy, each block into the first arena with a gap. Returns addresses by key, and the
    block that fitted nowhere (None if all did).
    """
    starts = (_up(free_from.get(arena.fname, arena.address), _ALIGN_AFTER_CONSTANTS) for arena in arenas)
    rooms: list[tuple[int, int, list[_Placed]]]
    rooms = [(start, arena.end, []) for start, arena in zip(starts, arenas, strict=True)]
    addresses: dict[Key, int] = {}
    blocks = {block.key: block for block in strategy.sequence}
    outputs = {block.over.key: block for block in strategy.sequence if block.over is not None}
    for block in strategy.sequence:
        from_top = block.key in strategy.from_top
        shown = _shown(block, blocks, outputs, addresses) if outputs else {}
        for start, end, placed in rooms:
            seen = _instead(placed, shown) if shown else placed
            if from_top:
                at = _highest(block, start, min(end, start + strategy.height), seen)
            else:
                at = _lowest(block, start, end, seen)
            if at is not None:
                insort(placed, (at, at + block.size, block.first, block.last))
                addresses[block.key] = at
                break
        else:
            return addresses, block
    return addresses, None


def heights(
    items: Sequence[Block], addresses: Mapping[Key, int], arenas: Sequence[Arena], free_from: Mapping[str, int]
) -> tuple[int, ...]:
    """How far blocks reach into each arena, from its first free address; the least preferred arena first."""
    found = []
    for arena in reversed(arenas):
        low, high, start = arena.address, arena.end, free_from.get(arena.fname, arena.address)
        ends = [at + each.size for each in items if low <= (at := addresses[each.key]) < high]
        found.append(max(0, max(ends, default=start) - start))
    return tuple(found)


@dataclass(frozen=True)
class _Found:
    """What became of a strategy."""

    rank: tuple[int, ...]  # smaller is better: first how much found no place, then the heights
    strategy: PlacingOrder
    addresses: dict[Key, int]  # of what found a place
    failed: Block | None  # what found none


def place_best(
    items: Sequence[Block], epochs: int, arenas: Sequence[Arena], free_from: Mapping[str, int]
) -> tuple[dict[Key, int], Block | None]:
    """Place in every strategy, then in orders derived from the best one, and take the lowest result.

    What lies highest (or has found no place) goes first in the next order. Where blocks may overlap, that begins at the
    other strategies too. Nothing more is tried once a hundredth is left to the lower bound, and never so much that many
    blocks take long. Returns what :func:`place_blocks` does.
    """
    free = {arena.fname: _up(free_from.get(arena.fname, arena.address), _ALIGN_AFTER_CONSTANTS) for arena in arenas}
    bound = max(live_bytes(items, epochs), default=0)
    enough = (0, *[0] * (len(arenas) - 1), bound + bound // 100)

    def attempt(strategy: PlacingOrder) -> _Found:
        addresses, failed = place_blocks(strategy, arenas, free)
        if failed is not None:
            return _Found((len(items) - len(addresses),), strategy, addresses, failed)
        return _Found((0, *heights(items, addresses, arenas, free)), strategy, addresses, None)

    tried: list[_Found] = []
    for strategy in strategies(items, epochs):
        tried.append(attempt(strategy))
        if tried[-1].rank <= enough:
            break
    tried.sort(key=lambda found: found.rank)
    best = tried[0]
    rounds = min(_ORDERS, _WORK // (len(items) ** 2 + 1)) // _TRIED
    for number, current in enumerate(tried if any(block.over for block in items) else tried[:1]):
        seen = {current.strategy.sequence}
        for _ in range(rounds // len(tried) if number else rounds):
            orders = [order for order in _derived(current, arenas) if order.sequence not in seen]
            if best.rank <= enough or not orders:
                break
            seen.update(order.sequence for order in orders)
            # Also when it is worse than before: the way to a better one may lead over it.
            current = min((attempt(order) for order in orders), key=lambda found: found.rank)
            best = min(best, current, key=lambda found: found.rank)
    return best.addresses, best.failed


def _derived(found: _Found, arenas: Sequence[Arena]) -> list[PlacingOrder]:
    """Orders in which what was in the way comes first: what found no place, or what reaches furthest up."""
    if found.failed is not None:
        return [_first(found.strategy, found.failed)]

    def rank(block: Block) -> tuple[object, ...]:
        at = found.addresses[block.key]
        arena = next(number for number, each in enumerate(arenas) if each.address <= at < each.end)
        return -arena, -at - block.size, block.key

    highest = sorted((block for block in found.strategy.sequence if block.size), key=rank)
    return [_first(found.strategy, block) for block in highest[:_TRIED]]


def _first(strategy: PlacingOrder, block: Block) -> PlacingOrder:
    """The same order, but one block before all others."""
    rest = tuple(each for each in strategy.sequence if each.key != block.key)
    return replace(strategy, sequence=(block, *rest))


def strategies(items: Sequence[Block], epochs: int) -> list[PlacingOrder]:
    """The strategies that are tried, the normal one (first fit by decreasing size) first.

    The last ones fill from both ends, by turns of the epoch that makes a block: what follows each other in a chain then
    lies at opposite ends, and the largest sum of neighbors is enough.
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
    both = [PlacingOrder(each, tops, height) for height in (peak, 1 << 32) for each in (ordered[0], ordered[3])]
    if any(block.over for block in items):
        # An output lies below its input: from the last one upwards, or from the first one downwards.
        keys = frozenset(block.key for block in items)
        both += [PlacingOrder(each[::-1]) for each in ordered[1:]] + [PlacingOrder(ordered[3], keys, peak)]
    return [*(PlacingOrder(each) for each in ordered), *both]
