"""The convolution accelerator: features, kernels and partial sums in, sums out, frame by frame."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.npu.state import UnitState
from neuralart_virtual.npu.units.exact_sums import FeatureFrame, Kernels
from neuralart_virtual.npu.units.inputs import rule, shifter
from neuralart_virtual.npu.units.rounding import Ties, Values, Wide, low_bytes, output, shift_right

FEATURES, KERNELS, SUMS = 0, 1, 2
_FRAME_ZERO = 3
# Channels that ride in one word of the stream.
_DEEP, _DSS2 = 3, 2
# Kernels that lie together in deep mode.
_GROUP = 8
# Bytes of frames that are kept for later kernels, with their layouts.
_KEPT = 1 << 24


class Inputs(Protocol):
    """What a unit asks the dataflow for."""

    def take(self, port: int, count: int) -> Values:
        """The next elements at a port: shape (count,)."""

    def spend(self, outputs: int, products: int) -> None:
        """Count elements and products, and stop a program that never ends."""


class FrameNeeds(NamedTuple):
    """What one frame takes and makes."""

    features: int  # Words at port 0: elements, or several channels in one
    kernels: int  # Words at port 1
    outputs: int  # Elements
    products: int  # Multiplications, those by zeros too


class Convolution:
    """One accelerator with its settings and what it keeps from frame to frame."""

    def __init__(self, unit: UnitState, ties: Ties) -> None:
        """Decode the registers. NpuError: sizes that do not fit each other."""
        self._unit = unit
        self._deep = unit.get("CTRL", "DEEPMODE")
        self._packed = _DEEP if self._deep else _DSS2 if unit.get("CTRL", "DSS2MODE") else 0
        self._decode_features(ties)
        self._decode_kernels()
        mode = unit.get("DFORMAT", "ORNDMODE")
        self._ties = rule(mode, unit.get("DFORMAT", "ROUND"), "convolution", ties)
        self._relu, self._saturate = bool(mode & 2), bool(unit.get("DFORMAT", "SAT"))
        self._shift = unit.get("DFORMAT", "OUTSHIFT", signed=True)
        self._out = unit.get("DFORMAT", "OBYTES")
        if self._out == 0:
            unit.refuse("DFORMAT", "OBYTES", "elements have 1, 2 or 3 bytes")
        self.sums = not unit.get("CTRL", "NOSUM")
        self._sum_shift = unit.get("DFORMAT", "INSHIFT")
        self._filter = None
        if unit.get("CTRL", "AFILTMODE") == _FRAME_ZERO:
            words = [unit.get("AFILT", name) for name in ("TOT", "FIRST", "LAST")]
            self._filter = (max(words[0], 1), range(words[1], words[2] + 1))
        # With a filter the first frame comes all the same, and the filter makes it zero.
        self.first_alone = bool(unit.get("CTRL", "GEN1SUM")) or (
            bool(unit.get("CTRL", "NO1SUM")) and self._filter is None
        )
        self.stays = unit.get("SAMPLE", "FSTATCNT") if unit.get("CTRL", "FSTAT") else 0
        self._frame: FeatureFrame | None = None  # Of the features that stay
        # By address of unchanged elements, which are kept so that their address stays theirs.
        self._kept: dict[int, tuple[Values, FeatureFrame]] = {}
        self._room = _KEPT
        self._last: tuple[NDArray[np.uint8], Kernels] | None = None

    def _decode_features(self, ties: Ties) -> None:
        unit = self._unit
        self._depth = unit.get("KFORMAT", "BTCDEPTH")
        if self._depth == 0:
            unit.refuse("KFORMAT", "BTCDEPTH", "a pixel has no channels")
        self._width = unit.get("FFORMAT", "WIDTH") // self._depth
        self._height = unit.get("FFORMAT", "HEIGHT")
        if self._width == 0 or self._height == 0:
            name = "HEIGHT" if self._height == 0 else "WIDTH"
            unit.refuse("FFORMAT", name, "a frame has no elements")
        signed = not unit.get("CTRL", "FUNSIGNED")
        self._input = shifter(unit, "DFORMAT", "", ties, signed=signed)
        self._zero = unit.get("FSUB", "FSUB", signed=True)
        self._crop = (
            unit.get("FVCROP", "TOP"),
            unit.get("FVCROP", "BOTTOM") + 1,
            unit.get("FHCROP", "LEFT") // self._depth,
            unit.get("FHCROP", "RIGHT") // self._depth + 1,
        )
        sides = {"T": "TOP", "B": "BOTTOM", "L": "LEFT", "R": "RIGHT"}
        pads = {
            side: unit.get("SAMPLE", f"{side}PAD") + unit.get("ZFRAME", name) // (self._depth if side in "LR" else 1)
            for side, name in sides.items()
        }
        self._pads = (pads["T"], pads["B"], pads["L"], pads["R"])
        self._fill = unit.get("ZFBIAS", "ZFBIAS", signed=True)
        self._strides = (unit.get("SAMPLE", "VSTRD"), unit.get("SAMPLE", "HSTRD"))
        if 0 in self._strides:
            unit.refuse("SAMPLE", "VSTRD" if self._strides[0] == 0 else "HSTRD", "a stride of 0")

    def _decode_kernels(self) -> None:
        unit = self._unit
        self._kernel = (unit.get("KFORMAT", "HEIGHT"), unit.get("KFORMAT", "WIDTH"))
        self._count = unit.get("KFORMAT", "NR")
        if 0 in self._kernel or self._count == 0:
            unit.refuse("KFORMAT", "NR", "no kernel, or one of the size 0")
        self._taps = self._kernel[0] * self._kernel[1] * self._depth
        total = unit.get("KFILT", "TOT")
        self._total = total if total > 1 else 0
        self._first = unit.get("KFILT", "FIRST") if self._total else 0
        last = unit.get("KFILT", "LAST") if self._total else self._count - 1
        if last - self._first + 1 != self._count or last >= (self._total or self._count):
            reason = f"{self._first} to {last} of {self._total} kernels, the unit has {self._count}"
            unit.refuse("KFILT", "LAST", reason)
        self._simd = unit.get("CTRL", "SIMD")
        self._kernel_signed = not unit.get("CTRL", "KUNSIGNED")

    def needs(self) -> FrameNeeds:
        """What each frame takes and makes. NpuError: a kernel is larger than a frame."""
        top, bottom, left, right = self._crop
        above, below, before, behind = self._pads
        height = min(bottom, self._height) - top + above + below
        width = min(right, self._width) - left + before + behind
        outputs = self._outputs(height, width)
        pixels, words = self._feature_words()
        sets, kernel_words = self._kernel_words()
        return FrameNeeds(pixels * words, sets * kernel_words, outputs, outputs * self._taps)

    def _outputs(self, height: int, width: int) -> int:
        rows = (height - self._kernel[0]) // self._strides[0] + 1
        columns = (width - self._kernel[1]) // self._strides[1] + 1
        if rows < 1 or columns < 1:
            size = f"{self._kernel[0]}x{self._kernel[1]} in a frame of {height}x{width}"
            self._unit.fail(f"a kernel of {size}")
        return rows * columns * self._count

    def _feature_words(self) -> tuple[int, int]:
        """Groups of words of a frame, and words of each: of all pixels together, or of a pixel, filled up."""
        elements = self._height * self._width * self._depth
        pixels = self._height * self._width if self._deep and self._input.size != 3 else 1
        return pixels, -(-(elements // pixels) // (self._packed or 1))

    def _kernel_words(self) -> tuple[int, int]:
        """Sets of kernels that come for a frame, and the words of each: in deep mode each begins with a new word."""
        count = self._total or self._count
        if not self._deep:
            return 1, count * self._taps
        return -(-count // self._count), -(-self._count * self._taps // _DEEP)

    # ---- a frame ----

    def run(self, number: int, inputs: Inputs) -> Values:
        """FeatureFrame ``number``: shape (rows * columns * kernels,), order y, x, kernel."""
        frame = self._features(number, inputs)
        features, kernels = frame.padded, self._kernels(inputs)
        outputs = self._outputs(features.shape[0], features.shape[1])
        inputs.spend(outputs, outputs * self._taps)
        sums = kernels.correlate(frame, self._strides)
        if self.sums:
            sums = sums + self._partial(number, inputs, outputs)
        shifted = shift_right(sums, self._shift, self._ties)
        # Where neither side has a sign, sums have none: a copy with padding keeps 128 to 255.
        signed = self._input.signed or self._kernel_signed
        return output(shifted, self._out, saturate=self._saturate, relu=self._relu, signed=signed)

    def _features(self, number: int, inputs: Inputs) -> FeatureFrame:
        """The padded frame."""
        if self.stays and number % self.stays and self._frame is not None:
            return self._frame
        values = self._input_values(inputs)
        # An engine gives the same elements again for the next kernels, where nothing writes them.
        address = 0 if values.flags.writeable else values.__array_interface__["data"][0]
        kept = self._kept.get(address)
        if kept is not None and kept[0].dtype == values.dtype:
            frame = kept[1]
        else:
            frame = self._padded_frame(values)
            size = frame.padded.size * 4 * (1 + self._kernel[0] * self._kernel[1])
            if address and size <= self._room:
                self._room -= size
                self._kept[address] = (values, frame)
        self._frame = frame if self.stays else None
        return frame

    def _padded_frame(self, values: Values) -> FeatureFrame:
        frame = values.reshape(self._height, self._width, self._depth)
        top, bottom, left, right = self._crop
        frame = frame[top:bottom, left:right]
        if 0 in frame.shape:
            self._unit.refuse("FHCROP", "RIGHT", "nothing is left of a frame")
        if self._zero:
            frame = np.subtract(frame, self._zero, dtype=np.int32)
        if any(self._pads):
            frame = _padded(frame, self._pads, self._fill)
        return FeatureFrame(frame)

    def _input_values(self, inputs: Inputs) -> Values:
        elements = self._height * self._width * self._depth
        if not self._packed:
            return self._input.apply(inputs.take(FEATURES, elements))
        pixels, words = self._feature_words()
        data = _bytes(inputs.take(FEATURES, pixels * words), self._packed)
        parts = data.reshape(pixels, -1)[:, : elements // pixels].reshape(-1)
        return parts.view(np.int8) if self._input.signed else parts

    def _kernels(self, inputs: Inputs) -> Kernels:
        count, (sets, words) = self._total or self._count, self._kernel_words()
        data: NDArray[np.uint8] | Values
        if self._deep:
            size = self._count * self._taps
            data = _bytes(inputs.take(KERNELS, sets * words), _DEEP)
            data = data.reshape(sets, -1)[:, :size].reshape(-1)
        else:
            data = inputs.take(KERNELS, words)
            size = 2 if not self._simd and data.dtype.itemsize > 1 else 1
            data = low_bytes(data, size, signed=self._kernel_signed)
        if self._last is not None and np.array_equal(self._last[0], data):
            return self._last[1]
        taps = self._deep_order(data, sets) if self._deep else data.reshape(count, self._taps)
        if self._deep:
            taps = taps.view(np.int8 if self._kernel_signed else np.uint8)
        used = taps[self._first : self._first + self._count]
        kernels = Kernels(used.reshape(self._count, *self._kernel, self._depth))
        self._last = (data.copy(), kernels)
        return kernels

    def _deep_order(self, data: Values, sets: int) -> Values:
        """Kernels of deep mode lie in groups of at most 8, channel by channel inside a group."""
        parts = []
        for block in data.reshape(sets, self._count * self._taps):
            at = 0
            for start in range(0, self._count, _GROUP):
                size = min(_GROUP, self._count - start)
                group = block[at : at + size * self._taps]
                parts.append(group.reshape(self._taps, size).T)
                at += size * self._taps
        return np.ascontiguousarray(np.concatenate(parts))

    def _partial(self, number: int, inputs: Inputs, count: int) -> Wide | int:
        if number == 0 and self.first_alone:
            return 0
        sums = inputs.take(SUMS, count)
        if self._filter is not None and number % self._filter[0] not in self._filter[1]:
            return 0
        return sums.astype(np.int64) << self._sum_shift


def _padded(frame: Values, pads: tuple[int, ...], fill: int) -> Values:
    """A frame with a border: shape (height, width, channels). Faster than np.pad for small ones."""
    top, bottom, left, right = pads
    height, width, depth = frame.shape
    kind = frame.dtype if fill == 0 else np.int32
    wide = np.full((top + height + bottom, left + width + right, depth), fill, kind)
    wide[top : top + height, left : left + width] = frame
    return wide


def _bytes(words: Values, count: int) -> NDArray[np.uint8]:
    """The low bytes of each word, one after the other."""
    wide = np.ascontiguousarray(words.astype("<i4")).view(np.uint8)
    return np.ascontiguousarray(wide.reshape(-1, 4)[:, :count]).reshape(-1)
