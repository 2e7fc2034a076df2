"""The address plan: the layout with what is really in it, checked before anything is linked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.memory.layout import flash_areas, identity
from neuralart.memory.layout.conflicts import advice, claim, head, refuse_conflicts
from neuralart.memory.layout.flash_areas import area_at, areas
from neuralart.memory.layout.strategies import (
    LINK,
    RELOCATABLE,
    Initializer,
    Layout,
    Placement,
    pool_owner,
    staging_owner,
)
from neuralart.memory.regions import Span, firmware_spans, fold_alias, group_of, memory_end, touched_regions, used_pools
from neuralart.network.facts import Network, PoolUse
from neuralart.quick import dataclass, replace

# Keys of sizes.
APPLICATION = "application"
CODE = "code"
DATA = "data"


@dataclass(frozen=True)
class Use:
    """A placement, and how much of it is used."""

    placement: Placement  # who, where and how much at most
    used: int | None  # bytes from its start on; None if that is not known (yet)


@dataclass(frozen=True)
class AddressPlan:
    """The addresses of all owners."""

    board: Board
    layout: Layout  # what it was made from
    uses: tuple[Use, ...]  # in the order of the layout's placements
    raws: Mapping[tuple[str, str], int]  # bytes of the initializers, by (network, pool); empty before a build
    # Pools with constants that no declared initializer brings, each with the name of its network.
    undeclared: tuple[tuple[str, PoolUse], ...]
    written: tuple[tuple[str, PoolUse], ...]  # pools with activations, each with the name of its network
    actual: bool  # the networks are compiled: uses are what is used. False: declared sizes only

    @property
    def in_order(self) -> list[Use]:
        """Its uses, sorted by address."""
        return sorted(self.uses, key=lambda use: (use.placement.start, use.placement.owner))


def raw_key(network: str, pool: str) -> str:
    """The key of an initializer's bytes in ``sizes``."""
    return f"{network}/{pool}"


def check(plan: AddressPlan) -> None:
    """Check that everything fits, and that no two places overlap. NeuralArtError: names the owners, the ranges, who
    chose them, and what would fit.
    """
    for network, pool in plan.undeclared:
        raise _undeclared(plan, network, pool)
    for network, pool in plan.written:
        _check_writable(plan, network, pool)
    too_large = [use for use in plan.uses if use.used is not None and use.used > use.placement.size]
    for use in too_large:
        if use.placement.kind == "pool":
            raise _too_large(plan, use)
    for each in plan.layout.initializers:
        size = plan.raws.get((each.network, each.pool), 0)
        if size > each.capacity:
            raise _raw_too_large(plan, each, size)
    for use in too_large:
        raise _too_large(plan, use)

    def allowed(one: Placement, other: Placement, sector_only: bool) -> bool:
        kinds = {one.kind, other.kind}
        # What the user keeps to themselves is their own affair, sector by sector. Where pools meet that are only
        # declared, it is known after the compile whether both networks use what they share.
        return (kinds == {"reserved"} and sector_only) or (kinds == {"pool"} and not plan.actual)

    refuse_conflicts(plan.board, {use.placement: _claimed(plan, use) for use in plan.uses}, allowed)


def _check_writable(plan: AddressPlan, network: str, pool: PoolUse) -> None:
    region = plan.board.region_at(pool.address)
    if region is not None and region.kind in ("flash", "rom"):
        held = pool.used if pool.activations is None else pool.activations
        what = f"{pool_owner(network, pool.fname)} holds {held} bytes of activations"
        home = f"0x{pool.address:08x} is in {region.name}, which is {region.kind}: nothing can be written there"
        hint = "give it an address in RAM, or make it read-only: rights ACC_READ"
        raise NeuralArtError(f"{what}, but {home}", where=_chosen(plan, network, [pool.fname]), hint=hint)


def _undeclared(plan: AddressPlan, network: str, pool: PoolUse) -> NeuralArtError:
    what = f"network {network} has {pool.weights} bytes of constants in"
    if pool.virtual:
        what += f" {pool.fname}, the virtual pool made of {', '.join(pool.parts)}"
        hint = "they must be split over its parts: compile without virtual pools"
        return NeuralArtError(what, where=_chosen(plan, network, [*pool.parts, pool.fname]), hint=hint)
    names = [each.pool for each in plan.layout.initializers if each.network == network]
    what += f" pool {pool.fname}, which is not declared"
    hint = f"initializers: [{', '.join([*names, pool.fname])}] declares it"
    return NeuralArtError(what, where=_chosen(plan, network, [pool.fname]), hint=hint)


def _claimed(plan: AddressPlan, use: Use) -> Span:
    """The ranges that no other owner may use. What has a fixed size claims all of it. A pool and a staging place claim
    what is used; before a build a pool claims its first byte, because a declared size is only what it might grow to.
    """
    if plan.actual and use.placement.kind in ("pool", "staging"):
        return claim(use.placement, use.used or 0)
    return head(use.placement) if use.placement.kind == "pool" else claim(use.placement)


def _chosen(plan: AddressPlan, network: str, pools: list[str]) -> str:
    """Who chose the first of some pools that has a place."""
    owners = [pool_owner(network, pool) for pool in pools]
    chosen = {use.placement.owner: use.placement.chosen_by for use in plan.uses}
    return next((chosen[owner] for owner in owners if owner in chosen), owners[-1])


def _raw_too_large(plan: AddressPlan, each: Initializer, size: int) -> NeuralArtError:
    """Too large for its pool, or else for its place in flash."""
    uses = {use.placement.owner: use for use in plan.uses}
    pool, staging = uses[pool_owner(each.network, each.pool)], uses.get(staging_owner(each.network, each.pool))
    use = staging if staging is not None and size <= pool.placement.size else pool
    return _too_large(plan, replace(use, used=size))


def _too_large(plan: AddressPlan, use: Use) -> NeuralArtError:
    placement, used = use.placement, use.used or 0
    what = f"{claim(placement)} has {placement.size} bytes, {used} are used"
    follower = _follower(plan, placement)
    behind = f"; behind it is {follower.owner} of {follower.chosen_by}" if follower is not None else ""
    boot = plan.board.boot
    if boot is not None and placement.owner == f"slot {boot.slot}":
        if placement.size == boot.copy_size and not boot.in_place:
            behind = f"; the boot loader copies {boot.copy_size} bytes, the header of {boot.header} bytes among them"
        hint = "make the image smaller: optimization: -Os, fewer constants in it"
        if follower is not None and placement.size < boot.copy_size:
            hint += f", or move {follower.owner} to 0x{placement.start + boot.copy_size:08x}"
        return NeuralArtError(what + behind, where=placement.chosen_by, hint=hint)
    hint = advice(plan.board, {other.placement: _claimed(plan, other) for other in plan.uses}, placement, used)
    return NeuralArtError(what + behind, where=placement.chosen_by, hint=hint)


def _follower(plan: AddressPlan, placement: Placement) -> Placement | None:
    """Who begins where a placement ends, or in the erase sector there."""
    area = area_at(areas(plan.board), placement.end)
    end = placement.end + (area.sector if area is not None else 1)
    behind = [use.placement for use in plan.uses if placement.end <= use.placement.start < end]
    return min(behind, key=lambda p: p.start, default=None)


_LINE = re.compile(r"(?::[0-9]+)+$")

__all__ = ["APPLICATION", "CODE", "DATA", "AddressPlan", "Use", "check", "make_plan", "raw_key"]


def make_plan(layout: Layout, board: Board, networks: Sequence[Network], sizes: Mapping[str, int]) -> AddressPlan:
    """Put actual uses into a layout.

    ``networks``: facts of its networks; none: the plan shows declared sizes; ``sizes``: bytes where they are known:
    ``application`` (the flash image with its header), ``code`` and ``data`` of the firmware, ``NETWORK/POOL``
    (:func:`raw_key`) of an initializer if it is not what the facts say, and the files in the slots of a relocatable
    model (:data:`~neuralart.memory.layout.flash_areas.LOADED`). Returns the plan; virtual pools whose parts are listed
    do not appear in it. NeuralArtError: the facts are of other networks or other pools than the layout.
    """
    if not networks:
        uses = [Use(p, _known(board, p, sizes)) for p in layout.placements]
        return AddressPlan(board, layout, tuple(uses), {}, (), (), False)
    uses = []
    pools, extra = _pool_uses(layout, board, networks)
    groups = {pool_owner(each.name, pool.fname): group_of(each, pool) for each in networks for pool in used_pools(each)}
    declared = {(each.network, each.pool) for each in layout.initializers}
    filled = [(each, pool) for each in networks for pool in each.pools if (each.name, pool.fname) in declared]
    keys = (((each.name, pool.fname), pool.weights) for each, pool in filled)
    raws = {key: sizes.get(raw_key(*key), weights) for key, weights in keys}
    staged = {staging_owner(*key): size for key, size in raws.items()}
    described = [each for each in layout.initializers if each.strategy not in (LINK, RELOCATABLE)]
    entries = sum(1 for each in described if raws.get((each.network, each.pool)))
    for placement in layout.placements:
        if placement.kind == "pool":
            used: int | None = pools.get(placement.owner, 0)
        elif placement.kind == "staging":
            used = staged.get(placement.owner, 0)
        elif placement.kind == "descriptor":
            # Without anything to describe none is written.
            used = identity.size_of(entries) if entries else 0
        else:
            used = _known(board, placement, sizes)
        uses.append(Use(replace(placement, group=groups.get(placement.owner, placement.group)), used))
    wanted = ((network.name, pool) for network in networks for pool in network.initializers)
    undeclared = tuple((name, pool) for name, pool in wanted if (name, pool.fname) not in declared)
    written = tuple(
        (network.name, pool) for network in networks for pool in used_pools(network) if pool.activations != 0
    )
    return AddressPlan(board, layout, (*uses, *extra), raws, undeclared, written, True)


def _known(board: Board, placement: Placement, sizes: Mapping[str, int]) -> int | None:
    if placement.kind == "reserved":
        return placement.size
    keys = {"firmware code": CODE, "firmware data": DATA}
    keys |= {f"slot {name}": name for name in flash_areas.LOADED}
    if board.boot is not None:
        keys[f"slot {board.boot.slot}"] = APPLICATION
    return sizes.get(keys.get(placement.owner, placement.owner))


def _pool_uses(layout: Layout, board: Board, networks: Sequence[Network]) -> tuple[dict[str, int], list[Use]]:
    """Used bytes by owner, and the pools in use that the layout does not have."""
    placed = {p.owner: p for p in layout.placements if p.kind == "pool"}
    names = {p.group for p in placed.values()}
    used: dict[str, int] = {}
    extra = []
    for network in networks:
        group = f"network {network.name}"
        if group not in names:
            what = f"network {network.name} has no pools in the layout"
            hint = f"the layout is of {', '.join(sorted(names)) or 'no network'}"
            raise NeuralArtError(what, where=f"board {board.name}", hint=hint)
        for pool in used_pools(network):
            owner = pool_owner(network.name, pool.fname)
            start = _start(layout, board, pool, owner, placed)
            if owner not in placed:
                end = memory_end(board, start)
                extra.append(Use(Placement(owner, "pool", start, min(pool.size, end - start), group, group), pool.used))
            elif start != placed[owner].start:
                what = f"{owner} is at 0x{start:08x} in what was compiled and at 0x{placed[owner].start:08x} now"
                hint = "the network must be compiled with this file"
                raise NeuralArtError(what, where=placed[owner].chosen_by, hint=hint)
            used[owner] = pool.used
    return used, extra


def _start(layout: Layout, board: Board, pool: PoolUse, owner: str, placed: Mapping[str, Placement]) -> int:
    try:
        return fold_alias(board, pool.address)
    except NeuralArtError as error:
        if layout.loaded is not None:
            raise NeuralArtError(
                f"{owner} uses {pool.used} bytes of the memory at 0x{pool.address:08x}, which board {board.name} does "
                "not have: it cannot load this model",
                where=f"board {board.name}",
                hint="only a model whose pools are all relative runs on other boards (also_on)",
            ) from error
        group = owner.partition(" of ")[2]
        neighbor = next((p for p in placed.values() if p.group == group), None)
        file = _LINE.sub("", neighbor.chosen_by) if neighbor else group
        what = f"{owner} uses {pool.used} bytes, but {error.what}"
        raise NeuralArtError(what, where=file, hint="disable the pool with size 0") from error


def firmware_sizes(board: Board, used: Mapping[str, int]) -> dict[str, int]:
    """Sizes for :func:`neuralart.memory.plan.plan.make_plan`. ``used``: bytes that the image occupies in each memory,
    by its name. Returns bytes of code and data; one that uses nothing known is left out.
    """
    spans = {span.owner: span for span in firmware_spans(board)}
    sizes = {}
    for key in (CODE, DATA):
        span = spans.get(f"firmware {key}")
        found = [used[region.name] for region in touched_regions(board, [span] if span else []) if region.name in used]
        if found:
            sizes[key] = sum(found)
    return sizes
