"""LiteRT and onnxruntime beside the virtual NPU: an input, and every tensor of 8 bits that they compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]


def picture(height: int, width: int, channels: int, seed: int = 5) -> np.ndarray[Any, Any]:
    """Blocks of 8x8 with noise, 0 to 255: nearer to a photograph than noise alone."""
    rng = np.random.default_rng(seed)
    blocks = np.kron(rng.normal(0, 55, (height // 8 + 1, width // 8 + 1, channels)), np.ones((8, 8, 1)))
    return np.clip(blocks[:height, :width] + rng.normal(0, 12, (height, width, channels)) + 118, 0, 255)


def litert(model: Path, x: np.ndarray[Any, Any] | None = None) -> tuple[np.ndarray[Any, Any], Arrays, Arrays]:
    """Input, inner tensors with a sign (by number) and outputs (by name) of a .tflite."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    tool = Interpreter(str(model), experimental_preserve_all_tensors=True, experimental_op_resolver_type=resolver)
    tool.allocate_tensors()
    given = tool.get_input_details()[0]
    if x is None:
        image = picture(*given["shape"][1:])
        if given["dtype"] == np.uint8:
            x = image.astype(np.uint8)[None]
        elif given["dtype"] == np.int8:
            x = (image - 128).astype(np.int8)[None]
        else:
            x = (image / 255).astype(np.float32)[None]
    tool.set_tensor(given["index"], x)
    tool.invoke()
    inner = {}
    for detail in tool.get_tensor_details():
        if detail["dtype"] == np.int8 and len(detail["shape"]) in (2, 4) and detail["shape"][0] == 1:
            try:
                inner[str(detail["index"])] = tool.get_tensor(detail["index"])
            except ValueError:
                continue  # Constants and what no operator computed
    return x, inner, {d["name"]: tool.get_tensor(d["index"]) for d in tool.get_output_details()}


def onnx_tensors(model: Path, seed: int = 2) -> tuple[np.ndarray[Any, Any], Arrays]:
    """The quantized input (height, width, channels) and every quantized tensor of an ONNX model with Q/DQ pairs."""
    import onnx
    import onnxruntime

    graph = onnx.load(model)
    quantizers = [node for node in graph.graph.node if node.op_type == "QuantizeLinear"]
    for node in quantizers:
        graph.graph.output.append(onnx.helper.make_empty_tensor_value_info(node.output[0]))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options)
    rng = np.random.default_rng(seed)
    blocks = np.kron(rng.normal(0, 1, (1, 3, 20, 20)), np.ones((1, 1, 8, 8)))
    x = (blocks + rng.normal(0, 0.2, (1, 3, 160, 160))).astype(np.float32)
    names = [node.output[0] for node in quantizers]
    found: Arrays = {}
    for name, value in zip(names, session.run(names, {graph.graph.input[0].name: x}), strict=True):
        if value.ndim == 4 and value.shape[0] == 1:
            shift = 128 if value.dtype == np.uint8 else 0
            found[name] = value[0].transpose(1, 2, 0).astype(np.int16) - shift
    first = next(node.output[0] for node in quantizers if node.input[0] == graph.graph.input[0].name)
    # A buffer may hold a part of a joined tensor.
    for name in [name for name in found if "Concat" in name and found[name].shape[2] % 4 == 0]:
        part = found[name].shape[2] // 4
        found |= {f"{name}[{i}]": found[name][:, :, i * part : i * part + part] for i in range(4)}
    return found[first], found
