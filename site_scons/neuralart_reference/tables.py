"""Functions of one value as tables of 256 entries; of int16, as points of a curve of straight lines."""

from __future__ import annotations

import math
from collections.abc import Callable
from struct import pack

from neuralart_reference.context import Lowering, Operand, struct
from neuralart_reference.model.graph import Operator
from neuralart_reference.quantize import INT32_MAX, RANGES, FixedPoint, round_half_away, single

Stored = Callable[[int], int]
INT16_MAX = (1 << 15) - 1
_LINES = 512


def table(ctx: Lowering, op: Operator, source: Operand, target: Operand, stored: Stored) -> None:
    """Emit the lookup of a function, stored input -> stored output, clamped where it leaves the range.

    The table is data, since it may differ where only scales do. Operations counted as multiply-accumulate: output
    elements. Raises NeuralArtError when the shapes differ, or the function cannot be computed for these scales
    (ValueError).
    """
    ctx.expect_shape(op, target.tensor, source.shape)
    low, high = RANGES[target.dtype]
    try:
        # Negative values come second, where their bytes lie as unsigned numbers.
        entries = [min(max(stored(value), low), high) for value in (*range(128), *range(-128, 0))]
    except ValueError as error:
        ctx.refuse(op, str(error), "look at the scales of its input and output")
    data = ctx.data(op, bytes(entry & 0xFF for entry in entries), "int8_t", "table")
    parameters = struct("na_table_t", count=source.tensor.elements)
    args = (ctx.read(op, source.tensor), data, ctx.write(target.tensor), parameters)
    ctx.emit(op, "na_table_s8", args, macc=source.tensor.elements)


def sampled(source: Operand, target: Operand, function: Callable[[float], float]) -> Stored:
    """A real function between two quantizations, in float32 throughout as the profile's reference computes it.

    The function is float32 -> float32; :func:`nearest` makes one of an exact function. The result, stored value ->
    stored value, raises ValueError where a real value or result is out of range.
    """
    inverse = single(1.0 / target.scale)

    def stored(value: int) -> int:
        real = single(source.scale * (value - source.zero_point))
        steps = single(function(real) * inverse)
        if not abs(steps) <= INT32_MAX / 2:
            raise ValueError(
                f"the input scale {source.scale:g} is too large or the output scale {target.scale:g} too small: "
                f"a result is {steps:g} steps"
            )
        return round_half_away(steps) + target.zero_point

    return stored


def nearest(function: Callable[[float], float]) -> Callable[[float], float]:
    """Round a function's results to float32.

    The reference calls the C library's float32 functions, whose last bit depends on the library; newer libraries round
    correctly, as this does. A result that is too large for the function itself becomes infinite.
    """

    def rounded(x: float) -> float:
        try:
            return single(function(x))
        except OverflowError:
            return math.inf

    return rounded


def interpolation(function: Callable[[float], float], low: float, high: float) -> bytes:
    """513 points of a function, int16 in steps of 2**-15; half of the error amid a line moves its beginning."""
    step, unit = (high - low) / _LINES, 1 << 15
    raised = [function(low + number * step) * unit for number in range(_LINES)] + [function(high) * unit]
    points = []
    for number, value in enumerate(raised[:-1]):
        middle = round_half_away((function(low + (number + 1) * step) * unit + round_half_away(value)) / 2)
        error = middle - round_half_away(function(low + number * step + step / 2) * unit)
        points.append(round_half_away(value) - round_half_away(error / 2))
    points.append(round_half_away(raised[-1]))
    return pack(f"<{_LINES + 1}h", *(min(max(point, -INT16_MAX - 1), INT16_MAX) for point in points))


def scaled(value: int, fixed: FixedPoint) -> int:
    """A value times a factor in fixed point (``na_scale`` of the kernels); ValueError when it leaves 32 bits."""
    shifted = value << max(0, fixed.shift)
    if abs(shifted) > INT32_MAX:
        raise ValueError(f"the scale factor {fixed.multiplier * 2.0 ** (fixed.shift - 31):g} is too large")
    return rounding_shift(doubling_high_half(shifted, fixed.multiplier, 31), max(0, -fixed.shift))


def doubling_high_half(a: int, b: int, bits: int) -> int:
    """a * b / 2**bits to nearest, halves up."""
    return (a * b + (1 << bits - 1)) >> bits


def rounding_shift(value: int, exponent: int) -> int:
    """value / 2**exponent to nearest, halves away from zero."""
    half = 1 << exponent >> 1
    return (abs(value) + half >> exponent) * (1 if value >= 0 else -1)
