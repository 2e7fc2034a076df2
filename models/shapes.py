"""Synthetic color pictures of geometric shapes, drawn in integer arithmetic."""

from __future__ import annotations

import numpy as np

from digits.synthetic import Dice

KINDS = ("disc", "ring", "square", "frame", "triangle", "plus", "cross", "bars", "stripes", "checks")


def mask(kind: str, dx: np.ndarray, dy: np.ndarray, radius: int) -> np.ndarray:
    """Where a shape is, seen from its middle; its bounding box is 2 * radius + 1 wide and high."""
    ax, ay = np.abs(dx), np.abs(dy)
    box = np.maximum(ax, ay) <= radius
    core = radius * 5 // 8
    round_ = dx * dx + dy * dy
    column, row = dx + radius, dy + radius
    size = 2 * radius + 1
    found = {
        "disc": round_ <= radius * radius,
        "ring": round_ >= core * core,
        "square": box,
        "frame": np.maximum(ax, ay) >= core,
        "triangle": 2 * ax <= row,
        "plus": np.minimum(ax, ay) * 3 <= radius,
        "cross": np.abs(ax - ay) * 3 <= radius,
        "bars": row * 5 // size % 2 == 0,
        "stripes": column * 5 // size % 2 == 0,
        "checks": (row * 4 // size + column * 4 // size) % 2 == 0,
    }[kind]
    if kind == "ring":
        found &= round_ <= radius * radius
    return found & box


def ground(size: int, dice: Dice) -> tuple[np.ndarray, np.ndarray]:
    """A noisy ground int64 [size, size, 3] and its color."""
    color = dice.integers(10, 90, (3,))
    slope = dice.integers(-40, 41, (2,))
    lines = np.arange(size)
    light = (lines[:, np.newaxis] * slope[0] + lines * slope[1]) // size
    return color + light[..., np.newaxis] + dice.integers(-12, 13, (size, size, 3)), color


def paint(picture: np.ndarray, kind: str, place: tuple[int, int, int], color: np.ndarray, dice: Dice) -> None:
    """Draw a shape at (row, column, radius), slightly noisy."""
    lines = np.arange(len(picture))
    row, column, radius = place
    inside = mask(kind, lines[np.newaxis, :] - column, lines[:, np.newaxis] - row, radius)
    picture[inside] = color + dice.integers(-12, 13, (int(inside.sum()), 3))


def finish(picture: np.ndarray) -> np.ndarray:
    """int8: the level minus 128."""
    return (np.clip(picture, 0, 255) - 128).astype(np.int8)
