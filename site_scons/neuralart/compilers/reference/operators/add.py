"""ADD."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._broadcast import RANK, broadcast
from neuralart.model.graph import Operator

_FRACTION = 1 << 20  # LEFT_SHIFT of the kernel


@operator(
    "ADD",
    limits=f"int8, one input may be constant; broadcasting with at most {RANK} dimensions that cannot be joined; "
    "fused RELU, RELU6, RELU_N1_TO_1",
)
def add(ctx: Lowering, op: Operator) -> None:
    """Lower an addition.

    Both inputs are brought to twice the larger of their scales, with 20 bits of fraction, before they are added.
    Operations counted as multiply-accumulate: output elements.
    """
    first = ctx.operand(op, ctx.input(op, 0))
    second = ctx.operand(op, ctx.input(op, 1))
    target = ctx.operand(op, ctx.output(op))
    try:
        walk = broadcast(first.shape, second.shape)
    except ValueError as error:
        ctx.refuse(op, str(error))
    ctx.expect_shape(op, target.tensor, walk.output)
    if len(walk.shape) > RANK:
        ctx.refuse(op, f"broadcasting over {len(walk.shape)} dimensions is not supported", f"at most {RANK}")
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
        broadcast=walk.expression(),
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
    args = (
        ctx.read(op, first.tensor, "input1"),
        ctx.read(op, second.tensor, "input2"),
        ctx.write(target.tensor),
        parameters,
    )
    ctx.emit(op, "na_add_s8", args, macc=target.tensor.elements)
