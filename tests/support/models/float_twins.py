"""Twins of a quantized model whose operators, all or from one on, compute in float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from neuralart_reference.model import tflite
from neuralart_reference.model.graph import Tensor
from tflite_writer import ModelWriter


def _real(tensor: Tensor) -> np.ndarray:
    stored = np.frombuffer(tensor.data or b"", tensor.dtype).reshape(tensor.shape)
    quantization = tensor.quantization
    assert quantization is not None
    along = [1] * len(tensor.shape)
    if quantization.per_channel:
        along[quantization.axis] = -1
    scales, zeros = (
        np.array(v).reshape(along if len(v) > 1 else -1) for v in (quantization.scales, quantization.zero_points)
    )
    return np.asarray((stored.astype(np.float64) - zeros) * scales, np.float32).reshape(tensor.shape)


def twin(path: Path, first: int = 0) -> bytes:
    """The model with its operators from ``first`` on in float32; a DEQUANTIZE stands where its integers end."""
    model, writer = tflite.read(path), ModelWriter()
    kept: dict[int, int] = {}
    real: dict[int, int] = {}

    def as_it_is(number: int) -> int:
        if number < 0 or number in kept:
            return kept.get(number, -1)
        tensor, q = model.tensors[number], model.tensors[number].quantization
        ends = (q.scales, q.zero_points, tensor.data, q.axis) if q else (None, 0, tensor.data)
        kept[number] = writer.tensor(tensor.name, tensor.shape, tensor.dtype, *ends)
        return kept[number]

    def as_real(number: int) -> int:
        if number < 0 or number in real:
            return real.get(number, -1)
        tensor = model.tensors[number]
        if tensor.quantization is None and tensor.dtype != "float32":
            return as_it_is(number)
        if tensor.data is not None:
            data = _real(tensor) if tensor.quantization else np.frombuffer(tensor.data, np.float32)
            real[number] = writer.tensor(f"{tensor.name}_real", tensor.shape, "float32", data=data)
            return real[number]
        real[number] = writer.tensor(f"{tensor.name}_real", tensor.shape, "float32")
        if number in kept:
            writer.op("DEQUANTIZE", [kept[number]], [real[number]])
        return real[number]

    for op in model.operators:
        options = {name: value for name, value in op.options.items() if name != "quantized_bias_type"}
        if op.index < first:
            ends = [as_it_is(number) for number in op.inputs], [as_it_is(number) for number in op.outputs]
        elif op.kind in ("QUANTIZE", "DEQUANTIZE"):
            real[op.outputs[0]] = as_real(op.inputs[0])
            continue
        else:
            ends = [as_real(number) for number in op.inputs], [as_real(number) for number in op.outputs]
        writer.op(op.kind, *ends, **options)
    inputs = [kept[number] if number in kept and first else as_real(number) for number in model.inputs]
    outputs = [as_real(number) for number in model.outputs]
    return writer.finish(inputs, outputs)
