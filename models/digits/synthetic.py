"""Synthetic handwritten-like digits, 16 x 16 gray levels: our own font, disturbed with integer arithmetic only.

Randomness is the raw stream of PCG64: NumPy guarantees that stream over releases and machines, which it does
not do for the distributions drawn from it.
"""

from __future__ import annotations

import numpy as np

SIZE = 16

# Drawn for this project; 8 x 11 dots each.
_FONT = """
..####.. ...##... ..####.. .#####.. .....##. .######. ..####.. .######. ..####.. ..####..
.##..##. ..###... .##..##. .....##. ....###. .##..... .##..##. .....##. .##..##. .##..##.
.#....#. .####... .#....#. .....##. ...####. .##..... .##..... .....#.. .#....#. .#....#.
##....## ...##... ......#. .....##. ..##.##. .##..... ##...... ....##.. .##..##. ##....##
##....## ...##... .....##. ...###.. .##..##. .#####.. ##.###.. ....#... ..####.. .##..###
##....## ...##... ....##.. .....##. ##...##. .....##. ###..##. ...##... .##..##. ..####.#
##....## ...##... ...##... ......## ######## ......## ##....## ...#.... ##....## ......##
##....## ...##... ..##.... ......## .....##. ......## ##....## ..##.... ##....## ......##
.#....#. ...##... .##..... .#....## .....##. .#....#. .#....#. ..##.... ##....## .....##.
.##..##. ...##... ##...... .##..##. .....##. .##..##. .##..##. ..##.... .##..##. .##..##.
..####.. .######. ######## ..####.. .....##. ..####.. ..####.. ..##.... ..####.. ..####..
"""


def _glyphs() -> np.ndarray:
    rows = [line.split() for line in _FONT.split("\n") if line]
    return np.array([[[dot == "#" for dot in row[digit]] for row in rows] for digit in range(10)])


GLYPHS = _glyphs()
"""bool [10, 11, 8]."""


class Dice:
    """Integers from the raw PCG64 stream."""

    def __init__(self, seed: int) -> None:
        self._stream = np.random.PCG64(seed)

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray:
        """int64 in low..high-1 (the modulo's bias is far below what matters here)."""
        raw = self._stream.random_raw(int(np.prod(shape, dtype=np.int64)))
        return ((raw >> np.uint64(33)).astype(np.int64) % (high - low) + low).reshape(shape)

    def one(self, low: int, high: int) -> int:
        """One of them."""
        return int(self.integers(low, high, (1,))[0])


def draw(digit: int, dice: Dice) -> np.ndarray:
    """One picture of a digit, uint8 [16, 16]: slanted, moved, thick or thin, pale or dark, on a noisy ground."""
    glyph = GLYPHS[digit]
    height, width = glyph.shape
    ink = np.zeros((SIZE, SIZE), bool)
    top = (SIZE - height) // 2 + dice.one(-1, 2)
    left = (SIZE - width) // 2 + dice.one(-1, 2)
    slant = dice.one(-1, 2)
    for row in range(height):
        start = left + (height // 2 - row) * slant // 3
        ink[top + row, start : start + width] = glyph[row]
    thickness = dice.one(0, 4)
    if thickness == 1:
        ink[:, 1:] |= ink[:, :-1].copy()
    elif thickness == 2:
        ink[1:] |= ink[:-1].copy()
    ink &= dice.integers(0, 100, ink.shape) >= 2
    ink |= dice.integers(0, 200, ink.shape) < 1
    dark = dice.one(130, 256)
    ground = dice.integers(0, 30, ink.shape)
    gray = np.where(ink, dark * dice.integers(70, 101, ink.shape) // 100, ground)
    return gray.astype(np.uint8)


def dataset(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures uint8 [count, 16, 16] and labels int64 [count], every digit equally often."""
    dice = Dice(seed)
    labels = np.arange(count, dtype=np.int64) % 10
    return np.stack([draw(int(label), dice) for label in labels]), labels
