"""From an .onnx file to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neuralart.errors import NeuralArtError
from neuralart.model.graph import Model
from neuralart.model.onnx.builder import Builder, Value, channels_last
from neuralart.model.onnx.load import Problem, load
from neuralart.model.onnx.lowerings import LOWERINGS
from neuralart.model.onnx.quantization import quantized

FOLDED = ("BatchNormalization", "DequantizeLinear")
"""Operators that become a part of others."""


def parse(data: bytes, display: str, stem: str, asked: Sequence[Sequence[str]]) -> Model:
    """Read the bytes of an .onnx file.

    ``asked``: types of inputs and of outputs, then channel positions (``chfirst``, the model's own, or ``chlast``); of
    each nothing, one for all or one for each. An end that is quantized to what is asked for loses its float form.
    Raises NeuralArtError: the file is no ONNX model or damaged, or has something that is not supported; all such
    operators are named at once.
    """
    graph = load(data, display, {*LOWERINGS, *FOLDED})
    quantized(graph)
    builder = Builder(graph)
    inputs = [_input(builder, name, _at(asked[0], at), _at(asked[2], at)) for at, name in enumerate(graph.inputs)]
    for node in graph.nodes:
        if graph.skipped(node, LOWERINGS):
            continue
        try:
            LOWERINGS[node.kind](builder, node)
        except (Problem, ArithmeticError, LookupError, TypeError, ValueError) as error:  # Or attributes make no sense
            graph.problem(node, str(error))
    graph.check()
    outputs = [_output(builder, name, _at(asked[1], at), _at(asked[3], at)) for at, name in enumerate(graph.outputs)]
    operators = tuple(builder.operators)
    return Model(display, stem, tuple(builder.tensors), operators, tuple(inputs), tuple(outputs), channels_first=True)


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
    builder.values[name] = Value(inner, order)
    return tensor


def _output(builder: Builder, name: str, asked: str, position: str) -> int:
    """The tensor that the application reads, of the type that the model gives it."""
    graph, where = builder.graph, f"{builder.graph.path}: output '{name}'"
    value, dtype = graph.same.get(name, name), graph.dtype(name)
    try:
        if value not in builder.values:
            raise Problem("is a constant")
        tensor = builder.arranged(value, channels_last(len(graph.shapes[value])) if position == "chlast" else None)
    except Problem as problem:
        raise NeuralArtError(str(problem), where=where, hint="leave it out of the model") from problem
    found = builder.tensors[tensor]
    if found.dtype != "int8" or dtype == "int8" or (dtype == "float32" and asked in ("int8", "uint8")):
        builder.tensors[tensor] = replace(found, name=name)
        return tensor
    outer = builder.tensor(name, found.shape, builder.scale_of(tensor) if dtype == "uint8" else None, dtype)
    builder.tensors[tensor] = replace(found, name=f"{name}_int8")
    return builder.emit("QUANTIZE" if dtype == "uint8" else "DEQUANTIZE", [tensor], outer)
