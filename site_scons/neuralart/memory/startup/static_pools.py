"""Refuses relative pools in networks that are linked into a program: only a loader gives such pools an address."""

from __future__ import annotations

from neuralart.errors import NeuralArtError
from neuralart.network.pools import PoolFile

_HINT = "make it USEMODE_ABSOLUTE, or the network a relocatable model (relocatable: of the variant, or NetworkRel)"


def refuse_relative_pools(network: str, pools: PoolFile) -> None:
    """Refuse a network for a program before anything is compiled.

    Args:
        network: C name of the network.
        pools: What it is compiled for.

    Raises:
        NeuralArtError: A pool is relative.
    """
    for pool in pools.enabled:
        if pool.relative and not pool.epoch_controller:
            raise NeuralArtError(
                f"pool {pool.fname} of network {network} is USEMODE_RELATIVE: in a program nothing says where it is",
                where=pool.where,
                hint=_HINT,
            )
