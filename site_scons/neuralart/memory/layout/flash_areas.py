"""Flash that is erased by sectors: where it is, and where something new fits into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neuralart.boards.types import Board, MemoryRegion
from neuralart.memory.image.reachable import is_on
from neuralart.memory.regions import Span, gaps


@dataclass(frozen=True)
class Area:
    """A flash whose sector size is known.

    Attributes:
        name: Of the part, or of the memory.
        start: First address.
        end: First address behind it.
        sector: Bytes that are erased together.
        ready: It answers before the application has set anything.
    """

    name: str
    start: int
    end: int
    sector: int
    ready: bool


def areas(board: Board) -> list[Area]:
    """The flash of a board: what answers at the start first, the flash that has the slots before others."""
    found = []
    if board.flash:
        start = int(board.flash["base"])
        region = board.region_at(start)
        found.append(
            Area(
                str(board.flash["part"]),
                start,
                start + int(board.flash["size"]),
                int(board.flash["sector"]),
                region is not None and is_on(board, region),
            )
        )
    for region in board.memory:
        if region.kind == "flash" and region.sector and not any(_meet(region, area) for area in found):
            found.append(Area(region.name, region.base, region.end, region.sector, is_on(board, region)))
    return sorted(found, key=lambda area: not area.ready)


def _meet(region: MemoryRegion, area: Area) -> bool:
    return region.base < area.end and area.start < region.end


def area_at(found: Sequence[Area], address: int) -> Area | None:
    """The flash at an address."""
    return next((area for area in found if area.start <= address < area.end), None)


def round_up(number: int, unit: int) -> int:
    """The next multiple."""
    return -(-number // unit) * unit


def by_sectors(found: Sequence[Area], span: Span) -> Span:
    """A range of flash with the rest of its first and last sector: what is erased before it can be written."""
    area = area_at(found, span.start)
    if area is None or span.end <= span.start:
        return span
    start = span.start // area.sector * area.sector
    return Span(span.owner, span.group, start, round_up(span.end, area.sector), span.place)


@dataclass(frozen=True)
class Demand:
    """Something that needs a place of its own.

    Attributes:
        owner: Who.
        size: Bytes; a place has whole sectors.
    """

    owner: str
    size: int


def place(
    found: Sequence[Area], demands: Sequence[Demand], fixed: Sequence[Span], pools: Sequence[Span], anchor: int | None
) -> dict[str, Span] | None:
    """First fit, one place after the other.

    Args:
        found: Flash, preferred first.
        demands: In this order.
        fixed: What nothing may touch, in whole sectors.
        pools: Declared pools of networks. A place inside one is the last resort, and then as far from what the pool
            begins with as possible; never in its first sector.
        anchor: Gaps from this address on come before those below it (the end of the application); None: from below.

    Returns:
        The place of each, by owner; None if one fits nowhere.
    """
    placed: dict[str, Span] = {}
    later = []
    for demand in demands:
        span = _first(found, demand, [*fixed, *pools, *placed.values()], anchor)
        if span is None:
            later.append(demand)
        else:
            placed[demand.owner] = span
    heads = [by_sectors(found, Span(pool.owner, pool.group, pool.start, pool.start + 1)) for pool in pools]
    for demand in later:
        span = _last(found, demand, [*fixed, *heads, *placed.values()])
        if span is None:
            return None
        placed[demand.owner] = span
    return placed


def _free(area: Area, taken: Iterable[Span]) -> list[tuple[int, int]]:
    """Gaps in whole sectors."""
    rounded = [(round_up(start, area.sector), end // area.sector * area.sector) for start, end in _gaps(area, taken)]
    return [(start, end) for start, end in rounded if end > start]


def _gaps(area: Area, taken: Iterable[Span]) -> list[tuple[int, int]]:
    return gaps(area.start, area.end, taken)


def _first(found: Sequence[Area], demand: Demand, taken: Sequence[Span], anchor: int | None) -> Span | None:
    for area in found:
        size = round_up(demand.size, area.sector)
        free = _free(area, taken)
        if anchor is not None and area.start <= anchor < area.end:
            above = [(max(start, anchor), end) for start, end in free if end > anchor]
            free = above + [(start, min(end, anchor)) for start, end in free if start < anchor]
        for start, end in free:
            if start + size <= end:
                return Span(demand.owner, demand.owner, start, start + size)
    return None


def _last(found: Sequence[Area], demand: Demand, taken: Sequence[Span]) -> Span | None:
    for area in found:
        size = round_up(demand.size, area.sector)
        for start, end in reversed(_free(area, taken)):
            if start + size <= end:
                return Span(demand.owner, demand.owner, end - size, end)
    return None
