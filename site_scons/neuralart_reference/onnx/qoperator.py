"""The form QOperator: operators that read and write stored integers become three of the form QDQ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralart_reference.onnx.load import Node, OnnxGraph, Unfit


class Form(NamedTuple):
    """Where an operator has its values; behind each follow its scale and its zero point."""

    kind: str  # What it is in float
    values: tuple[int, ...] = (0,)
    result: int = 3  # The scale of the result, the zero point behind it
    bias: int = -1


FORMS = {
    "QLinearConv": Form("Conv", (0, 3), 6, 8),
    "QGemm": Form("Gemm", (0, 3), 7, 6),
    "QLinearConcat": Form("Concat", (), 0),
    **{f"QLinear{kind}": Form(kind, (0, 3), 6) for kind in ("MatMul", "Add", "Mul")},
    **{f"QLinear{kind}": Form(kind) for kind in ("AveragePool", "GlobalAveragePool", "LeakyRelu")},
    **{f"QLinear{kind}": Form(kind) for kind in ("Sigmoid", "Softmax")},
}
"""QLinearConv and QLinearMatMul are ONNX's, the others onnxruntime's (domain com.microsoft)."""


def spread(graph: OnnxGraph, node: Node) -> list[Node]:
    """The nodes that mean the same in the form QDQ; a node of another kind alone. Unfit: a scale is computed."""
    form, name = FORMS.get(node.kind), node.outputs[0]
    if form is None:
        return [node]
    if node.get("channels_last", 0) or (node.get("opset", graph.opset) < 13) != (graph.opset < 13):
        raise Unfit("with channels last, or as another opset has it")
    positions = range(2, len(node.inputs), 3) if node.kind == "QLinearConcat" else form.values
    nodes, reals = list[Node](), list[str]()
    weights = node.kind in ("QLinearConv", "QLinearMatMul", "QGemm")
    for number, at in enumerate(positions):
        # Several scales of weights: one for each output, which come first or, of a product, last.
        axis = 0 if node.kind == "QLinearConv" or node.get("transB", 0) else 1
        reals.append(f"{name}_real{number}")
        given = [node.input(at + step) for step in range(3)]
        nodes.append(Node("DequantizeLinear", given, [reals[-1]], {"axis": axis} if weights and number else {}))
    if form.bias >= 0 and node.input(form.bias):
        factors = [graph.constants.get(node.input(at + 1)) for at in form.values]
        if factors[0] is None or factors[1] is None:
            raise Unfit("its scale is computed")
        steps = np.asarray(np.ravel(factors[0] * factors[1]), np.float32)
        graph.fix(f"{name}_steps", steps if steps.size > 1 else steps.reshape(()))
        reals.append(f"{name}_bias")
        nodes.append(Node("DequantizeLinear", [node.input(form.bias), f"{name}_steps"], reals[-1:], {"axis": 0}))
    kept = {key: value for key, value in node.attributes.items() if key not in ("channels_last", "opset")}
    scale = [node.input(form.result + step) for step in range(2)]
    nodes.append(Node(form.kind, reals, [f"{name}_result" if scale[0] else name], kept))
    if scale[0]:
        nodes.append(Node("QuantizeLinear", [f"{name}_result", *scale], [name]))
    return nodes
