"""Placement in pools whose addresses nobody knows yet.

The planner works with addresses. Each pool gets a range of 4 GiB of its own, in the order of the file: then an address
is the number of a pool and an offset in it, and nothing can ever lie across two pools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.compilers.reference.cpu.pool_file import WEIGHTS, ActivationMemory
from neuralart.compilers.reference.ir import Program
from neuralart.compilers.reference.planning.planner import Plan, plan
from neuralart.compilers.reference.usage import PoolPlan
from neuralart.errors import NeuralArtError
from neuralart.network.pools import MemoryPool, PoolFile

HEAP = ActivationMemory("heap_overlay_pool", 1 << 31)
"""The one pool of a compile without a memory-pool file."""
_RANGE = 32


@dataclass(frozen=True)
class Placed:
    """A placed program."""

    pools: PoolFile  # those of activations, then that of the weights
    plan: Plan  # where everything is; see :func:`index_of` and :func:`offset_of` for its addresses
    # Pools with activations in them, in the order of the file: the numbered activation buffers
    activations: tuple[PoolPlan, ...]

    def number(self, address: int) -> int:
        """Which activation buffer an address is in, from 1."""
        names = [pool.fname for pool in self.activations]
        return names.index(self.pools.pools[index_of(address)].fname) + 1

    @property
    def weights(self) -> PoolPlan:
        """The pool of the constants."""
        return next(pool for pool in self.plan.pools if pool.fname == WEIGHTS)


def index_of(address: int) -> int:
    """Number of the pool that an address of a plan is in."""
    return address >> _RANGE


def offset_of(address: int) -> int:
    """Bytes from the beginning of that pool."""
    return address & ((1 << _RANGE) - 1)


def _pools(memories: Sequence[ActivationMemory], file: str) -> PoolFile:
    pools = [
        MemoryPool(
            fname=memory.name,
            name=memory.name,
            address=number << _RANGE,
            size=memory.size,
            throughput=memory.throughput,
            latency=memory.latency,
            where=memory.where,
        )
        for number, memory in enumerate(memories)
    ]
    weights = MemoryPool(
        WEIGHTS, WEIGHTS, len(pools) << _RANGE, 1 << _RANGE, rights="ACC_READ", constants_preferred=True
    )
    return PoolFile(file, "", (*pools, weights))


def place(
    program: Program, memories: Sequence[ActivationMemory], file: str, user_owned: Mapping[int, tuple[str, int]]
) -> Placed:
    """Place a program; without memories there is one pool without an end.

    Raises NeuralArtError when it does not fit; the numbers are in the message.
    """
    pools = _pools(memories or (HEAP,), file)
    try:
        made = plan(program, pools, user_owned=tuple(user_owned))
    except NeuralArtError as error:
        # The planner's advice is for pools of the NPU flow.
        raise NeuralArtError(
            error.what,
            where=error.where,
            hint="give a pool more bytes (size, usable_size), add one, or compile without --memory-pool: one buffer",
        ) from error
    used = [pool for pool in made.pools if pool.used and pool.fname != WEIGHTS]
    used.sort(key=lambda pool: pool.address)
    return Placed(pools, made, tuple(used))
