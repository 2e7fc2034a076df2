"""What operators with two inputs share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuralart.compilers.reference.context import Lowering, Operand, struct
from neuralart.compilers.reference.ir import StructArg
from neuralart.compilers.reference.operators._broadcast import RANK, Broadcast, broadcast
from neuralart.model.graph import Operator

BROADCAST_LIMITS = f"int8, one input may be constant; broadcasting with at most {RANK} dimensions that cannot be joined"


@dataclass(frozen=True)
class Binary:
    """The tensors of an operator with two inputs."""

    first: Operand  # first input
    second: Operand  # second input
    target: Operand  # output
    walk: Broadcast  # how the inputs fill the output


def binary(ctx: Lowering, op: Operator) -> Binary:
    """Check the tensors; NeuralArtError when types, quantization or shapes are not supported."""
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
    return Binary(first, second, target, walk)


def emit_binary(ctx: Lowering, op: Operator, sides: Binary, kernel: str, parameters: StructArg) -> None:
    """Emit the call. Operations counted as multiply-accumulate: output elements."""
    args = (
        ctx.read(op, sides.first.tensor, "input1"),
        ctx.read(op, sides.second.tensor, "input2"),
        ctx.write(sides.target.tensor),
        parameters,
    )
    ctx.emit(op, kernel, args, macc=sides.target.tensor.elements)


def emit_sum(
    ctx: Lowering, op: Operator, kernel: str, *, fraction: int, power: int = 1, activation: str = "NONE"
) -> None:
    """Lower a power of a sum or difference: both inputs are brought to twice the larger of their scales.

    ``fraction`` is two to the number of bits that the kernel adds to the inputs (its LEFT_SHIFT). Raises NeuralArtError
    when something is not supported, or the scales lie too far apart.
    """
    sides = binary(ctx, op)
    first, second, target = sides.first, sides.second, sides.target
    common = 2.0 * max(first.scale, second.scale)
    factor1 = ctx.fixed_point(op, first.scale / common)
    factor2 = ctx.fixed_point(op, second.scale / common)
    result = ctx.fixed_point(op, math.prod([common] * power) / (fraction**power * target.scale))
    if result.shift > 0:
        squared, limit = " squared" if power == 2 else "", (fraction // 2) ** power
        ctx.refuse(
            op, f"input scale {common / 2:g}{squared} is more than {limit} times the output scale {target.scale:g}"
        )
    low, high = ctx.activation_range(op, activation, target)
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
    emit_binary(ctx, op, sides, kernel, parameters)
