"""What onnxruntime computes of a model, with its optimizations off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnxruntime


def run(model: bytes, inputs: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """The outputs for each vector of inputs."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    return [session.run(None, dict(zip(names, vector, strict=True))) for vector in inputs]
