"""Which scale each value has: QuantizeLinear and DequantizeLinear become facts about values.

What lies between them is computed in integers, with the scale of its inputs and of its output. Operators that only
move, select or cut off values need none of their own: it comes from what is behind or in front of them.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from neuralart.model.onnx.graph import Array, Graph, Node, Problem, Scale

MOVES = (
    *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity", "Dropout", "Slice", "Split", "Gather"),
    *("DepthToSpace", "SpaceToDepth", "Expand", "Tile", "Resize"),
)
_KEEPS = (*MOVES, "Relu", "Clip", "MaxPool", "Concat", "Pad")
# Their results lie between their inputs: the scale of the input serves where none is given.
_BETWEEN = (*_KEEPS, "AveragePool", "GlobalAveragePool", "ReduceMean")


def quantized(graph: Graph) -> None:
    """Find the scales of a graph; a QuantizeLinear that stays changes the scale of a value."""
    nodes, graph.nodes = graph.nodes, []
    written = {name for node in nodes if "uantizeLinear" not in node.kind for name in node.outputs}
    for node in nodes:
        node.inputs = [graph.same.get(name, name) for name in node.inputs]
        try:
            if node.kind not in ("QuantizeLinear", "DequantizeLinear"):
                graph.nodes.append(node)
            elif not graph.skipped(node, (node.kind,)):
                _linear(graph, node, _scale(graph, node), written)
        except Problem as problem:
            graph.problem(node, str(problem))
    _fuse_affine(graph)
    _spread(graph)


def _scale(graph: Graph, node: Node) -> Scale:
    """The scale that a QuantizeLinear or DequantizeLinear names."""
    source = node.inputs[0]
    scale, zero = graph.constants.get(node.input(1)), graph.constants.get(node.input(2))
    if scale is None or (node.input(2) and zero is None):
        raise Problem("its scale is computed")
    if zero is None:
        stored = graph.constants[source].dtype.name if source in graph.constants else graph.dtypes[source]
        zero = np.zeros(scale.shape, "uint8" if node.kind == "QuantizeLinear" else stored)
    if zero.dtype.name not in ("int8", "uint8", "int32"):
        raise Problem(f"{zero.dtype.name}, supported are int8 and uint8")
    values = scale.astype(np.float32).ravel()
    if node.get("block_size", 0) or scale.ndim > 1 or values.size != zero.size:
        raise Problem("in blocks")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise Problem("a scale that is not a positive number")
    points = (zero.astype(np.int64) - (128 if zero.dtype == np.uint8 else 0)).ravel()
    rank = len(graph.shapes[source]) if source in graph.shapes else graph.constants[source].ndim
    return Scale(tuple(values.tolist()), tuple(points.tolist()), node.get("axis", 1) % rank if values.size > 1 else 0)


def _linear(graph: Graph, node: Node, scale: Scale, written: set[str]) -> None:
    source, target = node.inputs[0], node.outputs[0]
    constant = graph.constants.get(source)
    if constant is not None:
        turned = (constant.astype(np.int16) - 128).astype(np.int8) if constant.dtype == np.uint8 else constant
        graph.stored[target] = (turned, scale)
        return
    if len(scale.scales) != 1:
        raise Problem("several scales for a value that is no constant")
    if node.kind == "DequantizeLinear" and graph.scales.setdefault(source, scale) != scale:
        raise Problem("another scale than the value was quantized with")
    if node.kind == "QuantizeLinear" and source in written:
        graph.scales.setdefault(source, scale)
    if graph.scales.get(source) == scale:
        graph.same[target] = source
    else:
        graph.scales[target] = scale
        graph.nodes.append(node)


def readers(graph: Graph) -> Counter[str]:
    """How often each value is read, by operators and as an output of the model."""
    counted = Counter(name for node in graph.nodes for name in node.inputs)
    counted.update(graph.same.get(name, name) for name in graph.outputs)
    return counted


def _fuse_affine(graph: Graph) -> None:
    """Let a convolution or a product do the BatchNormalization, Mul or Add per channel that follows in float."""
    counted, nodes, writers = readers(graph), graph.nodes, dict[str, Node]()
    graph.nodes = []
    for node in nodes:
        source = next((name for name in node.inputs if name in writers), "")
        found = None
        if source and counted[source] == 1 and source not in graph.scales:
            found = _affine(graph, node, 1 if writers[source].kind == "Conv" else len(graph.shapes[source]) - 1)
        if found is not None:
            before = writers[source]
            one, zero = before.affine or (np.ones(1), np.zeros(1))
            before.affine, before.outputs = (one * found[0], zero * found[0] + found[1]), node.outputs
            writers[node.outputs[0]] = before
            continue
        graph.nodes.append(node)
        if node.kind in ("Conv", "Gemm", "MatMul"):
            writers[node.outputs[0]] = node


def _affine(graph: Graph, node: Node, channel: int) -> tuple[Array, Array] | None:
    """What a node multiplies each channel (a dimension) with and adds to it; None if it does something else."""
    constants = [graph.constants.get(name) for name in node.inputs]
    if node.kind == "BatchNormalization" and channel == 1 and not any(each is None for each in constants[1:5]):
        gain, offset, mean, variance = (np.asarray(each, np.float64) for each in constants[1:5])
        factor = gain / np.sqrt(variance + node.get("epsilon", 1e-5))
        return factor, offset - mean * factor
    value = next((each for each in constants if each is not None), None)
    rank = len(graph.shapes[node.outputs[0]])
    if node.kind not in ("Add", "Mul") or value is None or value.ndim > rank:
        return None
    full = (1,) * (rank - value.ndim) + value.shape
    if any(size != 1 for axis, size in enumerate(full) if axis != channel):
        return None
    value = value.astype(np.float64).ravel()
    return (value, np.zeros_like(value)) if node.kind == "Mul" else (np.ones_like(value), value)


def _spread(graph: Graph) -> None:
    """Give values without a scale that of what is made of them, or else of what they are made of."""
    counted = readers(graph)
    for node in reversed(graph.nodes):
        found = {graph.scales.get(name) for name in node.outputs if name}
        for name in node.inputs if node.kind == "Concat" else node.inputs[:1]:
            scale = next(iter(found))
            # Other readers would have to live with what is cut off here.
            if node.kind in _KEEPS and len(found) == 1 and scale and name in graph.shapes and counted[name] == 1:
                graph.scales.setdefault(name, scale)
    for node in graph.nodes:
        given = node.inputs if node.kind == "Concat" else node.inputs[:1]
        scale = graph.scales.get(given[0]) if given else None
        if node.kind in _BETWEEN and scale and all(graph.scales.get(name) == scale for name in given):
            for name in node.outputs:
                graph.scales.setdefault(name, scale)
