"""How scales become integers."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart_reference import quantize as q

FACTORS = st.floats(min_value=2.0**-31, max_value=2.0**29)


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (0.0, (0, 0)),
        (0.5, (1 << 30, 0)),
        (1.0, (1 << 30, 1)),
        (0.75, (3 << 29, 0)),
        (1 - 2.0**-53, (1 << 30, 1)),  # rounds up to the next power of two
        (2.0**-32, (1 << 30, -31)),
        (math.nextafter(2.0**-32, 0), (1 << 30, -31)),
        (2.0**-33, (0, 0)),
        (5e-324, (0, 0)),
        (2.0**29, (1 << 30, 30)),
    ],
)
def test_multiplier_of_known_factors(factor: float, expected: tuple[int, int]) -> None:
    assert q.quantize_multiplier(factor) == expected


@given(FACTORS)
def test_multiplier_is_the_nearest(factor: float) -> None:
    multiplier, shift = q.quantize_multiplier(factor)
    assert 1 << 30 <= multiplier < 1 << 31
    assert -31 <= shift <= 31
    error = abs(Fraction(factor) - Fraction(multiplier) * Fraction(2) ** (shift - 31))
    assert error <= Fraction(2) ** (shift - 31) / 2


@pytest.mark.parametrize("factor", [-1.0, math.nan, math.inf, 2.0**30, 1e300])
def test_multiplier_refuses(factor: float) -> None:
    with pytest.raises(ValueError, match="scale factor"):
        q.quantize_multiplier(factor)


def test_multiplier_limit_can_be_moved() -> None:
    assert q.quantize_multiplier(float(q.INT32_MAX), largest_shift=31) == (q.INT32_MAX, 31)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, 1),
        (-0.5, -1),
        (1.5, 2),
        (2.5, 3),
        (-2.5, -3),
        (0.49999999999999994, 0),
        (2**52 + 1.0, 2**52 + 1),
        (-0.2, 0),
    ],
)
def test_halves_go_away_from_zero(value: float, expected: int) -> None:
    assert q.round_half_away(value) == expected


@given(st.floats(min_value=-1e15, max_value=1e15))
def test_rounding_is_the_nearest(value: float) -> None:
    assert abs(Fraction(value) - q.round_half_away(value)) <= Fraction(1, 2)


@given(st.floats(width=32, allow_nan=False))
def test_float32_keeps_float32(value: float) -> None:
    assert struct.pack("<f", q.float32(value)) == struct.pack("<f", value)


def test_float32_rounds_to_even() -> None:
    assert q.float32(1 + 2.0**-24) == 1.0
    assert q.float32(1 + 3 * 2.0**-24) == 1 + 2.0**-22
    with pytest.raises(OverflowError):
        q.float32(1e39)


@pytest.mark.parametrize(
    ("activation", "scale", "zero_point", "dtype", "expected"),
    [
        ("NONE", 0.1, 5, "int8", (-128, 127)),
        ("NONE", 0.1, 5, "uint8", (0, 255)),
        ("RELU", 0.1, 5, "int8", (5, 127)),
        ("RELU", 0.1, -128, "int8", (-128, 127)),
        ("RELU6", 0.1, 5, "int8", (5, 65)),
        ("RELU6", 0.02, 5, "int8", (5, 127)),
        ("RELU6", 4.0, 0, "int8", (0, 2)),  # 1.5 steps
        ("RELU6", 100.0, 127, "int8", (127, 127)),
        ("RELU_N1_TO_1", 0.1, 0, "int8", (-10, 10)),
        ("RELU_N1_TO_1", 0.4, 0, "int8", (-3, 3)),  # 2.5 steps, in float32 too
        ("RELU_N1_TO_1", 1e-3, 0, "int8", (-128, 127)),
        ("RELU_0_TO_1", 0.1, -3, "int8", (-3, 7)),
    ],
)
def test_activation_range(
    activation: str, scale: float, zero_point: int, dtype: str, expected: tuple[int, int]
) -> None:
    assert q.activation_range(activation, q.float32(scale), zero_point, dtype) == expected


def test_activation_range_refuses_a_scale_of_nothing() -> None:
    with pytest.raises(ValueError, match="the output scale 1e-12 is too small: 6 is 6e\\+12 steps of it"):
        q.activation_range("RELU6", 1e-12, 0, "int8")


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.sampled_from(["SAME", "VALID"]))
def test_windows(size: int, kernel: int, stride: int, dilation: int, padding: q.Padding) -> None:
    """Counted window by window."""
    extent = (kernel - 1) * dilation + 1
    length = q.output_size(size, kernel, stride, dilation, padding)
    before = q.padding_before(size, length, kernel, stride, dilation) if length else 0
    if padding == "VALID":
        assert length == len([start for start in range(0, size, stride) if start + extent <= size])
        assert before == 0
        return
    assert length == len(range(0, size, stride))
    after = max(0, (length - 1) * stride + extent - size) - before
    assert 0 <= after - before <= 1
    starts = [n * stride - before for n in range(length)]
    assert all(start < size for start in starts)
    assert starts[-1] + extent <= size + after
