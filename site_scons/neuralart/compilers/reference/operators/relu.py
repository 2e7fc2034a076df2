"""RELU, RELU6, RELU_N1_TO_1 and RELU_0_TO_1 as operators of their own."""

from __future__ import annotations

from neuralart.compilers.reference import quantize
from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._requantize import requantize
from neuralart.model.graph import Operator

_LIMITS = "int8, with requantization"


@operator("RELU", limits=_LIMITS)
@operator("RELU6", limits=_LIMITS)
@operator("RELU_N1_TO_1", limits=_LIMITS)
@operator("RELU_0_TO_1", limits=_LIMITS)
def relu(ctx: Lowering, op: Operator) -> None:
    """Lower an activation; its kind names the bounds. The profile divides the scales in float32 here."""
    source = ctx.operand(op, ctx.input(op))
    target = ctx.operand(op, ctx.output(op))
    bounds = ctx.activation_range(op, op.kind, target)
    factor = source.scale / target.scale
    if factor < quantize.INT32_MAX:  # else it is refused, and may not be a float32
        factor = quantize.float32(factor)
    requantize(ctx, op, source, target, factor, bounds)
