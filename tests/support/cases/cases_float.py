"""Random one-operator graphs: layers of float32."""

from __future__ import annotations

import numpy as np

from support.cases.operator_draws import FUSED, Case, Draw
from tflite_writer import ModelWriter


def _values(rng: np.random.Generator, shape: tuple[int, ...]) -> list[list[np.ndarray]]:
    """All sizes, around zero, and small whole numbers."""
    sizes = rng.choice([-1.0, 1.0], shape) * 10 ** rng.uniform(-3, 2, shape)
    drawn = (sizes, rng.normal(0, 2, shape), rng.integers(-9, 10, shape))
    return [[value.astype(np.float32)] for value in drawn]


def _window(
    rng: np.random.Generator, dilated: bool
) -> tuple[list[int], list[int], list[int], list[int], str, list[int]]:
    """Taps, strides, dilations, size, padding, and size of the output."""
    taps = [int(k) for k in rng.choice([1, 1, 2, 3, 3, 5], 2)]
    strides = [int(s) for s in rng.choice([1, 1, 2, 3], 2)]
    dilations = [int(d) for d in rng.choice([1, 1, 2, 4], 2)] if dilated else [1, 1]
    padding = str(rng.choice(["SAME", "VALID"]))
    extents = [(k - 1) * d + 1 for k, d in zip(taps, dilations, strict=True)]
    size = [int(rng.integers(e if padding == "VALID" else 1, e + 6)) for e in extents]
    sides = zip(size, extents, strides, strict=True)
    out = [-(-n // s) if padding == "SAME" else (n - e) // s + 1 for n, e, s in sides]
    return taps, strides, dilations, size, padding, out


def convolution(kind: str) -> Draw:
    """Also dilated; grouped, or with several outputs for each channel."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        taps, strides, dilations, size, padding, out = _window(rng, dilated=True)
        batch, fused, number = int(rng.choice([1, 1, 2])), str(rng.choice(FUSED)), len(writer.operators)
        if kind == "DEPTHWISE_CONV_2D":
            channels = int(rng.integers(1, 9))
            outputs = channels * int(rng.choice([1, 1, 2, 3]))
            shape = (1, *taps, outputs)
        else:
            groups = int(rng.choice([1, 1, 1, 2, 3]))
            channels, outputs = groups * int(rng.integers(1, 8)), groups * int(rng.integers(1, 10))
            shape = (outputs, *taps, channels // groups)
        x = writer.tensor(f"x{number}", (batch, *size, channels), "float32")
        w = writer.tensor(f"w{number}", shape, "float32", data=rng.normal(0, 1, shape).astype(np.float32))
        inputs = [x, w]
        if kind == "CONV_2D" or rng.random() < 0.7:  # LiteRT's takes none without
            bias = rng.normal(0, 3, outputs).astype(np.float32)
            inputs.append(writer.tensor(f"b{number}", (outputs,), "float32", data=bias))
        y = writer.tensor(f"y{number}", (batch, *out, outputs), "float32")
        options = {"stride_h": strides[0], "stride_w": strides[1], "fused_activation_function": fused}
        options |= {"dilation_h_factor": dilations[0], "dilation_w_factor": dilations[1]}
        if kind == "DEPTHWISE_CONV_2D":
            options["depth_multiplier"] = outputs // channels
        writer.op(kind, inputs, [y], padding=padding, **options)
        text = f"{batch}x{size}x{channels} k{taps} s{strides} d{dilations} {padding} {fused} -> {out}x{outputs}"
        return Case([x], [y], _values(rng, (batch, *size, channels)), text)

    return draw


def fully_connected(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Rows of one dimension or more."""
    depth, units, rows = int(rng.integers(1, 70)), int(rng.integers(1, 20)), int(rng.choice([1, 1, 3]))
    fused, number = str(rng.choice(FUSED)), len(writer.operators)
    x = writer.tensor(f"x{number}", (rows, depth), "float32")
    weights = rng.normal(0, 1, (units, depth)).astype(np.float32)
    inputs = [x, writer.tensor(f"w{number}", (units, depth), "float32", data=weights)]
    if rng.random() < 0.7:
        bias = rng.normal(0, 3, units).astype(np.float32)
        inputs.append(writer.tensor(f"b{number}", (units,), "float32", data=bias))
    y = writer.tensor(f"y{number}", (rows, units), "float32")
    writer.op("FULLY_CONNECTED", inputs, [y], fused_activation_function=fused, keep_num_dims=False)
    return Case([x], [y], _values(rng, (rows, depth)), f"{rows}x{depth} -> {units} {fused}")


def pool(kind: str) -> Draw:
    """Padding takes no part."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        taps, strides, _, size, padding, out = _window(rng, dilated=False)
        batch, channels = int(rng.choice([1, 1, 2])), int(rng.integers(1, 9))
        fused, number = str(rng.choice(FUSED)), len(writer.operators)
        x = writer.tensor(f"x{number}", (batch, *size, channels), "float32")
        y = writer.tensor(f"y{number}", (batch, *out, channels), "float32")
        options = {"filter_height": taps[0], "filter_width": taps[1], "fused_activation_function": fused}
        writer.op(kind, [x], [y], padding=padding, stride_h=strides[0], stride_w=strides[1], **options)
        text = f"{batch}x{size}x{channels} k{taps} s{strides} {padding} {fused}"
        return Case([x], [y], _values(rng, (batch, *size, channels)), text)

    return draw


def transpose_conv(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Gaps between windows, and windows over each other."""
    padding = str(rng.choice(["SAME", "VALID"]))
    taps = [int(k) for k in rng.choice([1, 2, 3, 3, 4, 5], 2)]
    strides = [int(s) for s in rng.choice([1, 1, 2, 2, 3], 2)]
    size = [int(s) for s in rng.integers(1, 6, 2)]
    least = [(n - 1) * s + (1 if padding == "SAME" else k) for n, k, s in zip(size, taps, strides, strict=True)]
    out = [n + int(rng.integers(0, s)) for n, s in zip(least, strides, strict=True)]
    batch, depth, outputs = int(rng.choice([1, 1, 2])), int(rng.integers(1, 9)), int(rng.integers(1, 9))
    number, fused, shape = len(writer.operators), str(rng.choice(FUSED)), (outputs, *taps, depth)
    o = writer.tensor(f"o{number}", (4,), "int32", data=np.array([batch, *out, outputs]))
    w = writer.tensor(f"w{number}", shape, "float32", data=rng.normal(0, 1, shape).astype(np.float32))
    x = writer.tensor(f"x{number}", (batch, *size, depth), "float32")
    inputs = [o, w, x]
    if rng.random() < 0.7:
        bias = rng.normal(0, 3, outputs).astype(np.float32)
        inputs.append(writer.tensor(f"b{number}", (outputs,), "float32", data=bias))
    y = writer.tensor(f"y{number}", (batch, *out, outputs), "float32")
    options = {"stride_h": strides[0], "stride_w": strides[1], "fused_activation_function": fused}
    writer.op("TRANSPOSE_CONV", inputs, [y], padding=padding, **options)
    text = f"{batch}x{size}x{depth} k{taps} s{strides} {padding} {fused} -> {out}x{outputs}"
    return Case([x], [y], _values(rng, (batch, *size, depth)), text)


def resize(kind: str) -> Draw:
    """Up and down, by whole factors and others."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        size, out = ([int(s) for s in rng.choice([1, 2, 3, 5, 7, 8, 12, 17], 2)] for _ in range(2))
        batch, channels, number = int(rng.choice([1, 1, 2])), int(rng.choice([1, 2, 3, 8])), len(writer.operators)
        align, centers = [(False, False), (True, False), (False, True)][int(rng.integers(0, 3))]
        x = writer.tensor(f"x{number}", (batch, *size, channels), "float32")
        o = writer.tensor(f"o{number}", (2,), "int32", data=np.array(out))
        y = writer.tensor(f"y{number}", (batch, *out, channels), "float32")
        writer.op(kind, [x, o], [y], align_corners=align, half_pixel_centers=centers)
        text = f"{batch}x{size}x{channels} -> {out}, align {align}, centers {centers}"
        return Case([x], [y], _values(rng, (batch, *size, channels)), text)

    return draw


OPERATORS: dict[str, Draw] = {
    **{f"{kind} float32": convolution(kind) for kind in ("CONV_2D", "DEPTHWISE_CONV_2D")},
    "FULLY_CONNECTED float32": fully_connected,
    "TRANSPOSE_CONV float32": transpose_conv,
    **{f"{kind} float32": resize(kind) for kind in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")},
    **{f"{kind} float32": pool(kind) for kind in ("MAX_POOL_2D", "AVERAGE_POOL_2D")},
}
"""What is compared; the first word is the operator's kind."""
