"""What an operator's inputs are, for the lowering and for constant folding alike."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from neuralart.compilers.reference.context import describe
from neuralart.compilers.reference.moves import Unsupported
from neuralart.model.graph import Operator, Tensor

INTEGERS = {"int32": "i", "int64": "q"}
"""Types of shapes, axes and indices -> their letter in :mod:`struct`."""


def integers(data: bytes, dtype: str) -> tuple[int, ...]:
    """The values of a constant of a type in :data:`INTEGERS`."""
    letter = INTEGERS[dtype]
    return struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data)


class Sources:
    """The tensors of an operator.

    Args:
        tensors: All tensors.
        op: The operator.
    """

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

    def numbers(self, position: int, role: str) -> tuple[int, ...]:
        """The values of an input that must be constant integers; the role names them in the plural."""
        tensor = self.input(position)
        if tensor.dtype not in INTEGERS:
            raise Unsupported(
                f"{role} of type {tensor.dtype} are not supported: {describe(tensor)}",
                f"supported: {' and '.join(INTEGERS)}",
            )
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
            raise Unsupported(
                f"dimension {value} of {describe(of)} does not exist", f"it is one of {-rank} to {rank - 1}"
            )
        return value % rank

    def one_axis(self, position: int, of: Tensor, rank: int | None = None) -> int:
        """A dimension that a constant input names; Unsupported when it is not constant or no dimension."""
        values = self.numbers(position, "dimensions")
        if len(values) != 1:
            raise Unsupported(f"{len(values)} dimensions in {describe(self.input(position))}, expected 1")
        return self.axis(values[0], len(of.shape) if rank is None else rank, of)

    def same_dtype(self, *tensors: Tensor) -> None:
        """Check that values can be copied; Unsupported when types differ."""
        for other in tensors[1:]:
            if other.dtype != tensors[0].dtype:
                raise Unsupported(f"{describe(tensors[0])} and {describe(other)} have different types")

    def expect(self, tensor: Tensor, shape: Sequence[int]) -> None:
        """Check the model's shape of an output against what follows from the inputs; Unsupported when they differ."""
        if tensor.shape != tuple(shape):
            gives = ", ".join(map(str, shape))
            raise Unsupported(f"{describe(tensor)} does not fit its inputs, which give [{gives}]")
