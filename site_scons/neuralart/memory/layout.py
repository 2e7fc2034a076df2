"""What is known before anything is built: slots, pools, firmware, and a place for whatever else must be in flash.

The pool files of the user decide where networks are; everything else moves round them.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory import identity, slots
from neuralart.memory.conflicts import claim, head, refuse_conflicts
from neuralart.memory.flashareas import Area, Demand, area_at, areas, by_sectors, place, round_up
from neuralart.memory.placements import Initializer, Layout, Placement
from neuralart.memory.regions import Span, firmware_spans, fold_alias, memory_end
from neuralart.memory.strategies import (
    BOOT_COPY,
    EPOCH_CONTROLLER_POOL,
    FLASH,
    LINK,
    LayoutNetwork,
    check_names,
    chosen,
)
from neuralart.network.pools import MemoryPool
from neuralart.resources import stable_name

__all__ = ["DESCRIPTOR", "LayoutNetwork", "make_layout", "pool_owner", "staging_owner"]

DESCRIPTOR = "identity descriptor"


def pool_owner(network: str, pool: str) -> str:
    """Owner of a pool's placement."""
    return f"pool {pool} of network {network}"


def staging_owner(network: str, pool: str) -> str:
    """Owner of the placement where a pool's initialiser is kept in flash."""
    return f"staging of pool {pool} of network {network}"


def make_layout(
    board: Board, variant: VariantConfig, networks: Sequence[LayoutNetwork], *, with_firmware: bool = True
) -> Layout:
    """Give everybody a place.

    Args:
        board: The board.
        variant: Its slots, reserved ranges, and where its networks' strategies were written.
        networks: All networks of the image, in order.
        with_firmware: The image is laid out as the board says (not by the user's own linker script).

    Returns:
        Placements in the order: slots, firmware, reserved, pools, descriptor, staging.

    Raises:
        NeuralArtError: A strategy cannot work, something is not in a memory or not at a sector, or two owners whose
            range is fixed, or one of them and the beginning of a pool, are in one place.
    """
    found = areas(board)
    drafts = [draft for network in networks for draft in _drafts(board, variant, network, found)]
    pools = [pool for network in networks for pool in _pools(board, network, found)]
    reserved = _reserved(board, variant)
    merged = slots.addresses(board, variant, found)
    borders = [p.start for p in (*pools, *reserved)] + [merged[name][0] for name in slots.FOUND if name in merged]
    fixed = slots.placements(board, merged, found, borders)
    application = next((p for p in fixed if board.boot is not None and p.owner == f"slot {board.boot.slot}"), None)
    fixed += _firmware(board) if with_firmware else []
    fixed += reserved
    _check(board, [*fixed, *pools])
    anchor = application.start + application.size if application is not None else None
    descriptor, staging = _in_flash(variant, found, drafts, merged, [*fixed, *pools], anchor)
    made = [*fixed, *pools, *([descriptor] if descriptor else []), *staging.values()]
    _check(board, made)
    return Layout(
        board=board.name,
        placements=tuple(made),
        initializers=tuple(_initializer(draft, staging) for draft in drafts),
        descriptor=descriptor.start if descriptor else None,
        application=application.start if application is not None else None,
    )


def _check(board: Board, placements: Sequence[Placement]) -> None:
    """Pools count with their beginning only: how much of them is used is known when the network is compiled."""
    claims = {p: head(p) if p.kind == "pool" else claim(p) for p in placements}

    def allowed(one: Placement, other: Placement, sector_only: bool) -> bool:
        kinds = {one.kind, other.kind}
        # What the user keeps to themselves is their own affair, sector by sector.
        return kinds == {"pool"} or (kinds == {"reserved"} and sector_only)

    refuse_conflicts(board, claims, allowed)


# ---- pools and their initialisers


class _Draft:
    """A declared initialiser on its way to an :class:`Initializer`."""

    def __init__(self, board: Board, network: LayoutNetwork, pool: MemoryPool, strategy: str, where: str) -> None:
        self.network = network.name
        self.pool = pool
        self.strategy = strategy
        self.where = where
        self.start = fold_alias(board, pool.address)
        self.size = min(pool.size, memory_end(board, self.start) - self.start)
        self.owner = staging_owner(network.name, pool.fname)


def _drafts(board: Board, variant: VariantConfig, network: LayoutNetwork, found: Sequence[Area]) -> list[_Draft]:
    config = next((n for n in variant.networks if n.name == network.name), None)
    places = {key: str(place) for key, place in config.places.items()} if config is not None else {}
    check_names(network, places)
    enabled = {pool.fname: pool for pool in network.pools.enabled}
    made = []
    for name in network.declared:
        pool = enabled[name]
        if name == EPOCH_CONTROLLER_POOL and pool.mode != "USEMODE_ABSOLUTE":
            continue
        where = places.get(f"strategies.{name}", network.where)
        strategy, _ = chosen(board, network, pool, where)
        draft = _Draft(board, network, pool, strategy, where)
        if found and strategy != LINK:
            identity.check_name(name, pool.where)
        if strategy == FLASH:
            _check_flash_pool(draft, found)
        made.append(draft)
    return made


def _check_flash_pool(draft: _Draft, found: Sequence[Area]) -> None:
    """Its first sector is erased with it: it must begin there."""
    what = f"pool {draft.pool.fname} of network {draft.network} at 0x{draft.start:08x}"
    area = area_at(found, draft.start)
    if area is None:
        if not found:
            return
        raise NeuralArtError(
            f"{what} is behind the flash that is there",
            where=draft.pool.where,
            hint="; ".join(f"{a.name} [0x{a.start:08x}, 0x{a.end:08x})" for a in found),
        )
    if draft.start % area.sector:
        below = draft.start // area.sector * area.sector
        raise NeuralArtError(
            f"{what} is not at the start of an erase sector of {area.sector} bytes",
            where=draft.pool.where,
            hint=f"0x{below:08x} or 0x{below + area.sector:08x}",
        )
    draft.size = min(draft.size, area.end - draft.start)


def _pools(board: Board, network: LayoutNetwork, found: Sequence[Area]) -> list[Placement]:
    """Pools with an address in a memory of the board, no larger than the memory.

    What else a pool file lists (a PSRAM that another board has) matters only if the network uses it.
    """
    made = []
    for pool in network.pools.enabled:
        if pool.mode != "USEMODE_ABSOLUTE" or board.region_at(pool.address) is None:
            continue
        start = fold_alias(board, pool.address)
        area = area_at(found, start)
        size = min(pool.size, (area.end if area else memory_end(board, start)) - start)
        where = stable_name(pool.where) if pool.where else network.where
        made.append(
            Placement(pool_owner(network.name, pool.fname), "pool", start, size, where, f"network {network.name}")
        )
    return made


def _initializer(draft: _Draft, staging: dict[str, Placement]) -> Initializer:
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


# ---- firmware and what the user keeps


def _firmware(board: Board) -> list[Placement]:
    made = []
    for span in firmware_spans(board):
        where = board.place(span.owner.removeprefix("firmware "))
        made.append(Placement(span.owner, "firmware", span.start, span.end - span.start, where, span.group))
    return made


def _reserved(board: Board, variant: VariantConfig) -> list[Placement]:
    made = []
    for each in variant.reserved:
        where = str(each.where) if each.where.file else slots.place_of(variant, "reserved")
        owner = f"reserved {each.name}"
        region = board.region_at(each.address)
        start = each.address if region is None else fold_alias(board, each.address)
        end = memory_end(board, start) if region is not None else start
        if start + each.size > end:
            raise NeuralArtError(
                f"{owner} [0x{start:08x}, 0x{start + each.size:08x}): there is no memory at 0x{end:08x}",
                where=where,
                hint="memories: " + ", ".join(f"{r.name} 0x{r.base:08x}-0x{r.end:08x}" for r in board.memory),
            )
        made.append(Placement(owner, "reserved", start, each.size, where, owner))
    return made


# ---- what else must be in flash


def _in_flash(
    variant: VariantConfig,
    found: Sequence[Area],
    drafts: Sequence[_Draft],
    merged: dict[str, tuple[int, str]],
    others: Sequence[Placement],
    anchor: int | None,
) -> tuple[Placement | None, dict[str, Placement]]:
    """The descriptor and a staging place for each initialiser that is copied at the start."""
    copied = [draft for draft in drafts if draft.strategy == BOOT_COPY]
    if not found:
        if copied:
            raise NeuralArtError(
                f"{copied[0].owner}: the board has no flash with known sectors that could keep its initialiser",
                where=copied[0].where,
                hint="strategy link or external-loader, or 'flash:' in the board's file",
            )
        return None, {}
    pools = [by_sectors(found, claim(p)) for p in others if p.kind == "pool"]
    fixed = [by_sectors(found, claim(p)) for p in others if p.kind != "pool"]
    descriptor, staging = _asked(found, copied, merged)
    fixed += [claim(p) for p in (descriptor, *staging.values()) if p is not None]
    demands = [] if descriptor else [Demand(DESCRIPTOR, 1)]
    waiting = [] if staging else copied
    spans = _fit(found, demands, waiting, fixed, pools, anchor)
    if spans is None:
        if not copied and not any(draft.strategy != LINK for draft in drafts):
            return None, {}
        raise _no_room(variant, found, demands, waiting, fixed)
    if descriptor is None:
        where = f"{slots.place_of(variant, 'slots')} (first fit)"
        descriptor = _placement(DESCRIPTOR, "descriptor", spans[DESCRIPTOR], where)
    for draft in waiting:
        staging[draft.owner] = _placement(draft.owner, "staging", spans[draft.owner], f"{draft.where} (first fit)")
    return descriptor, staging


def _placement(owner: str, kind: str, span: Span, where: str) -> Placement:
    return Placement(owner, kind, span.start, span.end - span.start, where, owner)


def _asked(
    found: Sequence[Area], copied: Sequence[_Draft], merged: dict[str, tuple[int, str]]
) -> tuple[Placement | None, dict[str, Placement]]:
    """Where the variant puts descriptor and staging, if it does."""
    descriptor = None
    if "descriptor" in merged:
        address, where = merged["descriptor"]
        area = area_at(found, address)
        assert area is not None
        descriptor = Placement(DESCRIPTOR, "descriptor", address, area.sector, where, DESCRIPTOR)
    staging: dict[str, Placement] = {}
    if "staging" in merged:
        at, where = merged["staging"]
        area = area_at(found, at)
        assert area is not None
        for draft in copied:
            size = round_up(draft.size, area.sector)
            if at + size > area.end:
                raise NeuralArtError(
                    f"{draft.owner} [0x{at:08x}, 0x{at + size:08x}) runs over the end of {area.name} "
                    f"at 0x{area.end:08x}",
                    where=where,
                    hint="let slots: staging: begin further down, or leave it out: a place is found then",
                )
            staging[draft.owner] = Placement(draft.owner, "staging", at, size, where, draft.owner)
            at += size
    return descriptor, staging


def _fit(
    found: Sequence[Area],
    demands: Sequence[Demand],
    copied: Sequence[_Draft],
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
    copied: Sequence[_Draft],
    fixed: Sequence[Span],
) -> NeuralArtError:
    owners = [demand.owner for demand in demands] + [draft.owner for draft in copied]
    held = ", ".join(str(span) for span in sorted(fixed, key=lambda s: s.start) if area_at(found, span.start))
    return NeuralArtError(
        f"no free erase sector for {' and '.join(owners)} in {', '.join(area.name for area in found)}",
        where=copied[0].where if copied else slots.place_of(variant, "slots"),
        hint=f"the flash is taken by {held or 'pools'}",
    )
