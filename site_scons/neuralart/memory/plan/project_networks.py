"""The networks of a variant as they are known before a compile: pools, declared initializers, strategies."""

from __future__ import annotations

from pathlib import Path

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig, VariantConfig, split_profile
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.derive import check_pools, derive
from neuralart.memory.layout.strategies import LayoutNetwork
from neuralart.network.pools import PoolFile, default_initializers
from neuralart.network.targets import CPU, flow_of
from neuralart.resources import stable_name
from neuralart.vendor import h7_files, mpool, profile


def read_networks(board: Board, variant: VariantConfig, folder: Path) -> list[LayoutNetwork]:
    """Read the pool files of a variant.

    A network that runs on the core has no pools with addresses: its buffers are variables of the firmware. Its pool
    file is read all the same, so that what is wrong with it is said.

    Args:
        board: Its board.
        variant: The variant.
        folder: What the paths in it are relative to: the folder of its file.

    Raises:
        NeuralArtError: A file is missing or wrong.
    """
    if variant.relocatable is None:
        return [layout_network(config, _pools(board, config, folder)) for config in variant.networks]
    made = []
    for config in map(derive, variant.networks):
        pools = _pools(board, config, folder)
        check_pools(pools)
        made.append(layout_network(config, pools, loaded=True))
    return made


def layout_network(config: NetworkConfig, pools: PoolFile, *, loaded: bool = False) -> LayoutNetwork:
    """A network for the layout.

    Args:
        config: As the variant says.
        pools: Its pool file, already read.
        loaded: It becomes a relocatable model.
    """
    return LayoutNetwork(
        name=config.name,
        pools=pools,
        declared=default_initializers(pools) if config.initializers is None else config.initializers,
        strategies=dict(config.strategies),
        where=str(config.where) if config.where.file else f"network {config.name}",
        loaded=loaded,
    )


def _pools(board: Board, config: NetworkConfig, folder: Path) -> PoolFile:
    if flow_of(board.target) == CPU:
        path = folder / config.mpool if config.mpool else Path(board.memory_pools)
        named = stable_name(path.as_posix()) if config.mpool or board.memory_pools else ""
        if named:
            h7_files.read_cpu_pools(path, named)
        return PoolFile(named, "", ())
    if config.mpool:
        path = folder / config.mpool
        return mpool.read(path, stable_name(path.as_posix()))
    name, file = split_profile(config.profile)
    path = folder / file if file else Path(board.profile)
    if not file and not board.profile:
        raise NeuralArtError(
            f"board {board.name} has no stock profile",
            where=str(config.where),
            hint="give the network a 'profile:' or an 'mpool:'",
        )
    chosen = profile.read(path, name, stable_name(path.as_posix()))
    return mpool.read(chosen.mpool, chosen.mpool_display)
