"""Flash that is erased by sectors: where it is, the slots in it, and where something new fits into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neuralart.boards.types import Board, MemoryRegion
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.memory.layout.placements import Placement
from neuralart.memory.regions import Span, gaps, is_on


@dataclass(frozen=True)
class Area:
    """A flash whose sector size is known."""

    name: str  # of the part, or of the memory
    start: int  # first address
    end: int  # first address behind it
    sector: int  # bytes that are erased together
    ready: bool  # it answers before the application has set anything


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
    """Something that needs a place of its own."""

    owner: str  # who
    size: int  # bytes; a place has whole sectors


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


# Places that this package finds unless the variant names an address, and the one it only keeps free.
FOUND = ("descriptor", "staging")
_KNOWN = (*FOUND, "relocatable")
# Of variants whose firmware loads its model: board data unless the variant names an address.
LOADED = ("load_table", "relocatable", "relocatable_params")
# Advice for those who write pool files; the pool file decides.
ADVICE = "weights"


def place_of(variant: VariantConfig, key: str) -> str:
    """``file:line`` of a key of the variant, or what comes nearest to it."""
    place = variant.place(key)
    return str(place) if place.file else f"variant {variant.name}"


def slot_addresses(board: Board, variant: VariantConfig, found: Sequence[Area]) -> dict[str, tuple[int, str]]:
    """Address and ``file:line`` of each slot, the variant's own before the board's.

    NeuralArtError: the variant moves a slot that there is not, moves weights, or an address is not in flash or not at
    the start of a sector.
    """
    merged = {name: (address, board.place(f"slots.{name}")) for name, address in board.slots.items()}
    loaded = _loaded(board, variant)
    merged.update(loaded)
    known = tuple(name for name in dict.fromkeys((*merged, *_KNOWN)) if name != ADVICE)
    for name, address in variant.slots:
        where = place_of(variant, f"slots.{name}")
        if name == ADVICE:
            text = f"slots: weights cannot be moved to 0x{address:08x} here: the pool file decides where weights are"
            hint = "change the offset of the flash pool in the network's pool file"
            raise NeuralArtError(text, where=where, hint=hint)
        if name not in known:
            what = f"slots: no slot '{name}' on board {board.name}"
            raise NeuralArtError(what, where=where, hint=nearest(name, known))
        merged[name] = (address, where)
    merged.pop(ADVICE, None)
    for name, (address, where) in merged.items():
        _check(board, found, name, address, where)
    return merged


def _loaded(board: Board, variant: VariantConfig) -> dict[str, tuple[int, str]]:
    """Slots of the relocatable model."""
    if variant.relocatable is None or board.relocatable is None:
        return {}
    places = board.relocatable
    slot_addresses = dict(zip(LOADED, (places.table, places.model, places.params), strict=True))
    keys = dict(zip(LOADED, ("table", "model", "params"), strict=True))
    wanted = LOADED if variant.relocatable.split else LOADED[:2]
    return {name: (slot_addresses[name], board.place(f"relocatable.{keys[name]}")) for name in wanted}


def _check(board: Board, found: Sequence[Area], name: str, address: int, where: str) -> None:
    area = area_at(found, address)
    if area is None:
        raise NeuralArtError(
            f"slot {name} at 0x{address:08x} is not in a flash with known sectors",
            where=where,
            hint="; ".join(f"{a.name} [0x{a.start:08x}, 0x{a.end:08x})" for a in found)
            or f"board {board.name} has no 'flash:'",
        )
    if address % area.sector:
        below = address // area.sector * area.sector
        what = f"slot {name} at 0x{address:08x} is not at the start of an erase sector of {area.sector} bytes"
        raise NeuralArtError(what, where=where, hint=f"0x{below:08x} or 0x{below + area.sector:08x}")


def slot_placements(
    board: Board, merged: dict[str, tuple[int, str]], found: Sequence[Area], borders: Iterable[int], loaded: str = ""
) -> list[Placement]:
    """Slots with the room they have.

    The application has what the boot chain copies, or less if a pool begins before that; any other slot all that is
    free up to the next owner, because nobody says how large it is.

    Args:
        board: The board.
        merged: From :func:`addresses`; without those that this package finds.
        found: Flash of the board.
        borders: First addresses of everybody else: pools, reserved ranges, the descriptor and staging of the variant.
        loaded: Group of the network that is loaded from a slot: its constants are in there, or in that of the params.
    """
    holder = next((name for name in reversed(LOADED) if name in merged), "")
    starts = sorted({*borders, *(address for address, _ in merged.values())})
    made = []
    for name, (address, where) in merged.items():
        if name in FOUND:
            continue
        area = area_at(found, address)
        assert area is not None
        end = next((start for start in starts if start > address), area.end)
        end = min(end, area.end)
        # Whole sectors: the one that somebody else begins in is theirs.
        end = max(end // area.sector * area.sector, address + area.sector)
        if board.boot is not None and name == board.boot.slot:
            end = min(end, address + board.boot.copy_size)
        group = loaded if loaded and name == holder else f"slot {name}"
        made.append(Placement(f"slot {name}", "slot", address, end - address, where, group))
    return made
