"""Memory-pool files of CPU targets: JSON that lists the RAM an application can give to activations.

Three spellings are in use, told apart by their values: sizes as texts with a unit (``"128KB"``), sizes as value and
magnitude (``mempools_<board>.json``), and the latter with a ``usable_size`` that is smaller than the memory. Addresses
may be there; nothing is placed by them, since the application's linker script decides where its buffers are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.vendor.h7_files import CpuPool, parse_cpu_pools
from neuralart.vendor.mpool import LEVELS

WEIGHTS = "weights_array"
"""Name of the pool of the weights: no pool of a file may have it."""

_NAME = re.compile(r"[\x21-\x7e]{1,64}")
_READ_ONLY = "ACC_READ"


@dataclass(frozen=True)
class ActivationMemory:
    """A memory for activations.

    Attributes:
        name: As the file has it; buffers and ``c_info.json`` are named after it.
        size: Bytes that activations may take; 0: none.
        throughput: ``HIGH``, ``MID`` or ``LOW``.
        latency: Likewise.
        where: ``file:line:column``.
    """

    name: str
    size: int
    throughput: str = "MID"
    latency: str = "MID"
    where: str = ""


def read(path: Path, display: str = "") -> tuple[ActivationMemory, ...]:
    """Read a memory-pool file.

    Args:
        path: The file.
        display: Its name in messages; by default the path.

    Returns:
        Pools that may be written, in the order of the file; disabled ones (size 0) too.

    Raises:
        NeuralArtError: It is no such file, or it gives no memory.
    """
    return parse_pools(read_bytes(path), display or str(path))


def parse_pools(data: bytes, file: str) -> tuple[ActivationMemory, ...]:
    """Read the content of a memory-pool file.

    Raises:
        NeuralArtError: As :func:`read`.
    """
    pools: list[ActivationMemory] = []
    found = parse_cpu_pools(data, file)
    for pool in found.pools:
        made = _memory(pool)
        earlier = next((other for other in pools if other.name.lower() == made.name.lower()), None)
        if pool.rights == _READ_ONLY:
            continue
        if earlier is not None:
            raise NeuralArtError(
                f"pool '{made.name}' is there twice, first at {earlier.where}",
                where=made.where,
                hint="each pool becomes a buffer of its own: give each its own name",
            )
        pools.append(made)
    if not any(pool.size for pool in pools):
        listed_sizes = ", ".join(f"{pool.name} {pool.size}" for pool in pools) or "none is listed"
        raise NeuralArtError(
            f"no pool for activations: {listed_sizes}", where=found.where, hint="give a pool in RAM a size"
        )
    return tuple(pools)


def _memory(pool: CpuPool) -> ActivationMemory:
    if not _NAME.fullmatch(pool.name) or pool.name.lower() == WEIGHTS:
        raise NeuralArtError(
            f"'{pool.name}' cannot be the name of a pool of activations",
            where=pool.where,
            hint=f"1 to 64 printable characters without blanks, and not {WEIGHTS}",
        )
    if pool.usable > pool.size:
        raise NeuralArtError(
            f"pool {pool.name}: usable_size of {pool.usable} bytes is more than its size of {pool.size}",
            where=pool.where,
        )
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
