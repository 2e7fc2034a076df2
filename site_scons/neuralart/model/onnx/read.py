"""From an .onnx file to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neuralart.errors import NeuralArtError
from neuralart.model.graph import Model
from neuralart.model.onnx import elementwise, movement, windows
from neuralart.model.onnx.builder import Builder, Value, channels_last
from neuralart.model.onnx.graph import Problem
from neuralart.model.onnx.load import load
from neuralart.model.onnx.quantization import quantized

LOWERINGS = {**windows.LOWERINGS, **elementwise.LOWERINGS, **movement.LOWERINGS}
"""ONNX operator -> what makes operators of the graph of it, or raises a Problem."""
FOLDED = ("BatchNormalization", "DequantizeLinear")
"""Operators that become a part of others."""


def parse(data: bytes, display: str, stem: str, positions: Sequence[Sequence[str]]) -> Model:
    """Read the bytes of an .onnx file.

    ``positions``: channel positions asked for, of inputs and of outputs (``chfirst``, the model's own, or ``chlast``),
    one for all or one for each. Raises NeuralArtError: the file is no ONNX model or damaged, or has something that is
    not supported; all such operators are named at once.
    """
    graph = load(data, display, {*LOWERINGS, *FOLDED})
    quantized(graph)
    builder = Builder(graph)
    inputs = [_input(builder, name, _asked(positions[0], at)) for at, name in enumerate(graph.inputs)]
    for node in graph.nodes:
        if graph.skipped(node, LOWERINGS):
            continue
        try:
            LOWERINGS[node.kind](builder, node)
        except Problem as problem:
            graph.problem(node, str(problem))
    graph.check()
    outputs = [_output(builder, name, _asked(positions[1], at)) for at, name in enumerate(graph.outputs)]
    operators = builder.needed(outputs)
    return Model(display, stem, tuple(builder.tensors), operators, tuple(inputs), tuple(outputs), channels_first=True)


def _asked(positions: Sequence[str], number: int) -> bool:
    """Are channels asked for as the last dimension?"""
    return bool(positions) and positions[min(number, len(positions) - 1)] == "chlast"


def _input(builder: Builder, name: str, last: bool) -> int:
    """The tensor that the application fills, and the value behind it."""
    graph, shape = builder.graph, builder.graph.shapes[name]
    order = channels_last(len(shape)) if last else tuple(range(len(shape)))
    stored, scale = [shape[axis] for axis in order], graph.scales.get(name)
    tensor = inner = builder.tensor(name, stored, scale, graph.dtypes[name])
    if graph.dtypes[name] == "uint8" and scale is not None:
        inner = builder.emit("QUANTIZE", [tensor], builder.tensor(f"{name}_int8", stored, scale))
    builder.values[name] = Value(inner, order)
    return tensor


def _output(builder: Builder, name: str, last: bool) -> int:
    """The tensor that the application reads, of the type that the model gives it."""
    graph, where = builder.graph, f"{builder.graph.path}: output '{name}'"
    value, dtype = graph.same.get(name, name), graph.dtypes.get(name, "")
    try:
        if value not in builder.values:
            raise Problem("is a constant")
        tensor = builder.arranged(value, channels_last(len(graph.shapes[value])) if last else None)
    except Problem as problem:
        raise NeuralArtError(str(problem), where=where, hint="leave it out of the model") from problem
    found = builder.tensors[tensor]
    if found.dtype != "int8" or dtype == "int8":
        builder.tensors[tensor] = replace(found, name=name)
        return tensor
    outer = builder.tensor(name, found.shape, builder.scale_of(tensor) if dtype == "uint8" else None, dtype)
    builder.tensors[tensor] = replace(found, name=f"{name}_int8")
    return builder.emit("QUANTIZE" if dtype == "uint8" else "DEQUANTIZE", [tensor], outer)
