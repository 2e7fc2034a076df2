"""Reads a model: what its operators become, over stored bytes or over plain numbers, and its ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from neuralart.errors import NeuralArtError
from neuralart_reference.model.graph import Model
from neuralart_reference.onnx.builder import Builder, Held, channels_last
from neuralart_reference.onnx.load import Node, Unfit, load
from neuralart_reference.onnx.lowerings import FOLDED, LOWERINGS, NUMBERS
from neuralart_reference.onnx.qoperator import spread
from neuralart_reference.onnx.quantization import MOVES, quantized


@np.errstate(all="ignore")
def parse(data: bytes, display: str, stem: str, asked: Sequence[Sequence[str]]) -> Model:
    """Read the bytes of an .onnx file.

    ``asked``: types of inputs and of outputs, then channel positions (``chfirst``, the model's own, or ``chlast``); of
    each nothing, one for all or one for each. An end that is quantized to what is asked for loses its float form.
    Raises NeuralArtError: the file is no ONNX model or damaged, or has something that is not supported; all such
    operators are named at once.
    """
    known = {*LOWERINGS, *NUMBERS}
    graph = load(data, display, {*known, *FOLDED}, spread)
    quantized(graph)
    builder = Builder(graph)
    inputs = [_input(builder, name, _at(asked[0], at), _at(asked[2], at)) for at, name in enumerate(graph.inputs)]
    for node in graph.nodes:
        if graph.skipped(node, known):
            continue
        if why := _lowered(builder, node):
            graph.problem(node, why)
    graph.check(data)
    outputs = list[int]()
    for at, name in enumerate(graph.outputs):
        outputs.append(_output(builder, name, _at(asked[1], at), _at(asked[3], at), {*inputs, *outputs}))
    operators = tuple(builder.operators)
    return Model(display, stem, tuple(builder.tensors), operators, tuple(inputs), tuple(outputs), channels_first=True)


def _lowered(builder: Builder, node: Node) -> str:
    """Lower a node over stored bytes, or else over plain numbers; empty, or why neither works."""
    held = [builder.values[name] for name in node.inputs if name in builder.values]
    tables = [NUMBERS] if node.kind in NUMBERS else []
    if node.kind in (*MOVES, "QuantizeLinear") or any(builder.tensors[each.tensor].dtype == "int8" for each in held):
        tables = [LOWERINGS, *tables] if node.kind in LOWERINGS else tables
    reasons = list[str]()
    for table in tables:
        reasons.append(builder.attempt(table[node.kind], node))
        if not reasons[-1]:
            return ""
    return reasons[0] if reasons else "not supported"


def _at(given: Sequence[str], number: int) -> str:
    return given[min(number, len(given) - 1)] if given else ""


def _input(builder: Builder, name: str, dtype: str, position: str) -> int:
    """The tensor that the application fills, and the value behind it."""
    graph, shape = builder.graph, builder.graph.shapes[name]
    order = channels_last(len(shape)) if position == "chlast" else tuple(range(len(shape)))
    stored, scale, found = [shape[axis] for axis in order], graph.scales.get(name), graph.dtype(name)
    readers = [node for node in graph.nodes if name in node.inputs]
    scales = {graph.scales.get(node.outputs[0]) for node in readers if node.kind == "QuantizeLinear"}
    if found == "float32" and dtype in ("int8", "uint8") and len(scales) == len(readers) == 1:
        scale, found = scales.pop(), "int8"
    tensor = inner = builder.tensor(name, stored, scale, found)
    if found == "uint8" and scale is not None:
        inner = builder.emit("QUANTIZE", [tensor], builder.tensor(f"{name}_int8", stored, scale))
    builder.values[name] = Held(inner, order)
    return tensor


def _output(builder: Builder, name: str, asked: str, position: str, ends: set[int]) -> int:
    """The tensor that the application reads, of the type that the model gives it; ``ends``: inputs, other outputs."""
    graph, where = builder.graph, f"{builder.graph.path}: output '{name}'"
    value, dtype = graph.same.get(name, name), graph.dtype(name)
    try:
        order = channels_last(len(graph.shape(value))) if position == "chlast" else None
        held = builder.values.get(value)
        numbers = held is None or held.results is not None
        tensor = builder.plain(value, order) if numbers else builder.arranged(value, order)
    except Unfit as problem:
        raise NeuralArtError(str(problem), where=where, hint="leave it out of the model") from problem
    found = builder.tensors[tensor]
    if found.dtype != "int8" or dtype == "int8" or (dtype == "float32" and asked in ("int8", "uint8")):
        if tensor in ends:
            sizes, steps = found.shape, [prod(found.shape[at + 1 :]) for at in range(len(found.shape))]
            copy = builder.like(tensor, name, sizes)
            return builder.emit("MOVE", [tensor], copy, sizes=sizes, steps=tuple(steps), start=0)
        builder.tensors[tensor] = replace(found, name=name)
        return tensor
    outer = builder.tensor(name, found.shape, builder.scale_of(tensor) if dtype == "uint8" else None, dtype)
    builder.tensors[tensor] = replace(found, name=f"{name}_int8")
    return builder.emit("QUANTIZE" if dtype == "uint8" else "DEQUANTIZE", [tensor], outer)
