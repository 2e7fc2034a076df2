"""Places the identity descriptor and the declared initializers: those that the firmware copies get room in flash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout import identity
from neuralart.memory.layout.conflicts import claim
from neuralart.memory.layout.flash_areas import Area, area_at, by_sectors, place, place_of, round_up
from neuralart.memory.layout.placements import DESCRIPTOR, Initializer, Placement, pool_owner, staging_owner
from neuralart.memory.layout.strategies import BOOT_COPY, FLASH, LINK, RELOCATABLE, LayoutNetwork, check_names, chosen
from neuralart.memory.regions import Span, fold_alias, memory_end
from neuralart.network.pools import MemoryPool


@dataclass(frozen=True)
class InitializerDraft:
    """A declared initializer on its way to an :class:`~neuralart.memory.layout.placements.Initializer`."""

    network: str  # name of the network
    pool: MemoryPool
    strategy: str  # how it gets there
    where: str  # file:line of the strategy, or of the network
    start: int  # first address of the pool, in the alias of the firmware's security state
    size: int  # bytes of the pool that there are

    @property
    def owner(self) -> str:
        """Owner of its staging place."""
        return staging_owner(self.network, self.pool.fname)

    @property
    def described(self) -> bool:
        """The identity descriptor has an entry for it."""
        return self.strategy not in (LINK, RELOCATABLE)


def drafts(
    board: Board, variant: VariantConfig, network: LayoutNetwork, found: Sequence[Area]
) -> list[InitializerDraft]:
    """The declared initializers of a network. ``variant``: where the strategies were written; ``found``: flash of the
    board. NeuralArtError: a name is not that of a pool, a strategy cannot work, or a flash pool begins within a sector.
    """
    config = next((n for n in variant.networks if n.name == network.name), None)
    places = {key: str(place) for key, place in config.places.items()} if config is not None else {}
    check_names(network, places)
    enabled = {pool.fname: pool for pool in network.pools.enabled}
    own = [name for name in network.declared if not enabled[name].epoch_controller]
    said = {name: places.get(f"strategies.{name}", network.where) for name in own}
    return [_draft(board, network, enabled[name], said[name], found) for name in own]


def _draft(
    board: Board, network: LayoutNetwork, pool: MemoryPool, where: str, found: Sequence[Area]
) -> InitializerDraft:
    strategy = chosen(board, network, pool, where)
    start = fold_alias(board, pool.address)
    end = memory_end(board, start)
    if found and strategy not in (LINK, RELOCATABLE):
        identity.check_name(pool.fname, pool.where)
    if strategy == FLASH and found:
        end = min(end, _flash_of(board, network.name, pool, start, found).end)
    return InitializerDraft(network.name, pool, strategy, where, start, min(pool.size, end - start))


def _flash_of(board: Board, network: str, pool: MemoryPool, start: int, found: Sequence[Area]) -> Area:
    """The flash that a pool is in. Its first sector is erased with it: it must begin there."""
    what = f"{pool_owner(network, pool.fname)} at 0x{start:08x}"
    area = area_at(found, start)
    if area is None:
        region = board.region_at(start)
        here = "" if region is None else region.name
        part = next((a for a in found if region is not None and a.start < region.end and region.base < a.end), None)
        known = "; ".join(map(str, found))
        if part is None:
            text = f"{what} is in {here}, a flash whose erase sectors are not known"
            hint = f"'sector:' of {here} in the board's file says how large they are; known: {known}"
            raise NeuralArtError(text, where=pool.where, hint=hint)
        raise NeuralArtError(f"{what} is behind the flash that is there", where=pool.where, hint=known)
    if start % area.sector:
        text = f"{what} is not at the start of an erase sector of {area.sector} bytes"
        raise NeuralArtError(text, where=pool.where, hint=area.sectors_at(start))
    return area


def initializer(draft: InitializerDraft, staging: Mapping[str, Placement]) -> Initializer:
    """A draft with its place in flash. ``staging``: staging places by owner."""
    load, capacity = 0, draft.size
    if draft.strategy == FLASH:
        load = draft.start
    elif draft.strategy == BOOT_COPY:
        load = staging[draft.owner].start
        capacity = min(capacity, staging[draft.owner].size)
    pool, places = draft.pool, (draft.start, load, capacity)
    return Initializer(draft.network, pool.fname, draft.strategy, *places, cacheable=pool.cacheable)


def in_flash(
    variant: VariantConfig,
    found: Sequence[Area],
    drafts: Sequence[InitializerDraft],
    merged: Mapping[str, tuple[int, str]],
    others: Sequence[Placement],
    anchor: int | None,
) -> tuple[Placement | None, dict[str, Placement]]:
    """The descriptor, and a staging place for each initializer that is copied at the start.

    ``variant``: for messages; ``found``: flash of the board; ``drafts``: all declared initializers; ``merged``: address
    and ``file:line`` of slots, ``descriptor`` and ``staging`` among them if the variant says; ``others``: everybody who
    has a place already; ``anchor``: the end of the application's slot: places from there on come first. The descriptor
    is None without a flash, or without anything to describe in a full one; staging places are by owner. NeuralArtError:
    there is no room.
    """
    copied = [draft for draft in drafts if draft.strategy == BOOT_COPY]
    if not found:
        if copied:
            what = f"{copied[0].owner}: the board has no flash with known sectors that could keep its initializer"
            hint = "strategy link or external-loader, or 'flash:' in the board's file"
            raise NeuralArtError(what, where=copied[0].where, hint=hint)
        return None, {}
    size = identity.size_of(sum(draft.described for draft in drafts))
    pools = [by_sectors(found, claim(p)) for p in others if p.kind == "pool"]
    fixed = [by_sectors(found, claim(p)) for p in others if p.kind != "pool"]
    placed = _asked(found, merged, "descriptor", [(DESCRIPTOR, size)])
    placed |= _asked(found, merged, "staging", [(draft.owner, draft.size) for draft in copied])
    fixed += map(claim, placed.values())
    demands = {} if DESCRIPTOR in placed else {DESCRIPTOR: size}
    waiting = [draft for draft in copied if draft.owner not in placed]
    spans = _fit(found, demands, waiting, fixed, pools, anchor)
    if spans is None:
        if not any(draft.described for draft in drafts):
            return None, {}
        owners = " and ".join([*demands, *(draft.owner for draft in waiting)])
        held = ", ".join(str(span) for span in sorted(fixed, key=lambda s: s.start) if area_at(found, span.start))
        what = f"no free erase sector for {owners} in {', '.join(area.name for area in found)}"
        where = waiting[0].where if waiting else place_of(variant, "slots")
        raise NeuralArtError(what, where=where, hint=f"the flash is taken by {held or 'pools'}")
    for owner in demands:
        placed[owner] = _placement(owner, "descriptor", spans[owner], f"{place_of(variant, 'slots')} (first fit)")
    for draft in waiting:
        placed[draft.owner] = _placement(draft.owner, "staging", spans[draft.owner], f"{draft.where} (first fit)")
    return placed.pop(DESCRIPTOR), placed


def _placement(owner: str, kind: str, span: Span, where: str) -> Placement:
    return Placement(owner, kind, span.start, span.end - span.start, where, owner)


def _asked(
    found: Sequence[Area], merged: Mapping[str, tuple[int, str]], kind: str, wanted: Sequence[tuple[str, int]]
) -> dict[str, Placement]:
    """Whole sectors, one behind the other from the address that the variant asks for; empty if it asks for none."""
    if kind not in merged:
        return {}
    at, where = merged[kind]
    area = area_at(found, at)
    assert area is not None, "slot_addresses saw to that"
    made = {}
    for owner, size in wanted:
        span = Span(owner, owner, at, at + round_up(size, area.sector))
        if span.end > area.end:
            what = f"{span} runs over the end of {area.name} at 0x{area.end:08x}"
            hint = f"let slots: {kind}: begin further down, or leave it out: a place is found then"
            raise NeuralArtError(what, where=where, hint=hint)
        made[owner] = _placement(owner, kind, span, where)
        at = span.end
    return made


def _fit(
    found: Sequence[Area],
    demands: Mapping[str, int],
    copied: Sequence[InitializerDraft],
    fixed: Sequence[Span],
    pools: Sequence[Span],
    anchor: int | None,
) -> dict[str, Span] | None:
    """As large as the pools if that is possible, else all of them smaller by the same factor."""
    largest = max((draft.size for draft in copied), default=1)
    for shift in range(max(1, largest.bit_length())):
        wanted = {**demands, **{draft.owner: max(1, draft.size >> shift) for draft in copied}}
        spans = place(found, wanted, fixed, pools, anchor)
        if spans is not None:
            return spans
    return None
