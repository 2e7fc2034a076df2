"""Places slots, pools, firmware and everything else in flash before anything is built. Users' pool files place the
networks; everything else is placed around them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout import identity
from neuralart.memory.layout.conflicts import claim, head, refuse_conflicts
from neuralart.memory.layout.flash_areas import (
    FOUND,
    Area,
    area_at,
    areas,
    by_sectors,
    place,
    place_of,
    room_at,
    round_up,
    slot_addresses,
    slot_placements,
)
from neuralart.memory.layout.relative_pools import load_places, placed_pools
from neuralart.memory.layout.strategies import (
    BOOT_COPY,
    DESCRIPTOR,
    FLASH,
    LINK,
    RELOCATABLE,
    Initializer,
    Layout,
    LayoutNetwork,
    Placement,
    check_names,
    chosen,
    pool_owner,
    staging_owner,
    without_linked,
)
from neuralart.memory.regions import Span, firmware_spans, fold_alias, memory_end, memory_list
from neuralart.network.pools import MemoryPool
from neuralart.network.targets import CPU, flow_of
from neuralart.quick import dataclass, replace
from neuralart.resources import stable_name


@dataclass(frozen=True)
class InitializerDraft:
    """A declared initializer that has no place in flash yet."""

    network: str  # name of the network
    pool: MemoryPool
    strategy: str  # how it gets there
    where: str  # file:line of the strategy, or of the network
    start: int  # first address of the pool, in the alias of the firmware's security state
    size: int  # bytes of the pool that there are

    @property
    def owner(self) -> str:
        """The owner of its staging place."""
        return staging_owner(self.network, self.pool.fname)

    @property
    def described(self) -> bool:
        """Whether the identity descriptor has an entry for it."""
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


__all__ = ["LayoutNetwork", "make_layout"]


def make_layout(
    board: Board, variant: VariantConfig, networks: Sequence[LayoutNetwork], *, with_firmware: bool = True
) -> Layout:
    """Give every owner a place.

    ``variant``: its slots, reserved ranges, and where its networks' strategies were written; ``networks``: all of the
    image, in order; ``with_firmware``: the image is laid out as the board says (not by the user's own linker script).

    Placements are in the order: slots, firmware, reserved, pools, descriptor, staging. NeuralArtError: a strategy
    cannot work, something is not in a memory or not at a sector, or two owners whose range is fixed, or one of them and
    the beginning of a pool, or two pools of one network are in one place.
    """
    found = areas(board)
    places = load_places(board, variant)
    networks = [network if network.loaded else without_linked(network) for network in networks]
    if places is not None:
        networks = [replace(network, pools=placed_pools(network.pools, places)) for network in networks]
    declared = [draft for network in networks for draft in drafts(board, variant, network, found)]
    pools = [pool for network in networks for pool in _pools(board, network)]
    reserved = _reserved(board, variant)
    merged = slot_addresses(board, variant, found)
    borders = [p.start for p in (*pools, *reserved)] + [merged[name][0] for name in FOUND if name in merged]
    loaded = f"network {networks[0].name}" if places is not None else ""
    fixed = slot_placements(board, merged, found, borders, loaded)
    application = next((p for p in fixed if board.boot is not None and p.owner == f"slot {board.boot.slot}"), None)
    fixed += [
        Placement(s.owner, "firmware", s.start, s.end - s.start, board.place(s.owner.split()[1]), s.group)
        for s in (firmware_spans(board) if with_firmware else ())
    ]
    fixed += reserved
    # The slot gives the address of constants that are in it.
    held = [p for p in pools if places is not None and p.start == places.constants]
    _check(board, [*fixed, *(p for p in pools if p not in held)])
    _check_aliases(board, fixed, pools)
    anchor = application.start + application.size if application is not None else None
    descriptor: Placement | None = None
    staging: dict[str, Placement] = {}
    # A network on the core without initializers is a part of the firmware: nothing of it is described or staged.
    if declared or flow_of(board.target) != CPU:
        descriptor, staging = in_flash(variant, found, declared, merged, [*fixed, *pools], anchor)
    made = [*fixed, *pools, *([descriptor] if descriptor else []), *staging.values()]
    _check(board, [p for p in made if p not in held])
    return Layout(
        board=board.name,
        placements=tuple(made),
        initializers=tuple(initializer(draft, staging) for draft in declared),
        descriptor=descriptor.start if descriptor else None,
        application=application.start if application is not None else None,
        loaded=places,
    )


def _check(board: Board, placements: Sequence[Placement]) -> None:
    """Pools count with their beginning only: how much of them is used is known when the network is compiled."""
    claims = {p: head(p) if p.kind == "pool" else claim(p) for p in placements}

    def allowed(one: Placement, other: Placement, sector_only: bool) -> bool:
        kinds = {one.kind, other.kind}
        # What the user keeps to themselves is their own affair, sector by sector.
        return kinds == {"pool"} or (kinds == {"reserved"} and sector_only)

    refuse_conflicts(board, claims, allowed)


def _check_aliases(board: Board, fixed: Sequence[Placement], pools: Sequence[Placement]) -> None:
    """The reader of a pool file knows no board: two of its pools may be the same memory in both security states."""
    for network in dict.fromkeys(p.group for p in pools):
        own = {p: replace(claim(p), group=p.owner) for p in pools if p.group == network}
        claims = {**{p: claim(p) for p in fixed}, **own}
        refuse_conflicts(
            board, claims, lambda one, other, sector_only: {one.kind, other.kind} != {"pool"} or sector_only
        )


def _pools(board: Board, network: LayoutNetwork) -> list[Placement]:
    """Pools with an address in a memory of the board, no larger than the memory. What else a pool file lists (a PSRAM
    that another board has) matters only if the network uses it.
    """
    made = []
    for pool in network.pools.enabled:
        if pool.mode != "USEMODE_ABSOLUTE" or board.region_at(pool.address) is None:
            continue
        start = fold_alias(board, pool.address)
        size = min(pool.size, room_at(board, start))
        where = stable_name(pool.where) if pool.where else network.where
        made.append(
            Placement(pool_owner(network.name, pool.fname), "pool", start, size, where, f"network {network.name}")
        )
    return made


def _reserved(board: Board, variant: VariantConfig) -> list[Placement]:
    made = []
    for each in variant.reserved:
        where = str(each.where) if each.where.file else place_of(variant, "reserved")
        owner = f"reserved {each.name}"
        region = board.region_at(each.address)
        start = each.address if region is None else fold_alias(board, each.address)
        end = memory_end(board, start) if region is not None else start
        if start + each.size > end:
            what = f"{owner} [0x{start:08x}, 0x{start + each.size:08x}): there is no memory at 0x{end:08x}"
            raise NeuralArtError(what, where=where, hint=memory_list(board))
        made.append(Placement(owner, "reserved", start, each.size, where, owner))
    return made
