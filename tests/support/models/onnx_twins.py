"""Our own .tflite models as QDQ ONNX files with the same integers: constants, scales, order of operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from neuralart_reference.model import tflite
from neuralart_reference.model.graph import Model, Operator, Tensor

OPSET = 17
_FIRST = {4: (0, 3, 1, 2), 3: (0, 2, 1)}  # channels behind the batch
_TYPES = {"int8": onnx.TensorProto.INT8, "uint8": onnx.TensorProto.UINT8, "float32": onnx.TensorProto.FLOAT}
_CLIPS = {"RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}


def channels_first(value: np.ndarray) -> np.ndarray:
    """A value of a .tflite as its twin has it."""
    return value.transpose(_FIRST[value.ndim]) if value.ndim in _FIRST else value


class Twin:
    """Writes one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def scale(self, tensor: Tensor, axis: int) -> tuple[list[str], dict[str, int]]:
        found = tensor.quantization
        assert found is not None
        scales, points = np.array(found.scales, np.float32), np.array(found.zero_points).astype(tensor.dtype)
        if not found.per_channel:
            scales, points = scales.reshape(()), points.reshape(())
        return [self.constant(scales), self.constant(points)], {"axis": axis} if found.per_channel else {}

    def real(self, number: int, *order: int, axis: int = 0) -> str:
        """A tensor behind a DequantizeLinear; a constant with its dimensions in an order."""
        tensor = self.model.tensors[number]
        given, attributes = self.scale(tensor, axis)
        name = f"t{number}"
        if tensor.data is not None:
            stored = np.frombuffer(tensor.data, tensor.dtype).reshape(tensor.shape)
            name = self.constant(stored.transpose(order) if order else stored)
        return self.node("DequantizeLinear", [name, *given], **attributes)

    def done(self, number: int, real: str) -> None:
        """A result behind a QuantizeLinear."""
        given, _ = self.scale(self.model.tensors[number], 0)
        self.nodes.append(helper.make_node("QuantizeLinear", [real, *given], [f"t{number}"]))

    def numbers(self, number: int) -> np.ndarray:
        tensor = self.model.tensors[number]
        assert tensor.data is not None
        return np.frombuffer(tensor.data, tensor.dtype).reshape(tensor.shape)

    def operator(self, op: Operator) -> None:
        source, target = self.model.tensors[op.inputs[0]], self.model.tensors[op.outputs[0]]
        made = getattr(self, f"_{op.kind.lower()}")(op, source, target)
        clip = _CLIPS.get(str(op.options.get("fused_activation_function")))
        if clip is not None:
            ends = [self.constant(np.float32(end)) if end is not None else "" for end in clip]
            made = self.node("Clip", [made, *ends])
        if op.kind == "DEQUANTIZE":
            self.nodes.append(helper.make_node("Identity", [made], [f"t{op.outputs[0]}"]))
        else:
            self.done(op.outputs[0], made)

    def _window(self, op: Operator, source: Tensor, target: Tensor, taps: Sequence[int]) -> dict[str, Any]:
        strides = [op.options["stride_h"], op.options["stride_w"]]
        pads: list[list[int]] = [[], []]
        for before, after, tap, stride in zip(source.shape[1:3], target.shape[1:3], taps, strides, strict=True):
            needed = max(0, (after - 1) * stride + tap - before) if op.options["padding"] == "SAME" else 0
            pads[0].append(needed // 2)
            pads[1].append(needed - needed // 2)
        return {"kernel_shape": list(taps), "strides": strides, "pads": [*pads[0], *pads[1]]}

    def _conv_2d(self, op: Operator, source: Tensor, target: Tensor) -> str:
        depthwise, weights = op.kind == "DEPTHWISE_CONV_2D", self.model.tensors[op.inputs[1]]
        order = (3, 0, 1, 2) if depthwise else (0, 3, 1, 2)
        inputs = [self.real(op.inputs[0]), self.real(op.inputs[1], *order), self.real(op.inputs[2])]
        group = source.shape[3] if depthwise else 1
        return self.node("Conv", inputs, group=group, **self._window(op, source, target, weights.shape[1:3]))

    _depthwise_conv_2d = _conv_2d

    def _fully_connected(self, op: Operator, source: Tensor, target: Tensor) -> str:
        return self.node("Gemm", [self.real(number) for number in op.inputs], transB=1)

    def _pad(self, op: Operator, source: Tensor, target: Tensor) -> str:
        pads = self.numbers(op.inputs[1])[[0, 3, 1, 2]].T.astype(np.int64)
        return self.node("Pad", [self.real(op.inputs[0]), self.constant(pads.ravel())])

    def _add(self, op: Operator, source: Tensor, target: Tensor) -> str:
        return self.node("Add", [self.real(number) for number in op.inputs])

    def _mean(self, op: Operator, source: Tensor, target: Tensor) -> str:
        return self.node("Flatten", [self.node("GlobalAveragePool", [self.real(op.inputs[0])])])

    def _softmax(self, op: Operator, source: Tensor, target: Tensor) -> str:
        return self.node("Softmax", [self.real(op.inputs[0])], axis=-1)

    def _logistic(self, op: Operator, source: Tensor, target: Tensor) -> str:
        return self.node("Sigmoid", [self.real(op.inputs[0])])

    def _concatenation(self, op: Operator, source: Tensor, target: Tensor) -> str:
        axis = op.options["axis"] % len(source.shape)
        first = _FIRST.get(len(source.shape), range(len(source.shape)))
        return self.node("Concat", [self.real(number) for number in op.inputs], axis=list(first).index(axis))

    def _quantize(self, op: Operator, source: Tensor, target: Tensor) -> str:
        return self.real(op.inputs[0])

    _dequantize = _quantize

    def _max_pool_2d(self, op: Operator, source: Tensor, target: Tensor) -> str:
        taps = [op.options["filter_height"], op.options["filter_width"]]
        return self.node("MaxPool", [self.real(op.inputs[0])], **self._window(op, source, target, taps))

    def _leaky_relu(self, op: Operator, source: Tensor, target: Tensor) -> str:
        return self.node("LeakyRelu", [self.real(op.inputs[0])], alpha=op.options["alpha"])

    def _resize(self, op: Operator, mode: str, more: Mapping[str, str]) -> str:
        scales = self.constant(np.array([1, 1, 2, 2], np.float32))
        return self.node("Resize", [self.real(op.inputs[0]), "", scales], mode=mode, **more)

    def _resize_bilinear(self, op: Operator, source: Tensor, target: Tensor) -> str:
        return self._resize(op, "linear", {"coordinate_transformation_mode": "half_pixel"})

    def _resize_nearest_neighbor(self, op: Operator, source: Tensor, target: Tensor) -> str:
        return self._resize(op, "nearest", {})

    def _reshape(self, op: Operator, source: Tensor, target: Tensor) -> str:
        """In the order of the .tflite: channels go behind first, and back then."""
        real = self.real(op.inputs[0])
        for tensor, steps in ((source, _back), (target, _FIRST.get)):
            if tensor is target:
                real = self.node("Reshape", [real, self.constant(np.array(target.shape, np.int64))])
            order = steps(len(tensor.shape))
            if order is not None:
                real = self.node("Transpose", [real], perm=list(order))
        return real

    def write(self) -> bytes:
        """The file."""
        for op in self.model.operators:
            self.operator(op)
        ends = []
        for numbers in (self.model.inputs, self.model.outputs):
            ends.append([])
            for number in numbers:
                tensor = self.model.tensors[number]
                shape = [tensor.shape[axis] for axis in _FIRST.get(len(tensor.shape), range(len(tensor.shape)))]
                ends[-1].append(helper.make_tensor_value_info(f"t{number}", _TYPES[tensor.dtype], shape))
        graph = helper.make_graph(self.nodes, "twin", *ends, initializer=self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        return bytes(made.SerializeToString())


def _back(rank: int) -> tuple[int, ...] | None:
    return {4: (0, 2, 3, 1), 3: (0, 2, 1)}.get(rank)


def twin(path: Path) -> bytes:
    """The QDQ ONNX twin of a .tflite."""
    return Twin(tflite.read(path)).write()
