"""``env.NeuralArtVariant(...)``: composes networks, initializers, firmware, images, effects and summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from neuralart.boards.types import Board
from neuralart.config.application import REFERENCE
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.placements import Layout
from neuralart.memory.layout.relative_pools import refuse_relative_pools
from neuralart.memory.regions import is_on
from neuralart.scons import making
from neuralart.scons.failures import at_read_time
from neuralart.scons.firmware.firmware import FirmwareNodes, make_firmware
from neuralart.scons.firmware.initializers import InitializerNodes, make_initializers
from neuralart.scons.firmware.recipes import machine_of
from neuralart.scons.flash.images import FlashNodes, ModelNodes, VariantProgram, make_images
from neuralart.scons.network.network import make_budgets, make_network
from neuralart.scons.network.nodes import NEURALART, Compiled, NetworkNodes
from neuralart.scons.network.plan import is_cpu
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import registry_of
from neuralart.scons.report import make_summary

if TYPE_CHECKING:
    from neuralart.scons.application.app_config import AppConfigNodes
    from neuralart.scons.application.patched import PatchedNodes


# What few variants have (an application of their own, a loader, headers, a board without an NPU) is imported for those.


@dataclass(frozen=True)
class VariantNodes:
    """What ``env.NeuralArtVariant`` returns."""

    name: str  # Its name; also the alias that builds all of it
    networks: list[Compiled]  # In the order of the variant
    initializers: InitializerNodes | None  # Images and start-up code; None: everything is in the image
    firmware: FirmwareNodes | None  # The image; None: the application's own project builds it
    flash: FlashNodes | None  # What goes into external flash, and by which plan; None: nothing does
    summary: Any  # ``summary.txt``
    index: Any  # ``index.json``
    alias: Any  # ``<variant>``
    declare_effects: Callable[[], dict[str, Any]]  # Once; most builds name none
    # The relocatable model that the firmware loads; None: the networks are linked into it
    model: ModelNodes | None = None
    # Headers for applications, of those networks that have settings for one
    app_configs: list[AppConfigNodes] = field(default_factory=list)
    patched: PatchedNodes | None = None  # Sources of an application, fitted to the network; None: there are none

    @property
    def effects(self) -> dict[str, Any]:
        """``run-<variant>``, ``flash-<variant>`` and the like, by verb."""
        return self.declare_effects()

    @property
    def run(self) -> Any:
        """``run-<variant>``."""
        return self.effects["run"]


@at_read_time
def variant_method(env: Any, variant: VariantConfig) -> VariantNodes:
    """Declare everything of a variant. paths in the variant are relative to its current SConscript; ``variant``: as
    ``ProjectFile.variant`` gives it, or made by hand. SCons.Errors.UserError: something it names is missing or wrong.
    """
    if not isinstance(variant, VariantConfig):
        raise NeuralArtError(
            f"NeuralArtVariant takes a VariantConfig, not {variant!r}",
            hint="NeuralArtProject(...).build(...) makes them",
        )
    if variant.application.kind != REFERENCE:
        from neuralart.scons.application.application import refuse_settings

        refuse_settings(variant)
    model: ModelNodes | None = None
    patched: PatchedNodes | None = None
    board = registry_of(env).board(*variant.booted)
    headers: list[AppConfigNodes] = []
    networks: Sequence[Compiled]
    if is_cpu(board):
        from neuralart.scons import h747

        made = h747.make_variant(env, variant, board)
        networks, programs = made.program.networks, [made.program]
        headers, patched, others = made.headers, made.patched, made.files
    else:
        if variant.patch is not None:
            from neuralart.scons.application.patch_builder import refuse_npu

            refuse_npu(board, variant.said("patch."))
        if variant.relocatable is None:
            networks, programs = _static(env, variant)
        else:
            from neuralart.scons.loaded_variant import make_programs

            networks, model, programs = make_programs(env, variant, variant.relocatable)
        if any(network.config.app_config is not None for network in networks):
            from neuralart.scons.application import app_config

            headers = app_config.of_variant(env, networks, f"{build_dir(env)}/{variant.name}")
        others = [node for nodes in headers for node in nodes.files]
    own = programs[0]
    summary, index = make_summary(env, programs, others)
    pairs = [node for network in networks if network.pair is not None for node in network.pair.files]

    @cache
    def declare_effects() -> dict[str, Any]:
        from neuralart.scons.flash.targets import make_effects

        return make_effects(env, programs, index)

    if registry_of(env).every_effect or variant.runner:
        declare_effects()
    alias = env.Alias(variant.name, [summary, index, *(network.provenance for network in networks), *pairs])
    making.watch_all(env, alias[0], registry_of(env).watched)
    return VariantNodes(
        variant.name,
        list(networks),
        own.initializers,
        own.firmware,
        own.flash,
        summary,
        index,
        alias,
        declare_effects,
        model,
        headers,
        patched,
    )


def _refuse_other_runtime(network: NetworkNodes) -> None:
    if network.runtime != NEURALART:
        said = f"network {network.name} is compiled for runtime {network.runtime}"
        what = f"{said}, which the reference application does not have"
        hint = "'application:' of the variant names your own; or compiler: reference"
        raise NeuralArtError(what, where=network.config.said("compiler"), hint=hint)


def _refuse_unmapped(variant: VariantConfig, board: Board, layout: Layout) -> None:
    """The reference application maps no flash: constants of its networks are where the boot chain has mapped it."""
    for item in layout.initializers if variant.boot else ():
        region = board.region_at(item.load_address) if item.load_address else None
        if region is not None and not is_on(board, region):
            held = f"the constants of pool {item.pool} of network {item.network}"
            what = f"boot: {variant.boot}: nothing maps {region.name}, which holds {held}"
            hint = "strategies link or external-loader; an application of your own can map it"
            raise NeuralArtError(what, where=variant.said("boot"), hint=hint)


def _static(env: Any, variant: VariantConfig) -> tuple[list[NetworkNodes], list[VariantProgram]]:
    """A firmware with its networks linked into it."""
    registry = registry_of(env)
    board = registry.board(*variant.booted)
    machine = machine_of(variant, board)
    networks = [make_network(env, network, variant.board) for network in variant.networks]
    for network in networks:
        refuse_relative_pools(network.name, network.pools)
    folder = f"{build_dir(env)}/{variant.name}"
    if variant.application.kind == REFERENCE:
        for network in networks:
            _refuse_other_runtime(network)
        initializers = make_initializers(env, networks, folder, variant, board_layout=True, board=board)
        _refuse_unmapped(variant, board, initializers.layout)
        firmware = make_firmware(env, variant, board, machine, networks, initializers)
    else:
        from neuralart.scons.application.application import core_machine, make_application

        machine = core_machine(board, machine, networks)
        # Where the user's linker script puts things is the user's matter.
        laid_out = variant.application.of_board
        initializers = make_initializers(env, networks, folder, variant, board_layout=laid_out, board=board)
        firmware = make_application(env, variant, board, machine, networks, initializers)
    registry.requires(firmware.elf, make_budgets(env, networks, folder))
    flash = make_images(env, variant, board, firmware, networks, initializers)
    return networks, [VariantProgram(variant, board, machine, networks, initializers, firmware, flash)]
