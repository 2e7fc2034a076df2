"""How elements go from one tensor to another: what all operators that only rearrange values have in common. An operator
is a list of pieces, each a grid of elements that is walked in both tensors. The lowering makes kernel calls of them,
constant folding makes them right away. What an operator's inputs are, both ask :class:`Sources`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from math import prod

from neuralart_reference.context import INTEGERS, Misfit, Unsupported, describe, integers, same_type
from neuralart_reference.model.graph import Operator, Tensor


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


class Sources:
    """The tensors of an operator, of all ``tensors``."""

    def __init__(self, tensors: Sequence[Tensor], op: Operator) -> None:
        self._tensors = tensors
        self.op = op

    def input(self, position: int = 0) -> Tensor:
        """An input; Unsupported when it is absent."""
        if position >= len(self.op.inputs) or self.op.inputs[position] < 0:
            raise Unsupported(f"input {position} is absent")
        return self._tensors[self.op.inputs[position]]

    def inputs(self) -> list[Tensor]:
        """All inputs; Unsupported when there are none, or one is absent."""
        if not self.op.inputs:
            raise Unsupported("the operator has no inputs")
        return [self.input(position) for position in range(len(self.op.inputs))]

    def output(self, position: int = 0) -> Tensor:
        """An output; Unsupported when it does not exist."""
        if position >= len(self.op.outputs):
            raise Unsupported(f"{len(self.op.outputs)} outputs, expected at least {position + 1}")
        return self._tensors[self.op.outputs[position]]

    def ends(self) -> tuple[Tensor, Tensor]:
        """The first input and the first output; Unsupported when one is missing, or their types differ."""
        tensor, target = self.input(), self.output()
        same_type(tensor, target)
        return tensor, target

    def numbers(self, position: int, role: str) -> tuple[int, ...]:
        """The values of an input that must be constant integers; the role names them in the plural."""
        tensor = self.input(position)
        if tensor.dtype not in INTEGERS:
            hint = f"supported: {' and '.join(INTEGERS)}"
            raise Unsupported(f"{role} of type {tensor.dtype} are not supported: {describe(tensor)}", hint)
        if tensor.data is None:
            raise Unsupported(f"{role} must be constant: {describe(tensor)} is computed while the network runs")
        if len(tensor.data) != tensor.bytes:
            raise Unsupported(f"{describe(tensor)} holds {len(tensor.data)} bytes, its shape asks for {tensor.bytes}")
        return integers(tensor.data, tensor.dtype)

    def per_dimension(self, position: int, role: str, rank: int) -> tuple[int, ...]:
        """Constant integers, one per dimension; Unsupported when they are not constant, or not so many."""
        values = self.numbers(position, role)
        if len(values) != rank:
            raise Unsupported(f"{len(values)} {role} for {rank} dimensions of {describe(self.input())}")
        return values

    def axis(self, value: int, rank: int, of: Tensor) -> int:
        """A dimension, counted from the front; Unsupported when there is no such dimension."""
        if not -rank <= value < rank:
            hint = f"it is one of {-rank} to {rank - 1}"
            raise Unsupported(f"dimension {value} of {describe(of)} does not exist", hint)
        return value % rank

    def one_axis(self, position: int, of: Tensor, rank: int | None = None) -> int:
        """A dimension that a constant input names; Unsupported when it is not constant or no dimension."""
        values = self.numbers(position, "dimensions")
        if len(values) != 1:
            raise Unsupported(f"{len(values)} dimensions in {describe(self.input(position))}, expected 1")
        return self.axis(values[0], len(of.shape) if rank is None else rank, of)

    def expect(self, tensor: Tensor, shape: Sequence[int]) -> None:
        """Check the model's shape of an output against what follows from the inputs; Unsupported when they differ."""
        if tensor.shape != tuple(shape):
            raise Misfit(tensor, shape)


def filled_output(sources: Sources, shape: Sequence[int], steps: Sequence[int], start: int = 0) -> Piece:
    """All of the output, in its order, from the input."""
    return Piece(sources.op.inputs[0], sources.op.outputs[0], Move(tuple(shape), tuple(steps), dense(shape), start))


def filled(values: Sequence[int], fill: int, rank: int) -> str:
    """A C initializer of ``rank`` numbers, filled up in front."""
    return "{" + ", ".join(map(str, (*[fill] * (rank - len(values)), *values))) + "}"


BROADCAST_RANK = 6
"""NA_BROADCAST_RANK of the kernels."""


@dataclass(frozen=True)
class Broadcast:
    """How two inputs are walked to fill an output."""

    output: tuple[int, ...]  # the output's shape
    # The same with neighboring dimensions joined where both inputs allow it; innermost last, never empty
    shape: tuple[int, ...]
    stride1: tuple[int, ...]  # distance of neighbors in the first input per dimension of ``shape``, 0 where it repeats
    stride2: tuple[int, ...]  # likewise for the second

    def expression(self) -> str:
        """The ``na_broadcast_t`` as a C initializer, filled up with leading dimensions of 1."""
        rows = (("shape", self.shape, 1), ("stride1", self.stride1, 0), ("stride2", self.stride2, 0))
        return "{" + ", ".join(f".{name} = {filled(row, fill, BROADCAST_RANK)}" for name, row, fill in rows) + "}"


def broadcast(first: Sequence[int], second: Sequence[int]) -> Broadcast:
    """Broadcast two shapes as numpy does, aligned at the last dimension; Unsupported when they do not fit."""
    pairs = list(zip_longest(reversed(first), reversed(second), fillvalue=1))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        raise Unsupported(f"shapes {list(first)} and {list(second)} do not broadcast")
    output = tuple(max(pair) for pair in reversed(pairs))
    joined: list[list[int]] = []  # innermost first: size, first varies, second varies
    for a, b in pairs:
        if a == b == 1:
            continue
        varies = [int(a > 1), int(b > 1)]
        if joined and joined[-1][1:] == varies:
            joined[-1][0] *= max(a, b)
        else:
            joined.append([max(a, b), *varies])
    joined = joined or [[1, 1, 1]]

    def strides(column: int) -> tuple[int, ...]:
        steps = [prod(row[0] for row in joined[:i] if row[column]) * row[column] for i, row in enumerate(joined)]
        return tuple(reversed(steps))

    return Broadcast(output, tuple(row[0] for row in reversed(joined)), strides(1), strides(2))
