"""The arithmetic unit: A*x + B*y + C with coefficients of its memory, which counters choose; x*y, minimum, maximum."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.npu.state import ARITH_ENTRIES, UnitState
from neuralart_virtual.npu.units.inputs import rule, shifter
from neuralart_virtual.npu.units.rounding import Ties, Values, Wide, output, shift_right


class EntryCounters:
    """The counters of an arithmetic unit.

    Behind each element they advance; one with the value v expires after v + 1 elements. Of those that
    expire together the last one (RSTCNT3, 2, 1, INCCNT) says what is added to the entry's number.
    """

    def __init__(self, unit: UnitState) -> None:
        """Decode the registers of the counters."""
        self._first = unit.get("COEFFADDR", "ADDR")
        # (elements between two expiries, what is added), the strongest first.
        self._steps: list[tuple[int, int]] = []
        for number in (3, 2, 1):
            if unit.get("CTRL", f"CNT{number}"):
                period = unit.get(f"RSTCNT{number}", "RSTCNT") + 1
                step = unit.get("ADDROFFSET", f"OFFSET{number}", signed=True)
                self._steps.append((period, step))
        step = unit.get("INCOFFSET", "VAL", signed=True)
        self._steps.append((unit.get("INCCNT", "INCVAL") + 1, step))

    @cached_property
    def _terms(self) -> list[tuple[int, int]]:
        """(period, sum of steps): what all expiries so far have added, stronger ones counted once."""
        terms: dict[int, int] = {}
        for rank, (period, step) in enumerate(self._steps):
            stronger = [other for other, _ in self._steps[:rank]]
            for size in range(len(stronger) + 1):
                for group in combinations(stronger, size):
                    common = math.lcm(period, *group)
                    terms[common] = terms.get(common, 0) + (-1) ** size * step
        return [(period, step) for period, step in terms.items() if step]

    def entry(self, position: int) -> int:
        """The entry of the element at a position, counted from the first one of the epoch."""
        moved = sum(position // period * step for period, step in self._terms)
        return (self._first + moved) % ARITH_ENTRIES

    def row(self, position: int, count: int) -> NDArray[np.intp] | None:
        """Entries of one row of elements, if the same row repeats through the whole frame; else None.

        That is so where every element advances and the innermost counter winds back.
        """
        period, step = self._steps[-1]
        inner = self._steps[-2][0] if len(self._steps) > 1 else 0
        if period != 1 or not inner or position % inner or count % inner:
            return None
        if self._steps[-2][1] + (inner - 1) * step:
            return None
        for outer, _ in self._steps[:-2]:
            # No outer counter may expire before the last element of the frame.
            if outer % inner or (position % outer) + count > outer:
                return None
        return (self.entry(position) + step * np.arange(inner)) % ARITH_ENTRIES

    def entries(self, position: int, count: int) -> NDArray[np.intp]:
        """Entries of so many elements from a position on."""
        places = np.arange(position, position + count, dtype=np.int64)
        found = np.full(count, self._first, np.int64)
        for period, step in self._terms:
            found += places // period * step
        return found % ARITH_ENTRIES


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
