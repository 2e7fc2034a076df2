"""uint8 graphs as int8 graphs: the same real numbers, 128 less in every stored value and in every zero point.

Of a byte that is the top bit turned over. Kernels then exist for int8 only. Where the profile computes something else
for uint8 than for the int8 graph that means the same, the operator carries the option :data:`UNSIGNED`, and its
lowering obeys it:

* convolutions multiply the scales of input and weights in float32, and their weights may have any zero point;
* averages round halves up, because the stored values are never negative;
* bilinear resizing computes in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neuralart.errors import NeuralArtError
from neuralart_reference.context import describe
from neuralart_reference.model.graph import Model, Operator, Quantization, Tensor

UNSIGNED = "uint8"
"""Option of an operator that computes on uint8 in the model."""

_OFFSET = 128
_TURNED = bytes(value ^ _OFFSET for value in range(256))
_BOTH = ("QUANTIZE", "DEQUANTIZE")
"""Operators with kernels for uint8: a tensor that meets no other operator stays as it is."""


def signed(model: Model) -> Model:
    """Turn every quantized uint8 tensor into int8; the model itself if there is nothing to turn.

    Tensors keep their numbers, names and shapes. A tensor between operators that take uint8 themselves (QUANTIZE,
    DEQUANTIZE) and the border stays uint8, as does one without a scale. Raises NeuralArtError when an operator mixes
    int8 and uint8, or a uint8 tensor has several scales or an impossible zero point.
    """
    turned: dict[int, Tensor] = {}
    operators = []
    for op in model.operators:
        mine = [] if op.kind in _BOTH else list(_unsigned(model, op))
        for tensor in mine:
            _check(model, op, tensor)
            turned.setdefault(tensor.index, _turn(tensor))
        operators.append(replace(op, options={**op.options, UNSIGNED: True}) if mine else op)
    if not turned:
        return model
    tensors = tuple(turned.get(tensor.index, tensor) for tensor in model.tensors)
    return replace(model, tensors=tensors, operators=tuple(operators))


def is_unsigned(op: Operator) -> bool:
    """The operator computes on uint8 in the model."""
    return bool(op.options.get(UNSIGNED, False))


def _touched(model: Model, op: Operator) -> Iterator[Tensor]:
    return (model.tensors[index] for index in (*op.inputs, *op.outputs) if index >= 0)


def _unsigned(model: Model, op: Operator) -> Iterator[Tensor]:
    return (tensor for tensor in _touched(model, op) if tensor.dtype == "uint8" and tensor.quantization is not None)


def _check(model: Model, op: Operator, tensor: Tensor) -> None:
    where = f"{model.path}: operator {op.index} ({op.kind})"
    quantization = tensor.quantization
    assert quantization is not None
    for other in _touched(model, op):
        if other.dtype == "int8":
            hint = "int8 and uint8 are not mixed: put a QUANTIZE between them"
            raise NeuralArtError(f"{describe(tensor)} and {describe(other)} in one operator", where=where, hint=hint)
    if quantization.per_channel:
        hint = "uint8 tensors have one scale; convert the model to int8 for a scale per channel"
        raise NeuralArtError(f"{describe(tensor)} has {len(quantization.scales)} scales", where=where, hint=hint)
    for zero_point in quantization.zero_points:
        if not 0 <= zero_point <= 255:
            raise NeuralArtError(f"zero point {zero_point} of {describe(tensor)} is outside 0 to 255", where=where)


def _turn(tensor: Tensor) -> Tensor:
    assert tensor.quantization is not None
    points = tuple(zero_point - _OFFSET for zero_point in tensor.quantization.zero_points)
    return replace(
        tensor,
        dtype="int8",
        quantization=Quantization(tensor.quantization.scales, points, tensor.quantization.axis),
        data=None if tensor.data is None else tensor.data.translate(_TURNED),
    )
