"""``N.c``: the whole file, in the order that tools expect."""

from __future__ import annotations

import hashlib

from neuralart.compilers.reference.emit.banner import BANNER_END, banner, head
from neuralart.compilers.reference.emit.buffers_c import tables
from neuralart.compilers.reference.emit.emission import Emission
from neuralart.compilers.reference.emit.epochs_c import functions, table
from neuralart.compilers.reference.emit.pools_c import pool_comments
from neuralart.compilers.reference.emit.user_io import functions as user_io
from neuralart.compilers.reference.emit.user_io import pointers


def network_c(emission: Emission) -> str:
    """The generated C: no data of the weights, no folder, no date."""
    parts = [
        banner(emission),
        head(emission),
        pool_comments(emission),
        pointers(emission),
        user_io(emission),
        functions(emission),
        table(emission),
        tables(emission),
    ]
    return "\n".join(part for part in parts if part)


def abi_stamp(emission: Emission, text: str) -> str:
    """16 hex digits that change when code and initializers no longer belong together.

    A hash of the generated C without its first comment, and of base, size and extents of each pool.

    Args:
        emission: What was written.
        text: The result of :func:`network_c`.
    """
    body = text.partition(BANNER_END)[2]
    layout = "".join(
        f"{pool.fname} 0x{pool.address:08x} {pool.size} {pool.used} {pool.weights}\n" for pool in emission.plan.pools
    )
    return hashlib.sha256(f"{body}\n{layout}".encode()).hexdigest()[:16]
