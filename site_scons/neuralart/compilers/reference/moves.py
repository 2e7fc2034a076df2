"""How elements go from one tensor to another: what all operators that only rearrange values have in common.

An operator is a list of pieces, each a grid of elements that is walked in both tensors. The lowering makes kernel calls
of them, constant folding makes them right away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod


class Unsupported(Exception):
    """Why an operator cannot be done.

    Attributes:
        what: One line.
        hint: What to do, or what is supported.
    """

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


@dataclass(frozen=True)
class Move:
    """A grid of elements, walked in two tensors."""

    shape: tuple[int, ...]  # the grid, slowest dimension first; empty: one element
    source_steps: tuple[int, ...]  # elements from one point of the grid to the next in the source, per dimension
    target_steps: tuple[int, ...]  # likewise in the target
    source_start: int = 0  # element of the source at the grid's origin
    target_start: int = 0  # likewise in the target

    def joined(self) -> Move:
        """The same with as few dimensions as possible, in the same order."""
        dimensions: list[tuple[int, int, int]] = []
        for size, source, target in zip(self.shape, self.source_steps, self.target_steps, strict=True):
            if size == 1:
                continue
            if dimensions and dimensions[-1][1:] == (source * size, target * size):
                size *= dimensions.pop()[0]
            dimensions.append((size, source, target))
        shape, sources, targets = zip(*dimensions, strict=True) if dimensions else ((), (), ())
        return Move(shape, sources, targets, self.source_start, self.target_start)


@dataclass(frozen=True)
class Piece:
    """A move between two tensors."""

    source: int  # tensor number
    target: int  # tensor number
    move: Move  # the elements


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """Steps of a dense tensor, slowest dimension first."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def whole(elements: int) -> Move:
    """All elements in order."""
    return Move((elements,), (1,), (1,))


def apply(move: Move, element: int, source: bytes, target: bytearray) -> None:
    """Carry out a move between whole tensors; ``element`` is the size of one in bytes."""
    move = move.joined()
    run = 1
    shape, sources, targets = move.shape, move.source_steps, move.target_steps
    if shape and sources[-1] == targets[-1] == 1:
        run = shape[-1]
        shape, sources, targets = shape[:-1], sources[:-1], targets[:-1]
    size = run * element
    for index in product(*map(range, shape)):
        at = element * (move.source_start + sum(i * step for i, step in zip(index, sources, strict=True)))
        to = element * (move.target_start + sum(i * step for i, step in zip(index, targets, strict=True)))
        target[to : to + size] = source[at : at + size]
