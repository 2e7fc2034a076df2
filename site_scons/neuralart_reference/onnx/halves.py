"""Models in float16 are read as the same ones in float32: constants, inputs, outputs, and what a Cast makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

_HALF, _FLOAT = onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT


def _tensors(graph: Any) -> Iterator[Any]:
    """The constants of a graph, those of its nodes too."""
    yield from graph.initializer
    for node in graph.node:
        yield from (attribute.t for attribute in node.attribute if attribute.type == onnx.AttributeProto.TENSOR)


def widen(graph: Any) -> None:
    """Turn float16 into float32, in the graph itself. ValueError: a constant is damaged."""
    for tensor in _tensors(graph):
        if tensor.data_type == _HALF:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == _HALF:
            value.type.tensor_type.elem_type = _FLOAT
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == _HALF:
                attribute.i = _FLOAT
