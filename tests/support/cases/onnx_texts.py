"""Small ONNX models as text, of the kinds that tools write: each is what stands between two braces of a graph."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper, parser


def model(inputs: str, body: str, outputs: str = "float y", opset: int = 17, **constants: object) -> onnx.ModelProto:
    """A model of ONNX's text form (https://onnx.ai/onnx/repo-docs/Syntax.html) with constants by name."""
    opsets = f'opset_import: ["" : {opset}, "com.microsoft" : 1]'
    made: onnx.ModelProto = parser.parse_model(f"<ir_version: 8, {opsets}> g ({inputs}) => ({outputs}) {{ {body} }}")
    for name, value in constants.items():
        array = np.asarray(value)
        stored = array.astype(np.float32) if array.dtype == np.float64 else array
        made.graph.initializer.append(numpy_helper.from_array(stored, name))
    for value in made.graph.output:  # Exporters leave shapes out, or open.
        value.type.tensor_type.ClearField("shape")
    return made


def drawn(rng: np.random.Generator, *shape: int, spread: float = 1.0) -> np.ndarray:
    """Random float32."""
    return rng.normal(0, spread, shape).astype(np.float32)
