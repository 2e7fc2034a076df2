"""The integer arithmetic of an int8 TFLite model, in int64: exact, hence equal on every machine."""

from __future__ import annotations

import math

import numpy as np


def quantize_multiplier(real: float) -> tuple[int, int]:
    """A positive real as a Q31 mantissa and a power of two, as TFLite's ``QuantizeMultiplier`` does."""
    mantissa, exponent = math.frexp(real)
    fixed = math.floor(mantissa * (1 << 31) + 0.5)
    if fixed == 1 << 31:
        fixed, exponent = fixed // 2, exponent + 1
    return fixed, exponent


def rescale(accumulator: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
    """int64 -> int64: the doubly rounded product of ``MultiplyByQuantizedMultiplier``."""
    product = (accumulator << max(shift, 0)) * multiplier
    nudge = np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    # C division truncates, >> rounds down.
    total = product + nudge
    high = np.where(total >= 0, total >> 31, -((-total) >> 31))
    right = max(-shift, 0)
    mask = (1 << right) - 1
    threshold = (mask >> 1) + (high < 0)
    return (high >> right) + ((high & mask) > threshold)


def conv_same_relu(
    value: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    scales: tuple[float, np.ndarray, float],
    chunk: int = 500,
) -> np.ndarray:
    """CONV_2D 3x3, stride 1, SAME, fused RELU; zero points -128 on both sides.

    Args:
        value: int8 [n, h, w, c].
        weights: int8 [k, 3, 3, c].
        bias: int32 [k].
        scales: Input, weights per output channel [k], output.
        chunk: Pictures at a time.

    Returns:
        int8 [n, h, w, k].
    """
    into, per_channel, out = scales
    factors = [quantize_multiplier(float(into) * float(s) / float(out)) for s in per_channel]
    matrix = weights.astype(np.int64).reshape(len(weights), -1).T
    result = np.empty((*value.shape[:3], len(weights)), np.int8)
    height, width = value.shape[1:3]
    for start in range(0, len(value), chunk):
        block = value[start : start + chunk].astype(np.int64) + 128
        padded = np.pad(block, ((0, 0), (1, 1), (1, 1), (0, 0)))
        patches = np.concatenate(
            [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)], axis=-1
        )
        # int64 @ int64 does not go through a floating-point library.
        sums = patches @ matrix + bias.astype(np.int64)
        for channel, (multiplier, shift) in enumerate(factors):
            scaled = rescale(sums[..., channel], multiplier, shift) - 128
            result[start : start + chunk, ..., channel] = np.clip(scaled, -128, 127)
    return result


def max_pool_2x2(value: np.ndarray) -> np.ndarray:
    """int8 [n, h, w, c] -> int8 [n, h/2, w/2, c]."""
    n, height, width, channels = value.shape
    return value.reshape(n, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


def averaged_perceptron(features: np.ndarray, labels: np.ndarray, epochs: int, margin: int) -> np.ndarray:
    """Train ten linear classifiers.

    Args:
        features: int64 [n, f], not negative.
        labels: int64 [n].
        epochs: Passes.
        margin: Wins by no more than this count as mistakes.

    Returns:
        int64 [10, f]: the sum of the weights after every step (hence an average up to a factor).
    """
    count, size = features.shape
    weights = np.zeros((10, size), np.int64)
    late = np.zeros((10, size), np.int64)
    step = 0
    for epoch in range(epochs):
        # Every pass in another order: 7919 is prime and does not divide the number of pictures.
        for position in range(count):
            number = (position * 7919 + epoch * 101) % count
            label = int(labels[number])
            score = weights @ features[number]
            wanted = int(score[label])
            score[label] = -(1 << 62)
            rival = int(score.argmax())
            step += 1
            if wanted - int(score[rival]) <= margin:
                weights[label] += features[number]
                weights[rival] -= features[number]
                late[label] += step * features[number]
                late[rival] -= step * features[number]
    return weights * (step + 1) - late


def divide_round(value: np.ndarray, divisor: int) -> np.ndarray:
    """int64 division, half away from zero."""
    return np.sign(value) * ((np.abs(value) * 2 + divisor) // (2 * divisor))
