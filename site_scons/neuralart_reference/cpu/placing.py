"""Memory-pool files of CPU targets, JSON that lists the RAM for activations, and placement in them.

Three spellings are in use, told apart by their values: sizes as texts with a unit (``"128KB"``), sizes as value and
magnitude (``mempools_<board>.json``), and the latter with a ``usable_size`` that is smaller than the memory. Addresses
may be there; nothing is placed by them, since the application's linker script decides where its buffers are.

The planner works with addresses. Each pool gets a range of 4 GiB of its own, in the order of the file: then an address
is the number of a pool and an offset in it, and nothing can ever lie across two pools.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.vendor.h7_files import CpuPool, parse_cpu_pools
from neuralart.vendor.mpool import LEVELS
from neuralart_reference.ir import Program
from neuralart_reference.planning.placement import ASK_FIT
from neuralart_reference.planning.planner import MemoryPlan, PoolPlan, plan

WEIGHTS = "weights_array"
"""Name of the pool of the weights: no pool of a file may have it."""

_NAME = re.compile(r"[\x21-\x7e]{1,64}")
_READ_ONLY = "ACC_READ"


@dataclass(frozen=True)
class ActivationMemory:
    """A memory for activations."""

    name: str  # as the file has it; buffers and ``c_info.json`` are named after it
    size: int  # bytes that activations may take; 0: none
    throughput: str = "MID"  # ``HIGH``, ``MID`` or ``LOW``
    latency: str = "MID"  # likewise
    where: str = ""  # ``file:line:column``


def read(path: Path, display: str = "") -> tuple[ActivationMemory, ...]:
    """Read the pools that may be written, in the order of the file; disabled ones (size 0) too. Raises NeuralArtError
    when it is no such file, or gives no memory.
    """
    return parse_pools(read_bytes(path), display or str(path))


def parse_pools(data: bytes, file: str) -> tuple[ActivationMemory, ...]:
    """Read the content of a memory-pool file; NeuralArtError as :func:`read`."""
    pools: list[ActivationMemory] = []
    found = parse_cpu_pools(data, file)
    for pool in found.pools:
        made = _memory(pool)
        earlier = next((other for other in pools if other.name.lower() == made.name.lower()), None)
        if pool.rights == _READ_ONLY:
            continue
        if earlier is not None:
            what = f"pool '{made.name}' is there twice, first at {earlier.where}"
            hint = "each pool becomes a buffer of its own: give each its own name"
            raise NeuralArtError(what, where=made.where, hint=hint)
        pools.append(made)
    if not any(pool.size for pool in pools):
        listed_sizes = ", ".join(f"{pool.name} {pool.size}" for pool in pools) or "none is listed"
        hint = "give a pool in RAM a size"
        raise NeuralArtError(f"no pool for activations: {listed_sizes}", where=found.where, hint=hint)
    return tuple(pools)


def _memory(pool: CpuPool) -> ActivationMemory:
    if not _NAME.fullmatch(pool.name) or pool.name.lower() == WEIGHTS:
        hint = f"1 to 64 printable characters without blanks, and not {WEIGHTS}"
        raise NeuralArtError(f"'{pool.name}' cannot be the name of a pool of activations", where=pool.where, hint=hint)
    if pool.usable > pool.size:
        what = f"pool {pool.name}: usable_size of {pool.usable} bytes is more than its size of {pool.size}"
        raise NeuralArtError(what, where=pool.where)
    return ActivationMemory(
        pool.name,
        pool.usable,
        _level(pool.throughput, f"throughput of pool {pool.name}", pool.where),
        _level(pool.latency, f"latency of pool {pool.name}", pool.where),
        pool.where,
    )


def _level(level: str, what: str, where: str) -> str:
    if level and level not in LEVELS:
        raise NeuralArtError(f"{what} is '{level}'", where=where, hint=nearest(level, list(LEVELS)))
    return level or "MID"


HEAP = ActivationMemory("heap_overlay_pool", 1 << 31)
"""The one pool of a compile without a memory-pool file."""
_RANGE = 32


@dataclass(frozen=True)
class Placed:
    """A placed program."""

    pools: PoolFile  # those of activations, then that of the weights
    plan: MemoryPlan  # where everything is; see :func:`index_of` and :func:`offset_of` for its addresses
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
    """Place a program; without memories there is one pool without an end. NeuralArtError when it does not fit."""
    pools = _pools(memories or (HEAP,), file)
    try:
        made = plan(program, pools, user_owned=tuple(user_owned))
    except NeuralArtError as error:
        # The planner's advice is for pools of the NPU flow.
        hint = (
            "give a pool more bytes (size, usable_size), add one, or compile without --memory-pool: one buffer; "
            + ASK_FIT
        )
        raise NeuralArtError(error.what, where=error.where, hint=hint) from error
    used = [pool for pool in made.pools if pool.used and pool.fname != WEIGHTS]
    used.sort(key=lambda pool: pool.address)
    return Placed(pools, made, tuple(used))
