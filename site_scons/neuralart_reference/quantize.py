"""Quantization arithmetic of the numerics profile ``litert-2.20``: how scales become integers. Everything here repeats
what LiteRT's reference kernels compute when they are prepared. A scale is always exactly a float32; Python floats are
float64, so an operation that LiteRT does in float32 is rounded with :func:`float32`.
"""

from __future__ import annotations

import math
import struct
from typing import Literal, NamedTuple

Padding = Literal["SAME", "VALID"]

INT32_MAX = 2**31 - 1
RANGES: dict[str, tuple[int, int]] = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
"""Smallest and largest stored value of the activation types."""

ACTIVATIONS: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}
"""Real lower and upper bound of each activation."""


class FixedPoint(NamedTuple):
    """A real factor as ``multiplier * 2**(shift - 31)``."""

    multiplier: int  # 0, or 2**30 to 2**31 - 1
    shift: int  # positive: to the left. At least -31

    def members(self, name: str = "") -> dict[str, int]:
        """Both as members of a parameter structure, with a name in front."""
        return {f"{name}multiplier": self.multiplier, f"{name}shift": self.shift}


def float32(value: float) -> float:
    """Round to the nearest float32 (ties to even); OverflowError when the value is outside float32."""
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


def single(value: float) -> float:
    """Round to float32; what is too large becomes infinite."""
    try:
        return float32(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def round_half_away(value: float) -> int:
    """Round to the nearest integer, halves away from zero, as C's ``round`` does. ``floor(x + 0.5)`` would be wrong
    just below a half: the sum itself rounds.
    """
    whole = math.trunc(value)
    if abs(value - whole) >= 0.5:
        return whole + (1 if value > 0 else -1)
    return whole


def quantize_multiplier(factor: float, largest_shift: int = 30) -> FixedPoint:
    """Turn a real factor into a 32-bit multiplier and a shift; factors under 2**-32 become zero. Raises ValueError when
    the factor is negative, not finite, or needs a larger shift to the left than the largest.
    """
    if not math.isfinite(factor) or factor < 0:
        raise ValueError(f"the scale factor {factor!r} is not a finite number >= 0")
    if factor == 0:
        return FixedPoint(0, 0)
    fraction, shift = math.frexp(factor)
    multiplier = round_half_away(fraction * (1 << 31))
    if multiplier == 1 << 31:
        multiplier >>= 1
        shift += 1
    if shift < -31:
        return FixedPoint(0, 0)
    if shift > largest_shift:
        raise ValueError(f"the scale factor {factor:g} is not below the limit of 2**{largest_shift}")
    return FixedPoint(multiplier, shift)


def power_of_two(scale: float) -> int | None:
    """The exponent of a scale that is as near to a power of two as the profile takes for one; None of another."""
    exponent = math.log2(scale)
    return round(exponent) if abs(exponent - round(exponent)) < 1e-3 else None


def activation_range(activation: str, scale: float, zero_point: int, dtype: str) -> tuple[int, int]:
    """Bounds of stored values under one of the :data:`ACTIVATIONS`; ValueError when one does not fit 32 bits."""
    low, high = RANGES[dtype]
    lower, upper = ACTIVATIONS[activation]
    if lower is not None:
        low = max(low, zero_point + _stored(lower, scale))
    if upper is not None:
        high = min(high, zero_point + _stored(upper, scale))
    return low, high


def _stored(real: float, scale: float) -> int:
    """The real value in units of the scale; LiteRT divides in float32."""
    units = real / scale
    if abs(units) > INT32_MAX / 2:
        raise ValueError(f"the output scale {scale:g} is too small: {real:g} is {units:.3g} steps of it")
    return round_half_away(float32(units))


def output_size(size: int, kernel: int, stride: int, dilation: int, padding: Padding) -> int:
    """Number of windows along one axis, 0 when none fits; dilation is the distance of two taps."""
    if padding == "SAME":
        return -(-size // stride)
    return max(0, (size + stride - ((kernel - 1) * dilation + 1)) // stride)


def padding_before(size: int, output: int, kernel: int, stride: int, dilation: int) -> int:
    """Padding above (or left of) the input; an odd rest goes below (or right). For ``VALID`` windows the result is zero
    by itself, since all of them fit.
    """
    return max(0, (output - 1) * stride + (kernel - 1) * dilation + 1 - size) // 2
