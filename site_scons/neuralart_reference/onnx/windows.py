"""Operators whose window slides over rows and columns, and products: weights, biases, padding.

Float weights may have been integers once: ST's optimizer, and others, write what DequantizeLinear made of them. Each
output channel of such weights has one step, of which every weight is a whole multiple. It is found, and the weights are
bytes again, without any loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neuralart_reference.onnx.builder import Builder, Held, channels_last
from neuralart_reference.onnx.load import Array, Node, Scale, Unfit

# How far from whole multiples of a step weights may be, in steps: float32 products with the scale of a fused
# operator are wrong by less than 1e-4 of a step.
_TOLERANCE = 1e-3
_LARGEST = (127, 128, *range(126, 0, -1))


def on_grid(real: Array) -> tuple[Array, Scale]:
    """The bytes that float weights come from, and their scales.

    Args:
        real: Weights in float32, output channels first.

    Raises:
        Unfit: The weights of a channel are no whole multiples of one step.
    """
    channels = real.reshape(len(real), -1).astype(np.float64)
    stored, scales = np.zeros(channels.shape, np.int8), []
    for number, weights in enumerate(channels):
        extreme = float(np.abs(weights).max(initial=0.0))
        if not np.isfinite(extreme):
            raise Unfit("its weights are not finite")
        step = next((extreme / largest for largest in _LARGEST if _multiples(weights, extreme / largest)), None)
        if extreme and step is None:
            raise Unfit("its weights are float, and no multiples of one step for each output")
        scales.append(float(np.float32(step)) if extreme and step else 1.0)
        stored[number] = np.rint(weights / (step or 1.0)) if extreme else 0
    return stored.reshape(real.shape), Scale(tuple(scales), (0,) * len(scales))


def _multiples(weights: Array, step: float) -> bool:
    if step <= 0:
        return False
    steps = weights / step
    whole = np.rint(steps)
    return bool(np.abs(steps - whole).max() < _TOLERANCE and whole.min() >= -128 and whole.max() <= 127)


LAST = channels_last(4)
"""The order of pictures for kernels."""


def in_rows(lower: Callable[[Builder, Node], None], plain: bool = False) -> Callable[[Builder, Node], None]:
    """The lowering of an operator whose window slides over one dimension, too: over columns then, with one row.

    ``plain``: over numbers without a scale.
    """

    def lowered(builder: Builder, node: Node) -> None:
        graph, source, name = builder.graph, node.inputs[0], node.outputs[0]
        if len(graph.shapes.get(source, ())) != 3:
            lower(builder, node)
            return
        inner = [builder.free(f"{each} in rows") if each else "" for each in (source, name, node.input(1))]
        for old, new in ((source, inner[0]), (name, inner[1])):
            graph.shapes[new] = (*graph.shapes[old][:2], 1, graph.shapes[old][2])
            graph.scales |= {new: graph.scales[old]} if old in graph.scales else {}
        if node.input(1) in graph.stored:
            stored, scale = graph.stored[node.input(1)]
            graph.stored[inner[2]] = stored[:, :, np.newaxis], scale
        elif node.input(1) in graph.constants:
            graph.fix(inner[2], graph.constants[node.input(1)][:, :, np.newaxis])
        tensor = (builder.plain if plain else builder.arranged)(source, channels_last(3))
        wide = builder.moved(tensor, builder.ramp(tensor)[:, np.newaxis], inner[0])
        builder.values[inner[0]] = Held(wide, LAST)
        firsts = {"kernel_shape": 1, "strides": 1, "dilations": 1, "output_padding": 0, "output_shape": 1}
        options = {key: [firsts[key], *value] if key in firsts else value for key, value in node.attributes.items()}
        if pads := node.get("pads"):
            options["pads"] = [0, pads[0], 0, pads[1]]
        given = [inner[0], inner[2], *node.inputs[2:]][: len(node.inputs)]
        lower(builder, replace(node, inputs=given, outputs=[inner[1], *node.outputs[1:]], attributes=options))
        tensor = builder.values[inner[1]].tensor
        narrow = builder.moved(tensor, builder.ramp(tensor)[:, 0], name)
        builder.values[name] = Held(narrow, channels_last(3))

    return lowered


def window(builder: Builder, node: Node, taps: Sequence[int]) -> dict[str, Any]:
    """The options of an operator whose window slides over rows and columns."""
    before, after = builder.graph.shapes[node.inputs[0]], builder.graph.shapes[node.outputs[0]]
    if len(before) != 4:
        raise Unfit(f"over {len(before) - 2} dimensions, supported are 1 and 2")
    strides, dilations = (node.get(name) or [1, 1] for name in ("strides", "dilations"))
    pads, auto = (node.get("pads") or [0, 0])[:2], node.get("auto_pad", "NOTSET")
    for axis in (0, 1):
        extent = (taps[axis] - 1) * dilations[axis] + 1
        last = (after[2 + axis] - 1) * strides[axis]
        needed = max(0, last + extent - before[2 + axis])
        if auto != "NOTSET":
            pads[axis] = {"SAME_UPPER": needed // 2, "SAME_LOWER": needed - needed // 2}.get(auto, 0)
        if max(pads[axis], needed - pads[axis]) >= max(2, extent) or last >= before[2 + axis] + pads[axis]:
            raise Unfit("windows in padding alone")
    options = {"stride_h": strides[0], "stride_w": strides[1], "fused_activation_function": "NONE"}
    dilated = {"dilation_h_factor": dilations[0], "dilation_w_factor": dilations[1]}
    return {**options, **dilated, "padding": "EXPLICIT", "pads": tuple(pads)}


def _weights(builder: Builder, node: Node, turned: bool = False) -> tuple[Array, Scale]:
    """Stored weights, outputs first, with what they are multiplied with (``turned``: outputs were last)."""
    graph, name = builder.graph, node.inputs[1]
    if name not in graph.stored:
        if name not in graph.constants:
            raise Unfit("its weights are not quantized, or not constant")
        real = graph.constants[name]
        stored, scale = on_grid(real.T if turned and real.ndim == 2 else real)
        graph.stored[name] = (stored.T, scale._replace(axis=1)) if turned and real.ndim == 2 else (stored, scale)
    stored, scale = graph.stored[name]
    if (len(scale.scales) > 1 and scale.axis != turned) or (turned and stored.ndim != 2) or stored.dtype != np.int8:
        raise Unfit("weights of more than 8 bits, or scales along another dimension than the outputs")
    stored, factor = stored.T if turned else stored, np.ravel(node.affine[0])
    if len(set(scale.points)) > 1 or (scale.points[0] and (factor <= 0).any()):
        raise Unfit("several zero points of weights, or one and a factor that is not positive")
    # The least value has no counterpart: 127 is next.
    signs = np.sign(factor).astype(np.int16).reshape(-1, *[1] * (stored.ndim - 1))
    scales = np.asarray(np.array(scale.scales) * np.abs(np.where(factor == 0, 1, factor)), np.float32).tolist()
    return np.clip(stored * signs, -128, 127), Scale(tuple(scales), scale.points[:1] * len(scales))


def _bias(builder: Builder, node: Node, count: int) -> Array:
    """What is added to each output, in float: the bias, and what is added besides it."""
    name = node.input(2)
    bias = builder.graph.constants.get(name, np.zeros(1)).astype(np.float64)
    if name in builder.graph.stored:
        stored, scale = builder.graph.stored[name]
        bias = (stored.astype(np.float64) - np.array(scale.points)) * np.array(scale.scales)
    elif name and name not in builder.graph.constants:
        raise Unfit("its bias is computed")
    return np.broadcast_to(bias.ravel() * node.affine[0] + node.affine[1], count)


def _layer(builder: Builder, node: Node, source: int, turned: bool = False) -> tuple[Array, Scale, int]:
    """Stored weights, outputs first, their scales, and the bias as a tensor of int32 in steps of the products.

    Where a bias is larger than that, its output hardly depends on the weights: their step is made larger.
    """
    stored, scale = _weights(builder, node, turned)
    added, scales = _bias(builder, node, len(stored)), np.broadcast_to(np.array(scale.scales), len(stored))
    wide = np.abs(added) / (builder.scale_of(source).scales[0] * scales)
    if not np.isfinite(wide).all():
        raise Unfit("its bias is not finite")
    if wide.max(initial=0) >= 2**31 - 1:
        if scale.points[0]:
            raise Unfit("its bias does not fit 32 bits, beside weights with a zero point")
        factor = np.exp2(np.maximum(0, np.ceil(np.log2(np.maximum(wide, 1))) - 30))
        stored = np.rint(stored / factor.reshape(-1, *[1] * (stored.ndim - 1))).astype(np.int8)
        scale = Scale(tuple(np.asarray(scales * factor, np.float32).tolist()), (0,) * len(stored))
    steps = builder.scale_of(source).scales[0] * np.array(scale.scales)
    if not np.isfinite(steps.astype(np.float32)).all():
        raise Unfit("its scales are too large")
    of_bias = Scale(tuple(np.asarray(steps, np.float32).tolist()), (0,) * len(steps))
    return stored, scale, builder.constant(np.rint(added / steps), "int32", of_bias, f"{node.outputs[0]}_bias")


def convolution(builder: Builder, node: Node) -> None:
    """Lower a Conv."""
    options = window(builder, node, _weights(builder, node)[0].shape[2:])
    source = builder.arranged(node.inputs[0], LAST)
    stored, scale, bias = _layer(builder, node, source)
    depthwise = 1 < node.get("group", 1) == builder.tensors[source].shape[3]
    if scale.points[0]:
        options["uint8"] = True  # The kernel for weights with a zero point
    taps = stored[:, 0].transpose(1, 2, 0)[np.newaxis] if depthwise else stored.transpose(0, 2, 3, 1)
    weights = builder.constant(taps, "int8", scale._replace(axis=3 * depthwise), node.inputs[1])
    kind, target = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", builder.target(node.outputs[0], LAST)
    builder.define(node.outputs[0], builder.emit(kind, [source, weights, bias], target, **options), LAST)


def _rank(builder: Builder, name: str) -> int:
    stored = builder.graph.stored.get(name)
    constant = builder.graph.constants.get(name) if stored is None else stored[0]
    return 0 if constant is None else constant.ndim


def _matrices(builder: Builder, node: Node) -> None:
    """Lower a product of matrices of which none is the weights of a layer."""
    name, sources = node.outputs[0], list[int]()
    if node.input(2) or min(len(builder.graph.shapes.get(each, (1, 1))) for each in node.inputs) < 2:
        raise Unfit("computed matrices with a bias, or a vector")
    for each in node.inputs[:2]:
        stored, scale = builder.graph.stored.get(each, (None, None))
        if scale is None:
            sources.append(builder.arranged(each))
        elif len(scale.scales) == 1 and stored is not None and stored.ndim > 1:
            sources.append(builder.constant(stored, "int8", scale, each))
        else:
            raise Unfit("several scales of a constant matrix, or a constant vector")
    order = tuple(range(len(builder.graph.shapes[name])))
    options = {"adj_x": bool(node.get("transA", 0)), "adj_y": bool(node.get("transB", 0))}
    builder.define(name, builder.emit("BATCH_MATMUL", sources, builder.target(name, order), **options), order)


def product(builder: Builder, node: Node) -> None:
    """Lower a Gemm or MatMul; constant weights are those of a layer."""
    if node.get("alpha", 1.0) != 1.0 or node.get("beta", 1.0) != 1.0:
        raise Unfit("with alpha or beta")
    if node.inputs[1] in builder.values or _rank(builder, node.inputs[1]) > 2:
        _matrices(builder, node)
        return
    if node.get("transA", 0):
        raise Unfit("with transA and constant weights")
    source, order = builder.arranged(node.inputs[0]), tuple(range(len(builder.graph.shapes[node.outputs[0]])))
    stored, scale, bias = _layer(builder, node, source, not node.get("transB", 0))
    weights, target = builder.constant(stored, "int8", scale, node.inputs[1]), builder.target(node.outputs[0], order)
    options = {"keep_num_dims": True, "fused_activation_function": "NONE"}
    builder.define(node.outputs[0], builder.emit("FULLY_CONNECTED", [source, weights, bias], target, **options), order)


def pool(builder: Builder, node: Node, plain: bool = False) -> None:
    """Lower a MaxPool or AveragePool; ``plain``: of numbers without a scale."""
    taps, average = node.attributes["kernel_shape"], node.kind == "AveragePool"
    options, source = window(builder, node, taps), (builder.plain if plain else builder.arranged)(node.inputs[0], LAST)
    if options.pop("dilation_h_factor") * options.pop("dilation_w_factor") > 1 or len(node.outputs) > 1:
        raise Unfit("with dilation or indices")
    padded = any(node.get("pads") or ()) or node.get("auto_pad", "NOTSET").startswith("SAME")
    if average and padded and node.get("ceil_mode", 0):
        raise Unfit("ceil_mode with padding")
    if average and padded and node.get("count_include_pad", 0):
        source, options["pads"] = _padded(builder, node, source, options, taps), (0, 0)
    name, shape = node.outputs[0], builder.tensors[source].shape
    alone = average and not padded and tuple(taps) == shape[1:3]
    if alone and (plain or builder.wanted(name) != builder.scale_of(source)):
        # Over all rows and columns it is a mean, whose kernel takes any scale: nothing is rounded twice.
        target = builder.plain_target(name, LAST) if plain else builder.target(name, LAST)
        builder.define(name, builder.emit("MEAN", [source, builder.constant([1, 2])], target, keep_dims=True), LAST)
        return
    target = builder.plain_target(name, LAST) if plain else builder.target(name, LAST, builder.scale_of(source))
    options |= {"filter_height": taps[0], "filter_width": taps[1]}
    kind = "AVERAGE_POOL_2D" if average else "MAX_POOL_2D"
    builder.define(node.outputs[0], builder.emit(kind, [source], target, **options), LAST)


def _padded(builder: Builder, node: Node, source: int, options: Mapping[str, Any], taps: Sequence[int]) -> int:
    """The tensor with all the padding that windows reach, which then counts like other values."""
    found, rows = builder.tensors[source], [(0, 0)]
    for axis, stride in enumerate((options["stride_h"], options["stride_w"])):
        reached = (builder.graph.shapes[node.outputs[0]][2 + axis] - 1) * stride + taps[axis]
        rows.append((options["pads"][axis], max(0, reached - options["pads"][axis] - found.shape[1 + axis])))
    sides, scale = np.array([*rows, (0, 0)]), None if found.quantization is None else builder.scale_of(source)
    fill = builder.constant(np.array(scale.points[0] if scale else 0).reshape(1), found.dtype, scale)
    target = builder.like(source, f"{found.name}_padded", np.array(found.shape) + sides.sum(1))
    return builder.emit("PADV2", [source, builder.constant(sides), fill], target)


def transposed(builder: Builder, node: Node) -> None:
    """Lower a ConvTranspose: its weights have inputs first, the kernel's have outputs first."""
    weights, shape = node.inputs[1], builder.graph.shapes[node.outputs[0]]
    if node.get("group", 1) != 1 or any(step != 1 for step in node.get("dilations") or ()) or len(shape) != 4:
        raise Unfit("with groups, dilation, or over other than 1 or 2 dimensions")
    if weights in builder.graph.constants and weights not in builder.graph.stored:
        found, scale = on_grid(builder.graph.constants[weights].swapaxes(0, 1))
        builder.graph.stored[weights] = (found.swapaxes(0, 1), scale._replace(axis=1))
    if weights in builder.graph.stored:
        stored, scale = builder.graph.stored[weights]
        if len(scale.scales) > 1 and scale.axis != 1:
            raise Unfit("scales along another dimension than the outputs")
        node.inputs[1] = f"{weights}_outputs_first"
        builder.graph.stored[node.inputs[1]] = (stored.swapaxes(0, 1), scale._replace(axis=0))
    source, strides = builder.arranged(node.inputs[0], LAST), node.get("strides") or [1, 1]
    stored, scale, bias = _layer(builder, node, source)
    pads = cut_off(node, builder.tensors[source].shape, stored.transpose(0, 2, 3, 1).shape, shape)
    more = [builder.constant([1, *shape[2:], shape[1]]), builder.constant(stored.transpose(0, 2, 3, 1), "int8", scale)]
    options = {"stride_h": strides[0], "stride_w": strides[1], "fused_activation_function": "NONE"}
    options |= {"padding": "EXPLICIT", "pads": pads}
    target = builder.target(node.outputs[0], LAST)
    builder.define(node.outputs[0], builder.emit("TRANSPOSE_CONV", [*more, source, bias], target, **options), LAST)


def cut_off(node: Node, source: Sequence[int], taps: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Rows above and columns left of the whole result of a ConvTranspose that its result lacks. ``source``, ``taps``:
    shapes with channels last; ``shape``: of the result in ONNX.
    """
    pads, auto = node.get("pads"), node.get("auto_pad", "NOTSET")
    if auto.startswith("SAME") or node.get("output_shape"):
        # What is cut off of the whole result; half of it is in front, of an odd one the smaller part for SAME_UPPER.
        strides, more = node.get("strides") or [1, 1], node.get("output_padding") or [0, 0]
        whole = [(source[1 + at] - 1) * strides[at] + taps[1 + at] + more[at] for at in (0, 1)]
        cut = [max(0, whole[at] - shape[2 + at]) for at in (0, 1)]
        pads = [each // 2 if auto == "SAME_UPPER" else each - each // 2 for each in cut]
    return tuple((pads or [0, 0])[:2])
