"""A variant of a project for the rules: as it is configured, and as it was built last."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePath

from neuralart import boards
from neuralart.boards.types import Board
from neuralart.config.read import ProjectFile
from neuralart.config.types import Budgets, NetworkConfig, VariantConfig, split_profile
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.lint import budgets, networks
from neuralart.lint.engine import UNREADABLE
from neuralart.lint.gather import Bag
from neuralart.lint.types import ERROR, Finding, Network
from neuralart.memory.layout.strategies import LayoutNetwork, by_rule
from neuralart.memory.plan import last_build
from neuralart.memory.plan.last_build import network_folders, read_networks
from neuralart.network import facts
from neuralart.vendor.c_info import read as c_info
from neuralart.vendor.profile import read_profiles


def _strategies(board: Board, network: LayoutNetwork) -> dict[str, str]:
    """What the user says, and the rule for the rest."""
    found = {}
    for pool in network.pools.enabled:
        region = board.region_at(pool.address)
        if region is not None:
            found[pool.fname] = by_rule(region)
    return {**found, **network.strategies}


def _network(config: NetworkConfig, layout: LayoutNetwork, board: Board, folder: Path | None) -> Network:
    where = config.said()
    found = Network(config.name, where)
    if folder is not None:
        path = folder / f"{config.name}.c"
        if path.is_file():
            found = networks.from_c(path, path.as_posix(), read_bytes(path))
        else:
            found = networks.from_facts(facts.load(folder / "network.json"), where)
    return replace(
        found,
        declared=layout.declared,
        strategies=_strategies(board, layout),
        loaded=layout.loaded,
        model=PurePath(config.model.replace("\\", "/")).name,
        model_where=config.said("model"),
    )


def _limits(config: NetworkConfig, network: facts.Network, folder: Path) -> list[Finding]:
    limits = getattr(config, "budgets", None)
    if not isinstance(limits, Budgets) or not limits:
        return []
    path = folder / f"{config.name}_c_info.json"
    return budgets.check(network, c_info.read(path) if path.is_file() else None, limits)


def add(bag: Bag, project: ProjectFile, variant: VariantConfig, file: Path, build: Path) -> tuple[Board, str]:
    """Take a variant in.

    Args:
        bag: Facts so far.
        project: The project file.
        variant: The variant.
        file: The project file's path.
        build: Build folder.

    Returns:
        Its board, and why nothing is known of its last build (empty if something is).

    Raises:
        NeuralArtError: Its board or a pool file is wrong.
    """
    extra = [file.parent / path for path in project.config.boards]
    board = boards.load(variant.board, extra, variant.said("board"))
    layouts = read_networks(board, variant, file.parent)
    built = last_build.read(build, variant.name, board, layouts)
    folders = network_folders(build / variant.name / "index.json") if built.networks else {}
    known = {network.name: network for network in built.networks}
    for config, layout in zip(variant.networks, layouts, strict=True):
        folder = folders.get(config.name)
        bag.networks.append(_network(config, layout, board, folder))
        if layout.pools.pools and layout.pools not in bag.pool_files:
            bag.pool_files.append(layout.pools)
        _, profile = split_profile(config.profile)
        if profile and not config.mpool:
            try:
                bag.profiles.append(read_profiles(file.parent / profile, (file.parent / profile).as_posix()))
            except NeuralArtError as error:
                bag.findings.append(Finding(UNREADABLE, ERROR, error.where, error.what, error.hint))
        if folder is not None:
            bag.findings += _limits(config, known[config.name], folder)
    return board, built.note
