"""What operators with a state share: where an LSTM has its inputs, and a reader of constants and states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuralart_reference.context import C_TYPES, Lowering, describe, integers
from neuralart_reference.ir import TensorArg
from neuralart_reference.model.graph import Operator


@dataclass(frozen=True)
class Gate:
    """Where a gate of an LSTM has its inputs."""

    weights: int
    recurrent: int
    peephole: int | None  # No weights for the cell gate
    bias: int
    norm: int
    intermediate: int  # The tensor that has the scale of the sum, for layer normalization


FORGET = Gate(2, 6, 10, 13, 21, 1)
CELL = Gate(3, 7, None, 14, 22, 2)
OUTPUT = Gate(4, 8, 11, 15, 23, 3)
INPUT = Gate(1, 5, 9, 12, 20, 0)
PROJECTION, PROJECTION_BIAS, OUTPUT_STATE, CELL_STATE = 16, 17, 18, 19


class States:
    """Reads the constants and states of an operator, and remembers which it has read."""

    def __init__(self, ctx: Lowering, op: Operator) -> None:
        self._ctx, self._op = ctx, op
        self._read = {0}
        if ctx.input(op).variable:
            ctx.refuse(op, f"input {describe(ctx.input(op))} is a variable tensor", "only states may be variable")

    def constant(self, position: int, role: str, dtype: str, shape: Sequence[int]) -> bytes:
        """The bytes of a constant; NeuralArtError when it is of another type or shape, or computed."""
        self._read.add(position)
        tensor = self._ctx.input(self._op, position)
        data = self._ctx.constant(self._op, tensor, role, (dtype,))
        self._ctx.expect_shape(self._op, tensor, shape)
        return data

    def scale(self, position: int) -> float:
        """The only scale of a tensor whose zero point is 0; NeuralArtError for another quantization."""
        tensor = self._ctx.input(self._op, position)
        quantization = self._ctx.quantization(self._op, tensor)
        if quantization.per_channel or quantization.zero_point:
            self._ctx.refuse(self._op, f"{describe(tensor)} must have one scale, and zero point 0")
        return quantization.scale

    def bias(self, position: int, units: int) -> tuple[int, ...]:
        """The values of a bias."""
        return integers(self.constant(position, "biases", "int32", (units,)), "int32")

    def state(self, position: int, dtype: str, elements: int) -> TensorArg:
        """The address of a variable tensor; NeuralArtError when it is none, or has another type or size."""
        self._read.add(position)
        tensor = self._ctx.input(self._op, position)
        if tensor.index not in self._ctx.model.states or (tensor.dtype, tensor.elements) != (dtype, elements):
            what = f"state {describe(tensor)} is no variable tensor of {elements} {dtype} values"
            self._ctx.refuse(self._op, what)
        return TensorArg(tensor.index, C_TYPES[dtype], written=True)

    def check_all_read(self) -> None:
        """NeuralArtError when there is an input that nothing has asked for."""
        for position in range(len(self._op.inputs)):
            tensor = self._ctx.optional(self._op, position)
            if tensor is not None and position not in self._read:
                what = f"input {position} {describe(tensor)} is there, but not all that belongs to it"
                self._ctx.refuse(self._op, what)
