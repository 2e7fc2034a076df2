"""LEAKY_RELU and ABS."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._plain import FUNCTION
from neuralart.compilers.reference.operators._table import scaled, table
from neuralart.compilers.reference.quantize import FixedPoint, single
from neuralart.model.graph import Operator


@operator("LEAKY_RELU", limits="int8, by table, with requantization; any slope", plain=FUNCTION)
def leaky_relu(ctx: Lowering, op: Operator) -> None:
    """Lower a rectifier that multiplies values below zero by a slope."""
    source, target = ctx.ends(op)
    slope = float(op.options.get("alpha", 0.0))
    above = ctx.scale_factor(op, single(source.scale / target.scale), values=255)
    below = ctx.scale_factor(op, single(single(source.scale * slope) / target.scale), values=255)

    def stored(value: int) -> int:
        distance = value - source.zero_point
        if distance >= 0:
            return scaled(distance, above) + target.zero_point
        # Halves go up before the sign of a negative slope counts.
        result = scaled(distance, FixedPoint(abs(below.multiplier), below.shift))
        return (-result if below.multiplier < 0 else result) + target.zero_point

    table(ctx, op, source, target, stored)


@operator("ABS", limits="int8, by table, with requantization", plain=FUNCTION)
def absolute(ctx: Lowering, op: Operator) -> None:
    """Lower the absolute value."""
    source, target = ctx.ends(op)
    factor = ctx.scale_factor(op, single(source.scale / target.scale), values=255)
    table(ctx, op, source, target, lambda value: scaled(abs(value - source.zero_point), factor) + target.zero_point)
