"""Finds owners that claim the same bytes; says who chose their places, and where one would fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from neuralart.boards.types import Board, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.flash_areas import Area, area_at, areas, by_sectors, round_up
from neuralart.memory.layout.strategies import Placement, staged_pool
from neuralart.memory.regions import Span, gaps, memory_end, overlapping

# The first of these that is in conflict is the one to move: what has no requested address before what has one.
_MOVED_FIRST = ("staging", "descriptor", "reserved", "pool", "slot", "firmware")
# RAM pools begin at a cache line.
_RAM_ALIGN = 32


def claim(placement: Placement, size: int | None = None) -> Span:
    """The range that a placement claims. ``placement``: whose; ``size``: bytes, unless all of it."""
    end = placement.start + (placement.size if size is None else size)
    return Span(placement.owner, placement.group, placement.start, end, placement.chosen_by)


def head(placement: Placement) -> Span:
    """The first byte of a placement: all that is known of a pool's use before the compile."""
    return claim(placement, 1)


def refuse_conflicts(
    board: Board,
    claims: Mapping[Placement, Span],
    allowed: Callable[[Placement, Placement, bool], bool] = lambda one, other, sector_only: False,
) -> None:
    """Refuse two placements of different groups that share a byte, or an erase sector in flash.

    ``claims``: what each placement claims, in the order of the configuration; ``allowed``: says of two placements
    whether they may; its third argument is true if they share a sector only. NeuralArtError: two do; names both, their
    ranges, who chose each, and a placement that fits.
    """
    found = areas(board)
    owner = {by_sectors(found, span): placement for placement, span in claims.items()}
    for before, after in overlapping(owner):
        one, other = owner[before], owner[after]
        shared = min(claims[one].end, claims[other].end) - max(claims[one].start, claims[other].start)
        if not allowed(one, other, shared <= 0):
            raise _error(board, claims, one, other)


def _error(board: Board, claims: Mapping[Placement, Span], one: Placement, other: Placement) -> NeuralArtError:
    # Of two of a kind the later one moves.
    order = {placement: number for number, placement in enumerate(claims)}
    moved, stays = sorted((one, other), key=lambda p: (_MOVED_FIRST.index(p.kind), -order[p]))
    first, second = _shown(claims, moved), _shown(claims, stays)
    shared = min(first.end, second.end) - max(first.start, second.start)
    described = f"{second} of {second.place}" if second.place else str(second)
    if shared > 0:
        relation = f"overlaps {described} by {shared} bytes"
    else:
        area = area_at(areas(board), first.start)
        relation = f"shares an erase sector{f' of {area.sector} bytes' if area else ''} with {described}"
    return NeuralArtError(f"{first} {relation}", where=first.place, hint=advice(board, claims, moved))


def _is_head(claims: Mapping[Placement, Span], placement: Placement) -> bool:
    return placement.kind == "pool" and claims[placement] == head(placement)


def _shown(claims: Mapping[Placement, Span], placement: Placement) -> Span:
    return claim(placement) if _is_head(claims, placement) else claims[placement]


def advice(board: Board, claims: Mapping[Placement, Span], moved: Placement, size: int | None = None) -> str:
    """Say where a placement would fit, and what to write to put it there. ``moved``: who is to move; staging places
    move together: they follow one another from one address on; ``size``: bytes that they need, unless what they claim.
    Returns one line; it also says if there is no such place.
    """
    together = [p for p in claims if p.kind == "staging"] if moved.kind == "staging" else [moved]
    others = [span for placement, span in claims.items() if placement not in together]
    needed = sum(_needed(board, p, claims, size if p is moved else None) for p in together)
    network = moved.kind == "pool"
    # Better outside of the pools as they are declared than in what is left of one today.
    whole = [_shown(claims, placement) for placement in claims if placement not in together]
    address = _room(board, whole, moved.start, needed, network)
    if address is None:
        address = _room(board, others, moved.start, needed, network)
    if address is None and size is None and _is_head(claims, moved):
        address, needed = _largest(board, others, moved.start)
    if address is None:
        less = "declare only initializers that are not empty" if moved.kind == "staging" else "use less of it"
        return f"nothing there has {needed} free bytes: {less}, or a board with more memory"
    if moved.kind == "pool" and address == moved.start:
        return f"{needed} bytes are free there: make that the size of the pool"
    text = f"{needed} bytes are free at 0x{address:08x}"
    if moved.kind in ("staging", "descriptor"):
        return f"{text}: slots: {{{moved.kind}: 0x{address:08x}}}"
    if moved.kind == "slot":
        return f"{text}: slots: {{{moved.owner.removeprefix('slot ')}: 0x{address:08x}}}"
    return f"{text}: make that the offset of the pool" if moved.kind == "pool" else text


def _needed(board: Board, placement: Placement, claims: Mapping[Placement, Span], size: int | None) -> int:
    """What must be free: a staging place is as large as its pool, whatever is in it today."""
    area = area_at(areas(board), placement.start)
    if placement.kind == "staging":
        pool = next((p for p in claims if p.kind == "pool" and p.owner == staged_pool(placement.owner)), placement)
        size = max(pool.size, size or 0)
    elif size is None:
        span = _shown(claims, placement)
        size = span.end - span.start
    return round_up(size, area.sector) if area else size


def _room(board: Board, taken: Iterable[Span], near: int, size: int, network: bool) -> int | None:
    """An address where so many bytes are free, in the memory of ``near`` or else in another of its kind. Places from
    ``near`` on come before places below it. For a network another memory must be one that the NPU works in, where a
    board has such. A multiple of the sector in flash, of 32 in RAM; None if there is no such place.
    """
    for free in _free(board, taken, near, network):
        fits = [max(low, near) for low, high in free if max(low, near) + size <= high and high > near]
        fits += [low for low, high in free if low + size <= high]
        if fits:
            return fits[0]
    return None


def _largest(board: Board, taken: Iterable[Span], near: int) -> tuple[int | None, int]:
    """Address and size of the largest gap in the memory at an address; (None, 0) if it is full."""
    gap = max(next(iter(_free(board, taken, near, False)), []), key=lambda gap: gap[1] - gap[0], default=None)
    return (None, 0) if gap is None else (gap[0], gap[1] - gap[0])


def _free(board: Board, taken: Iterable[Span], near: int, network: bool) -> list[list[tuple[int, int]]]:
    """Gaps of each memory to look in, the one at the address first; they begin at a multiple of its unit."""
    found = areas(board)
    spans = [by_sectors(found, span) for span in taken]
    lists = []
    for start, end, unit in _candidates(board, found, near, network):
        rounded = [(round_up(low, unit), high) for low, high in gaps(start, end, spans)]
        lists.append([(low, high) for low, high in rounded if low < high])
    return lists


def _candidates(board: Board, found: Sequence[Area], near: int, network: bool) -> list[tuple[int, int, int]]:
    """(start, end, unit) of the memories to look in."""
    here = area_at(found, near)
    if here is not None:
        return [(area.start, area.end, area.sector) for area in [here, *(a for a in found if a is not here)]]
    region = board.region_at(near)
    if region is None:
        return []
    others = [r for r in board.memory if r is not region and r.kind == region.kind]
    # The NPU reaches no TCM: nothing that a network uses goes where only the core works.
    npu = _npu(region) or (network and any(_npu(r) for r in others))
    same = [region, *(r for r in others if _npu(r) == npu)]
    # A pool may run on into what follows without a gap.
    return [*((r.base, r.end, _RAM_ALIGN) for r in same), (region.base, memory_end(board, region.base), _RAM_ALIGN)]


def _npu(region: MemoryRegion) -> bool:
    return "npu" in region.owner
