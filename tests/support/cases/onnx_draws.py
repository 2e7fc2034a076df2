"""Random operators as ONNX, between DequantizeLinear and QuantizeLinear: every draw is seeded, every draw is legal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from neuralart_reference.onnx.qoperator import FORMS

_TYPES = {"int8": onnx.TensorProto.INT8, "uint8": onnx.TensorProto.UINT8, "float32": onnx.TensorProto.FLOAT}


@dataclass
class Drawn:
    """A case: what the model reads and writes of it, and its input."""

    inputs: list[str]
    output: str
    values: list[np.ndarray]
    text: str
    steps: int = 1  # by which results may differ from onnxruntime's


class Writer:
    """Collects nodes of a model."""

    def __init__(self, rng: np.random.Generator, opset: int) -> None:
        self.rng, self.opset = rng, opset
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.ends: dict[str, onnx.ValueInfoProto] = {}
        self.number = 0

    def name(self) -> str:
        self.number += 1
        return f"v{self.number}"

    def constant(self, value: Any) -> str:
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> str:
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0]

    def scale(self, low: float = -2.5, high: float = -0.5) -> float:
        return float(np.float32(10 ** self.rng.uniform(low, high)))

    def zero(self, dtype: str) -> np.ndarray:
        low = 0 if dtype == "uint8" else -128
        return np.array(self.rng.choice([low, low + 128, int(self.rng.integers(low, low + 256))]), dtype)

    def input(self, shape: Sequence[int], dtype: str, scale: float | None = None) -> tuple[str, np.ndarray, list[str]]:
        """An input of the model as a real value, what it is fed with, and its scale and zero point."""
        low = 0 if dtype == "uint8" else -128
        value = self.rng.integers(low, low + 256, shape).astype(dtype)
        name = self.name()
        self.ends[name] = helper.make_tensor_value_info(name, _TYPES[dtype], shape)
        given = [self.constant(np.float32(scale or self.scale())), self.constant(self.zero(dtype))]
        return name, value, given

    def done(self, real: str, low: float, high: float, dtype: str) -> str:
        """Quantize a result that lies between two numbers mostly."""
        low, high = min(low, -1e-3), max(high, 1e-3)
        scale = np.float32((high - low) / 255)
        zero = np.array(np.clip(round(-low / scale), 0, 255) - (128 if dtype == "int8" else 0), dtype)
        out = self.node("QuantizeLinear", [real, self.constant(scale), self.constant(zero)])
        self.ends[out] = helper.make_tensor_value_info(out, _TYPES[dtype], None)
        return out

    def finish(self, cases: Sequence[Drawn]) -> bytes:
        """The model of some cases side by side."""
        ends = ([n for c in cases for n in c.inputs], [c.output for c in cases])
        given, made = ([self.ends[name] for name in names] for names in ends)
        graph = helper.make_graph(self.nodes, "cases", given, made, initializer=self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return bytes(onnx.shape_inference.infer_shapes(made).SerializeToString())


Draw = Callable[[Writer], Drawn]


def _shape(rng: np.random.Generator, rank: int = 4) -> list[int]:
    return [1, *(int(n) for n in rng.integers(1, 7, rank - 1))]


def _dtype(rng: np.random.Generator) -> str:
    return str(rng.choice(["int8", "uint8"]))


def _window(rng: np.random.Generator, count: int, dilated: bool) -> tuple[list[int], dict[str, Any], list[int]]:
    taps = [int(k) for k in rng.choice([1, 2, 3, 3, 5], count)]
    dilations = [int(rng.choice([1, 2])) if dilated else 1 for _ in taps]
    extents = [(k - 1) * d + 1 for k, d in zip(taps, dilations, strict=True)]
    options: dict[str, Any] = {"kernel_shape": taps, "strides": [int(s) for s in rng.choice([1, 1, 2, 3], count)]}
    if dilated:
        options["dilations"] = dilations
    auto = str(rng.choice(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if auto == "NOTSET" or max(dilations) > 1:
        options["pads"] = [int(rng.integers(0, max(1, e // 2 + 1))) for e in (*extents, *extents)]
    else:
        options["auto_pad"] = auto
        # onnxruntime refuses windows that lie apart here.
        options["strides"] = [min(pair) for pair in zip(options["strides"], extents, strict=True)]
    return taps, options, [int(rng.integers(e, e + 8)) for e in extents]


def convolution(form: str, dimensions: int = 2) -> Draw:
    def draw(w: Writer) -> Drawn:
        rng, dtype = w.rng, _dtype(w.rng)
        taps, options, size = _window(rng, dimensions, form != "depthwise")
        channels, outputs, group = int(rng.integers(1, 7)), int(rng.integers(1, 9)), 1
        if form == "depthwise":
            channels = group = int(rng.integers(2, 7))
            outputs = channels * int(rng.choice([1, 1, 2]))
        elif form == "grouped":
            group = int(rng.choice([2, 3]))
            channels, outputs = channels * group, outputs * group
        shape = (outputs, channels // group, *taps)
        x, value, given = w.input([1, channels, *size], dtype)
        s_in = numpy_helper.to_array(next(c for c in w.constants if c.name == given[0]))
        per_channel = form != "asymmetric" and w.opset >= 13 and rng.random() < 0.6
        s_w = np.float32(10 ** rng.uniform(-3, -1, outputs if per_channel else 1))
        z_w = np.zeros(len(s_w), "int8")
        weights = rng.integers(-127, 128, shape).astype(np.int8)
        if form == "asymmetric":
            weights, z_w = (
                (weights.astype(np.int16) + 128).astype(np.uint8),
                np.array([rng.integers(90, 160)], np.uint8),
            )
        if not per_channel:
            s_w, z_w = s_w.reshape(()), z_w.reshape(())
        spread = 4000 * np.sqrt(np.prod(shape[1:]))
        bias = rng.normal(0, spread, outputs).astype(np.int32)
        middle = float(np.median(s_w) * s_in * spread) * 2
        axis = {"axis": 0} if per_channel else {}
        reals = [w.node("DequantizeLinear", [x, *given])]
        if form == "in float":  # As ST's optimizer writes it; one output is all bias
            s_w = np.where(np.arange(outputs) == 1, np.float32(1e-13), s_w).astype(np.float32)
            bias = np.where(np.arange(outputs) == 1, middle / 2 / s_w / s_in, bias)
            reals += [w.constant(np.float32(weights * s_w.reshape(-1, *[1] * (weights.ndim - 1))))]
            added = np.broadcast_to(bias * s_w * s_in, outputs).astype(np.float32)
            reals += [w.constant(added)] if rng.random() < 0.7 else []
        else:
            reals.append(w.node("DequantizeLinear", [w.constant(weights), w.constant(s_w), w.constant(z_w)], **axis))
        if form != "in float" and rng.random() < 0.7:
            reals.append(w.node("DequantizeLinear", [w.constant(bias), w.constant(s_w * s_in)], **axis))
        real = w.node("Conv", reals, group=group, **options)
        if rng.random() < 0.3 and form != "asymmetric":
            vectors = [rng.uniform(0.5, 2, outputs) * rng.choice([-1, 1], outputs), rng.normal(0, middle, outputs)]
            vectors += [rng.normal(0, middle / 4, outputs), rng.uniform(0.5, 2, outputs)]
            real = w.node("BatchNormalization", [real, *(w.constant(np.float32(v)) for v in vectors)])
        low = -middle
        if rng.random() < 0.5:
            real, low = w.node("Relu", [real]), float(rng.choice([0, -middle]))
        return Drawn([x], w.done(real, low, middle, dtype), [value], f"{form} {size} {shape} {options}")

    return draw


def normalization(w: Writer) -> Drawn:
    rng, dtype = w.rng, _dtype(w.rng)
    channels = int(rng.integers(1, 9))
    x, value, given = w.input([1, channels, *_shape(rng, int(rng.integers(1, 4)))[1:]], dtype, 0.01)
    vectors = [rng.uniform(0.1, 2, channels) * rng.choice([-1, 0, 1], channels, p=[0.2, 0.1, 0.7])]
    vectors += [rng.normal(0, 0.3, channels), rng.normal(0, 0.3, channels), rng.uniform(0.5, 2, channels)]
    real = w.node("DequantizeLinear", [x, *given])
    real = w.node("BatchNormalization", [real, *(w.constant(np.float32(v)) for v in vectors)])
    return Drawn([x], w.done(real, -2, 2, dtype), [value], f"BatchNormalization {value.shape}")


def product(kind: str, in_float: bool = False) -> Draw:
    def draw(w: Writer) -> Drawn:
        rng, dtype = w.rng, _dtype(w.rng)
        depth, units, rows = int(rng.integers(1, 40)), int(rng.integers(1, 20)), int(rng.choice([1, 1, 3]))
        pictures = kind == "Gemm" and rng.random() < 0.4
        size = [3, 2, int(rng.integers(1, 5))]
        depth = int(np.prod(size)) if pictures else depth
        x, value, given = w.input([1, *size] if pictures else [rows, depth], dtype)
        s_in = numpy_helper.to_array(next(c for c in w.constants if c.name == given[0]))
        real = w.node("DequantizeLinear", [x, *given])
        if pictures:
            real = w.node("Flatten", [w.node("MaxPool", [real], kernel_shape=[1, 1])])
        turned = kind == "Gemm" and bool(rng.integers(2))
        per_channel = w.opset >= 13 and rng.random() < 0.4
        s_w = np.float32(10 ** rng.uniform(-3, -1, units if per_channel else ()))
        weights = rng.integers(-127, 128, (units, depth) if turned else (depth, units)).astype(np.int8)
        axis = {"axis": 0 if turned else 1} if per_channel else {}
        zero = w.constant(np.zeros(np.shape(s_w), np.int8))
        if in_float:
            by_output = np.reshape(s_w, (-1, 1) if turned and per_channel else np.shape(s_w))
            reals = [real, w.constant(np.float32(weights * by_output))]
        else:
            reals = [real, w.node("DequantizeLinear", [w.constant(weights), w.constant(s_w), zero], **axis)]
        spread = 4000 * np.sqrt(depth)
        bias = rng.normal(0, spread, units).astype(np.int32)
        if kind == "Gemm" and rng.random() < 0.7:
            reals.append(w.node("DequantizeLinear", [w.constant(bias), w.constant(s_w * s_in)], **axis and {"axis": 0}))
        real = w.node(kind, reals, **({"transB": 1} if turned else {}))
        middle = float(np.median(s_w) * s_in * spread) * 2
        return Drawn([x], w.done(real, -middle, middle, dtype), [value], f"{kind} {value.shape} {weights.shape}")

    return draw


def transposed(w: Writer) -> Drawn:
    rng, dtype = w.rng, _dtype(w.rng)
    taps, strides = [int(k) for k in rng.choice([1, 2, 3, 4], 2)], [int(s) for s in rng.choice([1, 2, 3], 2)]
    channels, outputs = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    strides = [min(pair) for pair in zip(strides, taps, strict=True)]
    options: dict[str, Any] = {"strides": strides, "kernel_shape": taps}
    auto = str(rng.choice(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if auto == "NOTSET":
        options["pads"] = [int(rng.integers(0, k // 2 + 1)) for k in (*taps, *taps)]
        options["output_padding"] = [int(rng.integers(0, s)) for s in strides]
    else:
        options["auto_pad"] = auto
    x, value, given = w.input([1, channels, *(int(n) for n in rng.integers(2, 7, 2))], dtype)
    s_in = numpy_helper.to_array(next(c for c in w.constants if c.name == given[0]))
    per_channel = w.opset >= 13 and rng.random() < 0.5
    s_w = np.float32(10 ** rng.uniform(-3, -1, outputs if per_channel else ()))
    weights = rng.integers(-127, 128, (channels, outputs, *taps)).astype(np.int8)
    zero = w.constant(np.zeros(np.shape(s_w), np.int8))
    reals = [w.node("DequantizeLinear", [x, *given])]
    reals.append(
        w.node("DequantizeLinear", [w.constant(weights), w.constant(s_w), zero], **{"axis": 1} if per_channel else {})
    )
    spread = 4000 * np.sqrt(channels * taps[0] * taps[1] / strides[0] / strides[1])
    if rng.random() < 0.7:
        bias = w.constant(rng.normal(0, spread, outputs).astype(np.int32))
        reals.append(w.node("DequantizeLinear", [bias, w.constant(s_w * s_in)], **{"axis": 0} if per_channel else {}))
    real, middle = w.node("ConvTranspose", reals, **options), float(np.median(s_w) * s_in * spread) * 2
    return Drawn([x], w.done(real, -middle, middle, dtype), [value], f"ConvTranspose {value.shape} {options}")


def line_transposed(w: Writer) -> Drawn:
    rng, dtype = w.rng, _dtype(w.rng)
    taps, stride, channels, outputs = (int(n) for n in rng.integers((1, 1, 1, 1), (6, 4, 6, 6)))
    options = {"strides": [min(stride, taps)], "pads": [int(n) for n in rng.integers(0, taps // 2 + 1, 2)]}
    x, value, given = w.input([1, channels, int(rng.integers(2, 9))], dtype)
    s_in, s_w = numpy_helper.to_array(next(c for c in w.constants if c.name == given[0])), np.float32(0.01)
    weights = w.constant(rng.integers(-127, 128, (channels, outputs, taps)).astype(np.int8))
    reals = [w.node("DequantizeLinear", [x, *given])]
    reals.append(w.node("DequantizeLinear", [weights, w.constant(s_w), w.constant(np.int8(0))]))
    middle = float(s_w * s_in * 8000 * np.sqrt(channels * taps / options["strides"][0]))
    real = w.node("ConvTranspose", reals, **options)
    return Drawn([x], w.done(real, -middle, middle, dtype), [value], f"ConvTranspose {value.shape} {options}")


def computed_product(kind: str) -> Draw:
    """A product of two matrices that are inputs; of batches of them, one of which is constant now and then."""

    def draw(w: Writer) -> Drawn:
        rng, dtype = w.rng, _dtype(w.rng)
        rows, depth, columns = (int(n) for n in rng.integers(1, 12, 3))
        batches, turned = [], {}
        if kind == "Gemm":
            turned = {name: int(rng.integers(2)) for name in ("transA", "transB")}
        else:
            batches = [1, int(rng.integers(1, 4))][: int(rng.integers(0, 3))]
        shapes = [depth, rows] if turned.get("transA") else [rows, depth]
        other = [columns, depth] if turned.get("transB") else [depth, columns]
        names, reals, values, scale = [], [], [], 1.0
        constant = bool(batches) and rng.random() < 0.3
        for shape in ([*batches, *shapes], [*batches[1:], *other] if constant else [*batches, *other]):
            x, value, given = w.input(shape, dtype)
            scale *= float(numpy_helper.to_array(next(c for c in w.constants if c.name == given[0])))
            if names and constant and len(shape) > 2:
                x = w.constant(value)
            else:
                names.append(x)
                values.append(value)
            reals.append(w.node("DequantizeLinear", [x, *given]))
        middle = 8000 * scale * float(np.sqrt(depth))
        real = w.node(kind, reals, **turned)
        return Drawn(
            names, w.done(real, -middle, middle, dtype), values, f"{kind} {[v.shape for v in values]} {turned}"
        )

    return draw


def prelu(w: Writer) -> Drawn:
    rng, dtype = w.rng, _dtype(w.rng)
    shape = _shape(rng)
    x, value, given = w.input(shape, dtype, 0.04)
    slopes = rng.normal(0, 0.4, (shape[1], 1, 1)).astype(np.float32)
    stored = rng.random() < 0.5
    if stored:
        scale, zero = w.constant(np.float32(0.01)), w.constant(np.int8(0))
        slope = w.node("DequantizeLinear", [w.constant(np.rint(slopes / 0.01).astype(np.int8)), scale, zero])
    else:
        slope = w.constant(slopes)
    real = w.node("PRelu", [w.node("DequantizeLinear", [x, *given]), slope])
    return Drawn([x], w.done(real, -3, 5, dtype), [value], f"PRelu {shape} {stored}", steps=1 if stored else 2)


def position(kind: str) -> Draw:
    def draw(w: Writer) -> Drawn:
        dtype, rank = _dtype(w.rng), int(w.rng.choice([2, 3, 4]))
        x, value, given = w.input(_shape(w.rng, rank), dtype)
        real = w.node("DequantizeLinear", [x, *given])
        if rank == 4 and w.rng.random() < 0.5:
            real = w.node("MaxPool", [real], kernel_shape=[1, 1])  # stored with channels last
        options = {"axis": int(w.rng.integers(-rank, rank)), "keepdims": int(w.rng.integers(2))}
        out = w.node(kind, [real], **options)
        w.ends[out] = helper.make_tensor_value_info(out, onnx.TensorProto.INT64, None)
        return Drawn([x], out, [value], f"{kind} {value.shape} {options}", steps=0)

    return draw


def stored(kind: str) -> Draw:
    """Operators of the form QOperator."""

    def draw(w: Writer) -> Drawn:
        rng, dtype = w.rng, _dtype(w.rng)
        shape, options = [1, int(rng.integers(1, 5)), 5, 6], {}
        flat = kind in ("QLinearMatMul", "QGemm")
        x, value, given = w.input([2, 12] if flat else shape, dtype)
        inputs, names, values, high = [x, *given], [x], [value], 2.0
        s_x = float(numpy_helper.to_array(next(c for c in w.constants if c.name == given[0])))
        if kind in ("QLinearConv", "QLinearMatMul", "QGemm"):
            outputs = int(rng.integers(1, 6))
            options = {"strides": [2, 1], "pads": [1, 0, 1, 1]} if kind == "QLinearConv" else {}
            options |= {"transB": 1} if kind == "QGemm" else {}
            size = (outputs, shape[1], 3, 3) if kind == "QLinearConv" else (outputs, 12) if options else (12, outputs)
            many = kind == "QLinearConv" and rng.random() < 0.5
            s_w = np.float32(10 ** rng.uniform(-3, -1, outputs if many else ()))
            # Of 7 bits: sums of uint8 times int8 saturate in onnxruntime on some processors.
            inputs += [w.constant(rng.integers(-63, 64, size).astype(np.int8)), w.constant(s_w)]
            inputs.append(w.constant(np.zeros(np.shape(s_w), np.int8)))
            high = float(np.median(s_w)) * s_x * 1500 * float(np.sqrt(value.size / (2 if flat else 3)))
        elif kind == "QLinearConcat" or kind in ("QLinearAdd", "QLinearMul"):
            y, more, scales = w.input(shape, dtype)
            inputs, names, values = [*inputs, y, *scales], [x, y], [value, more]
            s_y = float(numpy_helper.to_array(next(c for c in w.constants if c.name == scales[0])))
            high = 64 * 64 * s_x * s_y if kind == "QLinearMul" else 200 * max(s_x, s_y)
            options = {"axis": 1} if kind == "QLinearConcat" else {}
        elif kind == "QLinearAveragePool":
            options = {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1], "count_include_pad": int(rng.integers(2))}
        elif kind == "QLinearLeakyRelu":
            options = {"alpha": 0.1}
        elif kind == "QLinearSoftmax":
            options = {"axis": 3, "opset": w.opset}
        high = {"QLinearSigmoid": 1.0, "QLinearSoftmax": 1.0}.get(kind, high if len(inputs) > 3 else 128 * s_x)
        zero = np.array({"int8": 3, "uint8": 131}[dtype], dtype)
        result = [w.constant(np.float32(2 * high / 255)), w.constant(zero)]
        if kind == "QLinearConv":
            bias = w.constant(rng.normal(0, 4000, outputs).astype(np.int32))
            inputs = [*inputs, *result, bias]
        elif kind == "QGemm":
            inputs = [*inputs, w.constant(rng.normal(0, 4000, outputs).astype(np.int32)), *result]
        else:
            inputs = [*result, *inputs] if kind == "QLinearConcat" else [*inputs, *result]
        domain = {} if kind in ("QLinearConv", "QLinearMatMul") else {"domain": "com.microsoft"}
        out = w.node(kind, inputs, **options, **domain)
        if rng.random() < 0.3 and flat:
            out = w.node("Transpose", [out], perm=[1, 0])  # of stored integers
        rank = 2 if flat else 4
        w.ends[out] = helper.make_tensor_value_info(out, _TYPES[dtype], [None] * rank)
        return Drawn(names, out, values, f"{kind} {value.shape} {options}")

    return draw


def pool(kind: str, dimensions: int = 2) -> Draw:
    def draw(w: Writer) -> Drawn:
        rng, dtype = w.rng, _dtype(w.rng)
        _, options, size = _window(rng, dimensions, False)
        if kind == "AveragePool" and rng.random() < 0.5:
            options["count_include_pad"] = 1
        if rng.random() < 0.3 and not any(options.get("pads", [1])):
            options["ceil_mode"] = 1
            options["strides"] = [min(pair) for pair in zip(options["strides"], options["kernel_shape"], strict=True)]
        x, value, given = w.input([1, int(rng.integers(1, 7)), *size], dtype)
        if kind.startswith("Global"):
            options = {}
        real = w.node(kind, [w.node("DequantizeLinear", [x, *given])], **options)
        if rng.random() < 0.5:
            out = w.node("QuantizeLinear", [real, *given])
            w.ends[out] = helper.make_tensor_value_info(out, _TYPES[dtype], None)
            return Drawn([x], out, [value], f"{kind} {value.shape} {options}")
        scale, zero = (numpy_helper.to_array(next(c for c in w.constants if c.name == n)).astype(float) for n in given)
        low, high = ((value.astype(float).min() - zero) * scale, (value.astype(float).max() - zero) * scale)
        return Drawn([x], w.done(real, low, high, dtype), [value], f"{kind} {value.shape} {options}")

    return draw


def binary(kind: str) -> Draw:
    def draw(w: Writer) -> Drawn:
        rng, dtype = w.rng, _dtype(w.rng)
        shape = _shape(rng, int(rng.choice([2, 3, 4])))
        constant = rng.random() < 0.3
        other = [n if rng.random() < 0.8 else 1 for n in shape][int(rng.integers(0, 2)) if constant else 0 :]
        names, reals, values = [], [], []
        for each in (shape, other):
            x, value, given = w.input(each, dtype)
            if len(names) == 1 and constant:
                x = w.constant(value)
            else:
                names.append(x)
                values.append(value)
            reals.append(w.node("DequantizeLinear", [x, *given]))
        if len(shape) == 4 and rng.random() < 0.5:
            reals[0] = w.node("MaxPool", [reals[0]], kernel_shape=[1, 1])  # stored with channels last
        if rng.random() < 0.5 and len(shape) == len(other):
            reals.reverse()
        s = [float(numpy_helper.to_array(c)) for c in w.constants if c.dims == [] and c.data_type == 1][-2:]
        high = {"Mul": 64 * 64 * s[0] * s[1]}.get(kind, 200 * max(s))
        return Drawn(names, w.done(w.node(kind, reals), -high, high, dtype), values, f"{kind} {shape} {other}")

    return draw


def function(kind: str, high: float, **attributes: Any) -> Draw:
    def draw(w: Writer) -> Drawn:
        dtype = _dtype(w.rng)
        x, value, given = w.input(_shape(w.rng, int(w.rng.choice([2, 4]))), dtype)
        real = w.node("DequantizeLinear", [x, *given])
        more = []
        if kind == "Clip":
            more = [w.constant(np.float32(-high / 2)), w.constant(np.float32(high))]
        elif kind == "Pow":
            more = [w.constant(np.float32(2))]
        elif kind == "SiLU":
            real = w.node("Mul", [real, w.node("Sigmoid", [real])])
        if kind != "SiLU":
            real = w.node(kind, [real, *more], **attributes)
        # LeakyRelu is that of LiteRT, which rounds ties in another way.
        steps = int(kind in ("Tanh", "LeakyRelu"))
        return Drawn([x], w.done(real, -high, high, dtype), [value], f"{kind} {value.shape}", steps=steps)

    return draw


def softmax(w: Writer) -> Drawn:
    dtype, rank = _dtype(w.rng), int(w.rng.choice([2, 3, 4]))
    x, value, given = w.input(_shape(w.rng, rank), dtype)
    axis = int(w.rng.integers(1, rank)) if w.opset >= 13 else rank - 1
    real = w.node("Softmax", [w.node("DequantizeLinear", [x, *given])], axis=axis)
    return Drawn([x], w.done(real, 0, 1, dtype), [value], f"Softmax {value.shape} axis {axis}")


def moved(kind: str) -> Draw:
    def draw(w: Writer) -> Drawn:
        rng, dtype = w.rng, _dtype(w.rng)
        block = 2
        shape = [1, int(rng.integers(1, 4)) * block * block, int(rng.integers(1, 4)) * 2, int(rng.integers(1, 4)) * 2]
        x, value, given = w.input(shape, dtype)
        real = w.node("DequantizeLinear", [x, *given])
        stored_last = rng.random() < 0.6
        real = w.node("MaxPool", [real], kernel_shape=[1, 1]) if stored_last else w.node("Neg", [real])
        real = w.node("DequantizeLinear", [w.node("QuantizeLinear", [real, *given]), *given])
        text, ints = "", lambda *values: w.constant(np.array(values, np.int64))
        if kind == "Transpose":
            text = [0, *(int(n) + 1 for n in rng.permutation(3))]
            real = w.node(kind, [real], perm=text)
        elif kind == "Reshape":
            real = w.node(kind, [real, ints(1, shape[1] * shape[2], -1)])
        elif kind in ("DepthToSpace", "SpaceToDepth"):
            text = {"mode": str(rng.choice(["DCR", "CRD"]))} if kind == "DepthToSpace" else {}
            real = w.node(kind, [real], blocksize=block, **text)
        elif kind == "Slice":
            axis, step = int(rng.integers(1, 4)), int(rng.choice([1, 2, -1]))
            ends = (0, shape[axis]) if step > 0 else (shape[axis] - 1, -(1 << 40))
            text = (axis, step)
            real = w.node(kind, [real, ints(ends[0]), ints(ends[1]), ints(axis), ints(step)])
        elif kind == "Split":
            real = w.node(kind, [real, *([ints(shape[1] // 2, shape[1] // 2)] if w.opset >= 13 else [])], 2, axis=1)
        elif kind == "Gather":
            real = w.node(kind, [real, w.constant(np.array(shape[1] - 1))], axis=1)
        elif kind == "Concat":
            y, more, scales = w.input(shape, dtype)
            real = w.node(kind, [real, w.node("DequantizeLinear", [y, *scales])], axis=int(rng.integers(1, 4)))
            s = [float(numpy_helper.to_array(c)) for c in w.constants if c.dims == [] and c.data_type == 1]
            return Drawn([x, y], w.done(real, -200 * max(s[-2:]), 200 * max(s[-2:]), dtype), [value, more], kind)
        elif kind == "Pad":
            real = w.node(kind, [real, ints(0, *rng.integers(0, 3, 3), 0, *rng.integers(0, 3, 3))])
        elif kind == "ReduceMean":
            text = sorted({int(n) for n in rng.integers(1, 4, 2)})
            keep = {"keepdims": int(rng.integers(0, 2))}
            by_input = w.opset >= 18
            real = w.node(
                kind, [real, *([ints(*text)] if by_input else [])], **keep, **({} if by_input else {"axes": text})
            )
        elif kind == "Resize":
            modes = [("nearest", "asymmetric", "floor"), ("nearest", "half_pixel", "round_prefer_floor")]
            modes += [("linear", "half_pixel", ""), ("linear", "align_corners", ""), ("linear", "asymmetric", "")]
            text = modes[int(rng.integers(len(modes)))]
            scales = w.constant(np.array([1, 1, *rng.choice([1, 2, 3], 2)], np.float32))
            rounded = {"nearest_mode": text[2]} if text[2] else {}
            options = {"mode": text[0], "coordinate_transformation_mode": text[1], **rounded}
            real = w.node(kind, [real, "", scales], **options)
        out = w.node("QuantizeLinear", [real, *given])
        w.ends[out] = helper.make_tensor_value_info(out, _TYPES[dtype], None)
        return Drawn(
            [x],
            out,
            [value],
            f"{kind} {shape} {stored_last} {text}",
            steps={"ReduceMean": 1, "Resize": 2 * ("linear" in text), "Concat": 1}.get(kind, 0),
        )

    return draw


OPERATORS: dict[str, Draw] = {
    **{f"Conv {form}": convolution(form) for form in ("plain", "depthwise", "grouped", "asymmetric", "in float")},
    **{f"{kind} in float": product(kind, in_float=True) for kind in ("Gemm", "MatMul")},
    "BatchNormalization": normalization,
    "ConvTranspose": transposed,
    "PRelu": prelu,
    **{kind: position(kind) for kind in ("ArgMax", "ArgMin")},
    **{kind: stored(kind) for kind in FORMS},
    **{f"Conv line {form}": convolution(form, 1) for form in ("plain", "depthwise", "asymmetric")},
    "ConvTranspose line": line_transposed,
    **{kind: product(kind) for kind in ("Gemm", "MatMul")},
    **{f"{kind} computed": computed_product(kind) for kind in ("Gemm", "MatMul")},
    **{f"{kind} line": pool(kind, 1) for kind in ("MaxPool", "AveragePool")},
    **{kind: pool(kind) for kind in ("MaxPool", "AveragePool", "GlobalAveragePool")},
    **{kind: binary(kind) for kind in ("Add", "Sub", "Mul", "Max", "Min")},
    **{kind: function(kind, 6.0) for kind in ("Relu", "Clip", "HardSwish", "SiLU", "Abs", "Pow", "Softplus")},
    **{kind: function(kind, 1.0) for kind in ("Sigmoid", "Tanh", "HardSigmoid", "Erf")},
    "LeakyRelu": function("LeakyRelu", 6.0, alpha=0.1),
    "Elu": function("Elu", 6.0, alpha=0.7),
    "Softmax": softmax,
    **{
        kind: moved(kind)
        for kind in (
            *("Transpose", "Reshape", "DepthToSpace", "SpaceToDepth", "Slice", "Split", "Gather", "Concat", "Pad"),
            *("ReduceMean", "Resize"),
        )
    },
}
"""Everything that is compared; the first word is the operator's kind."""
