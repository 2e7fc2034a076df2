"""The activation unit: a function by segments, a polynomial of second degree in each."""

from __future__ import annotations

import numpy as np

from neuralart_virtual.npu.state import UnitState
from neuralart_virtual.npu.units.inputs import rule, shifter
from neuralart_virtual.npu.units.rounding import Ties, Values, Wide, low_bytes, output, shift_right

FUNCTION, THRESHOLD = 3, 2
_ROM0 = 32
_OUTER_BITS = 5  # Numbers of its entries


class ActivationUnit:
    """One activation unit with its settings."""

    def __init__(self, unit: UnitState, ties: Ties) -> None:
        """Decode the registers and both memories."""
        self._unit = unit
        self._input = shifter(unit, "CTRL", "", ties, out="CTRL")
        self._zero = unit.get("FSUB", "FSUB", signed=True)
        self._type = unit.get("CTRL", "TYPE")
        self._out = unit.get("CTRL", "OBYTES")
        if self._out == 0:
            unit.refuse("CTRL", "OBYTES", "elements have 1, 2 or 3 bytes")
        mode = unit.get("CTRL", "ORNDMODE")
        self._ties = rule(mode, unit.get("CTRL", "ROUND"), "activation", ties)
        self._relu = bool(mode & 2)
        self._saturate = bool(unit.get("CTRL", "SAT"))
        self._normal = unit.get("ACTIVPARAM", "FUNC")
        self._width = unit.get("FUNC", "BWIDTH")
        if self._width > _OUTER_BITS:
            unit.refuse("FUNC", "BWIDTH", "the outer table has 32 entries: 5 bits")
        self._shifts = {name: unit.get("FUNC", f"{name}SHIFT") for name in ("OUT", "B", "C")}
        words = unit.coefficients.astype(np.int64)
        # Outer segments: low 6 bits the first inner segment, above the logarithm of their number.
        self._outer = words[:_ROM0] & 0xFF
        ab, c = words[_ROM0::2], words[_ROM0 + 1 :: 2]
        self._inner = np.stack([low_bytes(v, 2).astype(np.int64) for v in (ab, ab >> 16, c)])

    def run(self, values: Values) -> Values:
        """The function of each element of a frame: shape (elements,)."""
        x = self._input.apply(values).astype(np.int64) - self._zero
        if self._type == THRESHOLD:
            return self._threshold(x)
        place = ((x << self._normal) + 32768) & 0xFFFF
        outer = self._outer[place >> (16 - self._width)]
        rest = (place << self._width) & 0xFFFF
        inner = (outer & 63) + (rest >> (16 - (outer >> 6)))
        a, b, c = self._inner[:, inner]
        result = a * x * x + ((b * x) << self._shifts["B"]) + (c << self._shifts["C"])
        shifted = shift_right(result, self._shifts["OUT"], self._ties)
        return output(shifted, self._out, saturate=self._saturate, relu=self._relu)

    def _threshold(self, x: Wide) -> Values:
        threshold = self._unit.get("ACTIVPARAM", "PARAM", signed=True)
        other = self._unit.get("ACTIVPARAM2", "PARAM2", signed=True) or threshold
        return output(np.where(x > threshold, x, other), self._out, saturate=self._saturate)
