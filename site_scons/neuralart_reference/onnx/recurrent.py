"""LSTM, GRU and RNN of ONNX, in float32: each direction is an operator over the whole sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neuralart_reference.model.graph import Operator
from neuralart_reference.onnx.builder import Builder
from neuralart_reference.onnx.load import Array, Node, Unfit

# Gates as the kernels have them, by their places in ONNX: forget, cell, output, input of i o f c; z r h.
_ORDERS = {"LSTM": (2, 3, 1, 0), "GRU": (0, 1, 2), "RNN": (0,)}
_ACTIVATIONS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
_FUNCTIONS: Mapping[tuple[str, ...], int] = {("Relu",): 1, ("Tanh",): 2}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _options(node: Node, directions: int) -> dict[str, Any]:
    """Options of the operator. Unfit: attributes ask for what no kernel has."""
    usual = _ACTIVATIONS[node.kind]
    found = tuple(map(_text, node.get("activations") or usual * directions))
    each = found[: len(usual)]
    if found != each * directions or (each != usual and (node.kind != "RNN" or each not in _FUNCTIONS)):
        raise Unfit(f"with activations {' '.join(found)}")
    for name in ("clip", "layout", "input_forget"):
        if node.get(name, 0):
            raise Unfit(f"with {name}")
    if node.kind == "RNN":
        return {"function": _FUNCTIONS[each]}
    return {"after": bool(node.get("linear_before_reset", 0))} if node.kind == "GRU" else {}


def _bias(node: Node, bias: Array, order: tuple[int, ...], after: bool) -> Array:
    """The biases of inputs and of the state, added up where nothing comes between them."""
    inputs, states = bias.reshape(2, len(order), -1)[:, list(order)]
    if node.kind != "GRU":
        return np.asarray(inputs + states)
    joined = inputs + states
    return np.stack([*joined[:2], inputs[2] if after else joined[2], states[2]])


def recurrent(builder: Builder, node: Node) -> None:
    """Lower a layer. Unfit: its weights are computed, or sequences have lengths of their own."""
    graph, name = builder.graph, next(each for each in node.outputs if each)
    directions = _DIRECTIONS[_text(node.get("direction", "forward"))]
    options = _options(node, len(directions))
    source = builder.plain(node.inputs[0], (0, 1, 2))
    steps, batches, inputs = builder.tensors[source].shape
    weights, recurrence = (builder.real(each) for each in node.inputs[1:3])
    if weights is None or recurrence is None:
        raise Unfit("its weights are computed")
    lengths = graph.constants.get(node.input(4)) if node.input(4) else np.array(steps)
    if lengths is None or (lengths != steps).any():
        raise Unfit("with sequences of different lengths")
    units, order = recurrence.shape[-1], _ORDERS[node.kind]
    bias = builder.real(node.input(3)) if node.input(3) else np.zeros((len(directions), 2 * len(order) * units))
    peephole = builder.real(node.input(7)) if node.input(7) else None
    if bias is None or (node.input(7) and peephole is None):
        raise Unfit("its biases or peephole weights are computed")
    ways, rows = len(directions), len(order) * units
    _check(weights, ways, rows, inputs)
    _check(recurrence, ways, rows, units)
    _check(bias, ways, 2 * rows)
    if peephole is not None:
        _check(peephole, ways, 3 * units)
    for each in filter(None, (node.input(5), node.input(6))):
        if tuple(graph.shape(each)) != (ways, batches, units):
            raise Unfit("its first state has another shape")
    parts = list[list[int]]()
    for number, reverse in enumerate(directions):
        given = [source]
        for matrix in (weights, recurrence):
            rows = matrix[number].reshape(len(order), units, -1)[list(order)]
            given.append(builder.constant(rows, "float32", name=f"{name}_weights"))
        given.append(builder.constant(_bias(node, bias[number], order, bool(options.get("after"))), "float32"))
        given += [_first(builder, each, number) for each in (node.input(5), node.input(6))]
        if peephole is not None:  # i o f; none of the cell
            i, o, f = peephole[number].reshape(3, units)
            given.append(builder.constant(np.stack([f, np.zeros_like(f), o, i]), "float32"))
        made = [builder.tensor(f"{name}_{number}", (steps, batches, units), None, "float32")]
        for kept in ("state", "cells")[: 2 if node.kind == "LSTM" else 1]:
            made.append(builder.tensor(f"{name}_{number}_{kept}", (batches, units), None, "float32"))
        chosen = {**options, "reverse": reverse}
        ends = (*given, *[-1] * (7 - len(given)))
        builder.operators.append(Operator(len(builder.operators), f"SEQUENCE_{node.kind}", ends, tuple(made), chosen))
        parts.append(made)
    for at, output in enumerate(node.outputs[: len(parts[0])]):
        if output:
            made_by = tuple(part[at] for part in parts)
            builder.define(output, _joined(builder, made_by, output, 0 if at else 1), tuple(range(3 if at else 4)))


def _check(matrix: Array, *shape: int) -> None:
    if matrix.shape != shape:
        raise Unfit(f"its weights have the shape {list(matrix.shape)}, expected {list(shape)}")


def _first(builder: Builder, name: str, number: int) -> int:
    """The first state of a direction; -1: zeros."""
    if not name:
        return -1
    tensor = builder.plain(name, (0, 1, 2))
    return builder.moved(tensor, builder.ramp(tensor)[number], f"{name}_{number}")


def _joined(builder: Builder, tensors: tuple[int, ...], name: str, axis: int) -> int:
    """The results of all directions along a dimension of their own."""
    wide = [builder.moved(each, np.expand_dims(builder.ramp(each), axis), f"{name}_{each}") for each in tensors]
    if len(wide) == 1:
        return wide[0]
    shape = [*builder.tensors[wide[0]].shape]
    shape[axis] = len(wide)
    return builder.emit("CONCATENATION", wide, builder.tensor(name, shape, None, "float32"), axis=axis)
