"""Compiled networks of others in a folder: what is there, and constants for those that came without."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from neuralart.vendor.network_c.types import GeneratedNetwork, Pool
from neuralart_virtual.npu.network_memory import initializer


def networks(folder: Path) -> Iterator[Path]:
    """Each network.c once, with the header of its programs beside it."""
    seen = set()
    for path in sorted(folder.rglob("*.c")):
        text = path.read_bytes()
        if b"*LL_ATON_EpochBlockItems_" not in text or b"LL_ATON_Output_Buffers_Info_" not in text:
            continue
        header = f"{path.stem}_ecblobs.h"
        if f'"{header}"'.encode() in text and not (path.parent / header).is_file():
            continue
        digest = hashlib.sha256(text).digest()
        if digest not in seen:
            seen.add(digest)
            yield path


def constants(network: GeneratedNetwork, folder: Path, where: Path) -> dict[str, Path]:
    """Files with numbers by a formula for pools whose initializers are not in the folder."""
    files = {}
    for pool in network.pools:
        size = 0 if pool.of_user else _bytes_of_constants(network, pool)
        if size and (pool.relative or not pool.writable) and not initializer(network, folder, pool):
            # Scales must be positive real numbers; any bytes are weights.
            numbers = np.random.default_rng(1).uniform(0.004, 0.2, size // 4 + 1).astype("<f4")
            files[pool.fname] = where / f"{pool.fname}.raw"
            files[pool.fname].write_bytes(numbers.tobytes()[:size])
    return files


def _bytes_of_constants(network: GeneratedNetwork, pool: Pool) -> int:
    ends = [0]
    for row in network.rows:
        if row.is_param and row.symbol == f"_mem_pool_{pool.fname}_{network.name}":
            ends.append(row.end)
        elif row.is_param and not row.symbol and pool.address <= row.base < pool.address + pool.size:
            ends.append(row.base + row.end - pool.address)
    return max(ends)
