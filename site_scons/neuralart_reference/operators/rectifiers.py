"""HARD_SWISH, LEAKY_RELU and ABS."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart_reference.context import WIDE, Lowering, struct
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import operator
from neuralart_reference.operators._plain import FUNCTION
from neuralart_reference.quantize import INT32_MAX, FixedPoint, single
from neuralart_reference.tables import doubling_high_half, scaled, table

_LOW, _HIGH = -(1 << 15), (1 << 15) - 1
_FRACTION = 1 << 7  # of the input
_GATE_SCALE = 3.0 / (1 << 15)  # the gate goes from 0 at -3 to 1 at 3


@dataclass(frozen=True)
class _Factor:
    """A real factor as ``multiplier * 2**(shift - 15)``, the multiplier in 16 bits."""

    multiplier: int
    shift: int


@operator(
    "HARD_SWISH", limits=f"int8, by table; input scale less than {_FRACTION} times the output scale", plain=FUNCTION
)
def hard_swish(ctx: Lowering, op: Operator) -> None:
    """Lower x * min(max(x + 3, 0), 6) / 6, which the profile computes in 16 bits."""
    source, target = ctx.ends(op)
    value = _factor(ctx, op, single(source.scale / _FRACTION / target.scale))
    gate = _factor(ctx, op, single(source.scale / _FRACTION / _GATE_SCALE))
    if value.shift > 0:
        ctx.refuse(
            op, f"input scale {source.scale:g} is not less than {_FRACTION} times the output scale {target.scale:g}"
        )
    zero = source.zero_point
    table(ctx, op, source, target, lambda stored: _swish(stored - zero, value, gate) + target.zero_point)


def _factor(ctx: Lowering, op: Operator, factor: float) -> _Factor:
    fixed = ctx.fixed_point(op, factor)
    if fixed.multiplier >= INT32_MAX - (1 << 15):
        return _Factor(_HIGH, fixed.shift)
    return _Factor((fixed.multiplier + (1 << 15)) >> 16, fixed.shift)


def _swish(distance: int, value: _Factor, gate: _Factor) -> int:
    """Steps of the output for steps of the input, both from their zero points."""
    fine = distance * _FRACTION
    result = doubling_high_half(fine, value.multiplier, 15)
    # All but one bit of a shift to the left comes before the multiplication, which then halves what saturated.
    opened = _clamp(fine << gate.shift - 1) if gate.shift > 0 else fine
    opened = doubling_high_half(opened, gate.multiplier, 15)
    if gate.shift > 0:
        opened = _clamp(opened << 1)
    else:
        opened = _rounding_shift_16(opened, -gate.shift)
    opened = (opened + (1 << 15)) >> 1  # -1 .. 1 becomes 0 .. 1
    product = opened * result
    # Towards zero, against the bias of the roundings before.
    return _rounding_shift_16((abs(product) >> 15) * (1 if product >= 0 else -1), -value.shift)


def _clamp(value: int) -> int:
    return min(max(value, _LOW), _HIGH)


def _rounding_shift_16(value: int, exponent: int) -> int:
    """value / 2**exponent to nearest, halves away from zero, with a mask that is -1 from an exponent of 16 on.

    The reference keeps the mask in 16 bits, so that all positive values become 1 and all negative ones -1 then.
    """
    mask = (1 << exponent) - 1 if exponent < 16 else -1
    return (value >> exponent) + ((value & mask) > (mask >> 1) + (value < 0))


@operator(
    "LEAKY_RELU",
    limits="int8, by table, with requantization; any slope; also int16, slope not negative",
    plain=FUNCTION,
)
def leaky_relu(ctx: Lowering, op: Operator) -> None:
    """Lower a rectifier that multiplies values below zero by a slope."""
    source, target = ctx.ends(op, WIDE)
    slope = float(op.options.get("alpha", 0.0))
    values = 255 if source.dtype == "int8" else 1 << 15
    above = ctx.scale_factor(op, single(source.scale / target.scale), values=values)
    below = ctx.scale_factor(op, single(single(source.scale * slope) / target.scale), values=values)
    if source.dtype == "int16":
        ctx.expect_shape(op, target.tensor, source.shape)
        if slope < 0:
            ctx.refuse(op, f"alpha {slope:g} of int16", "supported: 0 and more")
        count = source.tensor.elements
        parameters = struct("na_leaky_t", count=count, **above.members(), **below.members("slope_"))
        ctx.emit(
            op, "na_leaky_relu_s16", (ctx.read(op, source.tensor), ctx.write(target.tensor), parameters), macc=count
        )
        return

    def stored(value: int) -> int:
        distance = value - source.zero_point
        if distance >= 0:
            return scaled(distance, above) + target.zero_point
        # Halves go up before the sign of a negative slope counts.
        result = scaled(distance, FixedPoint(abs(below.multiplier), below.shift))
        return (-result if below.multiplier < 0 else result) + target.zero_point

    table(ctx, op, source, target, stored)


@operator("ABS", limits="int8, by table, with requantization", plain=FUNCTION)
def absolute(ctx: Lowering, op: Operator) -> None:
    """Lower the absolute value."""
    source, target = ctx.ends(op)
    factor = ctx.scale_factor(op, single(source.scale / target.scale), values=255)
    table(ctx, op, source, target, lambda value: scaled(abs(value - source.zero_point), factor) + target.zero_point)
