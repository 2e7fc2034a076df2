"""Architectures that are published, as graphs without values: what decides how much memory activations take."""

from __future__ import annotations

import struct
import sys
from math import prod
from pathlib import Path

import numpy as np

from support.cases.lowering import Graph
from tflite_writer import ModelWriter


class Network(Graph):
    """A graph of pictures with one input."""

    def __init__(self, size: int, channels: int = 3) -> None:
        super().__init__()
        self.input = self.last = self.tensor("input", (1, size, size, channels))

    def shape(self, value: int) -> tuple[int, ...]:
        return self.tensors[value].shape

    def _window(self, kind: str, value: int, channels: int, kernel: int, stride: int, padding: str, *more: int) -> int:
        size = self.shape(value)[1]
        out = -(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1
        self.last = self.tensor(f"v{len(self.tensors)}", (1, out, out, channels))
        taps = {"filter_height": kernel, "filter_width": kernel, "stride_h": stride, "stride_w": stride}
        self.op(kind, [value, *more], [self.last], padding=padding, **taps)
        return self.last

    def _weights(self, *shape: int, axis: int = 0) -> int:
        return self.tensor(f"w{len(self.tensors)}", shape, "int8", 0.01, 0, bytes(prod(shape)), axis)

    def conv(self, value: int, channels: int, kernel: int = 1, stride: int = 1, padding: str = "SAME") -> int:
        weights = self._weights(channels, kernel, kernel, self.shape(value)[3])
        return self._window("CONV_2D", value, channels, kernel, stride, padding, weights)

    def depthwise(self, value: int, kernel: int = 3, stride: int = 1, padding: str = "SAME") -> int:
        channels = self.shape(value)[3]
        weights = self._weights(1, kernel, kernel, channels, axis=3)
        return self._window("DEPTHWISE_CONV_2D", value, channels, kernel, stride, padding, weights)

    def pool(self, value: int, kernel: int, stride: int, padding: str = "VALID") -> int:
        return self._window("MAX_POOL_2D", value, self.shape(value)[3], kernel, stride, padding)

    def pad(self, value: int, before: int = 0, after: int = 1) -> int:
        _, size, _, channels = self.shape(value)
        pairs = struct.pack("<8i", 0, 0, *(before, after) * 2, 0, 0)
        given = self.tensor(f"p{len(self.tensors)}", (4, 2), "int32", None, 0, pairs)
        padded = size + before + after
        self.last = self.tensor(f"v{len(self.tensors)}", (1, padded, padded, channels))
        self.op("PAD", [value, given], [self.last])
        return self.last

    def add(self, one: int, other: int) -> int:
        self.last = self.tensor(f"v{len(self.tensors)}", self.shape(one))
        self.op("ADD", [one, other], [self.last])
        return self.last

    def concatenation(self, one: int, other: int) -> int:
        shape = self.shape(one)
        self.last = self.tensor(f"v{len(self.tensors)}", (*shape[:3], shape[3] + self.shape(other)[3]))
        self.op("CONCATENATION", [one, other], [self.last], axis=3)
        return self.last

    def weighed(self, value: int, squeezed: int) -> int:
        """Squeeze and excitation: each channel times what two layers make of the means of all."""
        depth = self.shape(value)[3]
        axes = self.tensor(f"a{len(self.tensors)}", (2,), "int32", None, 0, struct.pack("<2i", 1, 2))
        mean = self.tensor(f"v{len(self.tensors)}", (1, 1, 1, depth))
        self.op("MEAN", [value, axes], [mean], keep_dims=True)
        excited = self.conv(self.conv(mean, squeezed), depth)
        factors = self.tensor(f"v{len(self.tensors)}", (1, 1, 1, depth), "int8", 1 / 256, -128)
        self.op("LOGISTIC", [excited], [factors])
        self.last = self.tensor(f"v{len(self.tensors)}", self.shape(value))
        self.op("MUL", [value, factors], [self.last])
        return self.last

    def separable(self, value: int, stride: int) -> int:
        """A depthwise convolution as Keras has it: a stride of 2 behind a padding of its own."""
        return self.depthwise(self.pad(value), 3, 2, "VALID") if stride == 2 else self.depthwise(value)


_WINDOW = ("padding", "stride_h", "stride_w")
_OPTIONS = {
    "CONV_2D": _WINDOW,
    "DEPTHWISE_CONV_2D": _WINDOW,
    "MAX_POOL_2D": (*_WINDOW, "filter_height", "filter_width"),
    "CONCATENATION": ("axis",),
    "LEAKY_RELU": ("alpha",),
    "MEAN": ("keep_dims",),
}


def tflite_of(net: Network) -> bytes:
    """The file of a network, with random weights and biases of zero."""
    writer, rng, numbers = ModelWriter(), np.random.default_rng(1), {}
    for tensor in net.tensors:
        quantization = tensor.quantization
        data = None if tensor.data is None else np.frombuffer(tensor.data, tensor.dtype).reshape(tensor.shape)
        if quantization is None:
            numbers[tensor.index] = writer.tensor(tensor.name, tensor.shape, tensor.dtype, data=data)
            continue
        data = None if data is None else rng.integers(-127, 128, tensor.shape)
        scale, zero = quantization.scale, quantization.zero_point
        numbers[tensor.index] = writer.tensor(tensor.name, tensor.shape, tensor.dtype, scale, zero, data)
    for op in net.operators:
        inputs, kind = [numbers[index] for index in op.inputs], op.kind
        if kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            outputs = net.shape(op.outputs[0])[3]
            inputs.append(writer.tensor(f"b{op.index}", (outputs,), "int32", 0.005, 0, np.zeros(outputs)))
        options = {name: op.options[name] for name in _OPTIONS.get(kind, ())}
        writer.op(kind, inputs, [numbers[index] for index in op.outputs], **options)
    return writer.finish([numbers[net.input]], [numbers[net.last]])


def _chain(size: int, alpha: float, channels: int, layers: list[tuple[int, int]]) -> Network:
    net = Network(size, channels)
    value = net.conv(net.pad(net.input), int(32 * alpha), 3, 2, "VALID")
    for outputs, stride in layers:
        value = net.conv(net.separable(value, stride), int(outputs * alpha))
    return net


def mobilenet_v1(size: int, alpha: float, channels: int = 3) -> Network:
    layers = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    return _chain(size, alpha, channels, layers)


def fd_mobilenet(size: int, alpha: float) -> Network:
    layers = [(64, 2), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 4, (1024, 1)]
    return _chain(size, alpha, 3, layers)


def st_fd_mobilenet(size: int) -> Network:
    net = Network(size)
    value = net.conv(net.input, 16, 3, 2)
    for outputs, stride in [(48, 2), (80, 2), (64, 1), (96, 2), (64, 1), (128, 2), *[(128, 1)] * 4, (256, 1)]:
        value = net.conv(net.depthwise(value, 3, stride), outputs)
    return net


def _scaled(channels: int, alpha: float) -> int:
    rounded = max(8, int(channels * alpha + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels * alpha else rounded


def mobilenet_v2(size: int, alpha: float) -> Network:
    net = Network(size)
    value = net.conv(net.pad(net.input), _scaled(32, alpha), 3, 2, "VALID")
    blocks = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for factor, channels, repeated, stride in blocks:
        for turn in range(repeated):
            into, depth = value, net.shape(value)[3]
            value = net.conv(value, depth * factor) if factor > 1 else value
            value = net.conv(net.separable(value, 1 if turn else stride), _scaled(channels, alpha))
            value = net.add(into, value) if turn else value
    net.conv(value, 1280)
    return net


def st_efficientnet_lc(size: int, alpha: float = 0.45) -> Network:
    net = Network(size)
    value = net.conv(net.input, _scaled(32, alpha), 3, 2)
    stages = [
        (16, 1, 1, 3),
        (24, 2, 2, 3),
        (40, 2, 2, 5),
        (80, 3, 2, 3),
        (112, 3, 1, 5),
        (192, 4, 2, 5),
        (320, 1, 1, 3),
    ]
    for number, (channels, repeated, stride, kernel) in enumerate(stages):
        for turn in range(repeated):
            into, depth = value, net.shape(value)[3]
            value = net.conv(value, 3 * depth) if number else value
            value = net.weighed(net.depthwise(value, kernel, 1 if turn else stride), max(1, depth // 4))
            value = net.conv(value, _scaled(channels, alpha))
            value = net.add(into, value) if net.shape(into) == net.shape(value) else value
    net.conv(value, _scaled(1280, alpha))
    return net


def st_yolo_lc(size: int) -> Network:
    net = Network(size)
    value = net.input
    for channels in (16, 32, 64, 128):
        value = net.conv(value, channels, 3, 2)
    for number, channels in enumerate((256, 256, 128, 256)):
        value = net.conv(net.depthwise(value), channels)
        value = net.pool(value, 2, 1, "SAME") if number == 1 else value
    net.conv(value, 30)
    return net


def resnet8(size: int) -> Network:
    net = Network(size)
    value = net.conv(net.input, 16, 3)
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        inner = net.conv(net.conv(value, channels, 3, stride), channels, 3)
        value = net.add(net.conv(value, channels, 1, stride) if stride > 1 else value, inner)
    return net


def squeezenet(size: int) -> Network:
    net = Network(size)
    value = net.pool(net.conv(net.input, 64, 3, 2, "VALID"), 3, 2)
    for squeezed, expanded in [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]:
        if net.shape(value)[3] == 128 < 2 * expanded or net.shape(value)[3] == 256 < 2 * expanded:
            value = net.pool(value, 3, 2)
        inner = net.conv(value, squeezed)
        value = net.concatenation(net.conv(inner, expanded), net.conv(inner, expanded, 3))
    net.conv(value, 1000)
    return net


PUBLISHED = {
    "mobilenet_v1_0.25_224": lambda: mobilenet_v1(224, 0.25),
    "mobilenet_v1_0.5_224": lambda: mobilenet_v1(224, 0.5),
    "mobilenet_v1_0.25_96": lambda: mobilenet_v1(96, 0.25),
    "mobilenet_v2_0.35_128": lambda: mobilenet_v2(128, 0.35),
    "mobilenet_v2_0.35_224": lambda: mobilenet_v2(224, 0.35),
    "fdmobilenet_0.25_224": lambda: fd_mobilenet(224, 0.25),
    "fdmobilenet_0.25_128": lambda: fd_mobilenet(128, 0.25),
    "squeezenet_v1.1_224": lambda: squeezenet(224),
    "squeezenet_v1.1_128": lambda: squeezenet(128),
    "st_fdmobilenet_v1_224": lambda: st_fd_mobilenet(224),
    "st_fdmobilenet_v1_128": lambda: st_fd_mobilenet(128),
    "st_efficientnet_lc_v1_224": lambda: st_efficientnet_lc(224),
    "resnet_v1_8_32": lambda: resnet8(32),
    "st_yolo_lc_v1_192": lambda: st_yolo_lc(192),
    "st_yolo_lc_v1_224": lambda: st_yolo_lc(224),
    "st_yolo_lc_v1_256": lambda: st_yolo_lc(256),
}
"""Networks whose memory is published, by names of their files."""


def main(folder: str) -> None:
    """Write them all: what benchmarks/planner.py measures where the published files are not at hand."""
    for name, make in PUBLISHED.items():
        Path(folder, f"{name}.tflite").write_bytes(tflite_of(make()))


if __name__ == "__main__":
    main(sys.argv[1])
