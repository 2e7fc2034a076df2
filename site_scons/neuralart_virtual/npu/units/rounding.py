"""How a unit rounds, saturates and takes bytes of a stream: whole arrays at once.

The tie rule is one function. Half away from zero is the only one that reproduces all public outputs
of a board (the global average decides); at other stages the rules could not be told apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.tie_rules import AWAY as AWAY
from neuralart_virtual.tie_rules import EVEN as EVEN
from neuralart_virtual.tie_rules import TIES
from neuralart_virtual.tie_rules import UP as UP
from neuralart_virtual.tie_rules import Ties as Ties

Values = NDArray[Any]  # Integers of any width; the values count, not the width

Wide = NDArray[np.int32] | NDArray[np.int64]  # Sums and products, wide enough for them


def shift_right(values: Wide, shift: int, ties: str | None) -> Wide:
    """Divide by 2**shift, rounded to the nearest; None as rule: to minus infinity, as a shift does.

    ``values``: integers of 32 or 64 bits, of any shape, that leave room for adding one half. Below 0 the
    shift is one to the left.
    """
    if shift <= 0:
        return values << -shift if shift else values
    if ties is None:
        return values >> shift
    half = 1 << (shift - 1)
    if ties == UP:
        return (values + half) >> shift
    if ties == AWAY:
        # A tie below zero goes down: one less than half is added there.
        signs = values >> (8 * values.dtype.itemsize - 1)
        signs += half
        signs += values
        signs >>= shift
        return signs
    if ties == EVEN:
        return (values + (half - 1) + (values >> shift & 1)) >> shift
    raise ValueError(f"no tie rule {ties!r}; there are: {', '.join(TIES)}")


def limits(size: int) -> tuple[int, int]:
    """Least and greatest signed value of so many bytes."""
    return -(1 << (8 * size - 1)), (1 << (8 * size - 1)) - 1


_SIGNED: dict[int, Any] = {1: np.int8, 2: np.int16}
_UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16}


def low_bytes(values: Values, size: int, *, signed: bool = True) -> Values:
    """The low bytes of each value as a number: 1 or 2 bytes as such an array, 3 as one of 32 bits."""
    if size == 3:
        low = values.astype(np.int32) & 0xFFFFFF
        return (low ^ 0x800000) - 0x800000 if signed else low
    return values.astype((_SIGNED if signed else _UNSIGNED)[size], copy=False)


def output(values: Wide, size: int, *, saturate: bool, relu: bool = False, signed: bool = True) -> Values:
    """What leaves a unit: negative values cut off if asked, then clipped to so many bytes, else cut."""
    low, high = limits(size) if signed else (0, (1 << 8 * size) - 1)
    if saturate:
        # Twice as fast as np.clip for the small frames that most are.
        values = np.minimum(np.maximum(values, 0 if relu else low), high)
    elif relu:
        values = np.maximum(values, 0)
    return low_bytes(values, size)
