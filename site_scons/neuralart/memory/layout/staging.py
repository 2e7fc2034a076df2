"""Places the identity descriptor and the constants that the firmware copies into RAM at its start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout import flash_areas, identity
from neuralart.memory.layout.conflicts import claim
from neuralart.memory.layout.flash_areas import Area, Demand, area_at, by_sectors, place, round_up
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
    """The declared initializers of a network.

    ``variant``: where the strategies were written; ``found``: flash of the board. NeuralArtError: a name is not that of
    a pool, a strategy cannot work, or a flash pool begins within a sector.
    """
    config = next((n for n in variant.networks if n.name == network.name), None)
    places = {key: str(place) for key, place in config.places.items()} if config is not None else {}
    check_names(network, places)
    enabled = {pool.fname: pool for pool in network.pools.enabled}
    made = []
    for name in network.declared:
        pool = enabled[name]
        if pool.epoch_controller:
            continue
        made.append(_draft(board, network, pool, places.get(f"strategies.{name}", network.where), found))
    return made


def _draft(
    board: Board, network: LayoutNetwork, pool: MemoryPool, where: str, found: Sequence[Area]
) -> InitializerDraft:
    strategy, _ = chosen(board, network, pool, where)
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
        known = "; ".join(f"{a.name} [0x{a.start:08x}, 0x{a.end:08x})" for a in found)
        if part is None:
            text = f"{what} is in {here}, a flash whose erase sectors are not known"
            hint = f"'sector:' of {here} in the board's file says how large they are; known: {known}"
            raise NeuralArtError(text, where=pool.where, hint=hint)
        raise NeuralArtError(f"{what} is behind the flash that is there", where=pool.where, hint=known)
    if start % area.sector:
        below = start // area.sector * area.sector
        text = f"{what} is not at the start of an erase sector of {area.sector} bytes"
        raise NeuralArtError(text, where=pool.where, hint=f"0x{below:08x} or 0x{below + area.sector:08x}")
    return area


def initializer(draft: InitializerDraft, staging: Mapping[str, Placement]) -> Initializer:
    """A draft with its place in flash. ``staging``: staging places by owner."""
    load, capacity = 0, draft.size
    if draft.strategy == FLASH:
        load = draft.start
    elif draft.strategy == BOOT_COPY:
        load = staging[draft.owner].start
        capacity = min(capacity, staging[draft.owner].size)
    return Initializer(
        network=draft.network,
        pool=draft.pool.fname,
        strategy=draft.strategy,
        run_address=draft.start,
        load_address=load,
        capacity=capacity,
        cacheable=draft.pool.cacheable,
    )


def in_flash(
    variant: VariantConfig,
    found: Sequence[Area],
    drafts: Sequence[InitializerDraft],
    merged: Mapping[str, tuple[int, str]],
    others: Sequence[Placement],
    anchor: int | None,
) -> tuple[Placement | None, dict[str, Placement]]:
    """The descriptor, and a staging place for each initializer that is copied at the start.

    Args:
        variant: For messages.
        found: Flash of the board.
        drafts: All declared initializers.
        merged: Address and ``file:line`` of slots, ``descriptor`` and ``staging`` among them if the variant says.
        others: Everybody who has a place already.
        anchor: The end of the application's slot: places from there on come first.

    Returns:
        None without a flash or without anything to describe in a full one; staging places by owner.

    Raises:
        NeuralArtError: There is no room.
    """
    copied = [draft for draft in drafts if draft.strategy == BOOT_COPY]
    if not found:
        if copied:
            what = f"{copied[0].owner}: the board has no flash with known sectors that could keep its initializer"
            hint = "strategy link or external-loader, or 'flash:' in the board's file"
            raise NeuralArtError(what, where=copied[0].where, hint=hint)
        return None, {}
    described = sum(1 for draft in drafts if draft.described)
    pools = [by_sectors(found, claim(p)) for p in others if p.kind == "pool"]
    fixed = [by_sectors(found, claim(p)) for p in others if p.kind != "pool"]
    descriptor = _asked_descriptor(found, identity.size_of(described), merged)
    staging = _asked_staging(found, copied, merged)
    fixed += [claim(p) for p in (descriptor, *staging.values()) if p is not None]
    demands = [] if descriptor else [Demand(DESCRIPTOR, identity.size_of(described))]
    waiting = [] if staging else copied
    spans = _fit(found, demands, waiting, fixed, pools, anchor)
    if spans is None:
        if not described:
            return None, {}
        raise _no_room(variant, found, demands, waiting, fixed)
    if descriptor is None:
        where = f"{flash_areas.place_of(variant, 'slots')} (first fit)"
        descriptor = _placement(DESCRIPTOR, "descriptor", spans[DESCRIPTOR], where)
    for draft in waiting:
        staging[draft.owner] = _placement(draft.owner, "staging", spans[draft.owner], f"{draft.where} (first fit)")
    return descriptor, staging


def _placement(owner: str, kind: str, span: Span, where: str) -> Placement:
    return Placement(owner, kind, span.start, span.end - span.start, where, owner)


def _asked_descriptor(found: Sequence[Area], size: int, merged: Mapping[str, tuple[int, str]]) -> Placement | None:
    if "descriptor" not in merged:
        return None
    at, where = merged["descriptor"]
    return _asked(_area(found, at), DESCRIPTOR, "descriptor", at, size, where)


def _asked_staging(
    found: Sequence[Area], copied: Sequence[InitializerDraft], merged: Mapping[str, tuple[int, str]]
) -> dict[str, Placement]:
    """One behind the other from the address that the variant says."""
    if "staging" not in merged:
        return {}
    at, where = merged["staging"]
    area = _area(found, at)
    made: dict[str, Placement] = {}
    for draft in copied:
        made[draft.owner] = _asked(area, draft.owner, "staging", at, draft.size, where)
        at = made[draft.owner].end
    return made


def _area(found: Sequence[Area], address: int) -> Area:
    area = area_at(found, address)
    assert area is not None, "slots.addresses saw to that"
    return area


def _asked(area: Area, owner: str, kind: str, at: int, size: int, where: str) -> Placement:
    """Whole sectors at an address that the variant asks for."""
    span = Span(owner, owner, at, at + round_up(size, area.sector))
    if span.end > area.end:
        hint = f"let slots: {kind}: begin further down, or leave it out: a place is found then"
        raise NeuralArtError(f"{span} runs over the end of {area.name} at 0x{area.end:08x}", where=where, hint=hint)
    return _placement(owner, kind, span, where)


def _fit(
    found: Sequence[Area],
    demands: Sequence[Demand],
    copied: Sequence[InitializerDraft],
    fixed: Sequence[Span],
    pools: Sequence[Span],
    anchor: int | None,
) -> dict[str, Span] | None:
    """As large as the pools if that is possible, else all of them smaller by the same factor."""
    largest = max((draft.size for draft in copied), default=1)
    shift = 0
    while True:
        wanted = [*demands, *(Demand(draft.owner, max(1, draft.size >> shift)) for draft in copied)]
        spans = place(found, wanted, fixed, pools, anchor)
        if spans is not None or largest >> shift <= 1:
            return spans
        shift += 1


def _no_room(
    variant: VariantConfig,
    found: Sequence[Area],
    demands: Sequence[Demand],
    copied: Sequence[InitializerDraft],
    fixed: Sequence[Span],
) -> NeuralArtError:
    owners = [demand.owner for demand in demands] + [draft.owner for draft in copied]
    held = ", ".join(str(span) for span in sorted(fixed, key=lambda s: s.start) if area_at(found, span.start))
    what = f"no free erase sector for {' and '.join(owners)} in {', '.join(area.name for area in found)}"
    place = copied[0].where if copied else flash_areas.place_of(variant, "slots")
    return NeuralArtError(what, where=place, hint=f"the flash is taken by {held or 'pools'}")
