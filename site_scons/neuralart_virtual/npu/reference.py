"""What another interpreter computes for the same model, beside the buffers that epochs write.

A buffer has no name of the model's: the tensor of the same size that it is most like is its pair. Small
buffers may be like anything; a pair of less than about 100 values proves little.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.run import EpochResult
from neuralart_virtual.npu.software.tensors import Output

# Where more than half of the elements differ by more than that, it is another tensor.
_MOST_DIFFERENT, _ALMOST = 0.5, 2
# Groups of channels that are tried where a buffer is large.
_LARGE, _GROUPS = 100_000, (1, 2, 3, 4, 8, 12, 16, 24, 32, 64)


class Pair(NamedTuple):
    """A buffer and the tensor that it is like."""

    epoch: str
    output: Output
    tensor: str
    group: int  # Channels that lie together in memory
    offset: int  # 128 where memory holds the values without sign, else 0
    different: float  # Share of elements that are not equal
    largest: int  # Largest difference


class References:
    """Tensors of 8 bits with a sign: shape (height, width, channels), by name."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self._by_size: dict[int, list[tuple[str, NDArray[np.int16]]]] = {}
        for name, tensor in tensors.items():
            shape = (1,) * (3 - tensor.ndim) + tensor.shape[-3:]
            values = tensor.reshape(shape).astype(np.int16)
            self._by_size.setdefault(values.size, []).append((name, values))

    def pair(self, epoch: str, output: Output, memory: NpuMemory) -> Pair | None:
        """The tensor that a buffer of bytes is most like; None if it is like none."""
        if output.size != 1 or output.elements not in self._by_size:
            return None
        data = memory.view(output.start, output.elements)
        best = None
        for name, tensor in self._by_size[output.elements]:
            height, width, channels = tensor.shape
            groups = [g for g in range(1, channels + 1) if channels % g == 0]
            if output.elements >= _LARGE:
                groups = [g for g in groups if g in _GROUPS or g == channels]
            for group in groups:
                blocks = data.reshape(channels // group, height, width, group)
                values = blocks.transpose(1, 2, 0, 3).reshape(tensor.shape)
                for offset in (0, 128):
                    found = _number(values, offset)
                    difference = np.abs(found - tensor)
                    share, largest = float((difference != 0).mean()), int(difference.max())
                    if best is None or (share, largest) < (best.different, best.largest):
                        best = Pair(epoch, output, name, group, offset, share, largest)
        if best is None or (best.different >= _MOST_DIFFERENT and best.largest > _ALMOST):
            return None
        return best

    def feed(self, pair: Pair, memory: NpuMemory) -> None:
        """Put the reference where the buffer is."""
        tensor = next(t for name, t in self._by_size[pair.output.elements] if name == pair.tensor)
        height, width, channels = tensor.shape
        blocks = tensor.reshape(height, width, channels // pair.group, pair.group)
        data = (blocks.transpose(2, 0, 1, 3).reshape(-1) + pair.offset) & 0xFF
        memory.view(pair.output.start, pair.output.elements)[:] = data.astype(np.uint8)


def _number(values: NDArray[np.uint8], offset: int) -> NDArray[np.int16]:
    return values.astype(np.int16) - 128 if offset else values.view(np.int8).astype(np.int16)


class BufferComparison:
    """Observes a run: pairs each buffer, and with ``force`` feeds the next epoch with the reference."""

    def __init__(self, references: References, memory: NpuMemory, *, force: bool) -> None:
        self._references, self._memory, self._force = references, memory, force
        self.pairs: list[Pair] = []
        self.unpaired: list[tuple[str, Output]] = []

    def __call__(self, result: EpochResult) -> None:
        """An epoch is done."""
        for output in result.outputs:
            pair = self._references.pair(result.label, output, self._memory)
            if pair is None:
                self.unpaired.append((result.label, output))
                continue
            self.pairs.append(pair)
            if self._force:
                self._references.feed(pair, self._memory)
