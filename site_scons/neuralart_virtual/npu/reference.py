"""What another interpreter computes for the same model, beside the buffers that epochs write.

A buffer has no name of the model's: the tensor of the same size that it is most like is its pair. Small
buffers may be like anything; a pair of less than about 100 values proves little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.run import EpochResult
from neuralart_virtual.npu.software.tensors import Output

# Where more than half of the elements differ that would by chance, and by more than that, it is another tensor.
_MOST_DIFFERENT, _ALMOST = 0.5, 2
_SAME_SCALE = 0.02  # How much a slope may be off that was computed from rounded values
# Groups of channels that are tried where a buffer is large.
_LARGE, _GROUPS = 100_000, (1, 2, 3, 4, 8, 12, 16, 24, 32, 64)


class ReferenceTensor(NamedTuple):
    """A tensor of 8 bits with a sign."""

    values: NDArray[np.int16]  # Shape (height, width, channels)
    scale: float  # Of its quantization; 0: it has none


def tensor_of(values: NDArray[Any], scale: float = 0.0) -> ReferenceTensor:
    """An array as such a tensor: at most three dimensions of it are not 1."""
    whole = (1,) * (3 - values.ndim) + values.shape[-3:]
    return ReferenceTensor(values.reshape(whole).astype(np.int16), scale)


class Pair(NamedTuple):
    """Which tensor a buffer is like, and how."""

    tensor: str
    group: int  # Channels that lie together in memory
    offset: int  # 128 where memory holds the values without sign, else 0
    factor: float = 1.0  # Where memory holds factor * value + more: the tensor in the quantization of another
    more: float = 0.0

    def of(self, tensor: ReferenceTensor) -> NDArray[np.int16]:
        """The values that memory should hold: shape of the tensor, with sign."""
        if self.factor == 1:
            return tensor.values
        scaled: NDArray[np.float64] = np.rint(self.factor * tensor.values + self.more)
        return np.minimum(np.maximum(scaled, -128), 127).astype(np.int16)


class Distance(NamedTuple):
    """How far a buffer is from its tensor."""

    share: float  # Of elements that are not equal
    largest: int


@dataclass
class ComparedBuffer:
    """A buffer of an epoch in all inferences."""

    epoch: str
    output: Output
    pair: Pair
    scale: float  # Of the tensor; 0: it has none
    shape: tuple[int, ...]  # Of the tensor: height, width, channels
    allowed: float | None  # Steps that it may differ; None: no rule says it
    differences: list[Distance] = field(default_factory=list)  # By inference

    @property
    def different(self) -> float:
        """Share of elements that are not equal, in all inferences."""
        return sum(one.share for one in self.differences) / len(self.differences)

    @property
    def largest(self) -> int:
        """Largest difference in all inferences, in steps."""
        return max(one.largest for one in self.differences)

    @property
    def exceeding(self) -> tuple[int, ...]:
        """The inferences in which it differs by more than is allowed, from 0; none if no rule says it."""
        limit = self.allowed
        return () if limit is None else tuple(n for n, one in enumerate(self.differences) if one.largest > limit)


def _find(output: Output, memory: NpuMemory, tensors: Mapping[str, ReferenceTensor]) -> Pair | None:
    """The tensor that a buffer of bytes is most like; None if it is like none."""
    best: tuple[Distance, Pair] | None = None
    for name, tensor in tensors.items():
        if output.size != 1 or tensor.values.size != output.elements:
            continue
        channels = tensor.values.shape[2]
        groups = [g for g in range(1, channels + 1) if channels % g == 0]
        if output.elements >= _LARGE:
            groups = [g for g in groups if g in _GROUPS or g == channels]
        for pair in (Pair(name, group, offset) for group in groups for offset in (0, 128)):
            difference = _compare(pair, output, memory, tensor)
            if best is None or difference < best[0]:
                best = difference, pair
    if best is None or best[0].largest <= _ALMOST:
        return None if best is None else best[1]
    distance, pair = best
    tensor = tensors[pair.tensor]
    found = _values(pair, output, memory, tensor)
    if (scaled := _requantized(pair, found, tensors)) is not None:
        return scaled
    counts = [np.bincount(values.ravel() + 128, minlength=256) / values.size for values in (found, tensor.values)]
    by_chance = 1 - float(counts[0] @ counts[1])
    return None if distance.share >= _MOST_DIFFERENT * by_chance else pair


def _requantized(pair: Pair, found: NDArray[np.int16], tensors: Mapping[str, ReferenceTensor]) -> Pair | None:
    """The pair with the scale of another tensor of the model: compilers requantize what they join. Only the offset is
    taken from what memory holds, so a wrong zero point is not seen there. None: it is in no such scale.
    """
    tensor = tensors[pair.tensor]
    spread = float(tensor.values.var())
    slope = float((found * (tensor.values - tensor.values.mean())).mean() / spread) if spread else 0.0
    ratios = (tensor.scale / other.scale for other in tensors.values() if other.scale)
    factor = min(ratios, key=lambda ratio: abs(ratio - slope), default=0.0)
    if factor <= 0 or abs(slope / factor - 1) > _SAME_SCALE:
        return None
    scaled = pair._replace(factor=factor, more=float(found.mean() - factor * tensor.values.mean()))
    return scaled if np.abs(found - scaled.of(tensor)).max() <= _ALMOST else None


def _values(pair: Pair, output: Output, memory: NpuMemory, tensor: ReferenceTensor) -> NDArray[np.int16]:
    """What memory holds, with sign and in the order of the tensor."""
    data = memory.view(output.start, output.elements)
    height, width, channels = tensor.values.shape
    blocks = data.reshape(channels // pair.group, height, width, pair.group)
    values = blocks.transpose(1, 2, 0, 3).reshape(tensor.values.shape)
    return values.astype(np.int16) - 128 if pair.offset else values.view(np.int8).astype(np.int16)


def _compare(pair: Pair, output: Output, memory: NpuMemory, tensor: ReferenceTensor) -> Distance:
    apart = np.abs(_values(pair, output, memory, tensor) - pair.of(tensor))
    return Distance(float((apart != 0).mean()), int(apart.max()))


def _feed(pair: Pair, output: Output, memory: NpuMemory, tensor: ReferenceTensor) -> None:
    """Put the reference where the buffer is."""
    height, width, channels = tensor.values.shape
    blocks = pair.of(tensor).reshape(height, width, channels // pair.group, pair.group)
    data = (blocks.transpose(2, 0, 1, 3).reshape(-1) + pair.offset) & 0xFF
    memory.view(output.start, output.elements)[:] = data.astype(np.uint8)


class BufferComparison:
    """Observes inferences: compares each buffer, and with ``feed`` feeds the next epoch with the reference."""

    def __init__(self, references: Iterator[Mapping[str, ReferenceTensor]], *, feed: bool) -> None:
        """``references``: the tensors of each inference. The first inference that pairs a buffer decides its tensor."""
        self._references, self._feeds = references, feed
        self._tensors: Mapping[str, ReferenceTensor] = {}
        self._memory = NpuMemory()
        self._seen: dict[tuple[str, Output], int] = {}  # Buffers of this inference
        self._known: dict[tuple[str, Output, int], ComparedBuffer | None] = {}  # By epoch, place, and which of such

    @property
    def pairs(self) -> list[ComparedBuffer]:
        """Buffers that are like a tensor, in order of execution."""
        return [buffer for buffer in self._known.values() if buffer is not None]

    @property
    def unpaired(self) -> list[tuple[str, Output]]:
        """Epochs and buffers that are like no tensor."""
        return [(epoch, output) for (epoch, output, _), buffer in self._known.items() if buffer is None]

    def begins(self, memory: NpuMemory) -> None:
        """The inputs of the next inference are in memory. NeuralArtError: LiteRT cannot run the model."""
        self._memory, self._tensors = memory, next(self._references)
        self._seen = {}

    def __call__(self, result: EpochResult) -> None:
        """An epoch is done."""
        for output, allowed in zip(result.outputs, result.allowed, strict=True):
            place = result.label, output
            key = (*place, self._seen.setdefault(place, 0))
            self._seen[place] += 1
            buffer = self._known.get(key)
            if buffer is None:
                pair = _find(output, self._memory, self._tensors)
                if pair is not None:
                    tensor = self._tensors[pair.tensor]
                    shape = tensor.values.shape
                    buffer = ComparedBuffer(result.label, output, pair, tensor.scale, shape, allowed)
                self._known[key] = buffer
            if buffer is not None:
                self._add(buffer)

    def _add(self, buffer: ComparedBuffer) -> None:
        tensor = self._tensors[buffer.pair.tensor]
        buffer.differences.append(_compare(buffer.pair, buffer.output, self._memory, tensor))
        if self._feeds:
            _feed(buffer.pair, buffer.output, self._memory, tensor)
