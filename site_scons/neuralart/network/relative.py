"""Relative pools (``USEMODE_RELATIVE``): external memories that get their place when a model is installed."""

from __future__ import annotations

from collections.abc import Iterable

from neuralart.errors import NeuralArtError
from neuralart.network.pools import MemoryPool, PoolFile

EXTERNAL = 0x60000000
"""Memories below are inside the chip: they stay where they are, and cacheable accesses of the NPU are wrong there."""
_ADDRESS_SPACE = 1 << 32


def symbol(fname: str, c_name: str) -> str:
    """What C code calls the base of a relative pool, by its fname and the C name of the network."""
    return f"_mem_pool_{fname}_{c_name}"


def _range(pool: MemoryPool) -> str:
    return f"{pool.fname} [0x{pool.address:08x}, 0x{pool.end:08x})"


def _place(pool: MemoryPool) -> None:
    if pool.address < EXTERNAL:
        raise NeuralArtError(
            f"pool {pool.fname} is USEMODE_RELATIVE and lies at 0x{pool.address:08x}: only external memory, from "
            f"0x{EXTERNAL:08x}, can move",
            where=pool.where,
            hint="USEMODE_ABSOLUTE for memories inside the chip",
        )
    if pool.end > _ADDRESS_SPACE:
        raise NeuralArtError(
            f"pool {pool.fname} ends at 0x{pool.end:x}, behind the 32-bit address space",
            where=pool.where,
            hint="its offset is the place it has by default; are the magnitudes of offset and size right?",
        )


def _kinds(pools: Iterable[MemoryPool]) -> None:
    first: dict[bool, MemoryPool] = {}
    for pool in pools:
        before = first.setdefault(pool.writable, pool)
        if before is not pool:
            kind = "read/write" if pool.writable else "read-only"
            raise NeuralArtError(
                f"{before.fname} and {pool.fname} are both relative {kind} pools: a loader moves one of each kind",
                where=pool.where,
                hint="disable one of them with size 0",
            )


def _overlaps(pools: tuple[MemoryPool, ...]) -> None:
    """The addresses in the pool file tell pools apart, before they move."""
    ordered = sorted(pools, key=lambda pool: pool.address)
    for number, before in enumerate(ordered):
        for after in ordered[number + 1 :]:
            if after.address < before.end and (before.relative or after.relative):
                mover = after if after.relative else before
                common = min(before.end, after.end) - after.address
                raise NeuralArtError(
                    f"pools {_range(before)} and {_range(after)} overlap by {common} bytes; {mover.fname} is "
                    "USEMODE_RELATIVE, its offset is the place it has by default",
                    where=mover.where,
                    hint="give it another offset, or disable it with size 0",
                )


def check(pools: PoolFile) -> None:
    """What every loader asks of the pools of a relocatable model. NeuralArtError: a pool is not ``FORMAT_RAW``; a
    relative one is inside the chip, overlaps another, or is the second of its kind (read-only, read/write).
    """
    mine = tuple(pool for pool in pools.enabled if not pool.epoch_controller)
    for pool in mine:
        if pool.fformat != "FORMAT_RAW":
            raise NeuralArtError(
                f"fformat of pool {pool.fname} is {pool.fformat}: a relocatable model takes raw initializers only",
                where=pool.where,
                hint="set its fformat to FORMAT_RAW",
            )
    movers = [pool for pool in mine if pool.relative]
    for pool in movers:
        _place(pool)
    _kinds(movers)
    _overlaps(mine)
