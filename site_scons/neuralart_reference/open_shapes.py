"""Shapes of tensors whose sizes a model leaves open, found from those of its inputs, operator after operator.

What a shape must be, the checks of the lowering and of the folding of constants know: an operator is lowered on trial,
and where an open tensor has another shape than its inputs give, it gets that one.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import NoReturn

from neuralart_reference import unsigned
from neuralart_reference.context import INTEGERS, Lowering, Misfit, Unsupported, integers
from neuralart_reference.float_weights import in_float32
from neuralart_reference.folding import computed, foldable
from neuralart_reference.model.graph import Model, Operator, Tensor
from neuralart_reference.operators import lookup


def _open(tensor: Tensor) -> bool:
    return tensor.data is None and tensor.signature is not None and -1 in tensor.signature


def resolved(model: Model) -> Model:
    """The model with all shapes; itself if none but the batch is open, which is 1. NeuralArtError: an operator
    is not supported, or does not fit its inputs.
    """
    batched = any(model.tensors[index].shape[:1] not in ((), (1,)) for index in model.inputs)
    known = {*model.inputs}
    wanted = {tensor.index for tensor in model.tensors if _open(tensor)} - known
    opened = any(batched or -1 in (model.tensors[index].signature or ())[1:] for index in wanted)
    # Converters write no shapes behind custom operators.
    blank = {i for op in model.operators if op.kind.startswith("CUSTOM:") for i in op.outputs if i >= 0}
    blank = {index for index in blank if not model.tensors[index].shape}
    if not opened and not blank:
        return model
    wanted |= blank
    values = list(model.tensors)
    for op in model.operators:
        if opened or not blank.isdisjoint(op.outputs):
            _settle(model, op, values, wanted)
    shapes = zip(model.tensors, values[: len(model.tensors)], strict=True)
    return replace(model, tensors=tuple(replace(tensor, shape=value.shape) for tensor, value in shapes))


def _settle(model: Model, op: Operator, values: list[Tensor], wanted: set[int]) -> None:
    """Give the outputs of an operator their shapes, and their values if those are constant."""
    entry = lookup(op.kind)
    if op.kind == "RESHAPE":
        _reshape(op, values, wanted)

    def refuse(error: Unsupported) -> NoReturn:
        Lowering(replace(model, tensors=tuple(values))).refuse(op, error.what, error.hint)

    while True:
        try:
            if foldable(values, op):
                for index, data in computed(values, op).items():
                    values[index] = replace(values[index], data=data)
            elif entry is not None:
                alone = unsigned.signed(in_float32(replace(model, tensors=tuple(values), operators=(op,))))
                entry.lower(Lowering(alone), alone.operators[0])
            return
        except Misfit as error:
            index = error.tensor.index
            if index not in wanted:
                refuse(error)
            wanted.discard(index)
            values[index] = replace(values[index], shape=error.shape)
        except Unsupported as error:
            refuse(error)


def _reshape(op: Operator, values: list[Tensor], wanted: set[int]) -> None:
    """The shape that a reshape asks for, one size of which may be the rest."""
    index = op.outputs[0] if op.outputs else -1
    if index not in wanted or not op.inputs:
        return
    shape, given = tuple(op.options.get("new_shape", ())), values[op.inputs[1]] if len(op.inputs) > 1 else None
    if given is not None and given.data is not None and given.dtype in INTEGERS:
        shape = integers(given.data, given.dtype)
    rest = prod(size for size in shape if size != -1)
    whole = values[op.inputs[0]].elements
    if shape.count(-1) > 1 or min(shape, default=1) < -1 or rest < 1 or whole % rest:
        return  # the lowering says what is wrong
    wanted.discard(index)
    sizes = tuple(whole // rest if size == -1 else size for size in shape)
    values[index] = replace(values[index], shape=sizes)
