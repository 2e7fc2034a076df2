"""Functions of one value, and TABLE: one that the reader of ONNX models has sampled."""

from __future__ import annotations

import math
from struct import pack, unpack

from neuralart_reference.context import WIDE, Lowering, Operand, describe, struct
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import operator
from neuralart_reference.operators._plain import FUNCTION, REALS
from neuralart_reference.quantize import INT32_MAX, RANGES, FixedPoint, float32, power_of_two, round_half_away, single
from neuralart_reference.tables import INT16_MAX, nearest, rounding_shift, sampled, scaled, table

_LOGISTIC_SCALE = 1 / 256
_FINE = 20  # bits of an inverse root behind the point
_MOST_BITS = 30
_HALF_ROOT = 1518500250  # of two, in 31 bits
_WIDE_SCALE = 1 / (1 << 15)  # of a result in int16
_FUNCTIONS = {"EXP": nearest(math.exp), "LOG": nearest(math.log), "TANH": nearest(math.tanh)}


def _sigmoid(place: float) -> float:
    return 65536 / (1 + math.exp(-place / 24))


def _by_lines(ctx: Lowering, op: Operator, source: Operand, target: Operand) -> None:
    """Lower LOGISTIC or TANH of int16: the profile draws straight lines between 256 points of the same curve.

    It halves the error amid a line by moving the point where the line begins.
    """
    ctx.expect_shape(op, target.tensor, source.shape)
    if target.scale != _WIDE_SCALE:
        ctx.refuse(op, f"output scale {target.scale:g}", f"a {op.kind.lower()} of int16 has scale 1/32768")
    multiplier, shift, exponent = source.scale * 4096.0 * 3.0, 0, power_of_two(source.scale)
    if exponent == -12 or (exponent == -11 and op.kind == "TANH"):
        multiplier = 3 << exponent + 12
    else:
        while multiplier <= INT16_MAX / 2 and shift <= _MOST_BITS:
            multiplier, shift = 2 * multiplier, shift + 1
    if multiplier >= 1 << 16:
        ctx.refuse(op, f"input scale {source.scale:g} is too large", f"less than {(1 << 16) / 12288:g}")
    points = [0.75 * _sigmoid(n) + 0.5 * _sigmoid(n + 0.5) - 0.25 * _sigmoid(n + 1) for n in range(255)]
    data = pack("<256H", *map(round_half_away, points), 65535)
    parameters = struct("na_sigmoid_t", count=source.tensor.elements, multiplier=int(multiplier), shift=shift)
    args = (ctx.read(op, source.tensor), ctx.data(op, data, "uint16_t", "table"), ctx.write(target.tensor), parameters)
    ctx.emit(op, f"na_{op.kind.lower()}_s16", args, macc=source.tensor.elements)


@operator("EXP", limits="int8, by table", plain=FUNCTION)
@operator("TANH", limits="int8, by table; or int16, output scale 1/32768", plain=FUNCTION)
def sampled_function(ctx: Lowering, op: Operator) -> None:
    """Lower the exponential function or the hyperbolic tangent."""
    source, target = ctx.ends(op, WIDE if op.kind == "TANH" else ("int8",))
    if source.dtype == "int16":
        _by_lines(ctx, op, source, target)
        return
    table(ctx, op, source, target, sampled(source, target, _FUNCTIONS[op.kind]))


@operator("ELU", limits="int8, by table", plain=FUNCTION)
def exponential_unit(ctx: Lowering, op: Operator) -> None:
    """Lower exp(x) - 1 below zero, and x above."""
    source, target = ctx.ends(op)
    below = nearest(math.expm1)
    table(ctx, op, source, target, sampled(source, target, lambda x: below(x) if x < 0 else x))


@operator("LOG", limits="int8, by table; the smallest value for zero and below", plain=FUNCTION)
def log(ctx: Lowering, op: Operator) -> None:
    """Lower the natural logarithm."""
    source, target = ctx.ends(op)
    smallest = float32((RANGES[target.dtype][0] - target.zero_point) * target.scale)
    table(ctx, op, source, target, sampled(source, target, lambda x: _FUNCTIONS["LOG"](x) if x > 0 else smallest))


@operator("LOGISTIC", limits="int8, by table, output scale 1/256; or int16, output scale 1/32768", plain=FUNCTION)
def logistic(ctx: Lowering, op: Operator) -> None:
    """Lower 1 / (1 + exp(-x))."""
    source, target = ctx.ends(op, WIDE)
    if source.dtype == "int16":
        _by_lines(ctx, op, source, target)
        return
    if target.scale != _LOGISTIC_SCALE:
        ctx.refuse(op, f"output scale {target.scale:g}", "a logistic has scale 1/256")
    exp = _FUNCTIONS["EXP"]
    table(ctx, op, source, target, sampled(source, target, lambda x: float32(1.0 / float32(1.0 + exp(-x)))))


@operator("SQRT", limits="int8, by table; zero for negative values", plain=FUNCTION)
def square_root(ctx: Lowering, op: Operator) -> None:
    """Lower a square root; unlike other functions the profile rounds it towards zero."""
    source, target = ctx.ends(op)

    def stored(value: int) -> int:
        real = single(source.scale * max(value - source.zero_point, 0))
        return math.trunc(min(single(single(math.sqrt(real)) / target.scale), INT32_MAX)) + target.zero_point

    table(ctx, op, source, target, stored)


@operator("RSQRT", limits="int8, by table; the largest value for zero and below", plain=FUNCTION)
def inverse_square_root(ctx: Lowering, op: Operator) -> None:
    """Lower 1 / the square root, which the profile computes in fixed point."""
    source, target = ctx.ends(op)
    product = single(single(math.sqrt(source.scale)) * target.scale)
    factor = ctx.fixed_point(op, 1.0 / product if product else math.inf)

    def stored(value: int) -> int:
        if value <= source.zero_point:
            return RANGES[target.dtype][1]
        root = _inverse_root(value - source.zero_point)
        fine = scaled(1, FixedPoint(root.multiplier, root.shift + _FINE))
        return scaled(fine, FixedPoint(factor.multiplier, factor.shift - _FINE)) + target.zero_point

    table(ctx, op, source, target, stored)


def _inverse_root(value: int) -> FixedPoint:
    """1 / the square root of 1 to 255, by five Newton steps from 1 in 32 bits, of which 28 are behind the point."""
    if value == 1:
        return FixedPoint(INT32_MAX, 0)
    pairs = (31 - value.bit_length()) // 2 - 1
    half = rounding_shift(value << 2 * pairs >> 1, 1)

    def product(a: int, b: int) -> int:
        return (a * b + (1 << 30)) >> 31

    def whole(raised: int, bits: int) -> int:
        return min(max(raised << bits, -INT32_MAX - 1), INT32_MAX)

    x = 1 << 28
    for _ in range(5):
        cube = whole(product(product(x, x), x), 6)
        x = whole(product(3 << 27, x) - product(half, cube), 3)
    x, shift = product(x, _HALF_ROOT), pairs - 11
    return FixedPoint(x << max(0, shift), min(0, shift))


@operator("CEIL", "COS", "ERF", "FLOOR", "NEG", "ROUND", "SIGN", "SIN", "SQUARE", limits="", plain=FUNCTION)
@operator("POW", limits="", plain=REALS)
def not_quantized(ctx: Lowering, op: Operator) -> None:
    """Refuse what only float32 has."""
    ctx.refuse(
        op, f"element type {ctx.input(op).dtype} is not supported: {describe(ctx.input(op))}", "supported: float32"
    )


_RESULTS = "any function of one value, with requantization or to float32"


@operator("TABLE", limits=f"int8; of ONNX models: {_RESULTS}", floats=True)
def looked_up(ctx: Lowering, op: Operator) -> None:
    """Lower a table; input 1 has the result for each stored value from -128 to 127."""
    if (target := ctx.output(op)).dtype == "float32":
        source = ctx.operand(op, ctx.input(op)).tensor
        data = ctx.constant(op, ctx.input(op, 1), "results", ("float32",))
        args = (ctx.read(op, source), ctx.data(op, data, "float", "table"), ctx.write(target))
        parameters = struct("na_table_t", count=source.elements)
        ctx.emit(op, "na_table_s8_f32", (*args, parameters), macc=source.elements)
        return
    results = unpack("<256b", ctx.constant(op, ctx.input(op, 1), "results", ("int8",)))
    table(ctx, op, *ctx.ends(op), lambda stored: results[stored + 128])
