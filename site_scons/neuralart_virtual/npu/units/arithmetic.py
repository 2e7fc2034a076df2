"""The arithmetic unit: A*x + B*y + C with coefficients of its memory, x*y, minimum, maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralart_virtual.npu.state import UnitState
from neuralart_virtual.npu.units.coefficients import EntryCounters
from neuralart_virtual.npu.units.inputs import rule, shifter
from neuralart_virtual.npu.units.rounding import Ties, Values, Wide, output, shift_right

AFFINE, MIN, MAX, PRODUCT, CLIP = 0, 1, 2, 7, 0x37
X, Y = 0, 1


def _stage(unit: UnitState) -> str:
    """Where it stands in the usual chain: bytes leave the last unit, a constant is added before it."""
    if unit.get("CTRL", "OBYTES") == 1:
        return "final"
    constant = unit.get("CTRL", "COEFFC") or unit.get("CTRL", "COMBINEBC") or unit.get("COEFFAC", "C")
    return "bias" if constant else "multiply"


class Arithmetic:
    """One arithmetic unit with its settings and the position of its counters."""

    def __init__(self, unit: UnitState, ties: Ties) -> None:
        """Decode the registers and the coefficient memory."""
        self._unit = unit
        self.dual = bool(unit.get("CTRL", "DUALIN"))
        # A unit with one input may have anything in the fields of the other.
        ports = "XY" if self.dual else "X"
        self._inputs = [shifter(unit, "INSHIFTER", port, ties, out="INSHIFTER") for port in ports]
        self._operation = unit.get("CTRL", "OP")
        if self._operation == PRODUCT and not self.dual:
            unit.refuse("CTRL", "DUALIN", "a product has two inputs")
        mode = unit.get("CTRL", "ORNDMODE")
        self._ties = rule(mode, unit.get("CTRL", "ROUND"), _stage(unit), ties)
        self._relu, self._saturate = bool(mode & 2), bool(unit.get("CTRL", "SAT"))
        self._shifts = {name: unit.get("SHIFT", name) for name in ("AX", "BY", "C", "RES")}
        self._out = unit.get("CTRL", "OBYTES")
        if self._out == 0:
            unit.refuse("CTRL", "OBYTES", "elements have 1, 2 or 3 bytes")
        self._clip: tuple[int, int] | None = None
        if unit.get("CTRL", "CLIPOUT"):
            self._clip = (unit.get("CLIPRANGE", "CLIPMIN", signed=True), unit.get("CLIPRANGE", "CLIPMAX", signed=True))
        self._combined = unit.get("CTRL", "COMBINEBC")
        self._vectors = self._decode_vectors()
        self._kind: Any = np.int32 if self._fits_a_word() else np.int64
        if self._kind is np.int32:
            self._vectors = {name: v.astype(np.int32) for name, v in self._vectors.items()}
        self._counters = EntryCounters(unit)
        self._position = 0

    def _decode_vectors(self) -> dict[str, Wide]:
        """A, B and C of every entry; scalars are repeated."""
        unit, words = self._unit, self._unit.coefficients
        ab, c = words[0::2], words[1::2]
        low = {"A": ab, "B": ab >> np.uint32(16), "C": c}
        scalars = {"A": unit.get("COEFFAC", "A"), "B": unit.get("COEFFB", "B"), "C": unit.get("COEFFAC", "C")}
        self._vector = any(unit.get("CTRL", f"COEFF{name}") for name in "ABC")
        found = {}
        for name in "ABC":
            from_memory = unit.get("CTRL", f"COEFF{name}")
            word = low[name] if from_memory else np.full(len(ab), scalars[name], np.uint32)
            found[name] = word.astype(np.uint16)
        values: dict[str, Wide] = {name: word.view(np.int16).astype(np.int64) for name, word in found.items()}
        if self._combined:
            both = found["B"].astype(np.uint32) << np.uint32(16) | found["C"]
            values["C"] = both.view(np.int32).astype(np.int64)
            values["B"] = np.zeros(len(ab), np.int64)
        return values

    def _fits_a_word(self) -> bool:
        """No sum of A*x + C, with one half added, needs more than 32 bits."""
        if self.dual or self._inputs[X].size > 2 or self._operation != AFFINE:
            return False
        largest = {name: int(np.abs(values).max()) for name, values in self._vectors.items()}
        half = 1 << max(self._shifts["RES"] - 1, 0)
        # The input shifter may shift to the left.
        if self._inputs[X].shift < 0:
            return False
        return (largest["A"] << 15) + (largest["C"] << self._shifts["C"]) + half < 1 << 31

    def run(self, x: Values, y: Values | None) -> Values:
        """One frame: shape (elements,), to the same shape. ``y``: the second input, if there is one."""
        first = self._inputs[X].apply(x).astype(self._kind)
        second = None if y is None else self._inputs[Y].apply(y).astype(np.int64)
        row = None
        pick: Any = 0
        if self._vector:
            row = self._counters.row(self._position, len(first))
            pick = self._counters.entries(self._position, len(first)) if row is None else row
            self._position += len(first)
        if row is not None:
            first = first.reshape(-1, len(row))
            second = None if second is None else second.reshape(-1, len(row))
        coefficients = {name: values[pick] for name, values in self._vectors.items()}
        result = self._compute(first, second, coefficients)
        shifted = shift_right(result, self._shifts["RES"], self._ties).reshape(-1)
        if self._clip is not None:
            if self._relu:
                shifted = np.maximum(shifted, 0)
            low, high = self._clip
            shifted = np.minimum(np.maximum(shifted, low), high)
        return output(shifted, self._out, saturate=self._saturate, relu=self._relu)

    def _compute(self, x: Wide, y: Wide | None, coefficients: dict[str, Any]) -> Wide:
        a, b, c = coefficients["A"], coefficients["B"], coefficients["C"]
        if self._operation == AFFINE:
            result: Wide = x * a
            if self._shifts["AX"]:
                result >>= self._shifts["AX"]
            if y is not None and not self._combined:
                result = result + ((y * b) >> self._shifts["BY"])
            result += c << self._shifts["C"]
            return result
        result = np.empty_like(x)
        other = c if y is None else y
        if self._operation == CLIP:
            np.minimum(np.maximum(x, a), c, out=result)
        elif self._operation == PRODUCT:
            np.multiply(x, other, out=result)
        else:
            (np.minimum if self._operation == MIN else np.maximum)(x, other, out=result)
        return result
