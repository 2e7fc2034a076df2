"""Targets of the reference compiler."""

from __future__ import annotations

from typing import NamedTuple

from neuralart.errors import NeuralArtError, nearest


class Target(NamedTuple):
    """A target.

    Attributes:
        board: The board whose stock profile is used when none is named; empty: the target is refused.
        why: For refused ones: the reason.
    """

    board: str = ""
    why: str = ""


_CPU = Target(why="its flow without an NPU (network_data.c and a CPU runtime) is not written yet")

TARGETS: dict[str, Target] = {
    "stm32n6": Target("stm32n6570-dk"),
    "mps3-an547": Target("mps3-an547"),
    "stm32": _CPU,
    **{
        f"stm32{series}": _CPU
        for series in ("f3", "f4", "f7", "g0", "g4", "h5", "h7", "l4", "l5", "u5", "wl", "wb", "wba")
    },
}


def usable(name: str) -> Target:
    """A target that can be compiled for.

    Raises:
        NeuralArtError: It is unknown or refused.
    """
    possible = [key for key, target in TARGETS.items() if target.board]
    target = TARGETS.get(name)
    if target is None:
        raise NeuralArtError(f"unknown target '{name}'", where="--target", hint=nearest(name, possible))
    if not target.board:
        raise NeuralArtError(
            f"'{name}' is refused: {target.why}", where="--target", hint=f"possible: {', '.join(possible)}"
        )
    return target
