"""Trains a last layer: weighted ridge regression on integer features, the same bits on every machine."""

from __future__ import annotations

import numpy as np


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``matrix`` (symmetric, positive definite) times x = ``right``; element by element, hence without a library."""
    left, out = matrix.astype(np.float64), right.astype(np.float64)
    size = len(left)
    for k in range(size):
        factors = left[k + 1 :, k : k + 1] / left[k, k]
        left[k + 1 :, k:] -= factors * left[k, k:]
        out[k + 1 :] -= factors * out[k]
    for k in reversed(range(size)):
        out[k] /= left[k, k]
        out[:k] -= left[:k, k : k + 1] * out[k]
    return out


def ridge(
    features: np.ndarray, targets: np.ndarray, weights: np.ndarray, damping: int
) -> tuple[np.ndarray, np.ndarray]:
    """Weights [k, f] and bias [k] of the regression.

    Args:
        features: int64 [n, f].
        targets: int64 [n, k].
        weights: int64 [n]: how much a row counts.
        damping: Added to the diagonal, in thousandths of its mean.
    """
    constant = np.full((len(features), 1), 64, np.int64)
    # Integers below 2**53: exact in float64, in whatever order they are added.
    rows = np.concatenate([features, constant], axis=1).astype(np.float64)
    weighted = rows * weights[:, np.newaxis]
    matrix = weighted.T @ rows
    matrix[np.diag_indices(len(matrix))] += np.trace(matrix) // len(matrix) * damping / 1000
    found = solve(matrix, weighted.T @ targets.astype(np.float64))
    return found[:-1].T, found[-1] * 64
