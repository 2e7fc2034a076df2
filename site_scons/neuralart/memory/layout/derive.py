"""The network of a relocatable model: the same, compiled once more for external memories that can move.

A network is static or relocatable, never both: ``relocatable:`` derives a second specification, with its own compile.
"""

from __future__ import annotations

from dataclasses import replace

from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.network.pools import EXTERNAL, PoolFile, check_relative
from neuralart.vendor.profile import RELOCATABLE_PROFILE

ALL_BUFFERS = "--all-buffers-info"


def derive(config: NetworkConfig) -> NetworkConfig:
    """What to compile for a relocatable model.

    Args:
        config: The network as its owner describes it.

    Returns:
        The same with ``--all-buffers-info``, without strategies (a loader brings the constants), and with the profile
        ``relocatable`` of the board if it names neither a profile nor pools. Pools that it names stay: they are
        checked by :func:`check_pools`, never changed.
    """
    own = config.profile or config.mpool
    options = config.options if ALL_BUFFERS in config.options else (*config.options, ALL_BUFFERS)
    return replace(config, profile=config.profile if own else f"{RELOCATABLE_PROFILE}@", options=options, strategies=())


def check_pools(pools: PoolFile) -> None:
    """Refuse pools that a relocatable model cannot have.

    Args:
        pools: Those of the derived network.

    Raises:
        NeuralArtError: An external pool is absolute, or see :func:`neuralart.network.pools.check_relative`.
    """
    for pool in pools.enabled:
        if pool.address >= EXTERNAL and not pool.relative:
            raise NeuralArtError(
                f"pool {pool.fname} at 0x{pool.address:08x} is USEMODE_ABSOLUTE: the external memories of a "
                "relocatable model get their place when it is installed",
                where=pool.where,
                hint='give it "mode": "USEMODE_RELATIVE", or disable it with size 0',
            )
    check_relative(pools)
