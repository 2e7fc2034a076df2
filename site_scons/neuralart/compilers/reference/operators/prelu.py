"""PRELU."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, describe, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._binary import BROADCAST_LIMITS, binary, emit_binary
from neuralart.compilers.reference.operators._factors import product_factor, quotient_factor, scale_factor
from neuralart.model.graph import Operator


@operator("PRELU", limits=f"{BROADCAST_LIMITS}; slopes of the shape of the input or broadcast to it")
def prelu(ctx: Lowering, op: Operator) -> None:
    """Lower a leaky rectifier with slopes of its own per element: values below zero are multiplied by them."""
    sides = binary(ctx, op)
    source, slope, target = sides.first, sides.second, sides.target
    if sides.walk.output != source.shape:
        ctx.refuse(op, f"slopes {describe(slope.tensor)} do not broadcast to {describe(source.tensor)}")
    above = scale_factor(ctx, op, quotient_factor(source.scale, target.scale), values=255)
    below = scale_factor(ctx, op, product_factor(source.scale, slope.scale, target.scale), values=255 * 255)
    parameters = struct(
        "na_prelu_t",
        broadcast=sides.walk.expression(),
        input_offset=-source.zero_point,
        slope_offset=-slope.zero_point,
        output_offset=target.zero_point,
        multiplier=above.multiplier,
        shift=above.shift,
        slope_multiplier=below.multiplier,
        slope_shift=below.shift,
    )
    emit_binary(ctx, op, sides, "na_prelu_s8", parameters)
