"""Random one-operator graphs of int16 activations with int8 weights."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from support.cases import cases_numbers
from support.cases.operator_cases import window_geometry
from support.cases.operator_draws import (
    FUSED,
    INT32,
    Case,
    Draw,
    broadcast_shapes,
    f32,
    output_scale,
    ratio,
    small_shape,
    values,
    weight_values,
    zero_point,
)
from tflite_writer import ModelWriter

Shape = tuple[int, ...]
WIDTH = 256  # steps of int16 in a step of int8
OUTPUT = 1 / 32768


def _scale(rng: np.random.Generator, low: float = -6, high: float = -2) -> float:
    return f32(2.0 ** int(rng.integers(-16, -6))) if rng.random() < 0.3 else f32(10 ** rng.uniform(low, high))


def _sums(rng: np.random.Generator, depth: int, channels: int) -> tuple[float, list[float], float, float]:
    """Scales of input, weights and output, and how large sums are; no factor is 2**7 or more."""
    s_in, spread = _scale(rng), 6000 * WIDTH * depth**0.5
    s_w = [f32(10 ** rng.uniform(-4, -0.5)) for _ in range(channels)] if rng.random() < 0.5 else [f32(0.01)]
    s_out = output_scale(rng, s_in * float(np.median(s_w)) * spread / WIDTH)
    return s_in, s_w, f32(max(s_out, s_in * max(s_w) / 100, 1e-8)), spread


def _bias(rng: np.random.Generator, dtype: str, count: int, spread: float, most: float = 2.0**45) -> np.ndarray:
    """Around the sums; sometimes so large that results leave 32 bits, or sums do."""
    limit = min(INT32 if dtype == "int32" else 2**45, int(most))
    if rng.random() < 0.15:
        return rng.integers(-limit, limit, count)
    return np.clip(rng.normal(0, spread, count), -limit, limit).astype(np.int64)


def convolution(*, depthwise: bool = False, groups: bool = False) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        padding, kernel, stride, dilation, size, out = window_geometry(rng, dilated=True)
        batch, channels, group = int(rng.choice([1, 1, 2])), int(rng.integers(1, 9)), int(rng.choice([2, 3]))
        if depthwise:
            outputs = channels * int(rng.choice([1, 1, 2, 3]))
            shape, axis = (1, *kernel, outputs), 3
        else:
            group = group if groups else 1
            outputs, shape, axis = int(rng.integers(1, 9)) * group, (0, *kernel, channels), 0
            shape, channels = (outputs, *shape[1:]), channels * group
        s_in, s_w, s_out, spread = _sums(rng, int(np.prod(shape[1:3])) * (1 if depthwise else shape[3]), outputs)
        narrow, number = not depthwise and bool(rng.random() < 0.4), len(writer.operators)
        bias = "int32" if narrow else "int64"
        x = writer.tensor(f"x{number}", (batch, *size, channels), "int16", s_in)
        w = writer.tensor(f"w{number}", shape, "int8", s_w, 0, weight_values(rng, shape), axis)
        data = _bias(rng, bias, outputs, spread)
        b = writer.tensor(f"b{number}", (outputs,), bias, [s_in * s for s in s_w], 0, data)
        y = writer.tensor(f"y{number}", (batch, *out, outputs), "int16", s_out)
        bare = depthwise and rng.random() < 0.2  # the oracle's CONV_2D insists on a bias
        options: dict[str, Any] = {"quantized_bias_type": bias} if narrow or (not depthwise and outputs % 2) else {}
        options |= {"padding": padding, "fused_activation_function": str(rng.choice(FUSED))}
        options |= {"stride_h": stride[0], "stride_w": stride[1]}
        options |= {"dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1]}
        writer.op("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [x, w] if bare else [x, w, b], [y], **options)
        return Case([x], [y], values(rng, (batch, *size, channels), "int16"), f"{size}x{channels} {shape} {options}")

    return draw


def fully_connected(rng: np.random.Generator, writer: ModelWriter) -> Case:
    batch, depth, units = int(rng.choice([1, 1, 2, 5])), int(rng.integers(1, 60)), int(rng.integers(1, 40))
    s_in, s_w, s_out, spread = _sums(rng, depth, units)
    z_w = zero_point(rng) if len(s_w) == 1 and units > 1 and rng.random() < 0.4 else 0
    number, fused, narrow = len(writer.operators), str(rng.choice(FUSED)), bool(rng.random() < 0.4)
    x = writer.tensor(f"x{number}", (batch, depth), "int16", s_in)
    w = writer.tensor(f"w{number}", (units, depth), "int8", s_w, z_w, weight_values(rng, (units, depth)))
    # Where the product with the factor leaves 32 bits the oracle itself is undefined.
    s_out = f32(max(s_out, s_in * max(s_w) * depth / 128))
    most = 2**29 * s_out / (s_in * max(s_w))
    data = _bias(rng, "int32" if narrow else "int64", units, spread, most)
    b = writer.tensor(f"b{number}", (units,), "int32" if narrow else "int64", [s_in * s for s in s_w], 0, data)
    y = writer.tensor(f"y{number}", (batch, units), "int16", s_out)
    options = {"quantized_bias_type": "int32"} if narrow else {}
    inputs = [x, w, b] if rng.random() < 0.8 else [x, w, -1]
    writer.op("FULLY_CONNECTED", inputs, [y], fused_activation_function=fused, **options)
    return Case([x], [y], values(rng, (batch, depth), "int16"), f"{batch} {depth} {units} zw {z_w} {fused} {options}")


def transpose_conv(rng: np.random.Generator, writer: ModelWriter) -> Case:
    kernel, stride = [int(k) for k in rng.choice([1, 2, 3, 5], 2)], [int(s) for s in rng.choice([1, 2, 3], 2)]
    size, depth, outputs = [int(s) for s in rng.integers(1, 6, 2)], int(rng.integers(1, 9)), int(rng.integers(1, 9))
    out = [(i - 1) * s + k for i, s, k in zip(size, stride, kernel, strict=True)]
    shape, number = (outputs, *kernel, depth), len(writer.operators)
    s_in, s_w, s_out, spread = _sums(rng, int(np.prod(shape[1:])), outputs)
    o = writer.tensor(f"o{number}", (4,), "int32", data=np.array([1, *out, outputs]))
    w = writer.tensor(f"w{number}", shape, "int8", s_w, 0, weight_values(rng, shape), 0)
    x = writer.tensor(f"x{number}", (1, *size, depth), "int16", s_in)
    inputs = [o, w, x]
    if rng.random() < 0.7:
        data = _bias(rng, "int64", outputs, spread)
        inputs.append(writer.tensor(f"b{number}", (outputs,), "int64", [s_in * s for s in s_w], 0, data))
    y = writer.tensor(f"y{number}", (1, *out, outputs), "int16", s_out)
    options = {"stride_h": stride[0], "stride_w": stride[1], "fused_activation_function": str(rng.choice(FUSED))}
    writer.op("TRANSPOSE_CONV", inputs, [y], padding="VALID", **options)
    return Case([x], [y], values(rng, (1, *size, depth), "int16"), f"{size}x{depth} {shape} {options}")


def pool(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        padding, kernel, stride, _, size, out = window_geometry(rng, dilated=False)
        batch, channels, number = int(rng.choice([1, 1, 2])), int(rng.integers(1, 9)), len(writer.operators)
        s, fused = _scale(rng, -5, -3), str(rng.choice(FUSED))
        x = writer.tensor(f"x{number}", (batch, *size, channels), "int16", s)
        y = writer.tensor(f"y{number}", (batch, *out, channels), "int16", s)
        options = {"filter_height": kernel[0], "filter_width": kernel[1], "stride_h": stride[0], "stride_w": stride[1]}
        writer.op(kind, [x], [y], padding=padding, fused_activation_function=fused, **options)
        text = f"{batch}x{size}x{channels} {options} {padding} {fused}"
        return Case([x], [y], values(rng, (batch, *size, channels), "int16"), text)

    return draw


def binary(kind: str) -> Draw:
    chooses, adds = kind in ("MAXIMUM", "MINIMUM"), kind in ("ADD", "SUB")

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        first, second, out = broadcast_shapes(rng)
        number, s1 = len(writer.operators), _scale(rng)
        s2 = s1 if chooses else f32(s1 * ratio(rng, 3))
        s_out = s1 if chooses else f32(max(s1, s2) * ratio(rng, 3))
        if kind == "MUL":  # a factor less than 1
            s_out = f32(max(s1 * s2 * 2 ** rng.uniform(0.01, 18), 1e-7))
        constant = rng.random() < 0.3
        a, b = values(rng, first, "int16"), values(rng, second, "int16")
        x = writer.tensor(f"x{number}", first, "int16", s1)
        z = writer.tensor(f"z{number}", second, "int16", s2, 0, b[0][0] if constant else None)
        y = writer.tensor(f"y{number}", out, "int16", s_out)
        # LiteRT has another way for scales that are all powers of two, unless the model says no.
        powers = all(abs(np.log2(s) - np.round(np.log2(s))) < 1e-2 for s in (s1, s2, s_out))
        options: dict[str, Any] = {"pot_scale_int16": False} if adds and (powers or rng.random() < 0.5) else {}
        options |= {} if chooses else {"fused_activation_function": str(rng.choice(FUSED))}
        writer.op(kind, [x, z], [y], **options)
        vectors = a if constant else [[*v, *w] for v, w in zip(a, b, strict=True)]
        return Case([x] if constant else [x, z], [y], vectors, f"{first} {second} {s1} {s2} {s_out} {options}")

    return draw


def one_input(kind: str, low: float, high: float, *, same: bool = False) -> Draw:
    """SOFTMAX, LOGISTIC, TANH, RELU and RELU6."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        shape, number = (*small_shape(rng)[:3], int(rng.choice([1, 3, 40, 300]))), len(writer.operators)
        s = f32(10 ** rng.uniform(low, high))
        if rng.random() < 0.4:  # powers of two, and what is near enough to count as one
            s = f32(2.0 ** int(rng.choice([-12, -11, -13, -9])) * rng.choice([1.0, 1.0, 1.0005, 0.9995]))
        options = {"beta": f32(rng.choice([1.0, 1.0, 0.25, 3.7]))} if kind == "SOFTMAX" else {}
        s_out = f32(s * ratio(rng, 2)) if same else OUTPUT
        x = writer.tensor(f"x{number}", shape, "int16", s)
        y = writer.tensor(f"y{number}", shape, "int16", s_out)
        writer.op(kind, [x], [y], **options)
        return Case([x], [y], values(rng, shape, "int16"), f"{shape} {s} -> {s_out} {options}")

    return draw


def leaky_relu(rng: np.random.Generator, writer: ModelWriter) -> Case:
    shape, number, s = small_shape(rng), len(writer.operators), _scale(rng)
    s_out, alpha = f32(s * ratio(rng, 2)), f32(rng.choice([0.0, 0.1, 0.3, 1.0, 1.7]))
    x, y = writer.tensor(f"x{number}", shape, "int16", s), writer.tensor(f"y{number}", shape, "int16", s_out)
    writer.op("LEAKY_RELU", [x], [y], alpha=alpha)
    return Case([x], [y], values(rng, shape, "int16"), f"{shape} {s} -> {s_out} {alpha}")


def softmax_to_int16(rng: np.random.Generator, writer: ModelWriter) -> Case:
    shape, number = (*small_shape(rng)[:2], int(rng.choice([1, 2, 10, 31, 600]))), len(writer.operators)
    s, beta = f32(10 ** rng.uniform(-4, 1.5)), f32(rng.choice([1.0, 1.0, 0.25, 3.7]))
    x = writer.tensor(f"x{number}", shape, "int8", s, zero_point(rng))
    y = writer.tensor(f"y{number}", shape, "int16", 1 / 65536, -32768)
    writer.op("SOFTMAX", [x], [y], beta=beta)
    return Case([x], [y], values(rng, shape), f"{shape} {s} beta {beta}")


def requantize_int32(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Factors that shift to the right alone: where a shift to the left leaves 32 bits, LiteRT is undefined."""
    shape, number = small_shape(rng), len(writer.operators)
    source, target = [("int16", "int32"), ("int32", "int16"), ("int32", "int8")][int(rng.integers(0, 3))]
    s, rises = _scale(rng), source == "int16"
    s_out = f32(s * 10 ** (rng.uniform(-4, 3) if rises else rng.uniform(0, 6)))
    points = [int(rng.integers(-30000, 30000)) if rng.random() < 0.5 else 0 for _ in range(2)]
    x = writer.tensor(f"x{number}", shape, source, s, points[0])
    y = writer.tensor(f"y{number}", shape, target, s_out, points[1] // (256 if target == "int8" else 1))
    writer.op("QUANTIZE", [x], [y], version=2)
    drawn = values(rng, shape, "int16")
    vectors = drawn if rises else [[(v.astype(np.int64) * rng.choice([1, 30000])).astype(np.int32)] for (v,) in drawn]
    return Case([x], [y], vectors, f"{source} {s} {points} -> {target} {s_out}")


def mean(rng: np.random.Generator, writer: ModelWriter) -> Case:
    shape, number = (1, *(int(d) for d in rng.integers(1, 8, 3))), len(writer.operators)
    axes = sorted(int(a) for a in rng.choice([1, 2, 3], int(rng.integers(1, 4)), replace=False))
    keep = bool(rng.random() < 0.5)
    out = tuple(1 if i in axes else d for i, d in enumerate(shape) if keep or i not in axes)
    s = _scale(rng)
    x = writer.tensor(f"x{number}", shape, "int16", s)
    a = writer.tensor(f"a{number}", (len(axes),), "int32", data=np.array(axes))
    y = writer.tensor(f"y{number}", out, "int16", f32(s * ratio(rng, 1)))
    writer.op("MEAN", [x, a], [y], keep_dims=keep)
    return Case([x], [y], values(rng, shape, "int16"), f"{shape} over {axes}")


def quantize(rng: np.random.Generator, writer: ModelWriter) -> Case:
    shape, number, s = small_shape(rng), len(writer.operators), _scale(rng)
    source, target = [("float32", "int16"), ("int16", "int16"), ("int16", "int8")][int(rng.integers(0, 3))]
    s_out = s if source == "float32" else f32(s * ratio(rng, 3) * (WIDTH if target == "int8" else 1))
    x = writer.tensor(f"x{number}", shape, source, *(() if source == "float32" else (s,)))
    y = writer.tensor(f"y{number}", shape, target, s_out, zero_point(rng) if target == "int8" else 0)
    writer.op("QUANTIZE", [x], [y])
    vectors = values(rng, shape, "int16")
    if source == "float32":
        halves = rng.integers(-70000, 70000, shape) + 0.5
        steps = [rng.uniform(-70000, 70000, shape), halves, rng.choice([-1e6, 1e6, 0.0, -0.0], shape)]
        vectors = [[np.float32(step * s)] for step in steps]
    return Case([x], [y], vectors, f"{source} {s} -> {target} {s_out} {shape}")


def dequantize(rng: np.random.Generator, writer: ModelWriter) -> Case:
    shape, number = small_shape(rng), len(writer.operators)
    x = writer.tensor(f"x{number}", shape, "int16", _scale(rng, -30, 30))
    y = writer.tensor(f"y{number}", shape, "float32")
    writer.op("DEQUANTIZE", [x], [y])
    return Case([x], [y], values(rng, shape, "int16"), f"{shape}")


OPERATORS: dict[str, Draw] = {
    "CONV_2D int16": convolution(),
    "CONV_2D int16 grouped": convolution(groups=True),
    "DEPTHWISE_CONV_2D int16": convolution(depthwise=True),
    "FULLY_CONNECTED int16": fully_connected,
    **{f"{kind} int16": pool(kind) for kind in ("MAX_POOL_2D", "AVERAGE_POOL_2D")},
    **{f"{kind} int16": binary(kind) for kind in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM")},
    "SOFTMAX int16": one_input("SOFTMAX", -6, 0),
    "LOGISTIC int16": one_input("LOGISTIC", -6, 0.7),
    "TANH int16": one_input("TANH", -6, 0.7),
    **{f"{kind} int16": one_input(kind, -5, -3, same=True) for kind in ("RELU", "RELU6")},
    "MEAN int16": mean,
    "QUANTIZE int16": quantize,
    "DEQUANTIZE int16": dequantize,
    "TRANSPOSE_CONV int16": transpose_conv,
    "LEAKY_RELU int16": leaky_relu,
    "SOFTMAX int8 to int16": softmax_to_int16,
    "QUANTIZE int32": requantize_int32,
    "CAST int16": partial(cases_numbers.cast, wide=True),
}
"""What is compared; the first word is the operator's kind."""


def in_turn(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Of one of them after the other, where many models would cost too much."""
    return list(OPERATORS.values())[len(writer.operators) % len(OPERATORS)](rng, writer)
