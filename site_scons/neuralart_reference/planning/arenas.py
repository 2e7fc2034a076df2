"""Where things may be placed: pools in order of preference, adjoining ones joined when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from neuralart.errors import NeuralArtError
from neuralart.network.pools import MemoryPool, PoolFile, check_relative

_SPEED = {"HIGH": 0, "MID": 1, "LOW": 2}
_DELAY = {"LOW": 0, "MID": 1, "HIGH": 2}
_ALIKE = attrgetter("rights", "byte_width", "cacheable", "constants_preferred")
_AS_FAST = attrgetter("throughput", "latency", "freq_ratio")


@dataclass(frozen=True)
class Arena:
    """A range of addresses to place in."""

    fname: str  # the pool's, or those of the joined pools in address order, joined with ``_``
    name: str  # report name, likewise
    pools: tuple[MemoryPool, ...]  # the pools it is made of, in address order

    @cached_property  # These two are asked for in every try.
    def address(self) -> int:
        """First address."""
        return self.pools[0].address

    @cached_property
    def end(self) -> int:
        """First address behind it."""
        return self.pools[-1].end

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.address

    @property
    def virtual(self) -> bool:
        """Made of several pools."""
        return len(self.pools) > 1

    @property
    def writable(self) -> bool:
        """Activations may live here."""
        return self.pools[0].writable


def usable(pools: PoolFile) -> tuple[MemoryPool, ...]:
    """The pools that this compiler places in. Raises NeuralArtError when a pool is relative and no relocatable model
    can have these pools, or no pool is writable.
    """
    chosen = [pool for pool in pools.enabled if not pool.epoch_controller]
    if any(pool.relative for pool in chosen):
        check_relative(pools)
    if not any(pool.writable for pool in chosen):
        listed = ", ".join(f"{pool.fname} {pool.rights}" for pool in chosen) or "none"
        what = f"no usable pool for activations: none of the enabled pools is ACC_WRITE ({listed})"
        raise NeuralArtError(what, where=pools.path, hint="give a RAM pool a size")
    return tuple(chosen)


def _alike(one: MemoryPool, other: MemoryPool, any_speed: bool) -> bool:
    """Equal in everything but place and power, and perhaps speed: a tensor may lie across both."""
    # Where relative pools come to lie is not known: nothing can lie across their borders.
    movable = one.relative or other.relative
    alike = _ALIKE(one) == _ALIKE(other) and (any_speed or _AS_FAST(one) == _AS_FAST(other))
    return one.end == other.address and not movable and alike


def _joined(pools: Sequence[MemoryPool], *, virtual: bool, any_speed: bool = False) -> list[Arena]:
    groups: list[list[MemoryPool]] = []
    for pool in sorted(pools, key=lambda pool: pool.address):
        if virtual and groups and pool.writable and _alike(groups[-1][-1], pool, any_speed):
            groups[-1].append(pool)
        else:
            groups.append([pool])
    return [
        Arena("_".join(pool.fname for pool in group), "_".join(pool.name for pool in group), tuple(group))
        for group in groups
    ]


def speed_rank(pool: MemoryPool) -> tuple[int, int]:
    """Smaller is faster: throughput first, then latency."""
    return _SPEED[pool.throughput], _DELAY[pool.latency]


def for_activations(pools: Sequence[MemoryPool], *, virtual: bool, any_speed: bool = False) -> list[Arena]:
    """Writable arenas, the preferred one first.

    By throughput (HIGH first), then latency (LOW first), of the first pool if joined ones differ (``any_speed``); pools
    that prefer constants come after their equals; then the order of the pool file.
    """
    order = {pool.fname: number for number, pool in enumerate(pools)}
    arenas = [arena for arena in _joined(pools, virtual=virtual, any_speed=any_speed) if arena.writable]

    def rank(arena: Arena) -> tuple[object, ...]:
        first = arena.pools[0]
        return (*speed_rank(first), first.constants_preferred, min(order[pool.fname] for pool in arena.pools))

    return sorted(arenas, key=rank)


def for_constants(pools: Sequence[MemoryPool], *, virtual: bool, fastest_spill: bool = False) -> list[Arena]:
    """All arenas, the preferred one for constants first.

    Read-only pools (those that prefer constants before the others), then writable ones that prefer constants, each in
    the order of the pool file. What does not fit there spills into the other writable arenas: the least preferred for
    activations first, or the other way round with ``fastest_spill``.
    """
    order = {pool.fname: number for number, pool in enumerate(pools)}

    def rank(arena: Arena) -> tuple[bool, bool, int]:
        return arena.writable, not arena.pools[0].constants_preferred, min(order[pool.fname] for pool in arena.pools)

    last = (True, True)
    preferred = sorted((each for each in _joined(pools, virtual=virtual) if rank(each)[:2] != last), key=rank)
    spill = [arena for arena in for_activations(pools, virtual=virtual) if rank(arena)[:2] == last]
    return preferred + (spill if fastest_spill else spill[::-1])
