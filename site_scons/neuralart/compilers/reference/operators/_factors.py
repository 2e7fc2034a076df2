"""Factors between scales that the profile computes in float32."""

from __future__ import annotations

import math

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.quantize import INT32_MAX, FixedPoint, float32
from neuralart.model.graph import Operator


def quotient_factor(source: float, target: float) -> float:
    """source / target in float32; infinite where that is out of range."""
    try:
        return float32(source / target)
    except OverflowError:
        return math.copysign(math.inf, source)


def product_factor(first: float, second: float, target: float) -> float:
    """first * second / target in float32, from left to right; infinite where that is out of range."""
    try:
        return quotient_factor(float32(first * second), target)
    except OverflowError:
        return math.copysign(math.inf, first * second)


def scale_factor(ctx: Lowering, op: Operator, factor: float, *, values: int) -> FixedPoint:
    """A factor of either sign as multiplier and shift; NeuralArtError when it is too large.

    ``values`` is the magnitude of the largest integer that is multiplied. Shifted to the left it must fit 32 bits,
    where the reference is undefined.
    """
    fixed = ctx.fixed_point(op, abs(factor))
    if values << max(0, fixed.shift) > INT32_MAX:
        limit = 1 << (INT32_MAX // values).bit_length() - 1
        ctx.refuse(op, f"the scale factor {factor:g} is too large", f"less than {limit} between inputs and output")
    return FixedPoint(-fixed.multiplier if factor < 0 else fixed.multiplier, fixed.shift)
