"""Memory as the NPU sees it: regions of bytes at addresses. An access outside is an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.npu.errors import NpuError

Bytes = NDArray[np.uint8]
_MOST_BLANK = 1 << 24


class MappedRegion(NamedTuple):
    """Bytes at an address. Two regions may share their bytes: aliases of one memory."""

    name: str  # For messages
    base: int  # Address of the first byte
    data: Bytes  # Shape (size,); what the NPU writes stands here


class NpuMemory:
    """All regions. Nothing is copied: what others write to a region's array is seen at once."""

    def __init__(self) -> None:
        self.regions: list[MappedRegion] = []

    def add(self, name: str, base: int, data: Bytes) -> None:
        """Map an array. NpuError: it overlaps another region, or is no array of bytes."""
        if data.dtype != np.uint8 or data.ndim != 1:
            raise NpuError(f"region {name} is no array of bytes")
        for other in self.regions:
            if base < other.base + len(other.data) and other.base < base + len(data):
                raise NpuError(f"region {name} at 0x{base:08x} overlaps {other.name}")
        self.regions.append(MappedRegion(name, base, data))

    def add_merged(self, spans: Iterable[tuple[int, int, str]]) -> None:
        """Map zeros for spans of (first address, address behind, name); those that adjoin or overlap are one region."""
        merged: list[tuple[int, int, str]] = []
        for start, end, name in sorted(spans):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end), merged[-1][2])
            else:
                merged.append((start, end, name))
        for start, end, name in merged:
            self.add(name, start, np.zeros(end - start, np.uint8))

    def view(self, address: int, size: int) -> Bytes:
        """The bytes from an address on, writable. NpuError: no region holds them all."""
        for region in self.regions:
            at = address - region.base
            if at >= 0 and at + size <= len(region.data):
                return region.data[at : at + size]
        raise NpuError(self._missing(address, size))

    def where_is(self, near: int, data: bytes) -> int | None:
        """Where else in the same memory bytes stand; None: nowhere, or it is not known."""
        return None

    def _missing(self, address: int, size: int) -> str:
        for region in self.regions:
            end = region.base + len(region.data)
            if region.base <= address < end:
                over = address + size - end
                return f"{size} bytes at 0x{address:08x} leave {region.name} by {over} bytes"
        return f"{size} bytes at 0x{address & 0xFFFFFFFF:08x}: no memory is there"

    def words(self, address: int, count: int) -> list[int]:
        """Little-endian words of 32 bits from an address on."""
        return [int(word) for word in self.view(address, 4 * count).copy().view("<u4")]


class BlankMemory(NpuMemory):
    """Zeros at every address, each time anew: for descriptions, which need no contents."""

    def view(self, address: int, size: int) -> Bytes:
        """Zeros. NpuError: more than any structure leads to."""
        if size > _MOST_BLANK:
            raise NpuError(f"{size} bytes at 0x{address & 0xFFFFFFFF:08x} are too many")
        return np.zeros(size, np.uint8)
