"""Builds int8 models: every layer is written into the file, its scales chosen from what calibration pictures do.

Filters are drawn from the raw stream of PCG64 and normalized channel by channel, as a batch normalization would, so
that values spread over the whole range and every bit of a requantization matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import layers
from tracked import Step, Tracked, f32

_SMOOTH = np.array([[20, 30, 20], [30, 60, 30], [20, 30, 20]])


class Network(Tracked):
    """The layers that our models are made of."""

    # ---- layers with weights -----------------------------------------------------------------------------------------

    def conv(
        self,
        name: str,
        source: int,
        channels: int,
        kernel: int = 1,
        stride: int = 1,
        activation: str = "RELU6",
        **more: str,
    ) -> int:
        """CONV_2D with random filters."""
        shape = (channels, kernel, kernel, self.values[source].shape[-1])
        # Sums of three have a bell's shape; without a constant part, about half of the values survive a RELU.
        taps = self.dice.integers(-42, 43, (3, *shape)).sum(axis=0)
        taps -= taps.sum(axis=(1, 2, 3), keepdims=True) // taps[0].size
        weights = np.clip(taps, -127, 127).astype(np.int8)
        return self._weighted("CONV_2D", name, source, weights, layers.convolution, (stride, activation), **more)

    def depthwise(
        self, name: str, source: int, stride: int = 1, activation: str = "RELU6", padding: str = "SAME"
    ) -> int:
        """DEPTHWISE_CONV_2D 3x3 with random filters around a smoothing one.

        Without the latter many layers in a row would turn any picture into noise.
        """
        noise = self.dice.integers(-40, 41, (1, 3, 3, self.values[source].shape[-1]))
        weights = (noise + _SMOOTH[..., np.newaxis]).astype(np.int8)
        shape = (stride, activation)
        return self._weighted("DEPTHWISE_CONV_2D", name, source, weights, layers.depthwise, shape, padding=padding)

    def _weighted(
        self,
        kind: str,
        name: str,
        source: int,
        weights: np.ndarray,
        accumulate: Step,
        shape: tuple[int, str],
        padding: str = "SAME",
    ) -> int:
        stride, activation = shape
        accumulators = accumulate(self.values[source], weights, stride, padding)
        mean, deviation = layers.spread(accumulators)
        wanted = 2.0 if activation == "RELU6" else 1.0
        into = float(self.scale(source))
        scales = np.array([layers.tidy(wanted / (into * d)) for d in deviation], f32)
        shift = self.dice.integers(50, 151, mean.shape) / 100 * deviation
        bias = np.floor(shift - mean + 0.5)
        out = self.range((accumulators + bias) * (into * scales.astype(np.float64)), activation)
        return self._emit(kind, name, source, (weights, scales, bias), accumulate, out, shape, padding)

    def linear(self, kind: str, name: str, source: int, weights: np.ndarray, bias: np.ndarray, **options: str) -> int:
        """CONV_2D 1x1 or FULLY_CONNECTED with given weights.

        Args:
            kind: Operator.
            name: Of the layer.
            source: Its input.
            weights: Real [k, c]: by how much a step of the input moves an output.
            bias: Real [k].
            **options: Further options.
        """
        largest = np.abs(weights).max(axis=1, keepdims=True)
        if kind == "FULLY_CONNECTED":
            largest[:] = largest.max()
        whole = np.floor(weights / largest * 127 + 0.5).astype(np.int8)
        into = float(self.scale(source))
        scales = np.array([f32(one / 127 / into) for one in largest[:, 0]], f32)
        steps = into * scales.astype(np.float64)
        rounded = np.floor(bias / steps + 0.5)
        if kind == "CONV_2D":
            whole = whole[:, np.newaxis, np.newaxis]

            def accumulate(value: np.ndarray, taps: np.ndarray, stride: int, padding: str) -> np.ndarray:
                return layers.convolution(value, taps, stride, padding)
        else:

            def accumulate(value: np.ndarray, taps: np.ndarray, stride: int, padding: str) -> np.ndarray:
                return value @ taps.astype(np.float64).T

        real = (accumulate(self.values[source], whole, 1, "SAME") + rounded) * steps
        out = self.range(real, "NONE")
        return self._emit(kind, name, source, (whole, scales, rounded), accumulate, out, (1, "NONE"), "SAME")

    def _emit(
        self,
        kind: str,
        name: str,
        source: int,
        parameters: tuple[np.ndarray, np.ndarray, np.ndarray],
        accumulate: Step,
        out: tuple[np.float32, int],
        shape: tuple[int, str],
        padding: str,
    ) -> int:
        weights, scales, bias = parameters
        stride, activation = shape
        into, (scale, zero) = self.scale(source), out
        if kind == "FULLY_CONNECTED":
            scales = scales[:1]
        axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
        constants = [
            self.constant(f"{name}/weights", weights, scales, axis),
            self.constant(f"{name}/bias", bias.astype(np.int32), into * scales),
        ]
        options: dict[str, Any] = {"fused_activation_function": activation}
        if kind != "FULLY_CONNECTED":
            options |= {"stride_h": stride, "stride_w": stride, "padding": padding}
        steps = float(into) * scales.astype(np.float64)
        low = 0 if activation.startswith("RELU") else -128 - zero
        high = min(127 - zero, round(6 / float(scale))) if activation == "RELU6" else 127 - zero

        def step(value: np.ndarray) -> np.ndarray:
            return layers.requantize((accumulate(value, weights, stride, padding) + bias) * steps, scale, low, high)

        return self.layer(kind, name, [source], constants, out, step, **options)

    # ---- layers without ----------------------------------------------------------------------------------------------

    def pad(self, name: str, source: int, before: int, behind: int) -> int:
        """PAD of rows and columns."""
        table = np.array([[0, 0], [before, behind], [before, behind], [0, 0]], np.int32)
        return self.like("PAD", name, source, [self.constant(f"{name}/pads", table)], lambda x: np.pad(x, table))

    def add(self, name: str, one: int, other: int, activation: str = "NONE") -> int:
        """ADD."""
        first, second = float(self.scale(one)), float(self.scale(other))
        total = self.real(one) + self.real(other)
        scale, zero = out = self.range(np.maximum(total, 0) if activation == "RELU" else total, activation)
        low = 0 if activation == "RELU" else -128 - zero

        def step(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            return layers.requantize(x * first + y * second, scale, low, 127 - zero)

        return self.layer("ADD", name, [one, other], [], out, step, fused_activation_function=activation)

    def mean(self, name: str, source: int) -> int:
        """MEAN over rows and columns."""
        into = float(self.scale(source))
        area = float(np.prod(self.values[source].shape[1:3]))
        # Averages spread less than what they are made of: a scale of their own keeps their bits.
        scale, zero = out = self.range(self.values[source].sum(axis=(1, 2)) / area * into, "NONE")

        def step(x: np.ndarray) -> np.ndarray:
            return layers.requantize(x.sum(axis=(1, 2)) / area * into, scale, -128 - zero, 127 - zero)

        axes = self.constant(f"{name}/axes", np.array([1, 2], np.int32))
        return self.layer("MEAN", name, [source], [axes], out, step, keep_dims=False)

    def quantize(self, name: str, source: int, scale: float, zero: int) -> int:
        """QUANTIZE: other scale and zero point."""
        into = float(self.scale(source))

        def step(x: np.ndarray) -> np.ndarray:
            return layers.requantize(x * into, scale, -128 - zero, 127 - zero)

        return self.layer("QUANTIZE", name, [source], [], (scale, zero), step)

    def concat(self, name: str, sources: Sequence[int], axis: int = 3) -> int:
        """CONCATENATION; like a converter, with a QUANTIZE where quantization differs (LiteRT wants it equal)."""
        widest = max(sources, key=lambda layer: float(self.scale(layer)))
        out = (self.scale(widest), self.zero(widest))
        equal = [
            one if (self.scale(one), self.zero(one)) == out else self.quantize(f"{name}/{number}", one, *out)
            for number, one in enumerate(sources)
        ]
        return self.layer(
            "CONCATENATION",
            name,
            equal,
            [],
            out,
            lambda *x: np.concatenate(x, axis),
            axis=axis,
            fused_activation_function="NONE",
        )

    def bilinear(self, name: str, source: int) -> int:
        """RESIZE_BILINEAR to the double size."""
        size = self._doubled(name, source)
        return self.like("RESIZE_BILINEAR", name, source, [size], layers.bilinear_twice, half_pixel_centers=True)

    def nearest(self, name: str, source: int) -> int:
        """RESIZE_NEAREST_NEIGHBOR to the double size."""
        size = self._doubled(name, source)
        return self.like("RESIZE_NEAREST_NEIGHBOR", name, source, [size], layers.nearest_twice, half_pixel_centers=True)

    def _doubled(self, name: str, source: int) -> int:
        return self.constant(f"{name}/size", np.array(self.values[source].shape[1:3], np.int32) * 2)

    def max_pool(self, name: str, source: int, kernel: int = 2) -> int:
        """MAX_POOL_2D."""
        options = {"filter_height": kernel, "filter_width": kernel, "stride_h": kernel, "stride_w": kernel}
        return self.like("MAX_POOL_2D", name, source, [], lambda x: layers.max_pool(x, kernel, kernel), **options)

    def leaky(self, name: str, source: int, alpha: float) -> int:
        """LEAKY_RELU."""
        slope, into = float(f32(alpha)), float(self.scale(source))
        real = self.real(source)
        scale, zero = out = self.range(np.where(real < 0, real * slope, real), "NONE")

        def step(x: np.ndarray) -> np.ndarray:
            return layers.requantize(np.where(x < 0, x * slope, x) * into, scale, -128 - zero, 127 - zero)

        return self.layer("LEAKY_RELU", name, [source], [], out, step, alpha=alpha)

    def reshape(self, name: str, source: int, shape: Sequence[int]) -> int:
        """RESHAPE of what follows the batch."""
        target = np.array([1, *shape], np.int32)
        constant = self.constant(f"{name}/shape", target)
        return self.like(
            "RESHAPE", name, source, [constant], lambda x: x.reshape(len(x), *shape), new_shape=target.tolist()
        )

    def probabilities(self, kind: str, name: str, source: int) -> int:
        """LOGISTIC or SOFTMAX with the only quantization that LiteRT takes; nothing can be calibrated behind it."""
        out = self.writer.tensor(name, self.writer.tensors[source].shape, "int8", f32(1) / f32(256), -128)
        self.writer.op(kind, [source], [out])
        return out

    def dequantize(self, name: str, source: int) -> int:
        """DEQUANTIZE to float32."""
        out = self.writer.tensor(name, self.writer.tensors[source].shape, "float32")
        self.writer.op("DEQUANTIZE", [source], [out])
        return out
