"""Sizes of pools in the memory-pool file of a CPU target (``mempools_<board>.json``)."""

from __future__ import annotations

from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.vendor import h7_pools


def read_pool_sizes(path: Path, display: str = "") -> dict[str, int]:
    """Name of a pool -> bytes that a network may use.

    Raises:
        NeuralArtError: It is no such file, or a pool stands there twice.
    """
    sizes: dict[str, int] = {}
    for pool in h7_pools.read(path, display).pools:
        if pool.name in sizes:
            raise NeuralArtError(f"pool {pool.name} stands there twice", where=pool.where)
        sizes[pool.name] = pool.usable
    return sizes
