"""The networks of the last build of a variant, and running them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from neuralart import boards, config
from neuralart.boards.types import Board, Machine
from neuralart.config.application import REFERENCE
from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.memory.layout.strategies import way_of
from neuralart.network import facts
from neuralart.network.facts import Network
from neuralart.network.targets import CPU, flow_of
from neuralart_bring import last_build
from neuralart_virtual.emulator import boot_chain
from neuralart_virtual.emulator.coherency import Conditions
from neuralart_virtual.emulator.instructions import EpochInstructions
from neuralart_virtual.emulator.runner import NetworkRun, RunResult, run

MODEL, PARAMS = "network_rel.bin", "network_rel_params.bin"


@dataclass(frozen=True)
class VariantNetwork:
    """A network of the last build of a variant."""

    variant: VariantConfig
    board: Board  # With the variant's slots
    config: NetworkConfig
    folder: Path  # Of the variant in the build folder
    facts: Path  # ``network.json``
    network: Network  # What that says


def _chosen(variant: VariantConfig, name: str, board: Board) -> NetworkConfig:
    # A network that runs on the core has the name that its application knows; there is one of them in an image.
    every = not name or flow_of(board.target) == CPU
    named = {network.name: network for network in variant.networks if every or network.name == name}
    if len(named) != 1:
        names = [network.name for network in variant.networks]
        what = f"no network '{name}'" if name else f"{len(names)} networks"
        raise NeuralArtError(what, where=f"variant {variant.name}", hint=f"--network: {nearest(name, names)}")
    return next(iter(named.values()))


def _refuse(variant: VariantConfig) -> None:
    """NeuralArtError: nothing here can run this variant and read its outputs."""
    if variant.application.kind != REFERENCE:
        what = "its application is your own, and nothing here can talk to it"
        hint = "a variant with 'application: reference' of the same network can run here"
        raise NeuralArtError(what, where=variant.said("application"), hint=hint)
    for network in variant.networks:
        for pool, strategy in network.strategies:
            where = network.said(f"strategies.{pool}")
            if way_of(strategy, where) == "external-loader":
                hint = f"run-{variant.name} stands in for one"
                raise NeuralArtError(f"pool {pool} is loaded by a debugger", where=where, hint=hint)


def built_network(
    file: Path, build: Path | None, name: str, network: str, *, runs_here: bool, make: Callable[[], None] | None = None
) -> VariantNetwork:
    """A network of a variant (empty: its only one), as it was built of today's configuration. ``file`` is the project
    file, ``build`` the build folder (None: beside it), ``make`` builds the variant as soon as all names are right.
    NeuralArtError: the project file is wrong, nothing is built of
    it, or (``runs_here``) no virtual board can run the variant and read its outputs.
    """
    project = config.read(file, file.as_posix())
    variant = project.variant(name)
    if runs_here:
        _refuse(variant)
    board = boards.load(variant.booted[0], [file.parent / path for path in project.config.boards], variant.booted[1])
    board = replace(board, slots={**board.slots, **{k: v for k, v in variant.slots if k in board.slots}})
    chosen = _chosen(variant, network, board)
    if make is not None:
        make()
    build = build or file.parent / "build"
    built = last_build.read(build, variant.name, board, last_build.read_networks(board, variant, file.parent))
    if built.note:
        raise NeuralArtError(built.note, where=f"variant {variant.name}", hint=f"scons {variant.name} builds it")
    folders = last_build.network_folders(build / variant.name / "index.json")
    folder = folders[chosen.name] if len(folders) > 1 else next(iter(folders.values()))
    path = folder / "network.json"
    return VariantNetwork(variant, board, chosen, build / variant.name, path, facts.load(path))


def run_built(
    board: Board,
    machine: Machine,
    folder: Path,
    one: NetworkRun,
    *,
    dead_bank: str = "fault",
    on_vector: Callable[[str, int, int], None] | None = None,
    calls: Mapping[str, Callable[[Callable[[int, int], bytes]], None]] | None = None,
    counts: EpochInstructions | None = None,
) -> RunResult:
    """Run one network of a variant from a fresh virtual flash, as ``run-<variant>`` does.

    ``folder`` is that of the variant in the build folder; a relocatable model in it is loaded. ``calls`` and ``counts``
    are those of :class:`~neuralart_virtual.emulator.coherency.Conditions`. RunFailure: the run did not end well.
    NeuralArtError: a file of the build is gone or wrong.
    """
    if one.model is None and (folder / MODEL).is_file():
        params = folder / PARAMS
        one = replace(one, model=folder / MODEL, params=params if params.is_file() else None)
    media, plan = boot_chain.Media(), folder / "flash_plan.json"
    if plan.is_file():
        media = boot_chain.of_plan(plan, board, machine, last_build.top_folder(folder / "index.json"))
    fault = dead_bank if machine.kind == "unicorn" else "fault"
    given = Conditions(media.nor, fault, calls=calls or {}, counts=counts)
    elf = folder / "firmware.elf"
    return run(board, machine.kind, elf, media.loads, [one], surroundings=given, on_vector=on_vector)
