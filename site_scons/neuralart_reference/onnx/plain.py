"""What operators of ONNX become where values are not quantized: the same kernels in float32, int32 and bool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Any

import numpy as np

from neuralart_reference.onnx.builder import Builder, Order, order_of, plain_dtype
from neuralart_reference.onnx.definitions import KINDS, defined
from neuralart_reference.onnx.load import Array, Node, Unfit, take
from neuralart_reference.onnx.recurrent import recurrent
from neuralart_reference.onnx.windows import LAST, cut_off, in_rows, pool, window

_LIKE_LITERT = "Abs Ceil Cos Elu Erf Exp Floor Gelu Log Neg Relu Round Sign Sin Sqrt Tanh"
_FUNCTIONS = {kind: kind.upper() for kind in str.split(_LIKE_LITERT)}
_FUNCTIONS |= {"Sigmoid": "LOGISTIC", "LeakyRelu": "LEAKY_RELU", "HardSwish": "HARD_SWISH"}
_ALPHAS = {"LeakyRelu": 0.01, "Elu": 1.0}
_BINARY = {kind: kind.upper() for kind in str.split("Add Sub Mul Div Pow Equal Greater Less PRelu")}
_BINARY |= {"Max": "MAXIMUM", "Min": "MINIMUM", "Sum": "ADD", "And": "LOGICAL_AND", "Or": "LOGICAL_OR"}
_BINARY |= {"GreaterOrEqual": "GREATER_EQUAL", "LessOrEqual": "LESS_EQUAL", "Mod": "FLOOR_MOD"}
_REDUCTIONS = {"ReduceMean": "MEAN", "ReduceSum": "SUM", "GlobalAveragePool": "MEAN", "GlobalMaxPool": "REDUCE_MAX"}
_REDUCTIONS |= {f"Reduce{kind}": f"REDUCE_{kind.upper()}" for kind in ("Max", "Min", "Prod")}
_CLIPS: dict[tuple[float | None, ...], str] = {
    (0.0, inf): "RELU",
    (0.0, 6.0): "RELU6",
    (0.0, 1.0): "RELU_0_TO_1",
    (-1.0, 1.0): "RELU_N1_TO_1",
}


def _done(builder: Builder, node: Node, tensor: int, order: Order) -> None:
    builder.define(node.outputs[0], tensor, order)


def _function(builder: Builder, node: Node) -> None:
    order = order_of(builder, node)
    source = builder.plain(node.inputs[0], order)
    options: dict[str, Any] = {"approximate": True} if node.get("approximate") == "tanh" else {}
    if node.kind in _ALPHAS:
        options["alpha"] = float(node.get("alpha", _ALPHAS[node.kind]))
    if node.kind == "Elu" and options.pop("alpha") != 1.0:
        _by_definition(builder, node)
    elif node.kind == "Neg" and builder.tensors[source].dtype == "int32":
        _done(builder, node, builder.apply("SUB", [builder.constant(np.zeros(1)), source]), order)
    else:
        _done(builder, node, builder.apply(_FUNCTIONS[node.kind], [source], **options), order)


def _binary(builder: Builder, node: Node) -> None:
    """Lower an operator over two values or more, with broadcasting."""
    order, exponent = order_of(builder, node), builder.real(node.input(1))
    if node.kind == "Pow" and exponent is not None and exponent.size == 1 and exponent.item() in (0.5, 2.0):
        source = builder.plain(node.inputs[0], order)
        _done(builder, node, builder.apply("SQRT" if exponent.item() == 0.5 else "SQUARE", [source]), order)
        return
    if node.kind == "Mod" and node.get("fmod", 0):
        raise Unfit("with fmod")
    sources = [builder.plain(name, order) for name in node.inputs]
    made, dtype = sources[0], plain_dtype(builder.graph.dtype(node.outputs[0]))
    for each in sources[1:]:
        made = builder.apply(_BINARY[node.kind], [made, each], dtype)
    _done(builder, node, made, order)


def _clip(builder: Builder, node: Node) -> None:
    order = order_of(builder, node)
    made, limits = builder.plain(node.inputs[0], order), list[float | None]()
    for name, key, none in ((node.input(1), "min", -inf), (node.input(2), "max", inf)):
        constant = builder.real(name) if name else np.array(float(node.get(key, none)))
        limits.append(None if constant is None else float(constant.item()))
    if kind := _CLIPS.get(tuple(limits)):
        made = builder.apply(kind, [made])
    for kind, name, limit in zip(("MAXIMUM", "MINIMUM"), (node.input(1), node.input(2)), limits, strict=True):
        if tuple(limits) in _CLIPS or limit in (-inf, inf):
            continue
        dtype = builder.tensors[made].dtype
        more = builder.plain(name, order) if limit is None else builder.constant(limit, dtype)
        made = builder.apply(kind, [made, more])
    _done(builder, node, made, order)


def _where(builder: Builder, node: Node) -> None:
    order = order_of(builder, node)
    condition, *both = (builder.plain(name, order) for name in node.inputs)
    _done(builder, node, builder.apply("SELECT_V2", [condition, *both], builder.tensors[both[0]].dtype), order)


def _not(builder: Builder, node: Node) -> None:
    order = order_of(builder, node)
    _done(builder, node, builder.apply("LOGICAL_NOT", [builder.plain(node.inputs[0], order)]), order)


def _cast(builder: Builder, node: Node) -> None:
    order, dtype = order_of(builder, node), plain_dtype(builder.graph.dtype(node.outputs[0]))
    source = builder.plain(node.inputs[0], order)
    if dtype == "bool" != builder.tensors[source].dtype:
        zero = builder.constant(np.zeros(1), builder.tensors[source].dtype)
        source = builder.apply("NOT_EQUAL", [source, zero], dtype)
    elif dtype != builder.tensors[source].dtype:
        source = builder.apply("CAST", [source], dtype)
    _done(builder, node, source, order)


def _softmax(builder: Builder, node: Node) -> None:
    name, rank, old = node.outputs[0], len(builder.graph.shapes[node.outputs[0]]), builder.graph.opset < 13
    axis = int(node.get("axis", 1 if old else -1)) % rank
    kind = "SOFTMAX" if node.kind == "Softmax" else "LOG_SOFTMAX"
    options: dict[str, Any] = {"beta": 1.0} if kind == "SOFTMAX" else {}
    if old and axis != rank - 1:  # Before opset 13 it is one over all dimensions from this one on.
        source = builder.plain(node.inputs[0], tuple(range(rank)))
        shape = builder.tensors[source].shape
        flat = builder.ramp(source).reshape(int(np.prod(shape[:axis])), -1)
        made = builder.apply(kind, [builder.moved(source, flat, f"{name}_rows")], **options)
        builder.define(name, builder.moved(made, builder.ramp(made).reshape(shape), name), tuple(range(rank)))
        return
    order = (*(each for each in order_of(builder, node) if each != axis), axis)
    builder.define(name, builder.apply(kind, [builder.plain(node.inputs[0], order)], **options), order)


def axes_of(builder: Builder, node: Node, rank: int) -> list[int]:
    """The dimensions that an operator reduces, in order. Unfit: they are computed."""
    if node.kind.startswith("Global"):
        return list(range(2, rank))
    if node.input(1) and node.input(1) not in builder.graph.constants:
        raise Unfit("its axes are computed")
    given = builder.graph.constants.get(node.input(1), np.array(node.get("axes", [])))
    if not given.size and not node.get("noop_with_empty_axes", 0):
        given = np.arange(rank)
    return sorted(int(axis) % rank for axis in given.ravel())


def _reduction(builder: Builder, node: Node) -> None:
    order, keep = order_of(builder, node, node.inputs[0]), node.get("keepdims", 1)
    axes = axes_of(builder, node, len(order))
    source = builder.plain(node.inputs[0], order)
    left = [axis for axis in range(len(order)) if keep or axis not in axes]
    shape = [1 if axis in axes else builder.tensors[source].shape[at] for at, axis in enumerate(order) if axis in left]
    where = builder.constant([order.index(axis) for axis in axes])
    target = builder.tensor(node.outputs[0], shape, None, builder.tensors[source].dtype)
    made = builder.emit(_REDUCTIONS[node.kind], [source, where], target, keep_dims=bool(keep))
    _done(builder, node, made, tuple(left.index(axis) for axis in order if axis in left))


def _concat(builder: Builder, node: Node) -> None:
    order = order_of(builder, node)
    sources = [builder.plain(name, order) for name in node.inputs]
    target = builder.plain_target(node.outputs[0], order)
    axis = order.index(int(node.attributes["axis"]) % len(order))
    _done(builder, node, builder.emit("CONCATENATION", sources, target, axis=axis), order)


def _pad(builder: Builder, node: Node) -> None:
    graph, order, mode = builder.graph, order_of(builder, node, node.inputs[0]), node.get("mode", "constant")
    pads = graph.constants.get(node.input(1)) if node.input(1) else np.array(node.get("pads", ()))
    fill = builder.real(node.input(2)) if node.input(2) else np.array(node.get("value", 0.0))
    if fill is None or pads is None or mode not in ("constant", "reflect") or node.input(3) or (pads < 0).any():
        raise Unfit("supported are constant paddings from 0 on of all dimensions, modes constant and reflect")
    source, table = builder.plain(node.inputs[0], order), builder.constant(pads.reshape(2, -1).T[list(order)])
    target = builder.plain_target(node.outputs[0], order)
    if mode == "reflect":
        made = builder.emit("MIRROR_PAD", [source, table], target, mode="REFLECT")
    else:
        value = builder.constant(fill.reshape(1), builder.tensors[source].dtype)
        made = builder.emit("PADV2", [source, table, value], target)
    _done(builder, node, made, order)


def _gather(builder: Builder, node: Node) -> None:
    """Lower a Gather, of numbers or of bytes with a scale; of indices that are computed, too."""
    graph, (source, indices), name = builder.graph, node.inputs[:2], node.outputs[0]
    axis, stored = int(node.get("axis", 0)), graph.stored.get(source)
    rows = graph.constants.get(indices)
    size = graph.shape(source)[axis]
    where = builder.plain(indices) if rows is None else builder.constant(np.where(rows < 0, rows + size, rows))
    if stored is not None and len(stored[1].scales) == 1 and stored[0].dtype == np.int8:
        table, scale = builder.constant(stored[0], "int8", stored[1], source), stored[1]
        made = builder.tensor(name, graph.shapes[name], scale)
    else:
        held = builder.values.get(source)
        kept = held is not None and held.results is None and builder.tensors[held.tensor].dtype == "int8"
        table = builder.arranged(source) if kept else builder.plain(source)
        made = builder.like(table, name, graph.shapes[name])
    axis %= len(builder.tensors[table].shape)
    builder.emit("GATHER", [table, where], made, axis=axis, batch_dims=0)
    _done(builder, node, made, tuple(range(len(graph.shapes[name]))))


def _gather_nd(builder: Builder, node: Node) -> None:
    if node.get("batch_dims", 0):
        raise Unfit("with batch_dims")
    source, where = (builder.plain(name) for name in node.inputs)
    order = tuple(range(len(builder.graph.shapes[node.outputs[0]])))
    target = builder.plain_target(node.outputs[0], order)
    _done(builder, node, builder.emit("GATHER_ND", [source, where], target), order)


def _convolution(builder: Builder, node: Node) -> None:
    """Lower a Conv."""
    weights, bias = builder.real(node.inputs[1]), _bias(builder, node)
    if weights is None:
        raise Unfit("its weights are computed")
    options = window(builder, node, weights.shape[2:])
    gain = np.broadcast_to(node.affine[0], len(weights)).reshape(-1, *[1] * (weights.ndim - 1))
    scaled = weights if np.all(gain == 1) else (weights * gain).astype(np.float32)
    source, target = builder.plain(node.inputs[0], LAST), builder.plain_target(node.outputs[0], LAST)
    depthwise = 1 < node.get("group", 1) == builder.tensors[source].shape[3]
    taps = scaled[:, 0].transpose(1, 2, 0)[np.newaxis] if depthwise else scaled.transpose(0, 2, 3, 1)
    sources = [source, builder.constant(taps, "float32", name=node.inputs[1]), *bias]
    kind = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    _done(builder, node, builder.emit(kind, sources, target, **options), LAST)


def _bias(builder: Builder, node: Node, factor: float = 1.0) -> list[int]:
    """The tensor with the bias of a layer, and with what is added besides it; nothing if there is none."""
    bias = builder.real(node.input(2)) if node.input(2) else np.zeros(1, np.float32)
    if bias is None:
        raise Unfit("its bias is computed")
    added = bias.ravel().astype(np.float64) * factor * node.affine[0] + node.affine[1]
    channels = builder.graph.shapes[node.outputs[0]][1 if node.kind.startswith("Conv") else -1]
    made = np.broadcast_to(added, channels).astype(np.float32)
    return [builder.constant(made, "float32", name=f"{node.outputs[0]}_bias")] if node.input(2) or made.any() else []


def _transposed(builder: Builder, node: Node) -> None:
    """Lower a ConvTranspose."""
    weights, shape, bias = builder.real(node.inputs[1]), builder.graph.shapes[node.outputs[0]], _bias(builder, node)
    if weights is None or node.get("group", 1) != 1 or any(each != 1 for each in node.get("dilations") or ()):
        raise Unfit("with groups, dilation, or computed weights")
    source, strides = builder.plain(node.inputs[0], LAST), node.get("strides") or [1, 1]
    gain = np.broadcast_to(node.affine[0], shape[1]).reshape(-1, 1, 1, 1)
    taps = (weights.swapaxes(0, 1) * gain).astype(np.float32).transpose(0, 2, 3, 1)
    pads = cut_off(node, builder.tensors[source].shape, taps.shape, shape)
    options = {"stride_h": strides[0], "stride_w": strides[1], "fused_activation_function": "NONE"}
    options |= {"padding": "EXPLICIT", "pads": pads}
    sources = [builder.constant([1, *shape[2:], shape[1]]), builder.constant(taps, "float32"), source, *bias]
    target = builder.plain_target(node.outputs[0], LAST)
    _done(builder, node, builder.emit("TRANSPOSE_CONV", sources, target, **options), LAST)


def _product(builder: Builder, node: Node) -> None:
    """Lower a Gemm or MatMul."""
    graph, name = builder.graph, node.outputs[0]
    weights, alpha, beta = builder.real(node.inputs[1]), float(node.get("alpha", 1.0)), float(node.get("beta", 1.0))
    ranks = [len(graph.shape(each)) for each in node.inputs[:2]]
    order = tuple(range(max(2, *ranks)))
    turned = (1, 0) if node.get("transA", 0) else None
    if weights is not None and weights.ndim == 2 and ranks[0] > 1 and not _computed(builder, node.input(2), weights):
        source = builder.plain(node.inputs[0], turned)
        taps = weights if node.get("transB", 0) else weights.T
        taps = (taps * alpha * np.reshape(node.affine[0], (-1, 1))).astype(np.float32)
        sources = [source, builder.constant(taps, "float32", name=node.inputs[1]), *_bias(builder, node, beta)]
        options = {"keep_num_dims": True, "fused_activation_function": "NONE"}
        made = builder.emit("FULLY_CONNECTED", sources, builder.plain_target(name, order), **options)
    else:
        first = builder.plain(node.inputs[0], order if ranks[0] == 1 else turned)
        second = builder.plain(node.inputs[1])
        if ranks[1] == 1:
            second = builder.moved(second, builder.ramp(second)[:, np.newaxis], f"{name}_column")
        shapes = [builder.tensors[each].shape for each in (first, second)]
        batches = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
        columns = shapes[1][-2 if node.get("transB", 0) else -1]
        target = builder.tensor(name, (*batches, shapes[0][-2], columns), None, "float32")
        made = builder.emit("BATCH_MATMUL", [first, second], target, adj_x=False, adj_y=bool(node.get("transB", 0)))
        for factor in [alpha] * (alpha != 1.0):
            made = builder.apply("MUL", [made, builder.constant(np.float32(factor), "float32")])
        if node.input(2):
            added = builder.plain(node.input(2), order)
            if beta != 1.0:
                added = builder.apply("MUL", [added, builder.constant(np.float32(beta), "float32")])
            made = builder.apply("ADD", [made, added])
    shape = graph.shapes[name]
    builder.define(name, builder.moved(made, builder.ramp(made).reshape(shape), name), tuple(range(len(shape))))


def _computed(builder: Builder, bias: str, weights: Array) -> bool:
    """If what a Gemm adds is no vector of constants."""
    found = builder.real(bias) if bias else None
    return bool(bias) and (found is None or found.size not in (1, found.shape[-1]))


def factors(builder: Builder, node: Node) -> tuple[Array, Array]:
    """What a BatchNormalization multiplies by and adds, for each channel. Unfit: it is computed."""
    given = [builder.real(name) for name in node.inputs[1:]]
    constants = [np.ravel(each).astype(np.float64) for each in given if each is not None]
    if len(given) != 4 or len(constants) != 4 or len(node.outputs) > 1:
        raise Unfit("its factors are computed, or it is that of a training")
    return node.factors(*constants)


def _normalization(builder: Builder, node: Node) -> None:
    """Lower a BatchNormalization."""
    gain, offset = factors(builder, node)
    order = order_of(builder, node)
    made, at = builder.plain(node.inputs[0], order), order.index(1)
    for kind, each in (("MUL", gain), ("ADD", offset)):
        shape = [len(gain) if axis == at else 1 for axis in range(len(order))]
        made = builder.apply(kind, [made, builder.constant(each.reshape(shape), "float32")])
    _done(builder, node, made, order)


def _by_definition(builder: Builder, node: Node) -> None:
    """Lower an operator by the operators that it is defined by."""
    nodes = defined(builder.graph, node)
    mark = len(builder.graph.nodes)
    for each in nodes:
        take(builder.graph, each, PLAIN)
        for inner in builder.graph.nodes[mark:]:
            PLAIN[inner.kind](builder, inner)
        del builder.graph.nodes[mark:]


def _identity(builder: Builder, node: Node) -> None:
    order = order_of(builder, node)
    _done(builder, node, builder.plain(node.inputs[0], order), order)


PLAIN: Mapping[str, Callable[[Builder, Node], None]] = {
    **dict.fromkeys(KINDS, _by_definition),
    **dict.fromkeys(_FUNCTIONS, _function),
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
    **dict.fromkeys(("Gemm", "MatMul"), _product),
    **dict.fromkeys(("MaxPool", "AveragePool"), in_rows(partial(pool, plain=True), plain=True)),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), recurrent),
    "BatchNormalization": _normalization,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Conv": in_rows(_convolution, plain=True),
    "ConvTranspose": in_rows(_transposed, plain=True),
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Identity": _identity,
    "Not": _not,
    "Pad": _pad,
    "Where": _where,
}
"""Each makes operators of a node over plain numbers, or raises Unfit."""
