"""Synthetic pictures of a puppet whose head, hands and feet have to be found, drawn in integer arithmetic."""

from __future__ import annotations

import numpy as np

from digits.synthetic import Dice

SIZE = 64
JOINTS = ("head", "left hand", "right hand", "left foot", "right foot")
# Gloves and shoes differ: a network of this size could not tell left from right otherwise.
_COLORS = ((230, 190, 160), (240, 60, 60), (70, 90, 250), (240, 220, 40), (50, 230, 90))


def _blob(picture: np.ndarray, row: int, column: int, radius: int, color: np.ndarray) -> None:
    lines = np.arange(SIZE)
    inside = (lines[:, np.newaxis] - row) ** 2 + (lines[np.newaxis, :] - column) ** 2 <= radius * radius
    picture[inside] = color


def _limb(picture: np.ndarray, start: tuple[int, int], end: tuple[int, int], color: np.ndarray) -> None:
    for step in range(25):
        row, column = ((a * (24 - step) + b * step + 12) // 24 for a, b in zip(start, end, strict=True))
        _blob(picture, row, column, 1, color)


def draw(dice: Dice) -> tuple[np.ndarray, np.ndarray]:
    """A picture int8 [64, 64, 3] and where the joints are, int64 [5, 2] (row, column)."""
    picture = dice.integers(0, 90, (3,)) + dice.integers(-10, 11, (SIZE, SIZE, 3))
    row, column = dice.one(18, 26), dice.one(22, 42)
    neck, hip = (row, column), (row + dice.one(14, 20), column + dice.one(-4, 5))
    joints = [
        (row - 6, column + dice.one(-2, 3)),
        (row + dice.one(-12, 16), column - dice.one(9, 18)),
        (row + dice.one(-12, 16), column + dice.one(9, 18)),
        (hip[0] + dice.one(10, 17), hip[1] - dice.one(3, 13)),
        (hip[0] + dice.one(10, 17), hip[1] + dice.one(3, 13)),
    ]
    cloth = dice.integers(100, 180, (3,))
    for start, end in ((neck, hip), (neck, joints[1]), (neck, joints[2]), (hip, joints[3]), (hip, joints[4])):
        _limb(picture, start, end, cloth)
    for number, (place, color) in enumerate(zip(joints, _COLORS, strict=True)):
        _blob(picture, *place, 5 if number == 0 else 3, np.array(color) + dice.integers(-15, 16, (3,)))
    return (np.clip(picture, 0, 255) - 128).astype(np.int8), np.array(joints, np.int64)


def dataset(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures int8 [count, 64, 64, 3] and joints int64 [count, 5, 2]."""
    dice = Dice(seed)
    pictures, joints = zip(*(draw(dice) for _ in range(count)), strict=True)
    return np.stack(pictures), np.stack(joints)
