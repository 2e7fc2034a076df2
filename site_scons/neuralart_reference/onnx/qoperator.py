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


def _dynamic(graph: OnnxGraph, node: Node) -> list[Node]:
    """DynamicQuantizeLinear in float: whole numbers, of which the zero point is taken already, which is 0 then."""
    value, (whole, scale, zero) = node.inputs[0], node.outputs[:3]

    def constant(value: float) -> str:
        name = f"{whole} {value:g}"
        graph.fix(name, np.array(value, np.float32))
        return name

    low, high, top, least = (constant(each) for each in (0.0, 255.0, 255.0, 1e-30))
    graph.fix(zero, np.zeros((), np.float32))
    made = {each: f"{whole} {each}" for each in ("most", "above", "few", "below", "range", "step")}
    made |= {each: f"{whole} {each}" for each in ("shift", "round", "point", "steps", "near", "moved", "kept")}
    all_of = {"keepdims": 0}
    return [
        Node("ReduceMax", [value], [made["most"]], all_of),
        Node("Max", [made["most"], low], [made["above"]]),
        Node("ReduceMin", [value], [made["few"]], all_of),
        Node("Min", [made["few"], low], [made["below"]]),
        Node("Sub", [made["above"], made["below"]], [made["range"]]),
        Node("Div", [made["range"], top], [made["step"]]),
        Node("Max", [made["step"], least], [scale]),
        Node("Div", [made["below"], scale], [made["shift"]]),
        Node("Neg", [made["shift"]], [made["round"]]),
        Node("Round", [made["round"]], [made["point"]]),
        Node("Div", [value, scale], [made["steps"]]),
        Node("Round", [made["steps"]], [made["near"]]),
        Node("Add", [made["near"], made["point"]], [made["moved"]]),
        Node("Clip", [made["moved"], low, high], [made["kept"]]),
        Node("Sub", [made["kept"], made["point"]], [whole]),
    ]


def _of_integers(graph: OnnxGraph, node: Node) -> list[Node]:
    """MatMulInteger and ConvInteger in float, of the whole numbers of a DynamicQuantizeLinear and constant weights."""
    weights, zero = graph.constants.get(node.inputs[1]), node.input(3)
    if weights is None or graph.dtype(node.inputs[0]) != "float32" or (zero and zero not in graph.constants):
        raise Unfit("supported are constant weights, and inputs of DynamicQuantizeLinear")
    points = graph.constants[zero].astype(np.float32) if zero else np.float32(0)
    if node.kind == "ConvInteger" and points.ndim:
        points = points.reshape(-1, *[1] * (weights.ndim - 1))
    graph.fix(f"{node.outputs[0]} weights", weights.astype(np.float32) - points)
    given = [node.inputs[0], f"{node.outputs[0]} weights"]
    return [Node(node.kind.removesuffix("Integer"), given, node.outputs, node.attributes)]


DYNAMIC = {"DynamicQuantizeLinear": _dynamic, "MatMulInteger": _of_integers, "ConvInteger": _of_integers}
"""Operators that quantize while the model runs, as ``quantize_dynamic`` of onnxruntime writes them."""


def spread(graph: OnnxGraph, node: Node) -> list[Node]:
    """The nodes that mean the same in the form QDQ; a node of another kind alone. Unfit: a scale is computed."""
    if node.kind in DYNAMIC:
        return DYNAMIC[node.kind](graph, node)
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
