"""RELU, RELU6, RELU_N1_TO_1 and RELU_0_TO_1 as operators of their own."""

from __future__ import annotations

from neuralart.compilers.reference import quantize
from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._requantize import requantize
from neuralart.model.graph import Operator

_LIMITS = "int8, with requantisation"


@operator("RELU", limits=_LIMITS)
@operator("RELU6", limits=_LIMITS)
@operator("RELU_N1_TO_1", limits=_LIMITS)
@operator("RELU_0_TO_1", limits=_LIMITS)
def relu(ctx: Lowering, op: Operator) -> None:
    """Lower an activation; its kind names the bounds. The profile divides the scales in float32 here."""
    source = ctx.operand(op, ctx.input(op))
    target = ctx.operand(op, ctx.output(op))
    bounds = ctx.activation_range(op, op.kind, target)
    requantize(ctx, op, source, target, quantize.float32(source.scale / target.scale), bounds)
