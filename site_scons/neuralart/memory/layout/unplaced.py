"""Declared initializers that have no place yet: their pool, their strategy, their largest size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout import identity
from neuralart.memory.layout.flash_areas import Area, area_at
from neuralart.memory.layout.placements import Initializer, Placement, pool_owner, staging_owner
from neuralart.memory.layout.strategies import (
    BOOT_COPY,
    FLASH,
    LINK,
    RELOCATABLE,
    LayoutNetwork,
    check_names,
    chosen,
)
from neuralart.memory.regions import fold_alias, memory_end
from neuralart.network.pools import MemoryPool


@dataclass(frozen=True)
class Draft:
    """A declared initializer on its way to an :class:`~neuralart.memory.layout.placements.Initializer`.

    Attributes:
        network: Name of the network.
        pool: Its pool.
        strategy: How it gets there.
        where: ``file:line`` of the strategy, or of the network.
        start: First address of the pool, in the alias of the firmware's security state.
        size: Bytes of the pool that there are.
    """

    network: str
    pool: MemoryPool
    strategy: str
    where: str
    start: int
    size: int

    @property
    def owner(self) -> str:
        """Owner of its staging place."""
        return staging_owner(self.network, self.pool.fname)

    @property
    def described(self) -> bool:
        """The identity descriptor has an entry for it."""
        return self.strategy not in (LINK, RELOCATABLE)


def drafts(board: Board, variant: VariantConfig, network: LayoutNetwork, found: Sequence[Area]) -> list[Draft]:
    """The declared initializers of a network.

    Args:
        board: The board.
        variant: Where the strategies were written.
        network: The network.
        found: Flash of the board.

    Raises:
        NeuralArtError: A name is not that of a pool, a strategy cannot work, or a flash pool begins within a sector.
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


def _draft(board: Board, network: LayoutNetwork, pool: MemoryPool, where: str, found: Sequence[Area]) -> Draft:
    strategy, _ = chosen(board, network, pool, where)
    start = fold_alias(board, pool.address)
    end = memory_end(board, start)
    if found and strategy not in (LINK, RELOCATABLE):
        identity.check_name(pool.fname, pool.where)
    if strategy == FLASH and found:
        end = min(end, _flash_of(board, network.name, pool, start, found).end)
    return Draft(network.name, pool, strategy, where, start, min(pool.size, end - start))


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
            raise NeuralArtError(
                f"{what} is in {here}, a flash whose erase sectors are not known",
                where=pool.where,
                hint=f"'sector:' of {here} in the board's file says how large they are; known: {known}",
            )
        raise NeuralArtError(f"{what} is behind the flash that is there", where=pool.where, hint=known)
    if start % area.sector:
        below = start // area.sector * area.sector
        raise NeuralArtError(
            f"{what} is not at the start of an erase sector of {area.sector} bytes",
            where=pool.where,
            hint=f"0x{below:08x} or 0x{below + area.sector:08x}",
        )
    return area


def initializer(draft: Draft, staging: Mapping[str, Placement]) -> Initializer:
    """A draft with its place in flash.

    Args:
        draft: The draft.
        staging: Staging places by owner.
    """
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
