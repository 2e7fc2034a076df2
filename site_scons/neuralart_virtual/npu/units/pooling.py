"""The pooling unit: windows, or whole frames."""

from __future__ import annotations

import numpy as np

from neuralart_virtual.npu.state import UnitState
from neuralart_virtual.npu.units.inputs import rule, shifter
from neuralart_virtual.npu.units.rounding import Ties, Values, Wide, limits, low_bytes, output, shift_right

MAX, MIN, AVERAGE, GLOBAL_MAX, GLOBAL_MIN, GLOBAL_AVERAGE = 0, 1, 2, 8, 9, 10


class Pooling:
    """One pooling unit with its settings."""

    def __init__(self, unit: UnitState, ties: Ties) -> None:
        """Decode the registers. NpuError: sizes that do not fit each other."""
        self._unit = unit
        self._type = unit.get("CTRL", "TYPE")
        self._input = shifter(unit, "CTRL", "", ties, modes="RNDCTRL", out="RNDCTRL")
        self.depth = unit.get("PDIMS", "BSIZE")
        if self.depth == 0:
            unit.refuse("PDIMS", "BSIZE", "a pixel has no channels")
        self.width = unit.get("FDIMS", "FEATX") // self.depth
        self.height = unit.get("FDIMS", "FEATY")
        self.elements = self.width * self.height * self.depth
        if self.elements == 0:
            unit.refuse("FDIMS", "FEATX", "a frame has no elements")
        self._window = (unit.get("PDIMS", "WINY"), unit.get("PDIMS", "WINX"))
        self._strides = (unit.get("PDIMS", "STRDY"), unit.get("PDIMS", "STRDX"))
        self._pads = tuple(unit.get("PDIMS", f"{side}PAD") for side in "TBLR")
        self._size = (unit.get("OUTDIMS", "FEATY"), unit.get("OUTDIMS", "FEATX"))
        mode = unit.get("RNDCTRL", "ORNDMODE")
        self._ties = rule(mode, unit.get("CTRL", "ROUND"), "average", ties)
        self._relu, self._saturate = bool(mode & 2), bool(unit.get("CTRL", "SAT"))
        self._shift, self._out = unit.get("CTRL", "OUTSHIFT"), unit.get("RNDCTRL", "OBYTES")
        if self._out == 0:
            unit.refuse("RNDCTRL", "OBYTES", "elements have 1, 2 or 3 bytes")
        self._factor = unit.get("MULVAL", "MULVAL", signed=True)

    @property
    def outputs(self) -> int:
        """Elements that a frame becomes."""
        whole = self._type in (GLOBAL_AVERAGE, GLOBAL_MAX, GLOBAL_MIN)
        return self.depth if whole else max(self._size[0] * self._size[1], 1) * self.depth

    def _cropped(self, values: Values) -> Values:
        frame = values.reshape(self.height, self.width, self.depth)
        if not self._unit.get("CTRL", "CROPEN"):
            return frame
        left = self._unit.get("XCROP", "LCROP") // self.depth
        right = self._unit.get("XCROP", "RCROP") // self.depth
        top, bottom = self._unit.get("YCROP", "TCROP"), self._unit.get("YCROP", "BCROP")
        return frame[top : bottom + 1, left : right + 1]

    def run(self, values: Values) -> Values:
        """Pool one frame: shape (height * width * depth,), to (pixels * depth,)."""
        frame = self._cropped(self._input.apply(values))
        if 0 in frame.shape:
            self._unit.refuse("XCROP", "RCROP", "nothing is left of a frame")
        if self._type == GLOBAL_AVERAGE:
            return self._scaled(frame.sum((0, 1), dtype=np.int64))
        if self._type in (GLOBAL_MAX, GLOBAL_MIN):
            whole = frame.max((0, 1)) if self._type == GLOBAL_MAX else frame.min((0, 1))
            return self._kept(whole)
        return self._windows(frame)

    def _windows(self, frame: Values) -> Values:
        if 0 in self._window or 0 in self._strides or 0 in self._size:
            self._unit.refuse("PDIMS", "WINX", "a window, a stride or the output has the size 0")
        # Wider by one byte than any element: padding never wins.
        low, high = limits(3)
        fill = {MAX: low, MIN: high, AVERAGE: 0}[self._type]
        top, bottom, left, right = self._pads
        wide = frame.astype(np.int32)
        if any(self._pads):
            around = ((top, bottom), (left, right), (0, 0))
            wide = np.pad(wide, around, constant_values=fill)
        need = [(n - 1) * s + w for n, s, w in zip(self._size, self._strides, self._window, strict=True)]
        if wide.shape[0] < need[0] or wide.shape[1] < need[1]:
            self._unit.refuse("OUTDIMS", "FEATX", "the output is larger than the windows of a frame")
        result = None
        # One step per tap of the window: fast, for windows are small.
        for y in range(self._window[0]):
            for x in range(self._window[1]):
                part = wide[
                    y : y + need[0] - self._window[0] + 1 : self._strides[0],
                    x : x + need[1] - self._window[1] + 1 : self._strides[1],
                ]
                if result is None:
                    result = part.copy()
                elif self._type == MAX:
                    np.maximum(result, part, out=result)
                elif self._type == MIN:
                    np.minimum(result, part, out=result)
                else:
                    result += part
        assert result is not None
        if self._type == AVERAGE:
            return self._scaled(result.astype(np.int64))
        return self._kept(result)

    def _scaled(self, sums: Wide) -> Values:
        shifted = shift_right(sums * self._factor, self._shift, self._ties)
        return output(shifted.ravel(), self._out, saturate=self._saturate, relu=self._relu)

    def _kept(self, values: Values) -> Values:
        """Maxima and minima keep their width, whatever OBYTES says."""
        kept = low_bytes(values, self._input.size).ravel()
        return np.maximum(kept, 0) if self._relu else kept
