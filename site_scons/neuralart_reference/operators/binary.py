"""Operators with two inputs: ADD, SUB, SQUARED_DIFFERENCE, MUL, DIV, FLOOR_DIV, MAXIMUM, MINIMUM and PRELU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from neuralart_reference.context import WIDE, Lowering, Operand, describe, struct
from neuralart_reference.data_movement import BROADCAST_RANK, Broadcast
from neuralart_reference.ir import StructArg
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import operator
from neuralart_reference.operators._plain import NUMBERS, REALS, SUFFIXES, as_stored, walked
from neuralart_reference.quantize import FixedPoint, power_of_two, single

BROADCAST_LIMITS = (
    f"int8, one input may be constant; broadcasting with at most {BROADCAST_RANK} dimensions that cannot be joined"
)
_SATURATES = float(1 << 14)
"""Times this and more, each product of 8 bits but 0 is beyond 8 bits."""


@dataclass(frozen=True)
class Binary:
    """The tensors of an operator with two inputs."""

    first: Operand  # first input
    second: Operand  # second input
    target: Operand  # output
    walk: Broadcast  # how the inputs fill the output


def binary(ctx: Lowering, op: Operator, dtypes: Sequence[str] = ("int8",)) -> Binary:
    """Check the tensors, all of one type; NeuralArtError when types, quantization or shapes are not supported."""
    first, target = ctx.ends(op, dtypes)
    second = ctx.operand(op, ctx.input(op, 1), (first.dtype,))
    return Binary(first, second, target, walked(ctx, op, first.tensor, second.tensor, target.tensor))


def emit_binary(ctx: Lowering, op: Operator, sides: Binary, kernel: str, parameters: StructArg) -> None:
    """Emit the call. Operations counted as multiply-accumulate: output elements."""
    inputs = (ctx.read(op, sides.first.tensor, "input1"), ctx.read(op, sides.second.tensor, "input2"))
    target = sides.target.tensor
    ctx.emit(op, kernel, (*inputs, ctx.write(target), parameters), macc=target.elements)


def emit_sum(
    ctx: Lowering, op: Operator, sides: Binary, *, fraction: int, power: int = 1, activation: str = "NONE"
) -> None:
    """Lower a power of a sum or difference: both inputs are brought to twice the larger of their scales.

    ``fraction`` is two to the number of bits that the kernel adds to the inputs (its LEFT_SHIFT). Raises NeuralArtError
    when something is not supported, or the scales lie too far apart.
    """
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
    parameters = struct(
        "na_add_t",
        broadcast=sides.walk.expression(),
        input1_offset=-first.zero_point,
        **factor1.members("input1_"),
        input2_offset=-second.zero_point,
        **factor2.members("input2_"),
        output_offset=target.zero_point,
        **result.members("output_"),
        **ctx.activation_members(op, activation, target),
    )
    emit_binary(ctx, op, sides, f"na_{op.kind.lower()}_{SUFFIXES[target.dtype]}", parameters)


_LARGEST_QUOTIENT = 23  # bits to the left that the shortest shift of a quotient takes away
_FUSED_LIMITS = f"{BROADCAST_LIMITS}; fused RELU, RELU6, RELU_N1_TO_1"
_WIDE_LIMITS = _FUSED_LIMITS.replace("int8", "int8 or int16", 1)
_NO_POWERS = "; int16 not with scales that are all powers of two, unless pot_scale_int16 is false"


@operator("ADD", "SUB", limits=_WIDE_LIMITS + _NO_POWERS, plain=NUMBERS)
def add(ctx: Lowering, op: Operator) -> None:
    """Lower an addition or a subtraction, which is an addition with a negative second factor."""
    sides = binary(ctx, op, WIDE)
    wide = sides.target.dtype == "int16"
    powers = all(power_of_two(each.scale) is not None for each in (sides.first, sides.second, sides.target))
    if wide and powers and op.options.get("pot_scale_int16", True):
        what = "int16 with scales that are all powers of two is not supported"
        ctx.refuse(op, what, "the kernel of LSTM cells; supported: pot_scale_int16 false in the model")
    emit_sum(ctx, op, sides, fraction=1 << (15 if wide else 20), activation=ctx.activation(op))


@operator("SQUARED_DIFFERENCE", limits=BROADCAST_LIMITS, plain=NUMBERS)
def squared_difference(ctx: Lowering, op: Operator) -> None:
    """Lower (a - b)**2."""
    emit_sum(ctx, op, binary(ctx, op), fraction=1 << 7, power=2)


def _emit_product(ctx: Lowering, op: Operator, sides: Binary, fixed: FixedPoint) -> None:
    parameters = struct(
        "na_mul_t",
        broadcast=sides.walk.expression(),
        input1_offset=-sides.first.zero_point,
        input2_offset=-sides.second.zero_point,
        output_offset=sides.target.zero_point,
        **fixed.members(),
        **ctx.activation_members(op, ctx.activation(op), sides.target),
    )
    emit_binary(ctx, op, sides, f"na_{op.kind.lower()}_{SUFFIXES[sides.target.dtype]}", parameters)


@operator("MUL", limits=_WIDE_LIMITS, plain=NUMBERS)
def mul(ctx: Lowering, op: Operator) -> None:
    """Lower a multiplication: the product of the stored values, less their zero points, is requantized once."""
    sides = binary(ctx, op, WIDE)
    factor = single(single(sides.first.scale * sides.second.scale) / sides.target.scale)
    largest = 255 if sides.target.dtype == "int8" else 1 << 15
    if largest == 255:
        factor = min(factor, _SATURATES)
    _emit_product(ctx, op, sides, ctx.scale_factor(op, factor, values=largest * largest))


@operator("DIV", limits=f"{_FUSED_LIMITS}; by zero gives the largest or smallest value", plain=NUMBERS)
def div(ctx: Lowering, op: Operator) -> None:
    """Lower a division, which the profile does with a reciprocal in fixed point."""
    sides = binary(ctx, op)
    product = single(sides.second.scale * sides.target.scale)
    factor = single(sides.first.scale / product) if product else math.inf
    fixed = ctx.fixed_point(op, factor)
    if fixed.shift > _LARGEST_QUOTIENT:
        ctx.refuse(op, f"the scale factor {factor:g} is too large", f"less than {1 << _LARGEST_QUOTIENT}")
    _emit_product(ctx, op, sides, fixed)


@operator(
    "FLOOR_DIV",
    limits=f"{BROADCAST_LIMITS}; the quotient of stored values, whatever they mean; not uint8",
    plain=NUMBERS,
)
def floor_div(ctx: Lowering, op: Operator) -> None:
    """Lower a division of the bytes, rounded down, as the profile does it; zero where it divides by zero."""
    as_stored(ctx, op)
    sides = binary(ctx, op)
    emit_binary(ctx, op, sides, "na_floor_div_s8", struct("na_extremum_t", broadcast=sides.walk.expression()))


@operator("FLOOR_MOD", limits="", plain=NUMBERS)
def floor_mod(ctx: Lowering, op: Operator) -> None:
    """Refuse what LiteRT has for plain numbers only."""
    ctx.operand(op, ctx.input(op), ("float32", "int32"))


_LIMITS = f"{BROADCAST_LIMITS}; equal quantization of inputs and output".replace("int8", "int8 or int16", 1)


@operator("MAXIMUM", "MINIMUM", limits=_LIMITS, plain=NUMBERS)
def maximum_minimum(ctx: Lowering, op: Operator) -> None:
    """Lower the choice of the larger or smaller value.

    The reference compares stored values whatever they mean; models whose scales differ are refused instead.
    """
    sides = binary(ctx, op, WIDE)
    for source in (sides.first, sides.second):
        ctx.same_quantization(op, source, sides.target)
    parameters = struct("na_extremum_t", broadcast=sides.walk.expression())
    emit_binary(ctx, op, sides, f"na_{op.kind.lower()}_{SUFFIXES[sides.target.dtype]}", parameters)


@operator("PRELU", limits=f"{BROADCAST_LIMITS}; slopes of the shape of the input or broadcast to it", plain=REALS)
def prelu(ctx: Lowering, op: Operator) -> None:
    """Lower a leaky rectifier with slopes of its own per element: values below zero are multiplied by them."""
    sides = binary(ctx, op)
    source, slope, target = sides.first, sides.second, sides.target
    if sides.walk.output != source.shape:
        ctx.refuse(op, f"slopes {describe(slope.tensor)} do not broadcast to {describe(source.tensor)}")
    above = ctx.scale_factor(op, single(source.scale / target.scale), values=255)
    below = ctx.scale_factor(op, single(single(source.scale * slope.scale) / target.scale), values=255 * 255)
    parameters = struct(
        "na_prelu_t",
        broadcast=sides.walk.expression(),
        input_offset=-source.zero_point,
        slope_offset=-slope.zero_point,
        output_offset=target.zero_point,
        **above.members(),
        **below.members("slope_"),
    )
    emit_binary(ctx, op, sides, "na_prelu_s8", parameters)
