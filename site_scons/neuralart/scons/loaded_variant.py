"""Variants whose firmware loads its network: the relocatable model, and a firmware for each board that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.application import REFERENCE
from neuralart.config.types import RelocatableConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.scons import commands
from neuralart.scons.firmware import memory_files
from neuralart.scons.firmware.firmware import make_firmware
from neuralart.scons.firmware.initializers import make_initializers
from neuralart.scons.firmware.memory_files import layout_of
from neuralart.scons.firmware.recipes import machine_of
from neuralart.scons.firmware.relocatable import RelocatableNodes, make_relocatable
from neuralart.scons.flash.images import ModelNodes, VariantProgram, make_images
from neuralart.scons.network.network import make_budgets
from neuralart.scons.network.nodes import LL_ATON, NetworkNodes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import Registry, registry_of

FILE = "network_rel.bin"
"""What the model of a variant is called, whatever the name of its network."""


def check(variant: VariantConfig) -> None:
    """Refuse keys that do not work with a loading firmware."""
    if len(variant.networks) != 1:
        names = ", ".join(network.name for network in variant.networks)
        what = f"relocatable: this variant has {len(variant.networks)} networks ({names}), its firmware loads one"
        raise NeuralArtError(what, where=variant.said("relocatable"), hint="one variant for each of them")
    if variant.kernels != "c":
        what = f"kernels: {variant.kernels}, but a relocatable model is baseline code for every machine"
        raise NeuralArtError(what, where=variant.said("kernels"), hint="leave it out")
    for pool, strategy in variant.networks[0].strategies:
        if strategy != "relocatable":
            what = f"pool {pool}: strategy {strategy}, but the loader of the firmware brings all constants"
            hint = "leave the strategy out"
            raise NeuralArtError(what, where=variant.networks[0].said(f"strategies.{pool}"), hint=hint)


def _refuse_ours(variant: VariantConfig, config: RelocatableConfig, who: str) -> None:
    """Refuse what is said of a firmware that is not this project's. ``who``: whose it is."""
    for key in ("also_on", "exec_ram"):
        if getattr(config, key) != getattr(RelocatableConfig(), key):
            what = f"relocatable: '{key}' is about a firmware of this project, and {who}"
            raise NeuralArtError(what, where=variant.said("relocatable"), hint="leave it out")


def _copied(base: Any, folder: str, model: RelocatableNodes) -> ModelNodes:
    """The files of the model in the folder of the variant."""

    def copy(name: str, node: Any) -> Any:
        return base.Command(f"#{folder}/{name}", node, commands.function(memory_files.copy, "MODEL    $TARGET"))[0]

    params = copy("network_rel_params.bin", model.params) if model.params is not None else None
    c = tuple(copy(node.name, node) for node in model.c)
    return ModelNodes(copy(FILE, model.image), params, copy("network_rel.json", model.results), c)


def _boards(registry: Registry, variant: VariantConfig, config: RelocatableConfig) -> list[Board]:
    own = registry.board(*variant.booted)
    return [own, *(registry.board(name, variant.said("relocatable")) for name in config.also_on if name != own.name)]


def make_programs(
    env: Any, variant: VariantConfig, config: RelocatableConfig
) -> tuple[list[NetworkNodes], ModelNodes, list[VariantProgram]]:
    """Declare the model and the firmwares that load it.
    Returns the derived network, its model, and one program for each board: the variant's own first; without a firmware
    where the vendor's loads the model. NeuralArtError: Something is missing or cannot work.
    """
    check(variant)
    registry = registry_of(env)
    network = variant.networks[0]
    made = make_relocatable(env, network, variant.board, config, variant.toolchain, variant.said("relocatable"))
    folder = f"{build_dir(env)}/{variant.name}"
    model = _copied(registry.base, folder, made)
    registry.requires(model.image, make_budgets(env, [made.network], folder))
    if variant.application.kind != REFERENCE:
        _refuse_ours(variant, config, "'application' names another")
        return [made.network], model, [_with_application(env, variant, made.network, model)]
    if made.network.runtime == LL_ATON:
        _refuse_ours(variant, config, f"models for {LL_ATON} are loaded by the vendor's")
        return [made.network], model, [_without_firmware(env, variant, made.network, model)]
    programs = []
    for number, board in enumerate(_boards(registry, variant, config)):
        # The slots and the machine are said for the variant's own board.
        own = variant if not number else _elsewhere(variant, board)
        programs.append(_program(env, own, board, [made.network], model))
    return [made.network], model, programs


def _without_firmware(env: Any, variant: VariantConfig, network: NetworkNodes, model: ModelNodes) -> VariantProgram:
    """A model for the vendor's runtime: what goes into flash beside a firmware of the vendor's, or of the user."""
    board = registry_of(env).board(*variant.booted)
    layout = layout_of([network], variant, board_layout=False, board=board)
    flash = make_images(env, variant, board, None, [network], layout, model)
    return VariantProgram(variant, board, machine_of(variant, board), [network], None, None, flash, model)


def _with_application(env: Any, variant: VariantConfig, network: NetworkNodes, model: ModelNodes) -> VariantProgram:
    """A model and the user's own firmware, which loads it."""
    from neuralart.scons.application.application import core_machine, make_application

    board = registry_of(env).board(*variant.booted)
    machine = core_machine(board, machine_of(variant, board), [network])
    folder, laid_out = f"{build_dir(env)}/{variant.name}", variant.application.of_board
    initializers = make_initializers(env, [network], folder, variant, board_layout=laid_out, board=board)
    firmware = make_application(env, variant, board, machine, [network], initializers, model)
    flash = make_images(env, variant, board, firmware, [network], initializers, model)
    return VariantProgram(variant, board, machine, [network], initializers, firmware, flash, model)


def _elsewhere(variant: VariantConfig, board: Board) -> VariantConfig:
    name = f"{variant.name}/{board.name}"
    return replace(variant, name=name, board=board.name, machine="", boot="", slots=(), reserved=(), dead_bank="fault")


def _program(
    env: Any, variant: VariantConfig, board: Board, networks: Sequence[NetworkNodes], model: ModelNodes
) -> VariantProgram:
    machine = machine_of(variant, board)
    folder = f"{build_dir(env)}/{variant.name}"
    initializers = make_initializers(env, networks, folder, variant, board_layout=True, board=board)
    firmware = make_firmware(env, variant, board, machine, networks, initializers)
    flash = make_images(env, variant, board, firmware, networks, initializers, model)
    return VariantProgram(variant, board, machine, networks, initializers, firmware, flash, model)
