"""What operators of ONNX become over stored bytes; :mod:`~neuralart_reference.onnx.plain` has those over numbers.

Whatever is a function of one stored value, over however many operators, becomes one table of 256 entries with exactly
the results that floats would have. What moves values is asked where it moves numbers of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from neuralart_reference.onnx.builder import GRID, Builder, Held, Order, channels_last, order_of
from neuralart_reference.onnx.load import Array, Node, Scale, Unfit, run
from neuralart_reference.onnx.plain import PLAIN, factors
from neuralart_reference.onnx.qoperator import DYNAMIC, FORMS
from neuralart_reference.onnx.quantization import MOVES
from neuralart_reference.onnx.windows import LAST, convolution, in_rows, pool, product, transposed

_FUNCTIONS = """
Abs Atan Ceil Celu Clip Cos Div Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log Mish Neg Pow Reciprocal
Relu Round Selu Sigmoid Sign Sin Softplus Softsign Sqrt Tanh ThresholdedRelu
"""
_BINARY = {"Add": "ADD", "Sub": "SUB", "Mul": "MUL", "Max": "MAXIMUM", "Min": "MINIMUM", "PRelu": "PRELU"}
_SOFTMAX = Scale((1 / 256,), (-128,))


def _function(builder: Builder, node: Node) -> bool:
    """Lower a function of one stored value; False if the node is none."""
    given, bases, name = list[Array | None](), set[tuple[int, Order]](), node.outputs[0]
    for each in node.inputs:
        constant, value = builder.real(each), builder.values.get(each)
        if value is not None:
            bases.add((value.tensor, value.order))
            results = builder.scale_of(value.tensor).real(GRID) if value.results is None else value.results
            given.append(results)
        elif each and (constant is None or constant.size != 1):
            return False
        else:
            given.append(None if constant is None else constant.reshape(()))
    if len(bases) != 1:
        return False
    ((tensor, order),) = bases
    results = run(builder.graph, node, given)[0]
    shape = tuple(builder.graph.shapes[name][axis] for axis in order)
    if results.dtype != np.float32 or shape != builder.tensors[tensor].shape:
        raise Unfit(f"its result is {results.dtype}, or broadcast")
    builder.values[name] = Held(tensor, order, results)
    if name in builder.graph.scales:
        scale = builder.graph.scales[name]
        builder.values[name] = Held(builder.table(name, tensor, scale.stored(results), scale), order)
    return True


def _only_function(builder: Builder, node: Node) -> None:
    if not _function(builder, node):
        raise Unfit("not a function of one computed value")


def _leaky(builder: Builder, node: Node) -> None:
    """Lower a LeakyRelu. Between two scales it is that of a .tflite, which rounds ties in another way than floats."""
    held, name = builder.values.get(node.inputs[0]), node.outputs[0]
    if held is None or held.results is not None or name not in builder.graph.scales:
        _only_function(builder, node)
        return
    builder.scale_of(held.tensor)
    target, alpha = builder.target(name, held.order), float(node.get("alpha", 0.01))
    builder.define(name, builder.emit("LEAKY_RELU", [held.tensor], target, alpha=alpha), held.order)


def _binary(builder: Builder, node: Node) -> None:
    if _function(builder, node):
        return
    order, name, cut = order_of(builder, node), node.outputs[0], node.kind in ("Max", "Min")
    operands, target = list[int](), builder.target(name, order)
    for each in node.inputs:
        if each in builder.graph.stored or each in builder.graph.constants:
            stored, scale = builder.graph.stored.get(each) or _bytes(builder.graph.constants[each])
            full = stored.reshape((1,) * (len(order) - stored.ndim) + stored.shape).transpose(order)
            operands.append(builder.constant(full, "int8", scale, each))
        else:
            operands.append(builder.arranged(each, order))
    if len(operands) != 2:
        raise Unfit("of other than two values")
    if cut:  # Their kernels take one scale for all.
        operands = [builder.rescaled(name, each, builder.scale_of(target)) for each in operands]
    options = {} if cut or node.kind == "PRelu" else {"fused_activation_function": "NONE"}
    builder.define(name, builder.emit(_BINARY[node.kind], operands, target, **options), order)


def _bytes(real: Array) -> tuple[Array, Scale]:
    """A constant that the model left in float: as int8 around 0."""
    scale = Scale((float(np.float32(np.abs(real).max() / 127)) or 1.0,), (0,))
    return scale.stored(real), scale


def _softmax(builder: Builder, node: Node) -> None:
    name, rank, old = node.outputs[0], len(builder.graph.shapes[node.outputs[0]]), builder.graph.opset < 13
    axis = int(node.get("axis", 1 if old else -1)) % rank
    if old and axis != rank - 1:
        raise Unfit("over several dimensions, as before opset 13")
    order = (*(each for each in order_of(builder, node) if each != axis), axis)
    source, target = builder.arranged(node.inputs[0], order), builder.target(name, order, _SOFTMAX)
    builder.define(name, builder.emit("SOFTMAX", [source], target, beta=1.0), order)


def _quantize(builder: Builder, node: Node) -> None:
    """Lower a change of scale, or the quantization of an input of the model."""
    name, value, scale = node.outputs[0], builder.values[node.inputs[0]], builder.wanted(node.outputs[0])
    if builder.tensors[value.tensor].dtype == "float32":
        tensor = builder.emit("QUANTIZE", [value.tensor], builder.target(name, value.order))
    else:
        results = builder.scale_of(value.tensor).real(GRID) if value.results is None else value.results
        tensor = builder.table(name, value.tensor, scale.stored(results), scale)
    builder.values[name] = Held(tensor, value.order)


def _move(builder: Builder, node: Node) -> None:
    """Lower an operator that only moves or repeats values."""
    name, graph = node.inputs[0], builder.graph
    more = [graph.constants.get(each) for each in node.inputs[1:]]
    steps = node.get("perm", list(range(len(graph.shapes[name])))[::-1])
    if name in graph.stored:
        stored, scale = graph.stored[name]
        if len(scale.scales) > 1 and node.kind != "Transpose":
            raise Unfit("of a constant with several scales")
        axis = steps.index(scale.axis) if len(scale.scales) > 1 else 0
        graph.stored[node.outputs[0]] = (run(graph, node, [stored, *more])[0], scale._replace(axis=axis))
        return
    value = builder.value(name)
    ramp = builder.ramp(value.tensor).transpose([value.order.index(axis) for axis in range(len(value.order))])
    if any(each and each not in graph.constants for each in node.inputs[1:]):
        raise Unfit("what it takes is computed")
    if node.kind == "Resize" and node.get("mode", "nearest") == "linear":
        _linear(builder, node, ramp)
        return
    resized = node.kind == "Resize"
    elements = [ramp[np.ix_(*_taken(builder, node))]] if resized else run(graph, node, [ramp, *more])
    for output, found in zip(node.outputs, elements, strict=True):
        orders = [tuple(range(found.ndim)), channels_last(found.ndim)]
        if node.kind == "Transpose":
            orders.append(tuple(steps.index(axis) for axis in value.order))
        elif found.ndim == ramp.ndim:
            orders.append(value.order)
        # The order that costs nothing, or else the one that the value was stored in.
        free = [o for o in orders if found.size == ramp.size and (np.diff(found.transpose(o).ravel()) == 1).all()]
        order = (free or orders[::-1])[0]
        builder.define(output, builder.moved(value.tensor, found.transpose(order), output), order)


def _taken(builder: Builder, node: Node) -> list[Array]:
    """The numbers of those that a Resize to the nearest ones takes, asked for one dimension at a time."""
    before, shape = (builder.graph.shapes[each] for each in (node.inputs[0], node.outputs[0]))
    scales, taken = builder.graph.constants.get(node.input(2), np.zeros(0)), []
    for axis, (old, new) in enumerate(zip(before, shape, strict=True)):
        line = np.arange(old, dtype=np.float32)
        factor = np.array([scales[axis] if scales.size == len(shape) else new / old], np.float32)
        one = run(builder.graph, Node("Resize", ["x", "", "s"], ["y"], node.attributes), [line, None, factor])[0]
        taken.append(one.astype(np.int64))
    if tuple(map(len, taken)) != shape:
        raise Unfit("a scale that gives no whole size")
    return taken


def _resize(builder: Builder, node: Node) -> None:
    """Lower a Resize over plain numbers, or one that takes rows at irregular distances."""
    if node.get("mode", "nearest") != "nearest":
        _plain_move(builder, node)
        return
    held = builder.values[node.inputs[0]]
    made = (builder.plain if held.results is not None else builder.arranged)(node.inputs[0], held.order)
    taken = _taken(builder, node)
    for at, axis in enumerate(held.order):
        shape = list(builder.tensors[made].shape)
        if shape[at] != len(taken[axis]):
            shape[at] = len(taken[axis])
            target = builder.like(made, f"{node.outputs[0]}_{axis}", shape)
            made = builder.emit("GATHER", [made, builder.constant(taken[axis])], target, axis=at, batch_dims=0)
    builder.define(node.outputs[0], made, held.order)


def _linear(builder: Builder, node: Node, ramp: Array) -> None:
    """Lower a Resize between neighbors."""
    shape, name = builder.graph.shapes[node.outputs[0]], node.outputs[0]
    mode = node.get("coordinate_transformation_mode", "half_pixel")
    scales = builder.graph.constants.get(node.input(2), np.zeros(0))
    if mode not in ("half_pixel", "align_corners", "asymmetric") or len(shape) != 4 or shape[:2] != ramp.shape[:2]:
        raise Unfit(f"coordinates {mode}, or of other than rows and columns")
    if node.get("antialias", 0) or (scales.size and tuple(scales * ramp.shape) != shape):
        raise Unfit("antialias, or a scale that gives no whole size")
    source = builder.arranged(node.inputs[0], LAST)
    target, size = builder.like(source, name, [shape[axis] for axis in LAST]), builder.constant(shape[2:])
    options = {"align_corners": mode == "align_corners", "half_pixel_centers": mode == "half_pixel"}
    builder.define(name, builder.emit("RESIZE_BILINEAR", [source, size], target, **options), LAST)


def _plain_move(builder: Builder, node: Node) -> None:
    """Lower an operator that only moves or repeats plain numbers, or what is a constant with several scales."""
    graph, name = builder.graph, node.inputs[0]
    if (constant := builder.real(name)) is not None:
        if any(each and each not in graph.constants for each in node.inputs[1:]):
            raise Unfit("what it takes is computed")
        results = run(graph, node, [constant, *(graph.constants.get(each) for each in node.inputs[1:])])
        for output, result in zip(node.outputs, results, strict=True):
            graph.fix(output, result)
        return
    if name in builder.values and builder.values[name].results is not None:
        tensor = builder.plain(name, builder.values[name].order)
        builder.values[name] = replace(builder.values[name], tensor=tensor, results=None)
    _move(builder, node)


def _concat(builder: Builder, node: Node) -> None:
    order, sources = order_of(builder, node), list[int]()
    scale, target = builder.wanted(node.outputs[0]), builder.target(node.outputs[0], order)
    for name in node.inputs:
        constant = builder.real(name)
        if constant is None:
            sources.append(builder.arranged(name, order))
        else:
            sources.append(builder.constant(scale.stored(constant).transpose(order), "int8", scale, name))
    axis = order.index(int(node.attributes["axis"]) % len(order))
    builder.define(node.outputs[0], builder.emit("CONCATENATION", sources, target, axis=axis), order)


def _pad(builder: Builder, node: Node) -> None:
    pads, order = builder.graph.constants.get(node.inputs[1]), builder.value(node.inputs[0]).order
    fill = builder.real(node.input(2)) if node.input(2) else np.zeros(1, np.float32)
    if fill is None or pads is None or node.get("mode", "constant") != "constant" or node.input(3) or (pads < 0).any():
        raise Unfit("supported are constant paddings from 0 on of all dimensions, mode constant")
    source = builder.arranged(node.inputs[0], order)
    scale, table = builder.scale_of(source), pads.reshape(2, -1).T[list(order)]
    more = [builder.constant(table), builder.constant(scale.stored(fill.reshape(1)), "int8", scale)]
    target = builder.target(node.outputs[0], order, scale)
    builder.define(node.outputs[0], builder.emit("PADV2", [source, *more], target), order)


def _mean(builder: Builder, node: Node) -> None:
    value, keep = builder.value(node.inputs[0]), node.get("keepdims", 1)
    rank = len(value.order)
    axes = builder.graph.constants.get(node.input(1), np.array(node.get("axes", range(rank)))) % rank
    if node.kind == "GlobalAveragePool":
        axes = np.arange(2, rank)
    left = [axis for axis in range(rank) if keep or axis not in axes]
    order = tuple(left.index(axis) for axis in value.order if axis in left)
    where = builder.constant([value.order.index(axis) for axis in sorted(axes)])
    target = builder.target(node.outputs[0], order)
    builder.define(node.outputs[0], builder.emit("MEAN", [value.tensor, where], target, keep_dims=bool(keep)), order)


def _normalization(builder: Builder, node: Node) -> None:
    """Lower a BatchNormalization of a quantized value: a window of one element for each channel, with weights of 127.

    A scale for each channel makes its factor of that without a loss.
    """
    graph, (source, target) = builder.graph, (node.inputs[0], node.outputs[0])
    gain, offset = factors(builder, node)
    shape, order = graph.shapes[source], channels_last(len(graph.shapes[source]))
    names = [builder.free(f"{target} {what}") for what in ("weights", "bias", "source", "result")]
    # A factor of 0 has no scale: its weight is 0.
    steps = np.where(gain == 0, 1.0, np.abs(gain) / 127).astype(np.float32)
    stored = (127 * np.sign(gain)).astype(np.int8).reshape(-1, 1, 1, 1)
    graph.stored[names[0]] = stored, Scale(tuple(steps.tolist()), (0,) * len(gain))
    graph.fix(names[1], offset)
    wide = (*shape, 1, 1) if len(shape) == 2 else (*shape[:2], prod(shape[2:-1]), shape[-1])
    for old, new in ((source, names[2]), (target, names[3])):
        graph.shapes[new] = wide
        graph.scales |= {new: graph.scales[old]} if old in graph.scales else {}
    stored_as = [wide[axis] for axis in LAST]
    tensor = builder.arranged(source, order)
    builder.values[names[2]] = Held(builder.moved(tensor, builder.ramp(tensor).reshape(stored_as), names[2]), LAST)
    convolution(builder, Node("Conv", [names[2], *names[:2]], [names[3]], {"group": shape[1]}))
    made = builder.values[names[3]].tensor
    there = [shape[axis] for axis in order]
    builder.define(target, builder.moved(made, builder.ramp(made).reshape(there), target), order)


def _position(builder: Builder, node: Node, plain: bool = False) -> None:
    """Lower an ArgMax or ArgMin; indices are int32. ``plain``: of numbers without a scale."""
    value, name = builder.values[node.inputs[0]], node.outputs[0]
    value = replace(value, tensor=(builder.plain if plain else builder.arranged)(node.inputs[0], value.order))
    if node.get("select_last_index", 0):
        raise Unfit("of the last among equals")
    axis, keep = node.get("axis", 0) % len(value.order), node.get("keepdims", 1)
    order = tuple(each - (each > axis and not keep) for each in value.order if each != axis)
    source, where = builder.tensors[value.tensor], value.order.index(axis)
    shape = [size for at, size in enumerate(source.shape) if at != where]
    found = builder.emit(
        "ARG_MAX" if node.kind == "ArgMax" else "ARG_MIN",
        [value.tensor, builder.constant(np.int32(where))],
        builder.tensor(name, shape, None, "int32"),
    )
    if keep:
        found = builder.moved(found, builder.ramp(found).reshape(1, *shape), name)
        order = (axis, *order)
    builder.define(name, found, order)


LOWERINGS: Mapping[str, Callable[[Builder, Node], None]] = {
    **dict.fromkeys(_FUNCTIONS.split(), _only_function),
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(MOVES, _move),
    **dict.fromkeys(("ReduceMean", "GlobalAveragePool"), _mean),
    **dict.fromkeys(("Gemm", "MatMul"), product),
    **dict.fromkeys(("MaxPool", "AveragePool"), in_rows(pool)),
    **dict.fromkeys(("ArgMax", "ArgMin"), _position),
    "Conv": in_rows(convolution),
    "ConvTranspose": in_rows(transposed),
    "LeakyRelu": _leaky,
    "BatchNormalization": _normalization,
    "Concat": _concat,
    "Pad": _pad,
    "Softmax": _softmax,
    "QuantizeLinear": _quantize,
}
"""Each makes operators of the graph of a node, or raises Unfit."""
NUMBERS: Mapping[str, Callable[[Builder, Node], None]] = {
    **dict.fromkeys(MOVES, _plain_move),
    **dict.fromkeys(("ArgMax", "ArgMin"), partial(_position, plain=True)),
    "Resize": _resize,
    **PLAIN,
}
"""Those over plain numbers."""
FOLDED = ("DequantizeLinear", *FORMS, *DYNAMIC)
"""Operators that become a part of others."""
