"""Shapes, axes and sizes that operators are given as constant tensors."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.sources import integers
from neuralart.model.graph import Operator, Tensor


def int32_values(ctx: Lowering, op: Operator, tensor: Tensor, role: str) -> tuple[int, ...]:
    """The values of a constant int32 tensor; NeuralArtError when it is not constant, or of another type."""
    return integers(ctx.constant(op, tensor, role, ("int32",)), "int32")
