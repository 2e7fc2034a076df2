"""QuantizeLinear and DequantizeLinear of 16 bits. What lies between them is computed in float32, and rounded to these
steps where the model says so.
"""

from __future__ import annotations

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
