"""What the random one-operator graphs are drawn from: every draw is seeded, every draw is legal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tflite_writer import ModelWriter

VECTORS = 3
INT32 = 2**31 - 1
FUSED = ("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@dataclass
class Case:
    """One operator with tensors of its own inside a larger model.

    Attributes:
        inputs: Tensor numbers.
        outputs: Tensor numbers.
        vectors: For each vector a value per input.
        text: What it is, for the message of a failed comparison.
        ulps: Steps of float32 that results may be off: of functions whose last bits depend on the C library.
        off: Part of the largest result, or of 1, that results may be off: of functions that cancel.
    """

    inputs: list[int]
    outputs: list[int]
    vectors: list[list[np.ndarray]] = field(repr=False)
    text: str = ""
    ulps: int = 0
    off: float = 0.0


Draw = Callable[[np.random.Generator, ModelWriter], Case]


def f32(value: float) -> float:
    return float(np.float32(value))


def scale(rng: np.random.Generator, low: float = -3, high: float = 0.3) -> float:
    """Half of them powers of two, whose products meet exact ties."""
    if rng.random() < 0.3:
        return f32(2.0 ** int(rng.integers(-8, 2)))
    return f32(10 ** rng.uniform(low, high))


def ratio(rng: np.random.Generator, decades: float) -> float:
    """Of two scales: equal, a power of two (exact ties), near, or far apart."""
    near, far = 2 ** rng.uniform(-3, 3), 10 ** rng.uniform(-decades, decades)
    return float(rng.choice([1.0, 2.0 ** int(rng.integers(-3, 4)), near, far]))


def zero_point(rng: np.random.Generator, dtype: str = "int8") -> int:
    low, high = (-128, 127) if dtype == "int8" else (0, 255)
    return int(rng.choice([low, high, 0, rng.integers(low, high + 1)], p=[0.1, 0.1, 0.1, 0.7]))


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "int8") -> list[list[np.ndarray]]:
    """Whole range, extremes only, and a narrow band: one input each."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    middle = int(rng.integers(low, high + 1))
    band = np.clip(rng.integers(middle - 6, middle + 7, shape), low, high)
    drawn = (rng.integers(low, high + 1, shape), rng.choice([low, high], shape), band)
    return [[value.astype(dtype)] for value in drawn]


def output_scale(rng: np.random.Generator, typical: float) -> float:
    """Mostly such that outputs spread over the range; sometimes far too small or far too large."""
    factor = rng.choice([1.0, 1.0, 1.0, 1.0, 1e-3, 0.05, 30.0])
    if rng.random() < 0.25:
        return f32(2.0 ** round(np.log2(typical * factor / 50)))
    return f32(typical * factor / 50 * 2 ** rng.uniform(-1, 1))


def small_shape(rng: np.random.Generator) -> tuple[int, ...]:
    """One to four dimensions of up to seven."""
    return tuple(int(d) for d in rng.integers(1, 8, int(rng.integers(1, 5))))


def broadcast_shapes(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Of two inputs and their output; equal ones, stretched and missing dimensions."""
    out = tuple(int(d) for d in rng.integers(1, 6, int(rng.integers(1, 7))))
    if rng.random() < 0.4:
        return out, out, out
    sides = []
    for _ in range(2):
        shape = tuple(d if rng.random() < 0.6 else 1 for d in out)
        sides.append(shape[int(rng.integers(0, len(shape) + 1)) :] if rng.random() < 0.3 else shape)
    whole = np.broadcast_shapes(*sides)
    return sides[0], sides[1], tuple(int(d) for d in whole)


def bias_values(rng: np.random.Generator, count: int, spread: float) -> np.ndarray:
    """Around the accumulators; sometimes over all of 32 bits, so that sums wrap."""
    if rng.random() < 0.15:
        return rng.integers(-INT32 - 1, INT32 + 1, count)
    return np.clip(rng.normal(0, spread, count), -INT32, INT32).astype(np.int64)


def weight_values(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(-127, 128, shape) if rng.random() < 0.8 else rng.choice([-128, 127], shape)
