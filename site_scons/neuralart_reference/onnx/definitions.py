"""Operators that are defined by others, as onnx.ai/onnx/operators has them, in forms that lose no digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuralart_reference.onnx.load import Node, OnnxGraph, Unfit

# Each line: result = operator, inputs. x, w, b, ...: the inputs of the node; y: its output; others are values of
# their own. A number is a constant; a name of an attribute is its value; an operator over [axes] keeps dimensions.
_LINES = {
    "Celu": "s = Div x alpha; n = Min s 0; e = Exp n; d = Sub e 1; m = Mul d alpha; r = Relu x; y = Add r m",
    "Elu": "n = Min x 0; e = Exp n; d = Sub e 1; m = Mul d alpha; r = Relu x; y = Add r m",
    "HardSigmoid": "m = Mul x alpha; a = Add m beta; y = Clip a 0 1",
    "Mish": "a = Abs x; n = Neg a; e = Exp n; o = Add e 1; l = Log o; r = Relu x; s = Add r l; t = Tanh s; y = Mul x t",
    "Reciprocal": "y = Div 1 x",
    "Selu": "n = Min x 0; e = Exp n; d = Sub e 1; m = Mul d alpha; r = Relu x; a = Add r m; y = Mul a gamma",
    "Softplus": "a = Abs x; n = Neg a; e = Exp n; o = Add e 1; l = Log o; r = Relu x; y = Add r l",
    "Softsign": "a = Abs x; d = Add a 1; y = Div x d",
    "Swish": "m = Mul x alpha; s = Sigmoid m; y = Mul x s",
    "ThresholdedRelu": "c = Greater x alpha; y = Where c x 0",
    "LayerNormalization": "m = ReduceMean x [axes]; d = Sub x m; q = Mul d d; v = ReduceMean q [axes]; "
    "a = Add v epsilon; s = Sqrt a; n = Div d s; g = Mul n w; y = Add g b",
    "InstanceNormalization": "m = ReduceMean x [axes]; d = Sub x m; q = Mul d d; v = ReduceMean q [axes]; "
    "a = Add v epsilon; s = Sqrt a; n = Div d s; g = Mul n w; y = Add g b",
    "RMSNormalization": "q = Mul x x; v = ReduceMean q [axes]; a = Add v epsilon; s = Sqrt a; n = Div x s; y = Mul n w",
    "MeanVarianceNormalization": "m = ReduceMean x [axes]; d = Sub x m; q = Mul d d; v = ReduceMean q [axes]; "
    "s = Sqrt v; a = Add s 1e-9; y = Div d a",
    "ReduceL1": "a = Abs x; y = ReduceSum a w",
    "ReduceL2": "q = Mul x x; s = ReduceSum q w; y = Sqrt s",
    "ReduceSumSquare": "q = Mul x x; y = ReduceSum q w",
    "ReduceLogSum": "s = ReduceSum x w; y = Log s",
}
_DEFAULTS = {
    **{("Celu", "alpha"): 1.0, ("Elu", "alpha"): 1.0, ("Swish", "alpha"): 1.0, ("ThresholdedRelu", "alpha"): 1.0},
    **{("HardSigmoid", "alpha"): 0.2, ("HardSigmoid", "beta"): 0.5},
    **{("Selu", "alpha"): 1.6732632423543772, ("Selu", "gamma"): 1.0507009873554805},
}
KINDS = tuple(_LINES)
"""The operators that are made of others."""


def defined(graph: OnnxGraph, node: Node) -> list[Node]:
    """The nodes that a node means. Unfit: it has outputs that only a training wants."""
    if any(node.outputs[1:]):
        raise Unfit("with more than one output")
    names = {**dict(zip("xwb", node.inputs, strict=False)), "y": node.outputs[0]}
    rank, nodes = len(graph.shape(node.inputs[0])), list[Node]()

    def constant(value: Any, dtype: Any = np.float32) -> str:
        name = f"{node.outputs[0]} {len(graph.constants)}"
        graph.fix(name, np.asarray(value, dtype))
        return name

    if node.kind == "InstanceNormalization":  # Its factors are those of channels.
        for letter in "wb":
            if (factors := graph.constants.get(names[letter])) is None:
                raise Unfit("its factors are computed")
            names[letter] = constant(factors.reshape(-1, *[1] * (rank - 2)))
    lines = _LINES[node.kind]
    if node.kind == "LayerNormalization" and not node.input(2):
        lines = lines.replace("g = Mul n w; y = Add g b", "y = Mul n w")
    for line in lines.split("; "):
        result, _, kind, *given = line.split()
        inputs, attributes = list[str](), dict[str, Any]()
        for word in given:
            if word == "[axes]":
                axes = _axes(node, rank)
                late = graph.opset >= (13 if kind == "ReduceSum" else 18)
                inputs += [constant(axes, np.int64)] if late else []
                attributes |= {"keepdims": 1} if late else {"keepdims": 1, "axes": axes}
            elif word in names or word in "wb":
                inputs.append(names.get(word, ""))
            elif word.isalpha():
                inputs.append(constant(node.get(word, _DEFAULTS.get((node.kind, word), 1e-5))))
            else:
                inputs.append(constant(float(word)))
        if kind == "ReduceSum":
            attributes |= _of_reduction(graph, node, inputs, constant)
        if kind == "Clip" and graph.opset < 11:
            raise Unfit("before opset 11")
        names.setdefault(result, f"{node.outputs[0]} {result}")
        nodes.append(Node(kind, inputs, [names[result]], attributes))
    return nodes


def _axes(node: Node, rank: int) -> list[int]:
    if node.kind == "InstanceNormalization":
        return list(range(2, rank))
    if node.kind == "MeanVarianceNormalization":
        return [int(axis) for axis in node.get("axes", [0, 2, 3])]
    return list(range(int(node.get("axis", -1)) % rank, rank))


def _of_reduction(graph: OnnxGraph, node: Node, inputs: list[str], constant: Any) -> dict[str, Any]:
    """The attributes of a ReduceSum, whose axes are an input since opset 13; of the others since opset 18."""
    attributes = {key: value for key, value in node.attributes.items() if key != "axes"}
    axes: Sequence[int] | None = node.get("axes")
    if axes is not None and graph.opset >= 13:
        inputs[1:] = [constant(axes, np.int64)]
        return attributes
    return attributes if axes is None else {**attributes, "axes": axes}
