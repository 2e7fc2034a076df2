"""ADD and SUB."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._binary import BROADCAST_LIMITS, binary, emit_binary
from neuralart.model.graph import Operator

_FRACTION = 1 << 20  # LEFT_SHIFT of the kernel
_LIMITS = f"{BROADCAST_LIMITS}; fused RELU, RELU6, RELU_N1_TO_1"


@operator("ADD", limits=_LIMITS)
@operator("SUB", limits=_LIMITS)
def add(ctx: Lowering, op: Operator) -> None:
    """Lower an addition or a subtraction, which is an addition with a negative second factor.

    Both inputs are brought to twice the larger of their scales, with 20 bits of fraction, before they are added.
    """
    sides = binary(ctx, op)
    first, second, target = sides.first, sides.second, sides.target
    common = 2.0 * max(first.scale, second.scale)
    factor1 = ctx.fixed_point(op, first.scale / common)
    factor2 = ctx.fixed_point(op, second.scale / common)
    result = ctx.fixed_point(op, common / (_FRACTION * target.scale))
    if result.shift > 0:
        ctx.refuse(
            op, f"input scale {common / 2:g} is more than {_FRACTION // 2} times the output scale {target.scale:g}"
        )
    low, high = ctx.activation_range(op, ctx.activation(op), target)
    parameters = struct(
        "na_add_t",
        broadcast=sides.walk.expression(),
        input1_offset=-first.zero_point,
        input1_multiplier=factor1.multiplier,
        input1_shift=factor1.shift,
        input2_offset=-second.zero_point,
        input2_multiplier=factor2.multiplier,
        input2_shift=factor2.shift,
        output_offset=target.zero_point,
        output_multiplier=result.multiplier,
        output_shift=result.shift,
        activation_min=low,
        activation_max=high,
    )
    emit_binary(ctx, op, sides, "na_sub_s8" if op.kind == "SUB" else "na_add_s8", parameters)
