"""Software kernels with neighbors: convolution, pooling, resize, softmax, matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralart_virtual.npu.software.tensors import IN, ORDER, OUT, Array, Kernel


def _windows(kernel: Kernel, x: Array, size: tuple[int, int], fill: Any) -> Array:
    """What lies under a window: shape (batch, rows, columns, height, width, channels)."""
    pads = kernel.reader.numbers(kernel.info, "pads") or (0, 0, 0, 0)
    strides = kernel.reader.numbers(kernel.info, "strides") or (1, 1)
    dilations = kernel.reader.numbers(kernel.info, "dilations") or (1, 1)
    if len(pads) != 4 or len(strides) < 2 or len(dilations) < 2 or min(*pads, 0) < 0:
        kernel.fail(f"has the pads {pads}, strides {strides} and dilations {dilations}")
    if min(*strides[:2], *dilations[:2], *size) < 1 or max(pads) > 1 << 12:
        kernel.fail(f"has the strides {strides}, dilations {dilations} and a window of {size}")
    top, left, bottom, right = pads
    wide = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    reach = [(n - 1) * d + 1 for n, d in zip(size, dilations, strict=False)]
    if wide.shape[1] < reach[0] or wide.shape[2] < reach[1]:
        kernel.fail(f"has a window of {size} in a frame of {wide.shape[1:3]}")
    found = np.lib.stride_tricks.sliding_window_view(wide, reach, axis=(1, 2))
    found = found[:, :: strides[0], :: strides[1], :, :: dilations[0], :: dilations[1]]
    return np.asarray(found.transpose(0, 1, 2, 4, 5, 3))


def _sums(kernel: Kernel, x: Array, weights: Array, fill: Any) -> Array:
    """A grouped convolution: weights (kernels, height, width, channels of a group)."""
    count, height, width, depth = weights.shape
    groups = kernel.number("ngroup", 1)
    if groups < 1 or depth * groups != x.shape[3] or count % groups:
        kernel.fail(f"has {groups} groups, {x.shape[3]} channels and kernels for {depth}")
    windows = _windows(kernel, x, (height, width), fill)
    each = count // groups
    parts = [
        np.einsum(
            "bxyhwc,khwc->bxyk",
            windows[..., g * depth : (g + 1) * depth],
            weights[g * each : (g + 1) * each],
            optimize=True,
        )
        for g in range(groups)
    ]
    # An output may be smaller than what the windows give: it has the first ones.
    _, rows, columns, _ = kernel.sizes(OUT)
    return np.concatenate(parts, -1)[:, :rows, :columns]


def convolution(kernel: Kernel) -> None:
    """In single precision."""
    weights = kernel.view("weights", "<f4")
    result = _sums(kernel, kernel.view(IN, "<f4"), weights, 0)
    if kernel.has("bias"):
        result = result + kernel.flat("bias", "<f4")
    kernel.write_reals(result)


def convolution_integer(kernel: Kernel) -> None:
    """Exact sums, times the scales as real numbers, rounded half up."""
    x, (scale, zero), (out_scale, out_zero) = kernel.quantized_ends()
    kernel_scale, kernel_zero = kernel.quantization("w", tensor="weights")
    weights = kernel.view("weights").astype(np.float64) - kernel_zero.reshape(-1, 1, 1, 1)
    # Below 2**53 sums of double precision are exact.
    sums = _sums(kernel, x.astype(np.float64) - zero[0], weights, 0)
    if kernel.has("bias"):
        sums = sums + kernel.flat("bias", "<i4")
    factor = np.float64(scale[0]) * kernel_scale.astype(np.float64) / np.float64(out_scale[0])
    if not np.isfinite(factor).all():
        kernel.fail("has scales that are no numbers")
    kernel.write_steps(np.floor(sums * factor + 0.5) + out_zero)


def pooling(kernel: Kernel) -> None:
    """The greatest, least or mean element of windows in single precision."""
    kernel.write_reals(_pooled(kernel, kernel.view(IN, "<f4"), 0.0))


def pooling_integer(kernel: Kernel) -> None:
    """The same of quantized elements."""
    x, (scale, zero), (out_scale, out_zero) = kernel.quantized_ends()
    result = _pooled(kernel, x.astype(np.float64), float(zero[0]))
    kernel.write_steps(np.floor((result - zero) * (scale.astype(np.float64) / out_scale) + 0.5) + out_zero)


def _pooled(kernel: Kernel, x: Array, middle: float) -> Array:
    kind = kernel.info.members.get("general.type", "").removeprefix("LL_SW_")
    size = kernel.reader.numbers(kernel.info, "k_shape")
    if "global" in kernel.call.function or len(size) != 2:
        size = (x.shape[1], x.shape[2])
    if kind not in ("MAXPOOL", "MINPOOL", "AVGPOOL"):
        kernel.fail(f"has the type '{kind[:40]}', which is not modeled")
    if kind == "AVGPOOL":
        total = _windows(kernel, x, size, middle).sum((3, 4), dtype=np.float64)
        if kernel.number("count_include_pad"):
            count: Any = size[0] * size[1]
        else:
            inside = _windows(kernel, np.ones_like(x, np.float64), size, 0)
            count = inside.sum((3, 4))
            total = total - middle * (size[0] * size[1] - count)
        result = total / count
    else:
        fill = -np.inf if kind == "MAXPOOL" else np.inf
        windows = _windows(kernel, x, size, fill)
        result = windows.max((3, 4)) if kind == "MAXPOOL" else windows.min((3, 4))
    kernel.same_size(result)
    return np.asarray(result)


def softmax(kernel: Kernel) -> None:
    """Along one axis in single precision."""
    kernel.write_reals(_softmax(kernel, kernel.view(IN, "<f4").astype(np.float64)))


def softmax_integer(kernel: Kernel) -> None:
    """Of quantized elements, by real numbers in between: within one step of fixed-point kernels."""
    x, (scale, zero), (out_scale, out_zero) = kernel.quantized_ends()
    result = _softmax(kernel, (x.astype(np.float64) - zero) * scale.astype(np.float64))
    kernel.write_steps(np.floor(result / out_scale + 0.5) + out_zero)


def _softmax(kernel: Kernel, x: Array) -> Array:
    number = kernel.number("axis", 1)
    if not -4 <= number < 4:
        kernel.fail(f"has the axis {number}")
    axis = "bhwc".index(ORDER[number])
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


# ---- resize ----


def _coordinates(kernel: Kernel, size: int, out: int) -> Array:
    mode = kernel.info.members.get("coord_transf_mode", "")
    places = np.arange(out, dtype=np.float64)
    if mode == "HALF_PIXEL" or (mode == "PYTORCH_HALF_PIXEL" and out > 1):
        return (places + 0.5) * size / out - 0.5
    if mode == "PYTORCH_HALF_PIXEL":
        return np.zeros(1)
    if mode == "ALIGN_CORNERS":
        return places * ((size - 1) / (out - 1)) if out > 1 else np.zeros(1)
    if mode == "ASYMMETRIC":
        return places * size / out
    if mode == "TF_HALF_PIXEL_FOR_NN":
        return (places + 0.5) * size / out
    kernel.fail(f"has the coordinates '{mode[:40]}', which are not modeled")


def _nearest(kernel: Kernel, places: Array) -> Array:
    mode = kernel.info.members.get("nearest_mode", "")
    if mode == "ROUND_PREFER_FLOOR":
        return np.ceil(places - 0.5)
    if mode == "ROUND_PREFER_CEIL":
        return np.floor(places + 0.5)
    if mode in ("FLOOR", "CEIL"):
        return np.floor(places) if mode == "FLOOR" else np.ceil(places)
    kernel.fail(f"has the nearest mode '{mode[:40]}', which is not modeled")


def _resized(kernel: Kernel, x: Array) -> Array:
    mode = kernel.info.members.get("mode", "")
    sizes = kernel.sizes(OUT)
    if mode not in ("RESIZE_NEAREST", "RESIZE_LINEAR"):
        kernel.fail(f"has the mode '{mode[:40]}', which is not modeled")
    for axis in (1, 2):
        size = x.shape[axis]
        places = _coordinates(kernel, size, sizes[axis])
        if mode == "RESIZE_NEAREST":
            near = np.clip(_nearest(kernel, places), 0, size - 1).astype(np.intp)
            x = np.take(x, near, axis)
            continue
        low = np.floor(places)
        part = (places - low).reshape([-1 if i == axis else 1 for i in range(4)])
        ends = [np.clip(low + i, 0, size - 1).astype(np.intp) for i in (0, 1)]
        x = np.take(x, ends[0], axis) * (1 - part) + np.take(x, ends[1], axis) * part
    kernel.same_size(x)
    return x


def resize(kernel: Kernel) -> None:
    """In single precision: nearest or linear."""
    kernel.write_reals(_resized(kernel, kernel.view(IN, "<f4")))


def resize_integer(kernel: Kernel) -> None:
    """Of quantized elements, rounded half up."""
    x, (scale, zero), (out_scale, out_zero) = kernel.quantized_ends()
    ratio = scale.astype(np.float64) / out_scale
    kernel.write_steps(np.floor((_resized(kernel, x.astype(np.float64)) - zero) * ratio + 0.5) + out_zero)
