"""Flash with erase sectors: its slots, and where something new fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.memory.layout.strategies import Placement
from neuralart.memory.regions import Span, fold, gaps, is_on, memory_end
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.quick import dataclass


@dataclass(frozen=True)
class Area:
    """A flash whose sector size is known."""

    name: str  # of the part, or of the memory
    start: int  # first address
    end: int  # first address behind it
    sector: int  # bytes that are erased together
    ready: bool  # it answers before the application has set anything

    def __str__(self) -> str:
        return f"{self.name} [0x{self.start:08x}, 0x{self.end:08x})"

    def sectors_at(self, address: int) -> str:
        """The start of an address's sector, and of the next one, to propose instead."""
        below = address // self.sector * self.sector
        return f"0x{below:08x} or 0x{below + self.sector:08x}"


def areas(board: Board) -> list[Area]:
    """List the flash of a board: what answers at the start first, and flash with slots before others."""
    found = []
    if board.flash:
        start, size, sector = (int(board.flash[key]) for key in ("base", "size", "sector"))
        region = board.region_at(start)
        ready = region is not None and is_on(board, region)
        found.append(Area(str(board.flash["part"]), start, start + size, sector, ready))
    for region in board.memory:
        known = any(region.base < area.end and area.start < region.end for area in found)
        if region.kind == "flash" and region.sector and not known:
            found.append(Area(region.name, region.base, region.end, region.sector, is_on(board, region)))
    return sorted(found, key=lambda area: not area.ready)


def area_at(found: Sequence[Area], address: int) -> Area | None:
    return next((area for area in found if area.start <= address < area.end), None)


def room_at(board: Board, start: int) -> int:
    """Bytes from an address to the end of the flash part there, or of the memory and what follows it without a gap."""
    area = area_at(areas(board), start)
    return (area.end if area else memory_end(board, start)) - start


# What stands for a pool of a network on a core whose constants are a file of their own.
CPU_WEIGHTS = "weights"


def written_weights(board: Board, config: NetworkConfig) -> int | None:
    """Address in the external flash of the file with the constants of a network on a core (``N_data.bin``).
    ``--binary`` and ``--address`` among its options say it. Returns None: there is no such file, or it goes elsewhere.
    NeuralArtError: the address is no number.
    """
    said: dict[str, str] = {}
    for word, behind in zip(config.options, (*config.options[1:], ""), strict=False):
        name, equals, value = word.partition("=")
        said[name] = value if equals else behind
    if not {"--binary", "--address"} <= said.keys() or not board.flash:
        return None
    try:
        address = int(said["--address"], 0)
    except ValueError:
        what = f"options: --address: '{said['--address']}' is no address"
        raise NeuralArtError(what, where=config.said("options"), hint="for example 0x90000000") from None
    return address if 0 <= address - int(board.flash["base"]) < int(board.flash["size"]) else None


def cut_off(board: Board, pools: PoolFile) -> Iterator[tuple[MemoryPool, int]]:
    """List pools that exceed the memory at their address, with that memory's size."""
    for pool in pools.enabled:
        if pool.mode == "USEMODE_ABSOLUTE" and board.region_at(pool.address) is not None:
            room = room_at(board, fold(board, pool.address))
            if pool.size > room:
                yield pool, room


def round_up(number: int, unit: int) -> int:
    """Round up to a multiple of ``unit``."""
    return -(-number // unit) * unit


def by_sectors(found: Sequence[Area], span: Span) -> Span:
    """Widen a range to whole sectors: what must be erased to write it."""
    area = area_at(found, span.start)
    if area is None or span.end <= span.start:
        return span
    start = span.start // area.sector * area.sector
    return Span(span.owner, span.group, start, round_up(span.end, area.sector), span.place)


def place(
    found: Sequence[Area], demands: Mapping[str, int], fixed: Sequence[Span], pools: Sequence[Span], anchor: int | None
) -> dict[str, Span] | None:
    """The place of each owner: first fit, one place after the other; None if one fits nowhere.

    ``found``: flash, preferred first; ``demands``: bytes by owner; a place has whole sectors; ``fixed``: what nothing
    may touch, in whole sectors. ``pools``: declared pools of networks. A place inside one is the last resort, and then
    as far from what the pool begins with as possible; never in its first sector. Gaps from ``anchor`` (the end of the
    application) on come before those below it; None: from below.
    """
    placed: dict[str, Span] = {}
    for owner, size in demands.items():
        span = _first(found, owner, size, [*fixed, *pools, *placed.values()], anchor)
        if span is not None:
            placed[owner] = span
    heads = [by_sectors(found, Span(pool.owner, pool.group, pool.start, pool.start + 1)) for pool in pools]
    for owner in [owner for owner in demands if owner not in placed]:
        span = _last(found, owner, demands[owner], [*fixed, *heads, *placed.values()])
        if span is None:
            return None
        placed[owner] = span
    return placed


def _free(area: Area, taken: Iterable[Span]) -> list[tuple[int, int]]:
    """Gaps in whole sectors."""
    found = gaps(area.start, area.end, taken)
    rounded = [(round_up(start, area.sector), end // area.sector * area.sector) for start, end in found]
    return [(start, end) for start, end in rounded if end > start]


def _first(found: Sequence[Area], owner: str, size: int, taken: Sequence[Span], anchor: int | None) -> Span | None:
    for area in found:
        whole, free = round_up(size, area.sector), _free(area, taken)
        if anchor is not None and area.start <= anchor < area.end:
            above = [(max(start, anchor), end) for start, end in free if end > anchor]
            free = above + [(start, min(end, anchor)) for start, end in free if start < anchor]
        for start, end in free:
            if start + whole <= end:
                return Span(owner, owner, start, start + whole)
    return None


def _last(found: Sequence[Area], owner: str, size: int, taken: Sequence[Span]) -> Span | None:
    for area in found:
        whole = round_up(size, area.sector)
        for start, end in reversed(_free(area, taken)):
            if start + whole <= end:
                return Span(owner, owner, end - whole, end)
    return None


# Places that this package finds unless the variant names an address, and the one it only keeps free.
FOUND = ("descriptor", "staging")
_KNOWN = (*FOUND, "relocatable")
# Of variants whose firmware loads its model: board data unless the variant names an address.
LOADED = {"load_table": "table", "relocatable": "model", "relocatable_params": "params"}
# Advice for those who write pool files; the pool file decides.
ADVICE = "weights"


def place_of(variant: VariantConfig, key: str) -> str:
    """Where a key of the variant was written, or the nearest place to that."""
    place = variant.place(key)
    return str(place) if place.file else f"variant {variant.name}"


def slot_addresses(board: Board, variant: VariantConfig, found: Sequence[Area]) -> dict[str, tuple[int, str]]:
    """Address and ``file:line`` of each slot, the variant's own before the board's. NeuralArtError: the variant moves a
    slot that there is not, moves weights, or an address is not in flash or not at the start of a sector.
    """
    merged = {name: (address, board.place(f"slots.{name}")) for name, address in board.slots.items()}
    merged |= _loaded(board, variant)
    known = tuple(name for name in dict.fromkeys((*merged, *_KNOWN)) if name != ADVICE)
    for name, address in variant.slots:
        where = place_of(variant, f"slots.{name}")
        if name == ADVICE:
            text = f"slots: weights cannot be moved to 0x{address:08x} here: the pool file decides where weights are"
            hint = "change the offset of the flash pool in the network's pool file"
            raise NeuralArtError(text, where=where, hint=hint)
        in_place = board.boot is not None and board.boot.in_place and name == board.boot.slot
        if in_place and address != merged[name][0]:
            what = f"slots: {name} cannot be moved: the image is executed there, and linked for 0x{merged[name][0]:08x}"
            raise NeuralArtError(what, where=where, hint="a board file of your own gives the slot another address")
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
    names = {name: key for name, key in LOADED.items() if key != "params" or variant.relocatable.split}
    given = board.relocatable
    return {name: (getattr(given, key), board.place(f"relocatable.{key}")) for name, key in names.items()}


def _check(board: Board, found: Sequence[Area], name: str, address: int, where: str) -> None:
    area = area_at(found, address)
    if area is None:
        what = f"slot {name} at 0x{address:08x} is not in a flash with known sectors"
        hint = "; ".join(map(str, found)) or f"board {board.name} has no 'flash:'"
        raise NeuralArtError(what, where=where, hint=hint)
    if address % area.sector:
        what = f"slot {name} at 0x{address:08x} is not at the start of an erase sector of {area.sector} bytes"
        raise NeuralArtError(what, where=where, hint=area.sectors_at(address))


def slot_placements(
    board: Board, merged: dict[str, tuple[int, str]], found: Sequence[Area], borders: Iterable[int], loaded: str = ""
) -> list[Placement]:
    """Slots with the room they have.

    The application has what the boot chain copies, or less if a pool begins before that; any other slot all that is
    free up to the next owner, because its size is unknown. ``merged``: from
    :func:`slot_addresses`; without those that this package finds; ``found``: flash of the board; ``borders``: first
    addresses of everybody else: pools, reserved ranges, the descriptor and staging of the variant; ``loaded``: group of
    the network that is loaded from a slot: its constants are in there, or in that of the params.
    """
    holder = next((name for name in reversed(LOADED) if name in merged), "")
    starts = sorted({*borders, *(address for address, _ in merged.values())})
    made = []
    for name, (address, where) in merged.items():
        if name in FOUND:
            continue
        area = area_at(found, address)
        assert area is not None
        end = min(next((start for start in starts if start > address), area.end), area.end)
        # Whole sectors: a sector belongs to the area that begins in it.
        end = max(end // area.sector * area.sector, address + area.sector)
        if board.boot is not None and name == board.boot.slot:
            end = min(end, address + board.boot.copy_size)
        group = loaded if loaded and name == holder else f"slot {name}"
        made.append(Placement(f"slot {name}", "slot", address, end - address, where, group))
    return made
