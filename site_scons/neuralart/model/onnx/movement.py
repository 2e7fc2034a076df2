"""Operators that move, join or average values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from neuralart.model.onnx.builder import Builder, channels_last
from neuralart.model.onnx.elementwise import order_of
from neuralart.model.onnx.graph import Array, Node, Problem
from neuralart.model.onnx.load import run
from neuralart.model.onnx.quantization import MOVES


def _move(builder: Builder, node: Node) -> None:
    """Lower an operator that only moves or repeats values: what it does to numbers of elements says where they go."""
    name, graph = node.inputs[0], builder.graph
    if name in graph.stored:
        stored, scale = graph.stored[name]
        if len(scale.scales) > 1 and node.kind != "Transpose":
            raise Problem("of a constant with several scales")
        axis = node.get("perm", list(range(stored.ndim))[::-1]).index(scale.axis) if len(scale.scales) > 1 else 0
        graph.stored[node.outputs[0]] = (_done_to(builder, node, stored)[0], scale._replace(axis=axis))
        return
    value = builder.value(name)
    back = [value.order.index(axis) for axis in range(len(value.order))]
    ramp = builder.ramp(value.tensor).transpose(back)
    if node.kind == "Resize" and node.get("mode", "nearest") == "linear":
        _linear(builder, node, ramp)
        return
    elements = _resized(builder, node, ramp) if node.kind == "Resize" else _done_to(builder, node, ramp)
    for output, found in zip(node.outputs, elements, strict=True):
        orders = [tuple(range(found.ndim)), channels_last(found.ndim)]
        if node.kind == "Transpose":
            steps = node.get("perm") or list(range(found.ndim))[::-1]
            orders.append(tuple(steps.index(axis) for axis in value.order))
        elif found.ndim == ramp.ndim:
            orders.append(value.order)
        # The order that costs nothing, or else the one that the value was stored in.
        free = [
            o for o in orders if (found.transpose(o).ravel() == np.arange(found.size)).all() and found.size == ramp.size
        ]
        order = (free or orders[::-1])[0]
        builder.define(output, builder.moved(value.tensor, found.transpose(order), output), order)


def _done_to(builder: Builder, node: Node, value: Array) -> list[Array]:
    if any(name and name not in builder.graph.constants for name in node.inputs[1:]):
        raise Problem("what it takes is computed")
    return run(builder.graph, node, [value, *(builder.graph.constants.get(name) for name in node.inputs[1:])])


def _resized(builder: Builder, node: Node, ramp: Array) -> list[Array]:
    """The rows and columns that a Resize to the nearest ones takes, asked for one dimension at a time."""
    shape = builder.graph.shapes[node.outputs[0]]
    if node.get("mode", "nearest") != "nearest" or node.get("axes"):
        raise Problem(f"mode {node.get('mode', 'nearest')}")
    scales = builder.graph.constants.get(node.input(2), np.array(shape) / np.array(ramp.shape))
    scales = scales if scales.size == len(shape) else np.array(shape) / np.array(ramp.shape)
    taken = []
    for before, after, scale in zip(ramp.shape, shape, scales, strict=True):
        line, factor = np.arange(before, dtype=np.float32), np.array([scale], np.float32)
        one = run(builder.graph, Node("Resize", ["x", "", "s"], ["y"], node.attributes), [line, None, factor])[0]
        if len(one) != after:
            raise Problem("a scale that gives no whole size")
        taken.append(one.astype(np.int64))
    return [ramp[np.ix_(*taken)]]


def _linear(builder: Builder, node: Node, ramp: Array) -> None:
    """Lower a linear Resize."""
    shape, last = builder.graph.shapes[node.outputs[0]], channels_last(4)
    mode = node.get("coordinate_transformation_mode", "half_pixel")
    whole = node.input(2) not in builder.graph.constants or all(
        scale * before == after
        for scale, before, after in zip(builder.graph.constants[node.input(2)], ramp.shape, shape, strict=False)
    )
    if mode not in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric") or node.get("antialias", 0):
        raise Problem(f"coordinates {mode}, or antialias")
    if len(shape) != 4 or shape[:2] != ramp.shape[:2] or not whole or (mode[0] == "p" and 1 in shape):
        raise Problem("of other than rows and columns, or to no whole size")
    source = builder.arranged(node.inputs[0], last)
    target = builder.target(node.outputs[0], last, builder.scale_of(source))
    options = {"align_corners": mode == "align_corners", "half_pixel_centers": mode.endswith("half_pixel")}
    builder.emit("RESIZE_BILINEAR", [source, builder.constant(shape[2:])], target, **options)
    builder.define(node.outputs[0], target, last)


def _concat(builder: Builder, node: Node) -> None:
    order, scale = order_of(builder, node), builder.wanted(node.outputs[0])
    sources = []
    for name in node.inputs:
        constant = builder.graph.constants.get(name)
        if name in builder.graph.stored:
            stored, own = builder.graph.stored[name]
            constant = own.real(stored)
        if constant is None:
            sources.append(builder.arranged(name, order))
        else:
            sources.append(builder.constant(scale.stored(constant).transpose(order), "int8", scale, name))
    axis, target = order.index(int(node.attributes["axis"]) % len(order)), builder.target(node.outputs[0], order)
    builder.define(node.outputs[0], builder.emit("CONCATENATION", sources, target, axis=axis), order)


def _pad(builder: Builder, node: Node) -> None:
    constants, value, order = builder.graph.constants, node.input(2), order_of(builder, node)
    fill = np.zeros(1, np.float32) if not value else constants.get(value)
    if value in builder.graph.stored:
        stored, own = builder.graph.stored[value]
        fill = own.real(stored)
    pads = constants.get(node.input(1))
    if fill is None or pads is None or node.get("mode", "constant") != "constant" or node.input(3) or (pads < 0).any():
        raise Problem("supported are constant paddings from 0 on of all dimensions, mode constant")
    source = builder.arranged(node.inputs[0], order)
    scale, table = builder.scale_of(source), pads.reshape(2, -1).T[list(order)]
    more = [builder.constant(table), builder.constant(scale.stored(fill.reshape(1)), "int8", scale)]
    target = builder.target(node.outputs[0], order, scale)
    builder.define(node.outputs[0], builder.emit("PADV2", [source, *more], target), order)


def _mean(builder: Builder, node: Node) -> None:
    value, rank, keep = (
        builder.value(node.inputs[0]),
        len(builder.graph.shapes[node.inputs[0]]),
        node.get("keepdims", 1),
    )
    axes = builder.graph.constants.get(node.input(1), np.array(node.get("axes", range(rank)))) % rank
    if node.kind == "GlobalAveragePool":
        axes = np.arange(2, rank)
    left = [axis for axis in range(rank) if keep or axis not in axes]
    order = tuple(left.index(axis) for axis in value.order if axis in left)
    where = builder.constant([value.order.index(axis) for axis in sorted(axes)])
    target = builder.target(node.outputs[0], order)
    builder.define(node.outputs[0], builder.emit("MEAN", [value.tensor, where], target, keep_dims=bool(keep)), order)


LOWERINGS: Mapping[str, Callable[[Builder, Node], None]] = {
    **dict.fromkeys(MOVES, _move),
    **dict.fromkeys(("ReduceMean", "GlobalAveragePool"), _mean),
    "Concat": _concat,
    "Pad": _pad,
}
