"""Which scale each value has: QuantizeLinear and DequantizeLinear become facts about values. What lies between them is
computed in integers, with the scale of its inputs and of its output. Operators that only move, select or cut off values
need none of their own: it comes from what is behind or in front of them. What lies between those of 16 bits is computed
in float32, and rounded to these steps where the model says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from neuralart_reference.onnx.load import Node, OnnxGraph, Scale, Unfit

TYPES = ("int16", "uint16")


def rounded(graph: OnnxGraph, node: Node, dtype: str, scale: Scale) -> None:
    """Take in a node of 16 bits. Unfit: stored integers are computed, or it has several scales for one value."""
    source, target = graph.same.get(node.inputs[0], node.inputs[0]), node.outputs[0]
    constant = graph.constants.get(source)
    if node.kind == "DequantizeLinear" and constant is not None:
        graph.fix(target, scale.real(constant))
        return
    if len(scale.scales) > 1 or constant is not None:
        raise Unfit(f"{dtype} with several scales, or of a constant")
    if node.kind == "DequantizeLinear":
        if graph.wide.get(source) != scale:
            raise Unfit(f"{dtype} that is computed, or was quantized with another scale")
        graph.same[target] = source
        return
    info, step, (point,) = np.iinfo(dtype), np.float32(scale.scales[0]), scale.points
    shape, number = graph.shapes[target], len(graph.constants)

    def emit(kind: str, name: str, *inputs: Any) -> str:
        names = []
        for each in inputs:
            if not isinstance(each, str):
                graph.fix(f"{target} {number} {len(graph.constants)}", np.asarray(each, np.float32))
                each = f"{target} {number} {len(graph.constants) - 1}"
            names.append(each)
        graph.types[name], graph.shapes[name] = helper.make_tensor_type_proto(TensorProto.FLOAT, shape), shape
        graph.nodes.append(Node(kind, names, [name]))
        return name

    steps = emit("Round", f"{target} steps", emit("Div", f"{target} quotient", source, step))
    kept = emit("Clip", f"{target} kept", steps, int(info.min) - point, int(info.max) - point)
    emit("Mul", target, kept, step)
    graph.wide[target] = scale


MOVES = (
    *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity", "Dropout", "Slice", "Split", "Gather"),
    *("DepthToSpace", "SpaceToDepth", "Expand", "Tile", "Resize"),
)
_OF_STORED = (*MOVES, "MaxPool", "ArgMax", "ArgMin", "Concat")  # The same of stored integers as of what they mean
_KEEPS = (*MOVES, "Relu", "Clip", "MaxPool", "Concat", "Pad")
# Their results lie between their inputs: the scale of the input serves where none is given.
_LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
_BETWEEN = (*_KEEPS, "AveragePool", "GlobalAveragePool", "ReduceMean")


def quantized(graph: OnnxGraph) -> None:
    """Find the scales of a graph; a QuantizeLinear that stays changes the scale of a value."""
    nodes, graph.nodes = graph.nodes, []
    # What only moves an input in float is quantized where the input would be.
    floats, ends = _in_float(graph, nodes), set(graph.inputs)
    stored = {*graph.outputs, *(each for node in nodes if node.kind != "DequantizeLinear" for each in node.inputs)}
    for node in nodes:
        if node.kind in MOVES and node.inputs[0] in ends:
            ends.update(node.outputs)
        try:
            if node.kind not in ("QuantizeLinear", "DequantizeLinear"):
                bytes_in = any(
                    graph.same.get(name, name) in graph.scales for name in node.inputs if _of_bytes(graph, name)
                )
                if bytes_in and node.kind not in _OF_STORED:
                    raise Unfit("computes with stored integers")
                node.inputs = [graph.same.get(name, name) for name in node.inputs]
                graph.nodes.append(node)
            elif not graph.skipped(node, (node.kind,)):
                _linear(graph, node, floats | ends, stored)
        except Unfit as problem:
            graph.problem(node, str(problem))
    _fuse(graph)
    _spread(graph)


def _of_bytes(graph: OnnxGraph, name: str) -> bool:
    return name in graph.shapes and graph.dtype(name) in ("int8", "uint8")


def _in_float(graph: OnnxGraph, nodes: Sequence[Node]) -> set[str]:
    """Values that something reads in float, besides what quantizes them: they are not bytes alone."""
    found = {*graph.outputs}
    for node in reversed(nodes):
        if node.kind != "QuantizeLinear" and not (node.kind in _KEEPS and found.isdisjoint(node.outputs)):
            found.update(node.inputs)
    return found


def _linear(graph: OnnxGraph, node: Node, floats: Container[str], stored: Container[str]) -> None:
    """Take in a QuantizeLinear or DequantizeLinear. ``floats``: values that stay floats where they are quantized;
    ``stored``: those that something reads as they are.
    """
    source, target = graph.same.get(node.inputs[0], node.inputs[0]), node.outputs[0]
    constant, scale = graph.constants.get(source), graph.constants.get(node.inputs[1])
    dtype = graph.dtype(target if node.kind == "QuantizeLinear" else node.inputs[0])
    dtype = TYPES[0] if source in graph.wide and node.kind == "DequantizeLinear" else dtype
    if scale is None or (node.input(2) and node.input(2) not in graph.constants):
        raise Unfit("its scale is computed")
    if dtype not in ("int8", "uint8", "int32", *TYPES) or node.get("block_size", 0):
        raise Unfit(f"{dtype}, or in blocks; supported are 8 and 16 bits")
    values = scale.astype(np.float32).ravel()
    points = np.ravel(graph.constants.get(node.input(2), np.zeros(values.size))).astype(np.int64)
    points -= 128 if dtype == "uint8" else 0
    if not (np.isfinite(values).all() and (values > 0).all() and values.size == points.size):
        raise Unfit("a scale that is not a positive number")
    rank = len(graph.shapes[target])
    found = Scale(tuple(values.tolist()), tuple(points.tolist()), node.get("axis", 1) % rank if values.size > 1 else 0)
    if dtype in TYPES:
        if target in stored and node.kind == "QuantizeLinear":
            raise Unfit(f"{dtype} that is an output, or computed with")
        rounded(graph, node, dtype, found)
        return
    if constant is not None:
        graph.stored[target] = (
            (constant.astype(np.int16) - 128).astype(np.int8) if dtype == "uint8" else constant,
            found,
        )
        return
    if values.size > 1:
        raise Unfit("several scales for a value that is no constant")
    if node.kind == "DequantizeLinear" and graph.scales.setdefault(source, found) != found:
        raise Unfit("another scale than the value was quantized with")
    if node.kind == "QuantizeLinear" and source not in floats:
        graph.scales.setdefault(source, found)
    if graph.scales.get(source) == found:
        graph.same[target] = source
    else:
        graph.scales[target], node.inputs[0] = found, source
        graph.nodes.append(node)


def _readers(graph: OnnxGraph) -> Counter[str]:
    """How often each value is read, by operators and as an output of the model."""
    counted = Counter(name for node in graph.nodes for name in node.inputs)
    counted.update(graph.same.get(name, name) for name in graph.outputs)
    return counted


def _fuse(graph: OnnxGraph) -> None:
    """Let a layer do the BatchNormalization that follows in float."""
    counted, nodes, writers = _readers(graph), graph.nodes, dict[str, Node]()
    graph.nodes = []
    for node in nodes:
        source = next((name for name in node.inputs if name in writers), "")
        constants = [graph.constants[name].astype(np.float64) for name in node.inputs if name in graph.constants]
        before, alone = writers.get(source), counted[source] == 1 and source not in graph.scales
        if before is not None and alone and node.kind == "BatchNormalization" and len(constants) == 4:
            before.affine, before.outputs = node.factors(*constants), node.outputs
        else:
            graph.nodes.append(node)
            layer = node.kind == "Conv" or (node.kind in ("Gemm", "MatMul") and node.inputs[1] not in graph.shapes)
            writers.update({node.outputs[0]: node} if layer else {})


def _spread(graph: OnnxGraph) -> None:
    """Give values without a scale that of what is made of them, or else of what they are made of."""
    counted = _readers(graph)
    for node in reversed(graph.nodes):
        scale = graph.scales.get(node.outputs[0])
        for name in node.inputs if node.kind == "Concat" else node.inputs[:1]:
            # Other readers would have to live with what is cut off here.
            if node.kind in _KEEPS and scale and name in graph.shapes and counted[name] == len(node.outputs) == 1:
                graph.scales.setdefault(name, scale)
    wanted = _of_layers(graph)
    for node in graph.nodes:
        given = node.inputs if node.kind == "Concat" else node.inputs[:1]
        scale = graph.scales.get(given[0]) if given else None
        if not scale or any(graph.scales.get(name) != scale for name in given):
            continue
        if node.kind in _BETWEEN and (_exact(graph, node, scale) or not wanted.isdisjoint(node.outputs)):
            for name in node.outputs:
                graph.scales.setdefault(name, scale)


def _of_layers(graph: OnnxGraph) -> set[str]:
    """Values that only a layer of bytes has in front of it, which would need its weights in float otherwise."""
    found = set[str]()
    for node in reversed(graph.nodes):
        layer = node.kind in _LAYERS and node.outputs[0] in graph.scales
        if layer or (node.kind in _BETWEEN and not found.isdisjoint(node.outputs)):
            found.add(node.inputs[0])
    return found


def _exact(graph: OnnxGraph, node: Node, scale: Scale) -> bool:
    """If what an operator makes of values on a grid lies on that grid, too."""
    limits = [node.get(key) for key in ("min", "max", "value")]
    constants = node.inputs[1:3] if node.kind == "Clip" else node.inputs[2:3] if node.kind == "Pad" else ()
    limits += [graph.constants.get(name, np.array(np.nan)).item() for name in constants if name]
    steps = [limit / scale.scales[0] + scale.points[0] for limit in limits if limit is not None]
    on = all(abs(step - np.rint(step)) < 1e-3 or abs(step) > 129 for step in steps)
    smooth = node.kind == "Resize" and node.get("mode", "nearest") != "nearest"
    return on and not (smooth or node.kind in _BETWEEN[len(_KEEPS) :])
