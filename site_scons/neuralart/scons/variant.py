"""``env.NeuralArtVariant(...)``: composes networks, initialisers, firmware, images, effects and summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuralart.boards.types import Board, Machine
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.scons import effects
from neuralart.scons.failures import at_read_time
from neuralart.scons.firmware import FirmwareNodes, make_firmware
from neuralart.scons.images import FlashNodes, make_images
from neuralart.scons.initializers import InitializerNodes, make_initializers
from neuralart.scons.network import NetworkNodes, make_network
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

    @property
    def run(self) -> Any:
        """``run-<variant>``."""
        return self.effects["run"]


def _machine(variant: VariantConfig, board: Board) -> Machine:
    known = list(board.machines)
    name = variant.machine or (known[0] if known else "")
    if name not in board.machines:
        raise NeuralArtError(
            f"board {board.name} has no machine '{name}'", where=variant.said("machine"), hint=nearest(name, known)
        )
    return board.machines[name]


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
    registry: Registry = env["NEURALART_REGISTRY"]
    board = registry.board(variant.board, variant.said("board"))
    machine = _machine(variant, board)
    networks = [make_network(env, network, variant.board) for network in variant.networks]
    folder = f"{build_dir(env)}/{variant.name}"
    initializers = make_initializers(env, networks, folder, variant, board_layout=True)
    firmware = make_firmware(env, variant, board, machine, networks, initializers)
    flash = make_images(env, variant, board, firmware, networks, initializers)
    summary, index = make_summary(env, variant, board, machine, firmware, flash, networks, initializers)
    alias = env.Alias(variant.name, [summary, index, *(network.provenance for network in networks)])
    program = effects.Program(variant, board, machine, networks, initializers, firmware, flash)
    return VariantNodes(
        variant.name,
        networks,
        initializers,
        firmware,
        flash,
        summary,
        index,
        alias,
        effects.make_effects(env, program),
    )
