"""What a placement makes of each pool: its initializer and how full it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.compilers.reference.planning.arenas import Arena
from neuralart.compilers.reference.planning.lifetimes import Constant
from neuralart.errors import NeuralArtError
from neuralart.network.pools import MemoryPool


@dataclass(frozen=True)
class PoolPlan:
    """How a pool is used."""

    pool: MemoryPool  # the pool; of a virtual one the first part
    fname: str  # its fname; joined with ``_`` for a virtual one
    name: str  # report name, likewise
    size: int  # capacity in bytes
    weights: int  # bytes of its initializer (0 for a virtual pool: its parts have them)
    activations: int  # bytes that activations ever occupy
    used: int  # highest offset in use
    parts: tuple[str, ...] = ()  # fnames of the parts of a virtual pool

    @property
    def address(self) -> int:
        """Base."""
        return self.pool.address


def _covered(ranges: Sequence[tuple[int, int]], low: int, high: int) -> int:
    """Bytes of [low, high) that are in any range."""
    total, seen = 0, low
    for start, end in sorted(ranges):
        start, end = max(start, seen), min(end, high)
        if end > start:
            total += end - start
            seen = end
    return total


def images(
    items: Sequence[Constant], addresses: Mapping[tuple[str, int], int], pools: Sequence[MemoryPool]
) -> dict[str, bytes]:
    """Initializer of each pool that holds constants: from its base to the last byte of a constant, gaps zero.

    Raises NeuralArtError when the pool's format is one that is not written.
    """
    result = {}
    for pool in pools:
        inside = [(addresses[item.key], item) for item in items if item.data]
        inside = [(at, item) for at, item in inside if at < pool.end and at + len(item.data) > pool.address]
        if not inside:
            continue
        if pool.fformat != "FORMAT_RAW":
            raise NeuralArtError(
                f"constants go to pool {pool.fname}, whose format is {pool.fformat}: only FORMAT_RAW is written",
                where=pool.where,
                hint="set its fformat to FORMAT_RAW",
            )
        last = min(max(at + len(item.data) for at, item in inside), pool.end)
        image = bytearray(last - pool.address)
        for at, item in inside:
            # A constant in a virtual pool may begin in the pool before, or go on in the next.
            skip = max(0, pool.address - at)
            part = item.data[skip : pool.end - at]
            offset = at + skip - pool.address
            image[offset : offset + len(part)] = part
        result[pool.fname] = bytes(image)
    return result


def pool_plans(
    pools: Sequence[MemoryPool],
    arenas: Sequence[Arena],
    raws: Mapping[str, bytes],
    ranges: Sequence[tuple[int, int]],
    constant_ranges: Sequence[tuple[int, int]],
) -> tuple[PoolPlan, ...]:
    """Every pool in the order of preference, then the virtual ones that something lies across.

    The ranges are addresses [start, end) of activations and constants.
    """
    ordered = [pool for arena in arenas for pool in arena.pools]
    ordered += [pool for pool in pools if pool not in ordered]

    def top(low: int, high: int) -> int:
        both = (*ranges, *constant_ranges)
        return max((min(end, high) - low for start, end in both if start < high and end > low), default=0)

    plans = []
    for pool in ordered:
        weights = len(raws.get(pool.fname, b""))
        activations = _covered(ranges, pool.address, pool.end)
        plans.append(
            PoolPlan(pool, pool.fname, pool.name, pool.size, weights, activations, top(pool.address, pool.end))
        )
    for arena in arenas:
        across = any(
            arena.address <= start < arena.end and not any(p.address <= start and end <= p.end for p in arena.pools)
            for start, end in (*ranges, *constant_ranges)
        )
        if arena.virtual and across:
            parts = tuple(pool.fname for pool in arena.pools)
            inside = _covered(ranges, arena.address, arena.end)
            used = top(arena.address, arena.end)
            plans.append(PoolPlan(arena.pools[0], arena.fname, arena.name, arena.size, 0, inside, used, parts))
    return tuple(plans)
