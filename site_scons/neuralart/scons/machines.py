"""The machine that a variant asks for."""

from __future__ import annotations

from neuralart.boards.types import Board, Machine
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError, nearest


def machine_of(variant: VariantConfig, board: Board) -> Machine:
    """Where an image of a variant executes: what it says, else the board's first.

    Raises:
        NeuralArtError: The board has no such machine.
    """
    known = list(board.machines)
    name = variant.machine or (known[0] if known else "")
    if name not in board.machines:
        raise NeuralArtError(
            f"board {board.name} has no machine '{name}'", where=variant.said("machine"), hint=nearest(name, known)
        )
    return board.machines[name]
