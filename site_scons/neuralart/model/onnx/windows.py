"""Convolutions, matrix products and pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from neuralart.model.onnx.builder import Builder, channels_last
from neuralart.model.onnx.graph import Array, Node, Problem, Scale


def _windows(builder: Builder, node: Node, taps: Sequence[int]) -> tuple[int, list[int], dict[str, Any]]:
    """The input and the shape of the output with four dimensions, channels last, and the options of the operator.

    One dimension is taken as rows of one.
    """
    before, after = (builder.graph.shapes[name] for name in (node.inputs[0], node.outputs[0]))
    count = len(before) - 2
    if count not in (1, 2):
        raise Problem(f"over {count} dimensions, supported are 1 and 2")
    more, ones = [1] * (2 - count), [1] * count
    strides, dilations = ([*more, *(node.get(name) or ones)] for name in ("strides", "dilations"))
    pads, auto = list(node.get("pads") or [0] * count)[:count], node.get("auto_pad", "NOTSET")
    for axis in range(count):
        step, extent = strides[axis - count], (taps[axis] - 1) * dilations[axis - count] + 1
        needed = max(0, (after[2 + axis] - 1) * step + extent - before[2 + axis])
        if auto != "NOTSET":
            pads[axis] = {"SAME_UPPER": needed // 2, "SAME_LOWER": needed - needed // 2}.get(auto, 0)
        if max(pads[axis], needed - pads[axis]) >= max(2, extent):
            raise Problem("padding as large as its window")
    options = {"stride_h": strides[0], "stride_w": strides[1], "fused_activation_function": "NONE"}
    options |= {"dilation_h_factor": dilations[0], "dilation_w_factor": dilations[1]}
    source = builder.arranged(node.inputs[0], channels_last(len(before)))
    source = builder.reshaped(source, [before[0], *more, *before[2:], before[1]])
    pair = tuple([0] * (2 - count) + pads)
    return source, [after[0], *more, *after[2:], after[1]], {**options, "padding": "EXPLICIT", "pads": pair}


def _done(builder: Builder, node: Node, target: int) -> None:
    """Let a tensor of four dimensions be the output."""
    order = channels_last(len(builder.graph.shapes[node.outputs[0]]))
    shape = [builder.graph.shapes[node.outputs[0]][axis] for axis in order]
    builder.define(node.outputs[0], builder.reshaped(target, shape), order)


def _weights(builder: Builder, node: Node, turned: bool = False) -> tuple[Array, Scale, Array]:
    """Stored weights, outputs first, with what follows per channel; what is added then (``turned``: outputs last)."""
    if node.inputs[1] not in builder.graph.stored:
        raise Problem("its weights are not quantized, or not constant")
    stored, scale = builder.graph.stored[node.inputs[1]]
    if stored.ndim < 2 or (turned and stored.ndim != 2) or stored.dtype != np.int8:
        raise Problem(f"weights of {stored.dtype.name}, {stored.ndim} dimensions")
    if (len(scale.scales) > 1 and scale.axis != int(turned)) or len(set(scale.points)) > 1:
        raise Problem("weights with scales along another dimension than the outputs, or several zero points")
    stored = stored.T if turned else stored
    factor, offset = node.affine or (np.ones(1), np.zeros(1))
    if (factor <= 0).any() and scale.points[0]:
        raise Problem("a factor that is not positive behind weights with a zero point")
    column = [-1] + [1] * (stored.ndim - 1)
    # The least value has no counterpart: 127 is next.
    stored = np.clip(stored * np.sign(factor).astype(np.int16).reshape(column), -128, 127).astype(np.int8)
    scales = (np.array(scale.scales) * np.abs(np.where(factor == 0, 1, factor))).astype(np.float32).tolist()
    return stored, Scale(tuple(scales), scale.points[:1] * len(scales), 0), np.broadcast_to(offset, len(stored))


def _bias(builder: Builder, node: Node, name: str, offset: Array, source: int, weights: Scale) -> int:
    """The bias, and what is added besides it, in steps of the products."""
    steps = np.float64(builder.scale_of(source).scales[0]) * np.array(weights.scales)
    bias = builder.graph.constants.get(name, np.zeros(1))
    if name in builder.graph.stored:
        stored, scale = builder.graph.stored[name]
        bias = (stored.astype(np.float64) - np.array(scale.points)) * np.array(scale.scales)
    elif name and name not in builder.graph.constants:
        raise Problem("its bias is computed")
    factor = node.affine[0] if node.affine else 1.0
    values = np.broadcast_to(np.rint((bias.ravel() * factor + offset) / steps), len(offset))
    if not np.abs(values).max() < 2**31:
        raise Problem("its bias does not fit 32 bits")
    scale = Scale(tuple(steps.astype(np.float32).tolist()), (0,) * len(steps))
    return builder.constant(values, "int32", scale, f"{node.outputs[0]}_bias")


def _convolution(builder: Builder, node: Node) -> None:
    stored, scale, offset = _weights(builder, node)
    source, shape, options = _windows(builder, node, stored.shape[2:])
    stored = stored.reshape(*stored.shape[:2], *[1] * (4 - stored.ndim), *stored.shape[2:])
    inputs, groups = builder.tensors[source].shape[3], int(node.get("group", 1))
    depthwise = groups == inputs and groups > 1
    if scale.points[0]:
        options["uint8"] = True  # The kernel for weights with a zero point
    taps = stored[:, 0].transpose(1, 2, 0)[np.newaxis] if depthwise else stored.transpose(0, 2, 3, 1)
    bias = _bias(builder, node, node.input(2), offset, source, scale)
    weights = builder.constant(taps, "int8", scale._replace(axis=3 * depthwise), node.inputs[1])
    target = builder.tensor(node.outputs[0], shape, builder.wanted(node.outputs[0]))
    builder.emit("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [source, weights, bias], target, **options)
    _done(builder, node, target)


def _product(builder: Builder, node: Node) -> None:
    """Gemm and MatMul with constant weights."""
    if node.get("transA", 0) or node.get("alpha", 1.0) != 1.0 or node.get("beta", 1.0) != 1.0:
        raise Problem("with transA, alpha or beta")
    stored, scale, offset = _weights(builder, node, not node.get("transB", 0))
    source = builder.arranged(node.inputs[0])
    shape, moved = builder.tensors[source].shape, builder.moves.get(source)
    if moved and len(moved[1].ravel()) == stored.shape[1] == builder.tensors[moved[0]].elements:
        # Weights in the order in which the values were stored: nothing is moved.
        source, turned = builder.reshaped(moved[0], shape), stored.copy()
        turned[:, moved[1].ravel()] = stored
        stored = turned
    bias = _bias(builder, node, node.input(2), offset, source, scale)
    weights = builder.constant(stored, "int8", scale, node.inputs[1])
    order = tuple(range(len(shape)))
    target = builder.target(node.outputs[0], order)
    options = {"keep_num_dims": True, "fused_activation_function": "NONE"}
    builder.define(node.outputs[0], builder.emit("FULLY_CONNECTED", [source, weights, bias], target, **options), order)


def _pool(builder: Builder, node: Node) -> None:
    taps = node.attributes["kernel_shape"]
    source, shape, options = _windows(builder, node, taps)
    options |= {"filter_height": ([1, *taps])[-2], "filter_width": taps[-1]}
    average = node.kind == "AveragePool"
    if (
        options.pop("dilation_h_factor") * options.pop("dilation_w_factor") > 1
        or len(list(filter(None, node.outputs))) > 1
    ):
        raise Problem("with dilation or indices")
    padded = any(node.get("pads") or ()) or node.get("auto_pad", "NOTSET").startswith("SAME")
    if average and padded and (node.get("count_include_pad", 0) or node.get("ceil_mode", 0)):
        raise Problem("padding that is counted, or ceil_mode with padding")
    target = builder.tensor(node.outputs[0], shape, builder.scale_of(source))
    builder.emit("AVERAGE_POOL_2D" if average else "MAX_POOL_2D", [source], target, **options)
    _done(builder, node, target)


LOWERINGS: Mapping[str, Callable[[Builder, Node], None]] = {
    **dict.fromkeys(("Gemm", "MatMul"), _product),
    **dict.fromkeys(("MaxPool", "AveragePool"), _pool),
    "Conv": _convolution,
}
