"""The address plan: the layout with what is really in it, checked before anything is linked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.memory.layout import identity, slots
from neuralart.memory.layout.placements import Layout, Placement, pool_owner, staging_owner
from neuralart.memory.layout.strategies import LINK, RELOCATABLE
from neuralart.memory.plan.plan_checks import check
from neuralart.memory.plan.usage import APPLICATION, CODE, DATA, AddressPlan, Use, raw_key
from neuralart.memory.regions import fold_alias, memory_end, used_pools
from neuralart.network.facts import Network, PoolUse

_LINE = re.compile(r"(?::[0-9]+)+$")

__all__ = ["APPLICATION", "CODE", "DATA", "AddressPlan", "Use", "check", "make_plan", "raw_key"]


def make_plan(layout: Layout, board: Board, networks: Sequence[Network], sizes: Mapping[str, int]) -> AddressPlan:
    """Put actual uses into a layout.

    Args:
        layout: The layout.
        board: Its board.
        networks: Facts of its networks; none: the plan shows declared sizes.
        sizes: Bytes where they are known: ``application`` (the flash image with its header), ``code`` and ``data`` of
            the firmware, ``NETWORK/POOL`` (:func:`raw_key`) of an initializer if it is not what the facts say, and the
            files in the slots of a relocatable model (:data:`~neuralart.memory.layout.slots.LOADED`).

    Returns:
        The plan; virtual pools whose parts are listed do not appear in it.

    Raises:
        NeuralArtError: The facts are of other networks or other pools than the layout.
    """
    if not networks:
        uses = [Use(p, _known(board, p, sizes)) for p in layout.placements]
        return AddressPlan(board, layout, tuple(uses), {}, (), (), False)
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
        uses.append(Use(placement, used))
    undeclared = tuple(
        (network.name, pool)
        for network in networks
        for pool in network.initializers
        if (network.name, pool.fname) not in declared
    )
    written = tuple((network.name, pool) for network in networks for pool in used_pools(network) if pool.activations)
    return AddressPlan(board, layout, (*uses, *extra), raws, undeclared, written, True)


def _known(board: Board, placement: Placement, sizes: Mapping[str, int]) -> int | None:
    if placement.kind == "reserved":
        return placement.size
    keys = {"firmware code": CODE, "firmware data": DATA}
    keys |= {f"slot {name}": name for name in slots.LOADED}
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
            start = _start(layout, board, pool, owner, placed)
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
        raise NeuralArtError(
            f"{owner} uses {pool.used} bytes, but {error.what}", where=file, hint="disable the pool with size 0"
        ) from error
