"""Synthetic pictures with one to three objects that have to be found and told apart, drawn in integer arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import shapes
from digits.synthetic import Dice

SIZE = 96
CLASSES = ("disc", "frame", "stripes")


@dataclass(frozen=True)
class Thing:
    """An object: its class, the middle of its box, and half of the box's size, in pixels."""

    kind: int
    row: int
    column: int
    radius: int


def scene(dice: Dice) -> tuple[np.ndarray, list[Thing]]:
    """A picture int8 [96, 96, 3] and its objects, which do not touch each other."""
    picture, color = shapes.ground(SIZE, dice)
    things: list[Thing] = []
    for _ in range(dice.one(1, 4)):
        radius = dice.one(8, 13) if dice.one(0, 2) else dice.one(15, 22)
        thing = Thing(
            dice.one(0, len(CLASSES)), dice.one(radius, SIZE - radius), dice.one(radius, SIZE - radius), radius
        )
        if any(
            max(abs(thing.row - other.row), abs(thing.column - other.column)) <= thing.radius + other.radius + 3
            for other in things
        ):
            continue
        lighter = color + dice.integers(90, 160, (3,))
        shapes.paint(picture, CLASSES[thing.kind], (thing.row, thing.column, thing.radius), lighter, dice)
        things.append(thing)
    return shapes.finish(picture), things


def dataset(count: int, seed: int) -> tuple[np.ndarray, list[list[Thing]]]:
    """Pictures int8 [count, 96, 96, 3] and the objects of each."""
    dice = Dice(seed)
    pictures, things = zip(*(scene(dice) for _ in range(count)), strict=True)
    return np.stack(pictures), list(things)
