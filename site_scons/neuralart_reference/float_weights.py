"""Weights of layers that compute in float32: float16 and 8-bit ones become float32 when the model is compiled.

Models of float16 weights have a DEQUANTIZE for each of them. In dynamic-range models, layers read weights of 8 bits
themselves. LiteRT then rounds the layer's input to 8 bits too, each time by the values that it finds; here the input
stays float32. So results are nearer to those of the float model than LiteRT's, and not equal to them.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from neuralart_reference.model.graph import Model, Operator, Tensor

_WEIGHTS = {
    ("BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"): (1,),
    ("RNN", "SVDF", "UNIDIRECTIONAL_SEQUENCE_RNN"): (1, 2),
    ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"): (*range(1, 12), 16, *range(20, 24)),
}
_LAYERS = {kind: positions for kinds, positions in _WEIGHTS.items() for kind in kinds}
"""Operator -> positions of its weights."""


def in_float32(model: Model) -> Model:
    """The model with such weights in float32. Shared weights stay what they are for others that read them."""
    tensors, operators = list(model.tensors), list[Operator]()
    for op in model.operators:
        # Operators of damaged models may have no inputs; their own checks say so later.
        first = tensors[op.inputs[0]] if op.inputs and op.inputs[0] >= 0 else None
        if first is None:
            operators.append(op)
            continue
        if op.kind == "DEQUANTIZE" and first.dtype == "float16" and first.data is not None and op.outputs:
            count = len(first.data) // 2
            values = struct.unpack(f"<{count}e", first.data[: 2 * count])
            made = replace(tensors[op.outputs[0]], data=struct.pack(f"<{count}f", *values))
            tensors[made.index] = made
            continue
        inputs = list(op.inputs)
        if op.outputs and op.outputs[0] >= 0 and tensors[op.outputs[0]].dtype == "float32":
            for position in _LAYERS.get(op.kind, ()):
                if position < len(inputs) and inputs[position] >= 0 and _of_bytes(tensors[inputs[position]]):
                    tensors.append(replace(_dequantized(tensors[inputs[position]]), index=len(tensors)))
                    inputs[position] = len(tensors) - 1
        operators.append(replace(op, inputs=tuple(inputs)))
    return replace(model, tensors=tuple(tensors), operators=tuple(operators))


def _of_bytes(weights: Tensor) -> bool:
    found = weights.quantization
    if weights.data is None or weights.dtype != "int8" or found is None or len(weights.data) != weights.bytes:
        return False
    return not found.per_channel or (found.axis < len(weights.shape) and weights.shape[found.axis] == len(found.scales))


def _dequantized(weights: Tensor) -> Tensor:
    """Symmetric or not, with one scale or one for each slice: real = scale * (stored - zero point)."""
    found, stored = weights.quantization, array("b", weights.data or b"")
    assert found is not None
    inner = prod(weights.shape[found.axis + 1 :]) if found.per_channel else len(stored)
    pairs = [*zip(found.scales, found.zero_points, strict=True)]

    def values() -> Iterator[float]:
        for at in range(0, len(stored), max(1, inner)):
            scale, zero = pairs[at // inner % len(pairs)]
            for value in stored[at : at + inner]:
                yield scale * (value - zero)

    data = array("f", values())  # An exact product in float64 is rounded once, as a product of float32 is.
    return replace(weights, dtype="float32", quantization=None, data=struct.pack(f"<{len(data)}f", *data))
