"""Which entry of its coefficient memory an arithmetic unit takes for each element: its counters."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.npu.state import ARITH_ENTRIES, UnitState


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
