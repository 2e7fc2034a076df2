"""PAD in front of a convolution or a maximum becomes the padding of that operator. Keras writes a padding of its own in
front of each convolution of stride 2. Carried out, it is a copy of one of the largest tensors of a network; the kernels
can place their windows beyond the edges of their input themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from neuralart_reference import quantize
from neuralart_reference.context import INTEGERS, integers
from neuralart_reference.model.graph import Model, Operator, Tensor

_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
_LOWEST = -128
_MOST = 1 << 15  # rows or columns: positions of windows stay far within 32 bits


class _Border(NamedTuple):
    """A PAD of height and width."""

    source: Tensor
    target: Tensor
    pads: tuple[tuple[int, int], ...]  # before and after, down and across
    fill: int  # the stored value around the source


def fold_pads(model: Model) -> Model:
    """Leave out each PAD or PADV2 that all its readers can do themselves; the model itself if there is none.

    The readers carry ``padding`` = ``EXPLICIT`` and ``pads`` (rows above, columns left) instead. Their results are the
    same: what lies outside of the input adds nothing to a convolution, as the zero point would, and takes no part in a
    maximum, as the smallest value would. What makes no sense is left for the lowering to refuse.
    """
    made: dict[int, Operator] = {}  # by index: what an operator becomes
    gone: set[int] = set()
    for op in model.operators:
        border = _border(model, op) if op.kind in ("PAD", "PADV2") else None
        if border is None or border.target.index in model.outputs:
            continue
        readers = [each for each in model.operators if border.target.index in each.inputs]
        changed = [_reader(model, each, border) for each in readers]
        found = [each for each in changed if each is not None]
        if found and len(found) == len(readers):
            made.update((each.index, each) for each in found)
            gone.add(op.index)
    if not gone:
        return model
    kept = (made.get(op.index, op) for op in model.operators if op.index not in gone)
    return replace(model, operators=tuple(kept))


def _border(model: Model, op: Operator) -> _Border | None:
    """The padding that an operator does, if it surrounds pictures with one value and rescales nothing."""
    if len(op.inputs) not in (2, 3) or len(op.outputs) != 1 or min(op.inputs[:2]) < 0:
        return None
    source, given, target = (model.tensors[index] for index in (*op.inputs[:2], op.outputs[0]))
    quantization = target.quantization
    if (
        {source.dtype, target.dtype} not in ({"int8"}, {"int16"})
        or source.data is not None
        or len(source.shape) != 4
        or quantization is None
        or len(quantization.zero_points) != 1
        or source.quantization != quantization
        or given.data is None
        or given.dtype not in INTEGERS
    ):
        return None
    numbers = integers(given.data, given.dtype) if len(given.data) == given.bytes else ()
    pairs = tuple(zip(numbers[::2], numbers[1::2], strict=True)) if len(numbers) == 8 else ()
    if not pairs or pairs[0] != (0, 0) or pairs[3] != (0, 0) or not all(0 <= each < _MOST for each in numbers):
        return None
    if target.shape != tuple(size + sum(pair) for size, pair in zip(source.shape, pairs, strict=True)):
        return None
    fill = quantization.zero_point
    if len(op.inputs) == 3 and op.inputs[2] >= 0:
        value = model.tensors[op.inputs[2]]
        if value.data is None or len(value.data) != 1 or (value.dtype, value.quantization) != ("int8", quantization):
            return None
        fill = int.from_bytes(value.data, "little", signed=True)
    elif op.kind == "PADV2":
        return None
    return _Border(source, target, pairs[1:3], fill)


def _reader(model: Model, op: Operator, border: _Border) -> Operator | None:
    """An operator that reads what the PAD reads; None if it cannot."""
    if op.inputs[0] != border.target.index or op.inputs.count(op.inputs[0]) != 1 or len(op.outputs) != 1:
        return None
    output = model.tensors[op.outputs[0]]
    if op.kind in _CONVOLUTIONS:
        assert border.target.quantization is not None
        weights = model.tensors[op.inputs[1]] if len(op.inputs) > 1 else output
        fits = border.fill == border.target.quantization.zero_point and len(weights.shape) == 4
        kernel: Sequence[int] = weights.shape[1:3]
    else:
        fits = op.kind == "MAX_POOL_2D" and border.fill == _LOWEST
        kernel = [int(op.options.get(f"filter_{way}", 0)) for way in ("height", "width")]
    padding, explicit = op.options.get("padding"), op.options.get("pads", (0, 0))
    if not fits or padding not in ("SAME", "VALID", "EXPLICIT") or len(output.shape) != 4:
        return None
    before = []
    for axis, letter in enumerate("hw"):
        stride = int(op.options.get(f"stride_{letter}", 1))
        dilation = int(op.options.get(f"dilation_{letter}_factor", 1)) if kernel[axis] > 1 else 1
        if min(kernel[axis], stride, dilation) < 1:
            return None
        inside, padded = border.source.shape[1 + axis], border.target.shape[1 + axis]
        windows, first = output.shape[1 + axis], border.pads[axis][0] + explicit[axis]
        if padding != "EXPLICIT":
            if windows < 1 or windows != quantize.output_size(padded, kernel[axis], stride, dilation, padding):
                return None
            first = border.pads[axis][0] + quantize.padding_before(padded, windows, kernel[axis], stride, dilation)
        # Of a window that lies outside as a whole there is no maximum.
        if op.kind not in _CONVOLUTIONS and not (first < kernel[axis] and (windows - 1) * stride - first < inside):
            return None
        before.append(first)
    options = {**op.options, "padding": "EXPLICIT", "pads": tuple(before)}
    return replace(op, inputs=(border.source.index, *op.inputs[1:]), options=options)
