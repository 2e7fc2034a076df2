"""What the layers of an int8 model compute, for many pictures at a time: to choose scales and to train last layers.

Values are float64 arrays [n, h, w, c] of integers, already without their zero point. All products and sums stay far
below 2**53, so they are exact in whatever order a linear-algebra library adds, and everything else is done element
by element: the same bits come out on every machine. Requantization rounds once (TFLite rounds twice), so a value may
be one step away from the model's own; golden vectors are made by LiteRT, never by this file.
"""

from __future__ import annotations

import math

import numpy as np


def tidy(value: float) -> np.float32:
    """A positive number rounded to 12 significant bits: survives the last bit of a square root."""
    mantissa, exponent = math.frexp(value)
    return np.float32(math.ldexp(round(mantissa * 4096) / 4096, exponent))


def requantize(real: np.ndarray, scale: float, low: int, high: int) -> np.ndarray:
    """Real values to steps of ``scale``, kept in low..high (both without the zero point)."""
    steps = real / float(scale)
    steps += 0.5
    np.floor(steps, out=steps)
    return np.clip(steps, low, high, out=steps)


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Rows before and behind, as TensorFlow's SAME has them."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def _windows(value: np.ndarray, kernel: int, stride: int, padding: str) -> list[np.ndarray]:
    """For each tap of a square window the values under it."""
    if padding == "SAME":
        rows = same_padding(value.shape[1], kernel, stride)
        columns = same_padding(value.shape[2], kernel, stride)
        value = np.pad(value, ((0, 0), rows, columns, (0, 0)))
    height = (value.shape[1] - kernel) // stride + 1
    width = (value.shape[2] - kernel) // stride + 1
    return [
        value[:, i : i + height * stride : stride, j : j + width * stride : stride]
        for i in range(kernel)
        for j in range(kernel)
    ]


def convolution(value: np.ndarray, weights: np.ndarray, stride: int, padding: str) -> np.ndarray:
    """The accumulators without bias; weights [k, s, s, c]."""
    taps = weights.astype(np.float64).reshape(len(weights), -1, weights.shape[-1])
    windows = _windows(value, weights.shape[1], stride, padding)
    total = windows[0] @ taps[:, 0].T
    for number, window in enumerate(windows[1:], 1):
        total += window @ taps[:, number].T
    return total


def depthwise(value: np.ndarray, weights: np.ndarray, stride: int, padding: str) -> np.ndarray:
    """The accumulators without bias; weights [1, s, s, c]."""
    taps = weights.astype(np.float64).reshape(-1, weights.shape[-1])
    windows = _windows(value, weights.shape[1], stride, padding)
    total = windows[0] * taps[0]
    part = np.empty_like(total)
    for window, tap in zip(windows[1:], taps[1:], strict=True):
        total += np.multiply(window, tap, out=part)
    return total


def max_pool(value: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    """MAX_POOL_2D without padding."""
    return np.maximum.reduce(_windows(value, kernel, stride, "VALID"))


def bilinear_twice(value: np.ndarray) -> np.ndarray:
    """RESIZE_BILINEAR to the double size with half pixel centers: 3/4 of the nearer, 1/4 of the other neighbor."""
    for axis in (1, 2):
        size = value.shape[axis]
        before = np.take(value, np.maximum(np.arange(size) - 1, 0), axis)
        behind = np.take(value, np.minimum(np.arange(size) + 1, size - 1), axis)
        pair = np.stack([value * 0.75 + before * 0.25, value * 0.75 + behind * 0.25], axis + 1)
        shape = list(value.shape)
        shape[axis] *= 2
        value = pair.reshape(shape)
    return np.floor(value + 0.5)


def nearest_twice(value: np.ndarray) -> np.ndarray:
    """RESIZE_NEAREST_NEIGHBOR to the double size."""
    return value.repeat(2, axis=1).repeat(2, axis=2)


def spread(accumulators: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation for each channel (the last axis)."""
    flat = accumulators.reshape(-1, accumulators.shape[-1]).astype(np.int64)
    mean = flat.sum(axis=0) / len(flat)
    return mean, np.sqrt(np.maximum((flat * flat).sum(axis=0) / len(flat) - mean * mean, 1.0))


def extremes(real: np.ndarray) -> tuple[float, float]:
    """A range that holds all but one in a thousand on either side, and zero."""
    ordered = np.sort(real, axis=None)
    cut = len(ordered) // 1000
    return min(float(ordered[cut]), 0.0), max(float(ordered[-1 - cut]), 0.0)
