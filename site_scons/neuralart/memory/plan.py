"""The address plan: the layout with what is really in it, checked before anything is linked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.memory import identity
from neuralart.memory.conflicts import claim, head, refuse_conflicts, room
from neuralart.memory.flashareas import area_at, areas, round_up
from neuralart.memory.layout import pool_owner, staging_owner
from neuralart.memory.placements import Initializer, Layout, Placement
from neuralart.memory.regions import Span, fold_alias, memory_end, used_pools
from neuralart.memory.strategies import BOOT_COPY, LINK
from neuralart.network.facts import Network, PoolUse

_LINE = re.compile(r"(?::[0-9]+)+$")

# Keys of sizes.
APPLICATION = "application"
CODE = "code"
DATA = "data"


@dataclass(frozen=True)
class Use:
    """A placement and how much of it is used.

    Attributes:
        placement: Who, where and how much at most.
        used: Bytes from its start on; None if that is not known (yet).
    """

    placement: Placement
    used: int | None


@dataclass(frozen=True)
class AddressPlan:
    """Everybody's addresses.

    Attributes:
        board: The board.
        layout: What it was made from.
        uses: In the order of the layout's placements.
        raws: Bytes of the initialisers, by (network, pool); empty before a build.
        undeclared: Pools with constants that no declared initialiser brings, each with the name of its network.
        actual: The networks are compiled: uses are what is used. False: declared sizes only.
    """

    board: Board
    layout: Layout
    uses: tuple[Use, ...]
    raws: Mapping[tuple[str, str], int]
    undeclared: tuple[tuple[str, PoolUse], ...]
    actual: bool


def raw_key(network: str, pool: str) -> str:
    """Key in ``sizes`` of the bytes of an initialiser."""
    return f"{network}/{pool}"


def make_plan(layout: Layout, board: Board, networks: Sequence[Network], sizes: Mapping[str, int]) -> AddressPlan:
    """Put actual uses into a layout.

    Args:
        layout: The layout.
        board: Its board.
        networks: Facts of its networks; none: the plan shows declared sizes.
        sizes: Bytes where they are known: ``application`` (the flash image with its header), ``code`` and ``data`` of
            the firmware, ``NETWORK/POOL`` (:func:`raw_key`) of an initialiser if it is not what the facts say.

    Returns:
        The plan; virtual pools whose parts are listed do not appear in it.

    Raises:
        NeuralArtError: The facts are of other networks or other pools than the layout.
    """
    if not networks:
        uses = [Use(p, _known(board, p, sizes)) for p in layout.placements]
        return AddressPlan(board, layout, tuple(uses), {}, (), False)
    uses = []
    pools, extra = _pool_uses(layout, board, networks)
    declared = {(each.network, each.pool) for each in layout.initializers}
    raws = {
        (network.name, pool.fname): sizes.get(raw_key(network.name, pool.fname), pool.weights)
        for network in networks
        for pool in network.pools
        if (network.name, pool.fname) in declared
    }
    staged = {staging_owner(*key): size for key, size in raws.items()}
    entries = sum(1 for each in layout.initializers if each.strategy != LINK and raws.get((each.network, each.pool)))
    for placement in layout.placements:
        if placement.kind == "pool":
            used: int | None = pools.get(placement.owner, 0)
        elif placement.kind == "staging":
            used = staged.get(placement.owner, 0)
        elif placement.kind == "descriptor":
            used = identity.size_of(entries)
        else:
            used = _known(board, placement, sizes)
        uses.append(Use(placement, used))
    undeclared = tuple(
        (network.name, pool)
        for network in networks
        for pool in network.initializers
        if (network.name, pool.fname) not in declared
    )
    return AddressPlan(board, layout, (*uses, *extra), raws, undeclared, True)


def _known(board: Board, placement: Placement, sizes: Mapping[str, int]) -> int | None:
    if placement.kind == "reserved":
        return placement.size
    keys = {"firmware code": CODE, "firmware data": DATA}
    if board.boot is not None:
        keys[f"slot {board.boot.slot}"] = APPLICATION
    return sizes.get(keys.get(placement.owner, ""))


def _pool_uses(layout: Layout, board: Board, networks: Sequence[Network]) -> tuple[dict[str, int], list[Use]]:
    """Used bytes by owner, and the pools in use that the layout does not have."""
    placed = {p.owner: p for p in layout.placements if p.kind == "pool"}
    names = {p.group for p in placed.values()}
    used: dict[str, int] = {}
    extra = []
    for network in networks:
        group = f"network {network.name}"
        if group not in names:
            raise NeuralArtError(
                f"network {network.name} has no pools in the layout",
                where=f"board {board.name}",
                hint=f"the layout is of {', '.join(sorted(names)) or 'no network'}",
            )
        for pool in used_pools(network):
            owner = pool_owner(network.name, pool.fname)
            start = _start(board, pool, owner, group, placed)
            if owner not in placed:
                end = memory_end(board, start)
                extra.append(Use(Placement(owner, "pool", start, min(pool.size, end - start), group, group), pool.used))
            elif start != placed[owner].start:
                raise NeuralArtError(
                    f"{owner} is at 0x{start:08x} in what was compiled and at 0x{placed[owner].start:08x} now",
                    where=placed[owner].chosen_by,
                    hint="build the network again",
                )
            used[owner] = pool.used
    return used, extra


def _start(board: Board, pool: PoolUse, owner: str, group: str, placed: Mapping[str, Placement]) -> int:
    try:
        return fold_alias(board, pool.address)
    except NeuralArtError as error:
        neighbour = next((p for p in placed.values() if p.group == group), None)
        file = _LINE.sub("", neighbour.chosen_by) if neighbour else group
        raise NeuralArtError(
            f"{owner} uses {pool.used} bytes, but {error.what}", where=file, hint="disable the pool with size 0"
        ) from error


# ---- checks


def check(plan: AddressPlan) -> None:
    """Everything fits where it is, and nothing stands on anything else.

    Raises:
        NeuralArtError: It does not: names the owners, the ranges, who chose them, and what would fit.
    """
    for network, pool in plan.undeclared:
        raise _undeclared(plan, network, pool)
    for use in plan.uses:
        if use.used is not None and use.used > use.placement.size:
            raise _too_large(plan, use)
    for each in plan.layout.initializers:
        size = plan.raws.get((each.network, each.pool), 0)
        if size > each.capacity:
            raise _raw_too_large(plan, each, size)
    refuse_conflicts(plan.board, {use.placement: claimed(plan, use) for use in plan.uses}, _allowed)


def _undeclared(plan: AddressPlan, network: str, pool: PoolUse) -> NeuralArtError:
    where = _chosen(plan, pool_owner(network, pool.fname))
    if pool.virtual:
        return NeuralArtError(
            f"network {network} has {pool.weights} bytes of constants in {pool.fname}, the virtual pool made of "
            f"{', '.join(pool.parts)}",
            where=where,
            hint="they must be split over its parts: compile without virtual pools",
        )
    names = [each.pool for each in plan.layout.initializers if each.network == network]
    return NeuralArtError(
        f"network {network} has {pool.weights} bytes of constants in pool {pool.fname}, which is not declared",
        where=where,
        hint=f"initializers: [{', '.join([*names, pool.fname])}] declares it",
    )


def _allowed(one: Placement, other: Placement, sector_only: bool) -> bool:
    return {one.kind, other.kind} == {"reserved"} and sector_only


def claimed(plan: AddressPlan, use: Use) -> Span:
    """What nobody else may have.

    What has a fixed size claims all of it. A pool and a staging place claim what is used; before a build a pool claims
    its first byte, because a declared size is only what it might grow to.
    """
    if use.placement.kind == "pool":
        return claim(use.placement, use.used or 0) if plan.actual else head(use.placement)
    if use.placement.kind == "staging" and plan.actual:
        return claim(use.placement, use.used or 0)
    return claim(use.placement)


def _chosen(plan: AddressPlan, owner: str) -> str:
    return next((use.placement.chosen_by for use in plan.uses if use.placement.owner == owner), owner)


def _too_large(plan: AddressPlan, use: Use) -> NeuralArtError:
    placement, used = use.placement, use.used or 0
    what = f"{claim(placement)} has {placement.size} bytes, {used} are used"
    follower = next((u.placement for u in plan.uses if u.placement.start == placement.end), None)
    behind = f"; behind it is {follower.owner} of {follower.chosen_by}" if follower is not None else ""
    boot = plan.board.boot
    if boot is not None and placement.owner == f"slot {boot.slot}":
        if placement.size == boot.copy_size:
            behind = f"; the boot loader copies {boot.copy_size} bytes, the header of {boot.header} bytes among them"
        hint = "make the image smaller: optimization: -Os, fewer constants in it"
        if follower is not None and placement.size < boot.copy_size:
            hint += f", or move {follower.owner} to 0x{placement.start + boot.copy_size:08x}"
        return NeuralArtError(what + behind, where=placement.chosen_by, hint=hint)
    return NeuralArtError(what + behind, where=placement.chosen_by, hint=_elsewhere(plan, use))


def _raw_too_large(plan: AddressPlan, each: Initializer, size: int) -> NeuralArtError:
    owner = (staging_owner if each.strategy == BOOT_COPY else pool_owner)(each.network, each.pool)
    use = next(u for u in plan.uses if u.placement.owner == owner)
    return _too_large(plan, replace(use, used=size))


def _elsewhere(plan: AddressPlan, use: Use) -> str:
    area = area_at(areas(plan.board), use.placement.start)
    wanted = round_up(use.used or 0, area.sector) if area else use.used or 0
    others = [claimed(plan, other) for other in plan.uses if other.placement != use.placement]
    address = room(plan.board, others, use.placement.start, wanted)
    if address is None:
        return f"nothing there has {wanted} free bytes: use less of it, or a board with more memory"
    key = use.placement.kind if use.placement.kind in ("staging", "descriptor") else ""
    return f"{wanted} bytes are free at 0x{address:08x}" + (f": slots: {{{key}: 0x{address:08x}}}" if key else "")


# ---- what the plan says of each memory


@dataclass(frozen=True)
class MemoryUse:
    """A memory of the board and how full it is.

    Attributes:
        name: Of the memory.
        start: First address.
        size: Bytes.
        kind: ``ram``, ``psram``, ``flash`` or ``rom``.
        used: Bytes that somebody has; ranges that overlap count once.
        owners: Who, in address order.
    """

    name: str
    start: int
    size: int
    kind: str
    used: int
    owners: tuple[str, ...]


def memories(plan: AddressPlan) -> list[MemoryUse]:
    """How full each memory is, in the board's order; unused ones too.

    Used is what is known to be used; of what is not known the whole size, and before a build the declared size.
    """
    spans = []
    for use in sorted(plan.uses, key=lambda use: (use.placement.start, use.placement.owner)):
        size = use.placement.size if use.used is None or not plan.actual else use.used
        spans.append(claim(use.placement, size))
    found = []
    for region in plan.board.memory:
        inside = [s for s in spans if s.start < region.end and s.end > region.base and s.end > s.start]
        used, at = 0, region.base
        for span in inside:
            low, high = max(span.start, at), min(span.end, region.end)
            used += max(0, high - low)
            at = max(at, high)
        found.append(
            MemoryUse(region.name, region.base, region.size, region.kind, used, tuple(s.owner for s in inside))
        )
    return found
