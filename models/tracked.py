"""A model being built, with what calibration pictures and others give at each of its layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import layers
from digits.synthetic import Dice
from tflite_writer import ModelWriter

Step = Callable[..., np.ndarray]
f32 = np.float32


class Tracked:
    """A model being built; layers are tensor numbers of :attr:`writer`.

    Args:
        pictures: Calibration inputs, int8 [n, h, w, c].
        scale: Of the input.
        zero: Zero point of the input.
        seed: Of the random filters.
        name: Of the input.
    """

    def __init__(self, pictures: np.ndarray, scale: float, zero: int, seed: int, name: str = "image") -> None:
        self.writer = ModelWriter()
        self.dice = Dice(seed)
        self.input = self.writer.tensor(name, (1, *pictures.shape[1:]), "int8", f32(scale), zero)
        self.values = {self.input: pictures.astype(np.float64) - zero}
        self._steps: list[tuple[int, tuple[int, ...], Step]] = []

    def scale(self, layer: int) -> np.float32:
        """The scale of a layer."""
        scales = self.writer.tensors[layer].scales
        assert scales is not None
        return f32(scales[0])

    def zero(self, layer: int) -> int:
        """The zero point of a layer."""
        return self.writer.tensors[layer].zero_points[0]

    def real(self, layer: int) -> np.ndarray:
        """What the calibration pictures give there, dequantized."""
        return self.values[layer] * float(self.scale(layer))

    def run(self, pictures: np.ndarray, layer: int, chunk: int = 2) -> np.ndarray:
        """What other pictures give at a layer: int64, without zero point; so many at a time as caches hold."""
        parts = []
        for start in range(0, len(pictures), chunk):
            values = {self.input: pictures[start : start + chunk].astype(np.float64) - self.zero(self.input)}
            for index, sources, step in self._steps:
                values[index] = step(*(values[source] for source in sources))
                if index == layer:
                    break
            parts.append(values[layer].astype(np.int64))
        return np.concatenate(parts)

    def constant(self, name: str, value: np.ndarray, scale: object = None, axis: int = 0) -> int:
        """A constant tensor."""
        return self.writer.tensor(name, value.shape, value.dtype.name, scale, 0, value, axis)

    def layer(
        self,
        kind: str,
        name: str,
        sources: Sequence[int],
        constants: Sequence[int],
        quantization: tuple[float, int],
        step: Step,
        **options: Any,
    ) -> int:
        """Write an operator and compute what it gives for the calibration pictures."""
        value = step(*(self.values[source] for source in sources))
        scale, zero = quantization
        index = self.writer.tensor(name, (1, *value.shape[1:]), "int8", f32(scale), zero)
        self.writer.op(kind, [*sources, *constants], [index], **options)
        self._steps.append((index, tuple(sources), step))
        self.values[index] = value
        return index

    def like(self, kind: str, name: str, source: int, constants: Sequence[int], step: Step, **options: Any) -> int:
        """A layer with the quantization of its input."""
        return self.layer(kind, name, [source], constants, (self.scale(source), self.zero(source)), step, **options)

    def range(self, real: np.ndarray, activation: str) -> tuple[np.float32, int]:
        """Scale and zero point for what comes out of a layer."""
        if activation == "RELU6":
            return f32(6) / f32(255), -128
        low, high = layers.extremes(real)
        if activation == "RELU":
            return layers.tidy(high / 255), -128
        scale = layers.tidy((high - low) / 255)
        return scale, int(np.clip(round(-128 - low / float(scale)), -128, 127))
