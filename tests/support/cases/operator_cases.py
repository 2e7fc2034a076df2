"""Random one-operator graphs for the comparison with LiteRT: every draw is seeded, every draw is legal."""

from __future__ import annotations

import numpy as np

from support.cases import cases_elementwise, cases_float, cases_movement, cases_numbers, cases_recurrent, cases_spatial
from support.cases.operator_draws import (
    FUSED,
    INT32,
    VECTORS,
    Case,
    Draw,
    bias_values,
    f32,
    output_scale,
    ratio,
    scale,
    small_shape,
    values,
    weight_values,
    zero_point,
)
from tflite_writer import ModelWriter

__all__ = ["OPERATORS", "VECTORS", "Case", "Draw"]


def _sizes(rng: np.random.Generator, kernel: int, stride: int, dilation: int, padding: str) -> int:
    extent = (kernel - 1) * dilation + 1
    least = extent if padding == "VALID" else 1
    return int(rng.integers(least, least + 9))


def window_geometry(
    rng: np.random.Generator, *, dilated: bool
) -> tuple[str, list[int], list[int], list[int], list[int], list[int]]:
    padding = str(rng.choice(["SAME", "VALID"]))
    kernel = [int(k) for k in rng.choice([1, 1, 2, 3, 3, 4, 5, 7], 2)]
    stride = [int(s) for s in rng.choice([1, 1, 1, 2, 2, 3, 5], 2)]
    dilation = [int(d) for d in rng.choice([1, 2, 3], 2)] if dilated and rng.random() < 0.3 else [1, 1]
    size = [_sizes(rng, k, s, d, padding) for k, s, d in zip(kernel, stride, dilation, strict=True)]
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    if padding == "SAME":
        out = [-(-i // s) for i, s in zip(size, stride, strict=True)]
    else:
        out = [(i - e) // s + 1 for i, e, s in zip(size, extent, stride, strict=True)]
    return padding, kernel, stride, dilation, size, out


def convolution(*, depthwise: bool = False, groups: bool = False) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        padding, kernel, stride, dilation, size, out = window_geometry(rng, dilated=True)
        batch = int(rng.choice([1, 1, 1, 2, 3]))
        channels = int(rng.integers(1, 9))
        if depthwise:
            outputs = channels * int(rng.choice([1, 1, 1, 2, 3]))
            shape, axis, depth = (1, *kernel, outputs), 3, kernel[0] * kernel[1]
        else:
            group = int(rng.choice([2, 3])) if groups else 1
            outputs, per_output = int(rng.integers(1, 12)) * group, channels
            channels *= group
            shape, axis, depth = (outputs, *kernel, per_output), 0, kernel[0] * kernel[1] * per_output
        s_in, z_in = scale(rng), zero_point(rng)
        per_channel = rng.random() < 0.5
        s_w = [scale(rng, -4, -0.5) for _ in range(outputs)] if per_channel else [scale(rng, -4, -0.5)]
        spread = 6000 * depth**0.5
        s_out = output_scale(rng, s_in * float(np.median(s_w)) * spread)
        fused = str(rng.choice(FUSED))
        number = len(writer.operators)
        x = writer.tensor(f"x{number}", (batch, *size, channels), "int8", s_in, z_in)
        w = writer.tensor(f"w{number}", shape, "int8", s_w, 0, weight_values(rng, shape), axis)
        bias = bias_values(rng, outputs, spread)
        b = writer.tensor(f"b{number}", (outputs,), "int32", [s_in * s for s in s_w], 0, bias)
        y = writer.tensor(f"y{number}", (batch, *out, outputs), "int8", s_out, zero_point(rng))
        bare = depthwise and rng.random() < 0.2  # the oracle's CONV_2D insists on a bias
        writer.op(
            "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
            [x, w] if bare else [x, w, b],
            [y],
            padding=padding,
            stride_h=stride[0],
            stride_w=stride[1],
            dilation_h_factor=dilation[0],
            dilation_w_factor=dilation[1],
            fused_activation_function=fused,
        )
        text = f"{batch}x{size}x{channels} k{kernel} s{stride} d{dilation} {padding} {fused} -> {out}x{outputs}"
        return Case([x], [y], values(rng, (batch, *size, channels)), text)

    return draw


def fully_connected(rng: np.random.Generator, writer: ModelWriter) -> Case:
    batch, depth, units = int(rng.choice([1, 1, 2, 5])), int(rng.integers(1, 60)), int(rng.integers(1, 40))
    per_channel = rng.random() < 0.4
    s_in, z_in = scale(rng), zero_point(rng)
    s_w = [scale(rng, -4, -0.5) for _ in range(units)] if per_channel else [scale(rng, -4, -0.5)]
    z_w = 0 if per_channel or rng.random() < 0.6 else zero_point(rng)
    spread = 6000 * depth**0.5
    s_out = output_scale(rng, s_in * float(np.median(s_w)) * spread)
    number, fused = len(writer.operators), str(rng.choice(FUSED))
    keep = rng.random() < 0.3
    shape = (batch, depth) if not keep else (batch, 1, depth)
    x = writer.tensor(f"x{number}", shape, "int8", s_in, z_in)
    w = writer.tensor(f"w{number}", (units, depth), "int8", s_w, z_w, weight_values(rng, (units, depth)))
    # Wrapped sums times a factor above 1 leave 32 bits, where the oracle itself is undefined: no full-range bias then.
    bias = np.clip(rng.normal(0, spread, units), -INT32, INT32).astype(np.int64)
    if s_in * max(s_w) / s_out < 0.5:
        bias = bias_values(rng, units, spread)
    b = writer.tensor(f"b{number}", (units,), "int32", [s_in * s for s in s_w], 0, bias)
    y = writer.tensor(f"y{number}", (*shape[:-1], units), "int8", s_out, zero_point(rng))
    inputs = [x, w, b] if rng.random() < 0.8 else [x, w, -1]
    writer.op("FULLY_CONNECTED", inputs, [y], keep_num_dims=keep, fused_activation_function=fused)
    return Case([x], [y], values(rng, shape), f"{shape} x {units}, per channel {per_channel}, zw {z_w}, {fused}")


def fully_connected_ties(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """In one vector the input is the zero point, so the sums are the biases: exact ties and their neighbors."""
    units = 64
    s_in, s_w = scale(rng), scale(rng, -3, 0)
    s_out = f32(s_in * s_w * 2 ** int(rng.integers(1, 22)) * rng.choice([1.0, 1.0, 3.0, 5.0, 0.7]))
    factor = s_in * s_w / s_out
    z_out = zero_point(rng)
    # Accumulators whose product is a half, as near as 32 bits allow.
    wanted = rng.integers(-128, 128, units) - z_out + 0.5
    bias = np.clip(np.round(wanted / factor) + rng.integers(-1, 2, units), -INT32, INT32).astype(np.int64)
    number, z_in = len(writer.operators), zero_point(rng)
    x = writer.tensor(f"x{number}", (1, 1), "int8", s_in, z_in)
    w = writer.tensor(f"w{number}", (units, 1), "int8", s_w, 0, rng.integers(-1, 2, (units, 1)))
    b = writer.tensor(f"b{number}", (units,), "int32", s_in * s_w, 0, bias)
    y = writer.tensor(f"y{number}", (1, units), "int8", s_out, z_out)
    writer.op("FULLY_CONNECTED", [x, w, b], [y])
    vectors = [[np.array([[z_in]], np.int8)], *values(rng, (1, 1))[1:]]
    return Case([x], [y], vectors, f"ties at {factor!r}")


def pool(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        padding, kernel, stride, _, size, out = window_geometry(rng, dilated=False)
        batch, channels = int(rng.choice([1, 1, 2, 3])), int(rng.integers(1, 9))
        s, z, fused = scale(rng), zero_point(rng), str(rng.choice(FUSED))
        number = len(writer.operators)
        x = writer.tensor(f"x{number}", (batch, *size, channels), "int8", s, z)
        y = writer.tensor(f"y{number}", (batch, *out, channels), "int8", s, z)
        writer.op(
            kind,
            [x],
            [y],
            padding=padding,
            filter_height=kernel[0],
            filter_width=kernel[1],
            stride_h=stride[0],
            stride_w=stride[1],
            fused_activation_function=fused,
        )
        text = f"{batch}x{size}x{channels} k{kernel} s{stride} {padding} {fused}"
        return Case([x], [y], values(rng, (batch, *size, channels)), text)

    return draw


def activation(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        shape, number = small_shape(rng), len(writer.operators)
        # One step of the output is well below the bound of the activation, mostly.
        s_in = scale(rng, -3, 0.3 if kind in ("RELU", "RELU6") else -0.7)
        s_out = f32(s_in * ratio(rng, 3))
        x = writer.tensor(f"x{number}", shape, "int8", s_in, zero_point(rng))
        y = writer.tensor(f"y{number}", shape, "int8", s_out, zero_point(rng))
        writer.op(kind, [x], [y])
        return Case([x], [y], values(rng, shape), f"{shape} {s_in} -> {s_out}")

    return draw


def softmax(rng: np.random.Generator, writer: ModelWriter) -> Case:
    shape = (*small_shape(rng)[:2], int(rng.choice([1, 2, 3, 10, 31, 200])))
    number, s_in = len(writer.operators), f32(10 ** rng.uniform(-4, 1.5))
    beta = f32(rng.choice([1.0, 1.0, 0.25, 3.7]))
    x = writer.tensor(f"x{number}", shape, "int8", s_in, zero_point(rng))
    y = writer.tensor(f"y{number}", shape, "int8", 1 / 256, -128)
    writer.op("SOFTMAX", [x], [y], beta=beta)
    return Case([x], [y], values(rng, shape), f"{shape} scale {s_in} beta {beta}")


def requantize(rng: np.random.Generator, writer: ModelWriter) -> Case:
    shape, number = small_shape(rng), len(writer.operators)
    kinds = [str(k) for k in rng.choice(["int8", "uint8"], 2)]
    s_in = scale(rng)
    s_out = f32(s_in * ratio(rng, 5))
    z_in = zero_point(rng, kinds[0])
    z_out = zero_point(rng, kinds[1])
    if kinds == ["int8", "uint8"] and rng.random() < 0.5:
        s_out, z_out = s_in, z_in + 128
    elif kinds == ["uint8", "int8"] and rng.random() < 0.5:
        s_out, z_out = s_in, z_in - 128
    x = writer.tensor(f"x{number}", shape, kinds[0], s_in, z_in)
    y = writer.tensor(f"y{number}", shape, kinds[1], s_out, z_out)
    writer.op("QUANTIZE", [x], [y])
    return Case([x], [y], values(rng, shape, kinds[0]), f"{kinds} {s_in} {z_in} -> {s_out} {z_out}")


def quantize_float(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Everything up to a million steps; beyond 2**31 steps the oracle's conversion is undefined."""
    shape, number = small_shape(rng), len(writer.operators)
    dtype = str(rng.choice(["int8", "uint8"]))
    s, z = scale(rng, -6, 3), zero_point(rng, dtype)
    x = writer.tensor(f"x{number}", shape, "float32")
    y = writer.tensor(f"y{number}", shape, dtype, s, z)
    writer.op("QUANTIZE", [x], [y])
    steps = rng.uniform(-300, 300, shape)
    halves = rng.integers(-300, 300, shape) + 0.5
    near = np.float32(halves * s)
    near = np.nextafter(near, np.float32(rng.choice([-np.inf, np.inf], shape)))
    far = rng.choice([-1e6, 1e6, 0.0, -0.0, 1e-30], shape) * s
    drawn = [np.float32(steps * s), near, np.where(rng.random(shape) < 0.3, np.float32(far), np.float32(halves * s))]
    return Case([x], [y], [[np.float32(v)] for v in drawn], f"float32 {shape} -> {dtype} {s} {z}")


def dequantize(rng: np.random.Generator, writer: ModelWriter) -> Case:
    shape, number = small_shape(rng), len(writer.operators)
    dtype = str(rng.choice(["int8", "uint8"]))
    x = writer.tensor(f"x{number}", shape, dtype, scale(rng, -30, 30), zero_point(rng, dtype))
    y = writer.tensor(f"y{number}", shape, "float32")
    writer.op("DEQUANTIZE", [x], [y])
    return Case([x], [y], values(rng, shape, dtype), f"{dtype} {shape}")


def reshape(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Between an input and an output (a copy), behind an input, before an output, and in the middle."""
    number = len(writer.operators)
    shape = small_shape(rng)
    flat = (1, int(np.prod(shape)))
    where = int(rng.integers(0, 4))
    s, z = scale(rng), zero_point(rng)

    def tensor(name: str, dimensions: tuple[int, ...]) -> int:
        return writer.tensor(f"{name}{number}", dimensions, "int8", s, z)

    def to(source: int, target: int, dimensions: tuple[int, ...]) -> None:
        wanted = writer.tensor(f"s{len(writer.operators)}", (len(dimensions),), "int32", data=np.array(dimensions))
        writer.op("RESHAPE", [source, wanted], [target], new_shape=list(dimensions))

    x = tensor("x", shape)
    ends = [x]
    if where in (1, 3):
        r = tensor("r", shape)
        writer.op("RELU", [x], [r])
        ends.append(r)
    f = tensor("f", flat)
    to(ends[-1], f, flat)
    ends.append(f)
    if where in (2, 3):
        q = tensor("q", flat)
        writer.op("RELU6", [f], [q])
        ends.append(q)
    # Sometimes what lies before the reshape is an output as well.
    outputs = [ends[-1], ends[-2]] if where in (1, 2) and rng.random() < 0.5 else [ends[-1]]
    return Case([x], outputs, values(rng, shape), f"{shape} -> {flat}, place {where}")


OPERATORS: dict[str, Draw] = {
    "CONV_2D": convolution(),
    "CONV_2D grouped": convolution(groups=True),
    "DEPTHWISE_CONV_2D": convolution(depthwise=True),
    "FULLY_CONNECTED": fully_connected,
    "FULLY_CONNECTED ties": fully_connected_ties,
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "RELU": activation("RELU"),
    "RELU6": activation("RELU6"),
    "RELU_N1_TO_1": activation("RELU_N1_TO_1"),
    "RELU_0_TO_1": activation("RELU_0_TO_1"),
    "SOFTMAX": softmax,
    "QUANTIZE integer": requantize,
    "QUANTIZE float32": quantize_float,
    "DEQUANTIZE": dequantize,
    "RESHAPE": reshape,
    **cases_elementwise.OPERATORS,
    **cases_movement.OPERATORS,
    **cases_spatial.OPERATORS,
    **cases_float.OPERATORS,
    **cases_numbers.OPERATORS,
    **cases_recurrent.OPERATORS,
}
"""Everything that is compared; the first word is the operator's kind."""
