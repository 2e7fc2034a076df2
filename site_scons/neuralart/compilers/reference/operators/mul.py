"""MUL."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._binary import BROADCAST_LIMITS, binary, emit_binary
from neuralart.compilers.reference.operators._factors import product_factor, scale_factor
from neuralart.model.graph import Operator


@operator("MUL", limits=f"{BROADCAST_LIMITS}; fused RELU, RELU6, RELU_N1_TO_1")
def mul(ctx: Lowering, op: Operator) -> None:
    """Lower a multiplication: the product of the stored values, less their zero points, is requantized once."""
    sides = binary(ctx, op)
    first, second, target = sides.first, sides.second, sides.target
    fixed = scale_factor(ctx, op, product_factor(first.scale, second.scale, target.scale), values=255 * 255)
    low, high = ctx.activation_range(op, ctx.activation(op), target)
    parameters = struct(
        "na_mul_t",
        broadcast=sides.walk.expression(),
        input1_offset=-first.zero_point,
        input2_offset=-second.zero_point,
        output_offset=target.zero_point,
        multiplier=fixed.multiplier,
        shift=fixed.shift,
        activation_min=low,
        activation_max=high,
    )
    emit_binary(ctx, op, sides, "na_mul_s8", parameters)
