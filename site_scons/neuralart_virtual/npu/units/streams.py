"""The stream engine: memory to stream, or stream to memory, frame by frame."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.state import UnitState
from neuralart_virtual.npu.units.rounding import Values, low_bytes

# Bytes of frames that are kept, of memory that no engine of the epoch writes.
_KEPT = 1 << 23


class StreamEngine:
    """One engine with its settings. Frame n begins where FOFFSET, FRAME_RPT and FRPTOFF say."""

    def __init__(self, unit: UnitState, memory: NpuMemory) -> None:
        """Decode the registers of an enabled engine."""
        self.unit, self._memory = unit, memory
        self.writes = bool(unit.get("CTRL", "DIR"))
        self.size = sum(unit.get("CTRL", f"SIZE{lane}") for lane in range(3)) // 8
        self.frames = unit.get("LIMIT")
        self.address = unit.get("ADDR")
        self.raw = bool(unit.get("CTRL", "RAW"))
        self._lsb, self._signed = unit.get("CTRL", "LSBMODE"), unit.get("CTRL", "SIGNEXT")
        if self.raw:
            self.shape = (1, 1, unit.get("FSIZE"))
            pixel = line = self.shape[2] * self.size
        else:
            depth = unit.get("DEPTH", "SIZE")
            self.shape = (unit.get("FSIZE", "HEIGHT"), unit.get("FSIZE", "WIDTH"), depth)
            pixel = unit.get("DEPTH", "OFFSET") | unit.get("LIMITEN", "DOFF_MSB") << 16
            line = unit.get("STRD", "LOFF") | unit.get("CID_CACHE", "LOFF_MSB") << 16
        self._strides = (line, pixel)
        self.elements = math.prod(self.shape)
        height, width, depth = self.shape
        self.span = (height - 1) * line + (width - 1) * pixel + depth * self.size
        dense = pixel == depth * self.size and (line == width * pixel or height == 1)
        self._dense = self.raw or dense
        # Of the engine that must have finished n frames before frame n may be fetched; None: none.
        self.trigger = unit.get("EVENT", "FRMTRG_SRC") if unit.get("EVENT", "FRMTRG_EN") else None
        self.changes = True  # Another engine of the epoch may write what this one reads
        self._follows = self.raw and bool(unit.get("CTRL", "CONT"))
        self._loop = 0 if self._follows else unit.get("FRAME_RPT")
        self._step = unit.get("FOFFSET", signed=True)
        if self._follows:
            self._step = self.elements * self.size
        self._turn = unit.get("FRPTOFF", signed=True)
        limited = unit.get("LIMITEN", "ADDRLIMIT")
        self._last = unit.get("LIMITADDR") if limited else None
        self._kept: dict[tuple[int, int], Values] = {}
        if self.elements == 0:
            unit.fail("a frame has no elements")

    def start(self, frame: int) -> int:
        """The address of the first byte of a frame."""
        if not self._loop:
            return self.address + frame * self._step
        turn, place = divmod(frame, self._loop)
        return self.address + place * self._step + turn * self._turn

    def reach(self) -> tuple[int, int]:
        """The first byte that any frame touches, and the byte behind the last one."""
        loop = self._loop or max(self.frames, 1)
        last = max(self.frames - 1, 0)
        # Both steps are linear: the ends are among these frames.
        corners = {0, min(loop - 1, last), last // loop * loop, last, max(last // loop * loop - 1, 0)}
        starts = [self.start(frame) for frame in corners]
        return min(starts), max(starts) + self.span

    def _view(self, first: int, count: int) -> NDArray[np.uint8]:
        """The bytes of frames in memory: shape (frames, bytes) or (frames, height, width, bytes)."""
        start, step = self.start(first), self._step if count > 1 else 0
        span = self.span + (count - 1) * step
        if self._last is not None and start + span - 1 > self._last:
            reason = f"a frame ends at 0x{start + span - 1:08x}, behind the address limit"
            self.unit.refuse("LIMITADDR", "", reason)
        try:
            view = self._memory.view(start, span)
        except NpuError as error:
            self.unit.fail(f"frame {first}: {error.reason}")
        if self._dense:
            return np.ndarray((count, self.span), np.uint8, view, strides=(step, 1)) if count > 1 else view[None]
        height, width, depth = self.shape
        # What as_strided does takes longer than the copy of a small frame.
        strides = (step, *self._strides, 1)
        return np.ndarray((count, height, width, depth * self.size), np.uint8, view, strides=strides)

    def together(self, first: int, wanted: int) -> int:
        """How many frames from one on can be read at once: no more than wanted, at least one."""
        if self.changes or self.trigger is not None or self._step < 0:
            return 1
        left = self.frames - first
        if self._loop:
            left = min(left, self._loop - first % self._loop)
        return max(min(left, wanted), 1)

    def read(self, frame: int, count: int = 1) -> Values:
        """The elements of frames as their consumers get them: shape (frames * elements,).

        Of 8 or 16 bits as such an array; of 24 bits as one of 32. ``count``: as :meth:`together` says.
        Raises NpuError: no memory there.
        """
        if frame >= self.frames:
            self.unit.fail(f"frame {frame} is wanted, LIMIT is {self.frames} frames")
        start = self.start(frame)
        kept = self._kept.get((start, count))
        if kept is not None:
            return kept
        # One copy: what an output engine writes later must not change a stream.
        values = self._values(self._view(frame, count).reshape(-1).copy())
        if not self.changes and len(self._kept) * values.nbytes <= _KEPT:
            values.flags.writeable = False
            self._kept[start, count] = values
        return values

    def _values(self, data: NDArray[np.uint8]) -> Values:
        signed = bool(self._lsb and self._signed)
        if self.size < 3:
            kind: Any = ("<i" if signed else "<u") + str(self.size)
            return data.view(kind)
        lanes = data.reshape(-1, 3).astype(np.int32)
        return low_bytes(lanes[:, 0] | lanes[:, 1] << 8 | lanes[:, 2] << 16, 3, signed=signed)

    def write(self, frame: int, values: Values) -> None:
        """Store the low bytes of each element. ``values``: shape (elements,)."""
        target = self._view(frame, 1)
        if self.size < 3:
            low = low_bytes(values, self.size)
            data = np.ascontiguousarray(low).view(np.uint8)
        else:
            wide = np.ascontiguousarray(values.astype("<i4"))
            data = wide.view(np.uint8).reshape(-1, 4)[:, :3].reshape(-1)
        if not target.flags.writeable:
            self.unit.fail("writes to flash")
        target[...] = data.reshape(target.shape)
