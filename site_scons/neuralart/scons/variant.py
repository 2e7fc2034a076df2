"""``env.NeuralArtVariant(...)``: composes networks, initialisers, firmware, images, effects and summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuralart.config.application_types import REFERENCE
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.static_pools import refuse_relative_pools
from neuralart.scons import effects
from neuralart.scons.application import core_machine, make_application, refuse_settings
from neuralart.scons.budgets import make_budgets
from neuralart.scons.failures import at_read_time
from neuralart.scons.firmware import FirmwareNodes, make_firmware
from neuralart.scons.images import FlashNodes, ModelNodes, make_images
from neuralart.scons.initializers import InitializerNodes, make_initializers
from neuralart.scons.loaded_variant import make_programs
from neuralart.scons.machines import machine_of
from neuralart.scons.network import NEURALART, NetworkNodes, make_network
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import Registry
from neuralart.scons.report import make_summary


@dataclass(frozen=True)
class VariantNodes:
    """What ``env.NeuralArtVariant`` returns.

    Attributes:
        name: Its name; also the alias that builds all of it.
        networks: In the order of the variant.
        initializers: Images and start-up code.
        firmware: The image.
        flash: What goes into flash, and by which plan.
        summary: ``summary.txt``.
        index: ``index.json``.
        alias: ``<variant>``.
        effects: ``run-<variant>``, ``flash-<variant>`` and the like, by verb.
        model: The relocatable model that the firmware loads; None: the networks are linked into it.
    """

    name: str
    networks: list[NetworkNodes]
    initializers: InitializerNodes
    firmware: FirmwareNodes
    flash: FlashNodes
    summary: Any
    index: Any
    alias: Any
    effects: dict[str, Any]
    model: ModelNodes | None = None

    @property
    def run(self) -> Any:
        """``run-<variant>``."""
        return self.effects["run"]


@at_read_time
def variant_method(env: Any, variant: VariantConfig) -> VariantNodes:
    """Declare everything of a variant.

    Args:
        env: The construction environment; paths in the variant are relative to its current SConscript.
        variant: As ``ProjectFile.variant`` gives it, or made by hand.

    Raises:
        SCons.Errors.UserError: Something it names is missing or wrong.
    """
    if not isinstance(variant, VariantConfig):
        raise NeuralArtError(
            f"NeuralArtVariant takes a VariantConfig, not {variant!r}",
            hint="NeuralArtProject(...).build(...) makes them",
        )
    refuse_settings(variant)
    model: ModelNodes | None = None
    if variant.relocatable is None:
        networks, programs = _static(env, variant)
    else:
        networks, model, programs = make_programs(env, variant, variant.relocatable)
    own = programs[0]
    summary, index = make_summary(env, programs)
    pairs = [node for network in networks if network.pair is not None for node in network.pair.files]
    alias = env.Alias(variant.name, [summary, index, *(network.provenance for network in networks), *pairs])
    return VariantNodes(
        variant.name,
        networks,
        own.initializers,
        own.firmware,
        own.flash,
        summary,
        index,
        alias,
        effects.make_effects(env, programs),
        model,
    )


def _refuse_other_runtime(network: NetworkNodes) -> None:
    if network.runtime != NEURALART:
        raise NeuralArtError(
            f"network {network.name} is compiled for runtime {network.runtime}, which the reference application does "
            "not have",
            where=network.config.said("compiler"),
            hint="'application:' of the variant names your own; or compiler: reference",
        )


def _static(env: Any, variant: VariantConfig) -> tuple[list[NetworkNodes], list[effects.Program]]:
    """A firmware with its networks linked into it."""
    registry: Registry = env["NEURALART_REGISTRY"]
    board = registry.board(variant.board, variant.said("board"))
    machine = machine_of(variant, board)
    networks = [make_network(env, network, variant.board) for network in variant.networks]
    for network in networks:
        refuse_relative_pools(network.name, network.pools)
    folder = f"{build_dir(env)}/{variant.name}"
    if variant.application.kind == REFERENCE:
        for network in networks:
            _refuse_other_runtime(network)
        initializers = make_initializers(env, networks, folder, variant, board_layout=True)
        firmware = make_firmware(env, variant, board, machine, networks, initializers)
    else:
        machine = core_machine(board, machine, networks)
        # Where the user's linker script puts things is the user's matter.
        initializers = make_initializers(env, networks, folder, variant, board_layout=False)
        firmware = make_application(env, variant, board, machine, networks, initializers)
    registry.base.Requires(firmware.elf, make_budgets(env, networks, folder))
    flash = make_images(env, variant, board, firmware, networks, initializers)
    return networks, [effects.Program(variant, board, machine, networks, initializers, firmware, flash)]
