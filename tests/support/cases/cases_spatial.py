"""Random one-operator graphs: windows, transposed convolution, mean, resizing."""

from __future__ import annotations

import numpy as np

from support.cases.operator_draws import (
    FUSED,
    Case,
    Draw,
    bias_values,
    f32,
    output_scale,
    ratio,
    scale,
    values,
    weight_values,
    zero_point,
)
from tflite_writer import ModelWriter


def _shrunk(size: int, kernel: int, stride: int, padding: str) -> int:
    return -(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1


def _grown(rng: np.random.Generator, size: int, kernel: int, stride: int, padding: str) -> int:
    """An output size that the convolution brings back to the size."""
    least = (size - 1) * stride + (1 if padding == "SAME" else kernel)
    return least + int(rng.integers(0, stride))


def transpose_conv(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Gaps between windows, windows over each other, outputs that are cut off or longer than what is reached."""
    padding = str(rng.choice(["SAME", "VALID"]))
    kernel = [int(k) for k in rng.choice([1, 2, 3, 3, 4, 5, 7], 2)]
    stride = [int(s) for s in rng.choice([1, 1, 2, 2, 2, 3, 5], 2)]
    size = [int(s) for s in rng.integers(1, 7, 2)]
    out = [_grown(rng, i, k, s, padding) for i, k, s in zip(size, kernel, stride, strict=True)]
    batch, depth, outputs = int(rng.choice([1, 1, 1, 2])), int(rng.integers(1, 9)), int(rng.integers(1, 11))
    shape = (outputs, *kernel, depth)
    s_in, z_in = scale(rng), zero_point(rng)
    s_w = [scale(rng, -4, -0.5) for _ in range(outputs if rng.random() < 0.5 else 1)]
    spread = 6000 * max(1.0, kernel[0] * kernel[1] * depth / (stride[0] * stride[1])) ** 0.5
    s_out = output_scale(rng, s_in * float(np.median(s_w)) * spread)
    number, fused = len(writer.operators), str(rng.choice(FUSED))
    o = writer.tensor(f"o{number}", (4,), "int32", data=np.array([batch, *out, outputs]))
    w = writer.tensor(f"w{number}", shape, "int8", s_w, 0, weight_values(rng, shape), 0)
    x = writer.tensor(f"x{number}", (batch, *size, depth), "int8", s_in, z_in)
    inputs = [o, w, x]
    if rng.random() < 0.7:
        data = bias_values(rng, outputs, spread)
        inputs.append(writer.tensor(f"b{number}", (outputs,), "int32", [s_in * s for s in s_w], 0, data))
    y = writer.tensor(f"y{number}", (batch, *out, outputs), "int8", s_out, zero_point(rng))
    writer.op(
        "TRANSPOSE_CONV",
        inputs,
        [y],
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
        fused_activation_function=fused,
    )
    text = f"{batch}x{size}x{depth} k{kernel} s{stride} {padding} {fused} -> {out}x{outputs}"
    return Case([x], [y], values(rng, (batch, *size, depth)), text)


def convolution_edges(*, depthwise: bool) -> Draw:
    """Taps far outside, strides over gaps, many channels, scales of all sizes, zero points at the ends."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        kernel = [int(k) for k in rng.choice([1, 1, 2, 3, 4], 2)]
        stride = [int(s) for s in rng.choice([1, 2, 3, 7], 2)]
        dilation = [int(d) for d in rng.choice([1, 1, 2, 5, 9], 2)]
        extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        padding = str(rng.choice(["SAME", "SAME", "VALID"]))
        size = [int(rng.integers(e if padding == "VALID" else 1, e + 3)) for e in extent]
        out = [_shrunk(i, e, s, padding) for i, e, s in zip(size, extent, stride, strict=True)]
        channels = int(rng.choice([1, 3, 4, 5, 16, 33]))
        outputs = channels if depthwise else int(rng.choice([3, 4, 5, 8, 33]))
        shape, axis = ((1, *kernel, outputs), 3) if depthwise else ((outputs, *kernel, channels), 0)
        depth = kernel[0] * kernel[1] * (1 if depthwise else channels)
        s_in, s_w = scale(rng), [10 ** rng.uniform(-6, 1) for _ in range(outputs if rng.random() < 0.7 else 1)]
        spread = 6000 * depth**0.5
        s_out = f32(s_in * float(np.median(s_w)) * spread / 50)
        number = len(writer.operators)
        x = writer.tensor(f"x{number}", (1, *size, channels), "int8", s_in, int(rng.choice([-128, 127])))
        w = writer.tensor(f"w{number}", shape, "int8", s_w, 0, weight_values(rng, shape), axis)
        b = writer.tensor(
            f"b{number}", (outputs,), "int32", [s_in * s for s in s_w], 0, bias_values(rng, outputs, spread)
        )
        y = writer.tensor(f"y{number}", (1, *out, outputs), "int8", s_out, int(rng.choice([-128, 0, 127])))
        writer.op(
            "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
            [x, w, b],
            [y],
            padding=padding,
            stride_h=stride[0],
            stride_w=stride[1],
            dilation_h_factor=dilation[0],
            dilation_w_factor=dilation[1],
        )
        text = f"{size}x{channels} k{kernel} s{stride} d{dilation} {padding} {s_in} {s_w} {s_out} -> {out}x{outputs}"
        return Case([x], [y], values(rng, (1, *size, channels)), text)

    return draw


def pool_edges(kind: str) -> Draw:
    """The whole image at once, windows larger than it, single values far apart."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        size = [int(s) for s in rng.choice([1, 2, 7, 16, 31], 2)]
        how = str(rng.choice(["whole", "larger", "apart"]))
        padding = "SAME" if how == "larger" else str(rng.choice(["SAME", "VALID"]))
        kernel = {"whole": size, "larger": [s + int(rng.integers(1, 9)) for s in size], "apart": [1, 1]}[how]
        stride = [int(s) for s in rng.choice([1, 4, 11] if how == "apart" else [1, 2, 40], 2)]
        out = [_shrunk(i, k, s, padding) for i, k, s in zip(size, kernel, stride, strict=True)]
        channels, number = int(rng.integers(3, 9)), len(writer.operators)
        s, z = scale(rng), int(rng.choice([-128, 127, 0]))
        x = writer.tensor(f"x{number}", (1, *size, channels), "int8", s, z)
        y = writer.tensor(f"y{number}", (1, *out, channels), "int8", s, z)
        options = {"filter_height": kernel[0], "filter_width": kernel[1], "stride_h": stride[0], "stride_w": stride[1]}
        writer.op(kind, [x], [y], padding=padding, **options)
        return Case([x], [y], values(rng, (1, *size, channels)), f"{size}x{channels} k{kernel} s{stride} {padding}")

    return draw


def _axes(rng: np.random.Generator, rank: int) -> list[int]:
    """Any, in any order, from either end, some of them twice."""
    axes = [int(a) for a in rng.permutation(rank)[: int(rng.integers(1, rank + 1))]]
    axes = [a - rank if rng.random() < 0.3 else a for a in axes]
    return axes + axes[:1] if rng.random() < 0.1 else axes


def mean(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """One to six dimensions; half of the time height and width of an image."""
    image = rng.random() < 0.5
    rank = 4 if image else int(rng.integers(1, 7))
    shape = tuple(int(d) for d in rng.integers(1, 5 if rank > 4 else 8, rank))
    if image:
        shape = (*shape[:3], int(rng.choice([1, 5, 16, 17, 40])))
    axes = [1, 2] if image else _axes(rng, rank)
    reduced = {a % rank for a in axes}
    keep = bool(rng.random() < 0.5)
    out = tuple(1 if i in reduced else d for i, d in enumerate(shape) if keep or i not in reduced)
    count = int(np.prod([shape[a] for a in reduced], dtype=np.int64))
    s_in = scale(rng)
    s_out = s_in if rng.random() < 0.3 else f32(s_in * count**-0.5 * ratio(rng, 4))
    number = len(writer.operators)
    x = writer.tensor(f"x{number}", shape, "int8", s_in, zero_point(rng))
    scalar = len(axes) == 1 and rng.random() < 0.5
    a = writer.tensor(f"a{number}", () if scalar else (len(axes),), "int32", data=np.array(axes, np.int32))
    y = writer.tensor(f"y{number}", out, "int8", s_out, zero_point(rng))
    writer.op("MEAN", [x, a], [y], keep_dims=keep)
    return Case([x], [y], values(rng, shape), f"{shape} over {axes}, keep {keep}, {s_in} -> {s_out}")


def resize(kind: str) -> Draw:
    """Up and down, by whole factors and others, to and from single rows."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        size = [int(s) for s in rng.choice([1, 2, 3, 4, 5, 7, 8, 12, 33], 2)]
        out = [int(s * f) for s, f in zip(size, rng.choice([1, 2, 2, 3, 4], 2), strict=True)]
        if rng.random() < 0.6:
            out = [int(s) for s in rng.choice([1, 2, 3, 5, 6, 9, 10, 17, 40], 2)]
        batch, channels, number = int(rng.choice([1, 1, 2])), int(rng.choice([1, 2, 3, 8, 17])), len(writer.operators)
        flags = [(False, False), (True, False), (False, True)]
        if kind == "RESIZE_NEAREST_NEIGHBOR":
            flags.append((True, True))
        align, centers = flags[int(rng.integers(0, len(flags)))]
        s, z = scale(rng), zero_point(rng)
        x = writer.tensor(f"x{number}", (batch, *size, channels), "int8", s, z)
        o = writer.tensor(f"o{number}", (2,), "int32", data=np.array(out))
        y = writer.tensor(f"y{number}", (batch, *out, channels), "int8", s, z)
        writer.op(kind, [x, o], [y], align_corners=align, half_pixel_centers=centers)
        text = f"{batch}x{size}x{channels} -> {out}, align {align}, centers {centers}"
        return Case([x], [y], values(rng, (batch, *size, channels)), text)

    return draw


OPERATORS: dict[str, Draw] = {
    "TRANSPOSE_CONV": transpose_conv,
    "CONV_2D edges": convolution_edges(depthwise=False),
    "DEPTHWISE_CONV_2D edges": convolution_edges(depthwise=True),
    "MAX_POOL_2D edges": pool_edges("MAX_POOL_2D"),
    "AVERAGE_POOL_2D edges": pool_edges("AVERAGE_POOL_2D"),
    "MEAN": mean,
    "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR"),
    "RESIZE_BILINEAR": resize("RESIZE_BILINEAR"),
}
"""What is compared; the first word is the operator's kind."""
