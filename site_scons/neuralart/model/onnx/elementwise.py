"""Operators that take values one by one, and Softmax.

Whatever is a function of one stored value, over however many operators, becomes one table of 256 entries with exactly
the results that floats would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from neuralart.model.onnx.builder import GRID, Builder, Order, Value
from neuralart.model.onnx.graph import Array, Node, Problem, Scale
from neuralart.model.onnx.load import run

_FUNCTIONS = (
    *(
        "Relu",
        "Clip",
        "LeakyRelu",
        "PRelu",
        "Sigmoid",
        "HardSigmoid",
        "HardSwish",
        "Tanh",
        "Elu",
        "Selu",
        "Celu",
        "Mish",
    ),
    *("Softplus", "Softsign", "ThresholdedRelu", "Gelu", "Erf", "Exp", "Log", "Sqrt", "Reciprocal", "Abs", "Neg"),
    *("Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Atan", "Pow", "Div"),
)
_BINARY = {"Add": "ADD", "Sub": "SUB", "Mul": "MUL", "Max": "MAXIMUM", "Min": "MINIMUM"}
_SOFTMAX = Scale((1 / 256,), (-128,))


def _function(builder: Builder, node: Node) -> bool:
    """Lower a function of one stored value; False if the node is none."""
    given, bases = list[Array | None](), set[tuple[int, Order]]()
    for name in node.inputs:
        constant, value = builder.graph.constants.get(name), builder.values.get(name)
        if name in builder.graph.stored:
            stored, scale = builder.graph.stored[name]
            constant = scale.real(stored)
        if value is not None:
            bases.add((value.tensor, value.order))
            results = value.results
            given.append(builder.scale_of(value.tensor).real(GRID) if results is None else results)
        elif name and (constant is None or constant.size != 1):
            return False
        else:
            given.append(None if constant is None else constant.reshape(()))
    if len(bases) != 1:
        return False
    ((tensor, order),) = bases
    results, name = run(builder.graph, node, given)[0], node.outputs[0]
    if results.dtype != np.float32 or builder.tensors[tensor].elements != np.prod(builder.graph.shapes[name]):
        return False
    if len(order) != len(builder.graph.shapes[name]):
        return False
    builder.values[name] = Value(tensor, order, results)
    if name in builder.graph.scales:
        wanted = builder.graph.scales[name]
        builder.values[name] = Value(builder.table(name, tensor, wanted.stored(results), wanted), order)
    return True


def _only_function(builder: Builder, node: Node) -> None:
    if not _function(builder, node):
        raise Problem("not a function of one computed value")


def _operand(builder: Builder, name: str, order: Order) -> int:
    """An input of an operator over several values, with the dimensions of the output."""
    if name in builder.graph.stored:
        stored, scale = builder.graph.stored[name]
        if len(scale.scales) > 1 or stored.dtype != np.int8:
            raise Problem("a constant with several scales")
        full = stored.reshape((1,) * (len(order) - stored.ndim) + stored.shape)
        return builder.constant(full.transpose(order), "int8", scale, name)
    if name in builder.values and len(builder.graph.shapes[name]) < len(order):
        plain = builder.arranged(name)
        full = builder.ramp(plain).reshape((1,) * (len(order) - builder.ramp(plain).ndim) + builder.ramp(plain).shape)
        return builder.moved(plain, full.transpose(order), f"{name}_ordered")
    return builder.arranged(name, order)


def order_of(builder: Builder, node: Node) -> Order:
    """The order for a node over several values: that of the first of full rank that is not stored as it is."""
    plain = tuple(range(len(builder.graph.shapes[node.outputs[0]])))
    orders = [builder.values[name].order for name in node.inputs if name in builder.values]
    return next((order for order in orders if len(order) == len(plain) and order != plain), plain)


def _binary(builder: Builder, node: Node) -> None:
    if _function(builder, node):
        return
    if len(node.inputs) != 2:
        raise Problem(f"{len(node.inputs)} inputs, supported are 2")
    order, target_name, cut = order_of(builder, node), node.outputs[0], node.kind in ("Max", "Min")
    operands = [_operand(builder, name, order) for name in node.inputs]
    target = builder.target(target_name, order)
    if cut:  # Their kernels take one scale for all.
        operands = [builder.rescaled(target_name, each, builder.scale_of(target)) for each in operands]
    options = {} if cut else {"fused_activation_function": "NONE"}
    builder.define(target_name, builder.emit(_BINARY[node.kind], operands, target, **options), order)


def _softmax(builder: Builder, node: Node) -> None:
    name, rank, old = node.outputs[0], len(builder.graph.shapes[node.outputs[0]]), builder.graph.opset < 13
    axis = int(node.get("axis", 1 if old else -1)) % rank
    if old and axis != rank - 1:
        raise Problem("over several dimensions, as before opset 13")
    order = (*(each for each in order_of(builder, node) if each != axis), axis)
    source, target = builder.arranged(node.inputs[0], order), builder.target(name, order, _SOFTMAX)
    builder.define(name, builder.emit("SOFTMAX", [source], target, beta=1.0), order)


def _quantize(builder: Builder, node: Node) -> None:
    """Lower a change of scale, or the quantization of an input of the model."""
    name, value, scale = node.outputs[0], builder.values[node.inputs[0]], builder.wanted(node.outputs[0])
    if builder.tensors[value.tensor].dtype == "float32":
        builder.define(name, builder.emit("QUANTIZE", [value.tensor], builder.target(name, value.order)), value.order)
    else:
        results = builder.scale_of(value.tensor).real(GRID) if value.results is None else value.results
        builder.values[name] = Value(builder.table(name, value.tensor, scale.stored(results), scale), value.order)


LOWERINGS: Mapping[str, Callable[[Builder, Node], None]] = {
    **dict.fromkeys(_FUNCTIONS, _only_function),
    **dict.fromkeys(_BINARY, _binary),
    "Softmax": _softmax,
    "QuantizeLinear": _quantize,
}
