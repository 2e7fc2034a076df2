"""SQUARED_DIFFERENCE."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._binary import BROADCAST_LIMITS, binary, emit_binary
from neuralart.model.graph import Operator

_FRACTION = 1 << 7  # LEFT_SHIFT of the kernel


@operator("SQUARED_DIFFERENCE", limits=BROADCAST_LIMITS)
def squared_difference(ctx: Lowering, op: Operator) -> None:
    """Lower (a - b)**2.

    Both inputs are brought to twice the larger of their scales, with 7 bits of fraction, before they are subtracted.
    """
    sides = binary(ctx, op)
    first, second, target = sides.first, sides.second, sides.target
    common = 2.0 * max(first.scale, second.scale)
    factor1 = ctx.fixed_point(op, first.scale / common)
    factor2 = ctx.fixed_point(op, second.scale / common)
    result = ctx.fixed_point(op, common * common / (_FRACTION * _FRACTION * target.scale))
    if result.shift > 0:
        limit = _FRACTION * _FRACTION // 4
        ctx.refuse(
            op, f"input scale {common / 2:g} squared is more than {limit} times the output scale {target.scale:g}"
        )
    low, high = ctx.activation_range(op, "NONE", target)
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
    emit_binary(ctx, op, sides, "na_squared_difference_s8", parameters)
