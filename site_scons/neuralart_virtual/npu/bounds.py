"""How far a buffer may be from a reference that rounds once: an accelerator rounds each sum to 16 bits.

The rule: 1 + 0.5 * q * passes steps of the buffer. ``q`` is how many of its steps one unit of such a sum is, at most
over channels, read from the coefficients and shifts behind the accelerator; ``passes`` is how often the sum is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.npu.state import UnitState
from neuralart_virtual.npu.units.arithmetic import PRODUCT, X, Y
from neuralart_virtual.npu.units.convolution import FEATURES, SUMS
from neuralart_virtual.npu.units.pooling import AVERAGE, GLOBAL_AVERAGE
from neuralart_virtual.npu.units.switch import Link, Port, Source

Gain = NDArray[np.float64]  # Steps of the buffer for one unit of a value: one for all, or one for each coefficient


class RoundedSums:
    """The streams behind the accelerators of one epoch."""

    def __init__(self, units: Mapping[Source, UnitState], links: Mapping[Port, Link]) -> None:
        """``units``: those that are enabled."""
        self._units, self._links = units, links

    def allowed(self, engine: int) -> float | None:
        """Steps that what an output engine writes may be off; None: the rule says nothing, because an activation, a
        product or another layer lies behind the sums.
        """
        lost = self._lost(("STRENG", engine, 0), np.ones(1), ())
        return None if lost is None else 1 + lost

    def _lost(self, port: Port, gain: Gain, trail: tuple[Source, ...]) -> float | None:
        """Steps that rounding of sums takes from what arrives at a port."""
        link = self._links.get(port)
        lost = 0.0
        for context in link.contexts if link is not None else ():
            kind, index = source = context.source
            if source in trail or source not in self._units:
                return None
            if not context.passes or kind == "STRENG":
                continue
            behind = (*trail, source)
            if kind == "CONVACC":
                part = self._convolution(index, gain, behind)
                if part is not None and link is not None:
                    # Contexts that drop frames drop sums that go on through memory.
                    kept = context.frames or 1
                    dropped = sum(c.frames for c in link.contexts if not c.passes and c.source == source)
                    part *= (kept + dropped) / kept
            elif kind == "ARITH":
                part = self._arithmetic(index, gain, behind)
            elif kind == "POOL":
                part = self._lost((kind, index, 0), gain * _pooled(self._units[source]), behind)
            else:
                part = None if self._lost((kind, index, 0), np.ones(1), behind) != 0 else 0.0
            if part is None:
                return None
            lost = max(lost, part)
        return lost

    def _convolution(self, index: int, gain: Gain, trail: tuple[Source, ...]) -> float | None:
        unit = self._units["CONVACC", index]
        if self._lost(("CONVACC", index, FEATURES), np.ones(1), trail) != 0:
            return None  # Another layer comes before it in the same epoch
        shift = unit.get("DFORMAT", "OUTSHIFT", signed=True)
        own = 0.5 * float(gain.max()) if shift > 0 else 0.0
        if unit.get("CTRL", "NOSUM"):
            return own
        link = self._links.get(("CONVACC", index, SUMS))
        if link is not None and not all(self._returns(context.source) for context in link.contexts):
            return None
        scaled = gain * 2.0 ** (unit.get("DFORMAT", "INSHIFT") - shift)
        before = self._lost(("CONVACC", index, SUMS), scaled, trail)
        return None if before is None else own + before

    def _returns(self, source: Source) -> bool:
        """Sums that come through memory are those of this epoch."""
        if source[0] != "STRENG" or source not in self._units:
            return True
        address = self._units[source].get("ADDR")
        engines = (unit for (kind, _), unit in self._units.items() if kind == "STRENG" and unit.get("CTRL", "DIR"))
        return any(unit.get("ADDR") == address for unit in engines)

    def _arithmetic(self, index: int, gain: Gain, trail: tuple[Source, ...]) -> float | None:
        unit = self._units["ARITH", index]
        ports = (X, Y) if unit.get("CTRL", "DUALIN") else (X,)
        if unit.get("CTRL", "OP") == PRODUCT:
            parts = [self._lost(("ARITH", index, port), np.ones(1), trail) for port in ports]
            return None if any(parts) or None in parts else 0.0
        total = 0.0
        for port in ports:
            part = self._lost(("ARITH", index, port), gain * _factor(unit, port), trail)
            if part is None:
                return None
            total += part
        return total


def _factor(unit: UnitState, port: int) -> Gain:
    """|A| or |B| behind their shifts: 1 or 512 of them."""
    name, shift = ("B", "BY") if port == Y else ("A", "AX")
    if unit.get("CTRL", "OP"):
        values = np.ones(1)
    elif unit.get("CTRL", f"COEFF{name}"):
        words = unit.coefficients[0::2] >> np.uint32(16 if port == Y else 0)
        values = np.abs(words.astype(np.uint16).view(np.int16).astype(np.float64))
    else:
        scalar = unit.get("COEFFB" if port == Y else "COEFFAC", name)
        values = np.array([abs((scalar ^ 0x8000) - 0x8000)], np.float64)
    factor: Gain = values / 2.0 ** (
        unit.get("SHIFT", "RES") + (0 if unit.get("CTRL", "OP") else unit.get("SHIFT", shift))
    )
    return factor


def _pooled(unit: UnitState) -> float:
    """An average divides the sum of as many values; a maximum keeps them."""
    kind, depth = unit.get("CTRL", "TYPE"), unit.get("PDIMS", "BSIZE")
    values = {
        AVERAGE: unit.get("PDIMS", "WINX") * unit.get("PDIMS", "WINY"),
        GLOBAL_AVERAGE: unit.get("FDIMS", "FEATX") // max(depth, 1) * unit.get("FDIMS", "FEATY"),
    }.get(kind)
    if values is None:
        return 1.0
    return values * abs(unit.get("MULVAL", "MULVAL", signed=True)) / 2.0 ** unit.get("CTRL", "OUTSHIFT")
