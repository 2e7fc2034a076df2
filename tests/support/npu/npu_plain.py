"""What the units of the NPU compute, once more: element by element, in plain integers, from the specification.

Nothing of the package is used here, and nothing is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any


def rounded(value: int, shift: int, ties: str | None) -> int:
    """value / 2**shift to the nearest integer; None: to minus infinity."""
    exact = Fraction(value) / Fraction(2) ** shift
    below = exact.numerator // exact.denominator
    rest = exact - below
    if ties is None or rest < Fraction(1, 2):
        return below
    if rest > Fraction(1, 2):
        return below + 1
    up = {"up": True, "away": exact > 0, "even": below % 2 == 1}[ties]
    return below + 1 if up else below


def signed(value: int, size: int) -> int:
    """The low bytes of a number in two's complement."""
    value %= 256**size
    return value - 256**size if value >= 256**size // 2 else value


def unsigned(value: int, size: int) -> int:
    """The low bytes of a number without sign."""
    return value % 256**size


def stored(value: int, size: int, saturate: bool, relu: bool = False) -> int:
    """What leaves a unit."""
    if relu and value < 0:
        value = 0
    if saturate:
        half = 256**size // 2
        return half - 1 if value >= half else max(value, -half)
    return signed(value, size)


# ---- stream engine ----


def walk(base: int, frame: int, size: int, shape: tuple[int, int, int], pixel: int, line: int) -> Iterator[list[int]]:
    """The addresses of the bytes of each element of a raster frame that begins at ``base``."""
    height, width, depth = shape
    for y in range(height):
        for x in range(width):
            for c in range(depth):
                first = base + y * line + x * pixel + c * size
                yield [first + i for i in range(size)]


def frame_start(address: int, frame: int, step: int, loop: int, turn: int) -> int:
    """Where a frame begins."""
    if loop == 0:
        return address + frame * step
    return address + (frame % loop) * step + (frame // loop) * turn


# ---- convolution ----


def convolution(
    features: Sequence[int], kernels: Sequence[int], given: dict[str, Any], partial: Sequence[int] | None
) -> list[int]:
    """One frame. Features are numbers already; kernels in the order kernel, row, column, channel."""
    height, width, depth = given["height"], given["width"], given["depth"]
    top, bottom, left, right = given["crop"]  # Inclusive
    pads = given["pads"]  # Top, bottom, left, right
    rows, columns = bottom - top + 1, right - left + 1
    kh, kw, count = given["kernel_height"], given["kernel_width"], given["count"]

    def feature(y: int, x: int, c: int) -> int:
        y, x = y - pads[0], x - pads[2]
        if not (0 <= y < rows and 0 <= x < columns):
            return int(given["fill"])
        return features[((y + top) * width + x + left) * depth + c] - int(given["zero"])

    result = []
    sy, sx = given["strides"]
    assert height > bottom
    for y in range((rows + pads[0] + pads[1] - kh) // sy + 1):
        for x in range((columns + pads[2] + pads[3] - kw) // sx + 1):
            for k in range(count):
                total = 0
                for i in range(kh):
                    for j in range(kw):
                        for c in range(depth):
                            total += feature(y * sy + i, x * sx + j, c) * kernels[((k * kh + i) * kw + j) * depth + c]
                if partial is not None:
                    total += partial[len(result)] * 2 ** given["sum_shift"]
                value = rounded(total, given["shift"], given["ties"])
                result.append(stored(value, given["size"], given["saturate"], given["relu"]))
    return result


# ---- arithmetic ----


class Counters:
    """The counters of an arithmetic unit, one element after the other."""

    def __init__(self, first: int, limits: Sequence[int | None], steps: Sequence[int]) -> None:
        """Limits and steps of INCCNT, RSTCNT1, 2, 3; None: not enabled."""
        self.entry = first
        self._limits, self._steps = limits, steps
        self._counts = [0] * 4

    def advance(self) -> None:
        expired = -1
        for number, limit in enumerate(self._limits):
            if limit is None:
                continue
            if self._counts[number] == limit:
                self._counts[number] = 0
                expired = number
            else:
                self._counts[number] += 1
        if expired >= 0:
            self.entry = (self.entry + self._steps[expired]) % 512


def affine(x: int, y: int, a: int, b: int, c: int, shifts: dict[str, int]) -> int:
    """A*x + B*y + C before the last shift."""
    return (a * x // 2 ** shifts["AX"]) + (b * y // 2 ** shifts["BY"]) + c * 2 ** shifts["C"]


# ---- activation ----


def activation(x: int, outer: Sequence[int], inner: Sequence[tuple[int, int, int]], given: dict[str, int]) -> int:
    """The function by segments, before the last shift."""
    place = (x * 2 ** given["normal"] + 32768) % 65536
    entry = outer[place // 2 ** (16 - given["width"])]
    base, sub = entry % 64, entry // 64
    rest = place * 2 ** given["width"] % 65536
    a, b, c = inner[base + rest // 2 ** (16 - sub)]
    return a * x * x + b * x * 2 ** given["b"] + c * 2 ** given["c"]


# ---- pooling ----


def windows(
    frame: Sequence[int],
    shape: tuple[int, int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    pads: tuple[int, int, int, int],
    out: tuple[int, int],
    reduce: Callable[[list[int]], int],
    fill: int | None,
) -> list[int]:
    """Reduce what lies in each window. ``fill``: of the padding; None: it takes no part."""
    height, width, depth = shape
    result = []
    for y in range(out[0]):
        for x in range(out[1]):
            for c in range(depth):
                inside = []
                for i in range(window[0]):
                    for j in range(window[1]):
                        row, column = y * strides[0] + i - pads[0], x * strides[1] + j - pads[2]
                        if 0 <= row < height and 0 <= column < width:
                            inside.append(frame[(row * width + column) * depth + c])
                        elif fill is not None:
                            inside.append(fill)
                result.append(reduce(inside))
    return result
