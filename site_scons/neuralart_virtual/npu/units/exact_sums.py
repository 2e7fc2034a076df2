"""Exact sums of products for convolutions, by what is fast and still exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.npu.units.rounding import Values, Wide

# Below these bounds every partial sum of integers is exact in the format.
_SINGLE, _DOUBLE, _WORD = 1 << 24, 1 << 53, 1 << 30


class FeatureFrame:
    """A padded frame of features, and its layouts for kernels of one size and stride."""

    def __init__(self, padded: Values) -> None:
        """``padded``: shape (height, width, channels)."""
        self.padded = padded
        self.patches: dict[Any, NDArray[Any]] = {}  # By type: one row per output place


class Kernels:
    """Kernels of a frame, laid out for the way they are summed up."""

    def __init__(self, taps: Values) -> None:
        """``taps``: integers of shape (kernels, height, width, channels)."""
        self.count, self.height, self.width, self.depth = taps.shape
        # Single precision holds every kernel exactly: of 8 or 16 bits.
        flat = taps.reshape(self.count, -1).astype(np.float32)
        self._heaviest = max(int(np.abs(flat).sum(1, dtype=np.float64).max()), 1)
        # Depthwise layers are dense kernels full of zeros: only what is on the diagonal counts.
        self._diagonal: NDArray[np.int32] | None = None
        if self.count == self.depth > 1:
            on = np.diagonal(taps, 0, 0, 3)
            if np.count_nonzero(on) == np.count_nonzero(taps):
                self._diagonal = on.astype(np.int32)
        self._used: NDArray[np.intp] | None = None
        if self._diagonal is None and self.height * self.width > 1:
            used = np.flatnonzero(flat.any(0))
            if len(used) < flat.shape[1]:
                self._used, flat = used, flat[:, used]
        self._flat = flat
        self._matrices: dict[Any, NDArray[Any]] = {}

    def correlate(self, frame: FeatureFrame, strides: tuple[int, int]) -> Wide:
        """Sums of products at each place.

        Returns shape (rows * columns * kernels,), order row, column, kernel. Everything is exact: the
        format is chosen by the greatest sum that the values could give.
        """
        padded = frame.padded
        rows = (padded.shape[0] - self.height) // strides[0] + 1
        columns = (padded.shape[1] - self.width) // strides[1] + 1
        greatest = self._heaviest << 8 * padded.dtype.itemsize
        if greatest >= _SINGLE:
            greatest = max(int(padded.max()), -int(padded.min()), 1) * self._heaviest
        if self._diagonal is not None and greatest < _WORD:
            return self._by_channel(padded, strides, rows, columns)
        kind: Any = np.float32 if greatest < _SINGLE else np.float64
        if greatest >= _DOUBLE:
            kind = np.int64
        patches = frame.patches.get(kind)
        if patches is None:
            patches = self._patches(np.ascontiguousarray(padded, kind), strides, rows, columns)
            frame.patches[kind] = patches
        if self._used is not None:
            patches = patches[:, self._used]
        sums: NDArray[Any] = (patches @ self._matrix(kind)).reshape(-1)
        return sums.astype(np.int32) if greatest < _WORD else sums.astype(np.int64)

    def _patches(self, source: NDArray[Any], strides: tuple[int, int], rows: int, columns: int) -> NDArray[Any]:
        """One row per output place with all elements under the kernel."""
        if self.height == self.width == 1:
            return source[:: strides[0], :: strides[1]].reshape(rows * columns, -1)
        line, pixel, element = source.strides
        # What as_strided does takes longer than the copy of a small frame.
        windows = np.ndarray(
            (rows, columns, self.height, self.width, self.depth),
            source.dtype,
            source,
            strides=(line * strides[0], pixel * strides[1], line, pixel, element),
        )
        return windows.reshape(rows * columns, -1)

    def _matrix(self, kind: Any) -> NDArray[Any]:
        if kind not in self._matrices:
            self._matrices[kind] = np.ascontiguousarray(self._flat.astype(kind).T)
        return self._matrices[kind]

    def _by_channel(self, padded: Values, strides: tuple[int, int], rows: int, columns: int) -> NDArray[np.int32]:
        assert self._diagonal is not None
        source = padded.astype(np.int32)
        sums = np.zeros((rows, columns, self.depth), np.int32)
        scratch = np.empty_like(sums)
        used = np.any(self._diagonal, axis=-1).tolist()
        for y in range(self.height):
            for x in range(self.width):
                if used[y][x]:
                    part = source[
                        y : y + (rows - 1) * strides[0] + 1 : strides[0],
                        x : x + (columns - 1) * strides[1] + 1 : strides[1],
                    ]
                    np.multiply(part, self._diagonal[y, x], out=scratch)
                    sums += scratch
        return sums.reshape(-1)
