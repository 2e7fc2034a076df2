"""Operators whose inputs are all constants, computed before the network is lowered. Converters write shapes of tensors
as a part of the graph wherever a model was made for batches of any size: SHAPE, STRIDED_SLICE and PACK in front of a
RESHAPE, for example. All sizes are known here, so that only constants remain.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from neuralart.errors import NeuralArtError
from neuralart_reference.context import INTEGERS, Unsupported, describe
from neuralart_reference.data_movement import Sources, apply, broadcast, dense
from neuralart_reference.model.graph import DTYPE_BYTES, Model, Operator, Tensor
from neuralart_reference.movement_operators import REARRANGE

# Arithmetic on constant shapes, sizes and indices, int32 and int64 --------------------------------------------------

MOST_ELEMENTS = 1 << 20
"""Elements of a result: shapes and indices are short, and a damaged file must not fill the memory."""


def _packed(sources: Sources, shape: Sequence[int], values: Sequence[int]) -> bytes:
    """The output's bytes; what does not fit its type wraps around, as in LiteRT."""
    target = sources.output()
    if target.dtype not in INTEGERS:
        hint = f"supported: {' and '.join(INTEGERS)}"
        raise Unsupported(f"a constant of type {target.dtype} is not computed: {describe(target)}", hint)
    sources.expect(target, shape)
    letter = INTEGERS[target.dtype]
    half = 1 << (8 * struct.calcsize(letter) - 1)
    return struct.pack(f"<{len(values)}{letter}", *((value + half) % (2 * half) - half for value in values))


def _limit(sources: Sources, elements: int) -> None:
    if elements > MOST_ELEMENTS:
        raise Unsupported(f"{elements} constant elements for {describe(sources.output())}", f"at most {MOST_ELEMENTS}")


def _divided(a: int, b: int) -> int:
    """Towards zero, as in C."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _binary(function: Callable[[int, int], int], *, divides: bool = False) -> Callable[[Sources], bytes]:
    def fold(sources: Sources) -> bytes:
        first, second = sources.numbers(0, "values"), sources.numbers(1, "values")
        activation = str(sources.op.options.get("fused_activation_function", "NONE"))
        if activation != "NONE":
            raise Unsupported(f"fused activation {activation} on constants is not supported", "supported: NONE")
        if divides and 0 in second:
            raise Unsupported(f"division by 0: {describe(sources.input(1))}")
        walk = broadcast(sources.input(0).shape, sources.input(1).shape)
        _limit(sources, prod(walk.output))
        values = []
        for index in product(*map(range, walk.shape)):
            a = first[sum(i * step for i, step in zip(index, walk.stride1, strict=True))]
            b = second[sum(i * step for i, step in zip(index, walk.stride2, strict=True))]
            values.append(function(a, b))
        return _packed(sources, walk.output, values)

    return fold


def _reduced(function: Callable[[Sequence[int]], int]) -> Callable[[Sources], bytes]:
    def fold(sources: Sources) -> bytes:
        tensor, values = sources.input(), sources.numbers(0, "values")
        rank, steps = len(tensor.shape), dense(tensor.shape)
        axes = {sources.axis(axis, rank, tensor) for axis in sources.numbers(1, "dimensions")}
        kept = [axis for axis in range(rank) if axis not in axes]
        results = []
        for index in product(*(range(tensor.shape[axis]) for axis in kept)):
            start = sum(i * steps[axis] for i, axis in zip(index, kept, strict=True))
            offsets = product(*(range(0, tensor.shape[axis] * steps[axis], steps[axis]) for axis in sorted(axes)))
            results.append(function([values[start + sum(offset)] for offset in offsets]))
        keep = bool(sources.op.options.get("keep_dims", False))
        shape = [1 if axis in axes else size for axis, size in enumerate(tensor.shape) if keep or axis not in axes]
        return _packed(sources, shape, results)

    return fold


def _gather(sources: Sources) -> bytes:
    tensor, values, indices = sources.input(), sources.numbers(0, "values"), sources.numbers(1, "indices")
    axis = sources.axis(int(sources.op.options.get("axis", 0)), len(tensor.shape), tensor)
    if batches := sources.op.options.get("batch_dims", 0):
        raise Unsupported(f"batch_dims {batches} on constants is not supported", "supported: 0")
    for index in indices:
        if not 0 <= index < tensor.shape[axis]:
            raise Unsupported(f"index {index} is outside of dimension {axis} of {describe(tensor)}")
    outer, block = prod(tensor.shape[:axis]), prod(tensor.shape[axis + 1 :])
    _limit(sources, outer * len(indices) * block)
    result: list[int] = []
    for group in range(outer):
        for index in indices:
            start = (group * tensor.shape[axis] + index) * block
            result.extend(values[start : start + block])
    return _packed(sources, (*tensor.shape[:axis], *sources.input(1).shape, *tensor.shape[axis + 1 :]), result)


def _fill(sources: Sources) -> bytes:
    """Bytes are repeated, whatever they mean: also those of quantized values."""
    shape, value, output = sources.numbers(0, "sizes"), sources.input(1), sources.output()
    if value.elements != 1 or min(shape, default=1) < 1 or tuple(shape) != output.shape:
        raise Unsupported(f"{describe(output)} cannot be filled: sizes {list(shape)}, {value.elements} values")
    if value.dtype != output.dtype or value.data is None or len(value.data) != value.bytes:
        raise Unsupported(f"{describe(output)} cannot be filled with {describe(value)}")
    _limit(sources, prod(shape))
    return value.data * prod(shape)


def _range(sources: Sources) -> bytes:
    parts = [sources.numbers(position, "limits") for position in range(3)]
    if any(len(part) != 1 for part in parts) or not parts[2][0]:
        raise Unsupported(f"no range from {parts[0]} to {parts[1]} in steps of {parts[2]}")
    (start,), (end,), (step,) = parts
    count = max(0, -(-(end - start) // step))
    _limit(sources, count)
    return _packed(sources, (count,), range(start, start + count * step, step))


ARITHMETIC: Mapping[str, Callable[[Sources], bytes]] = {
    "ADD": _binary(lambda a, b: a + b),
    "CAST": lambda sources: _packed(sources, sources.input().shape, sources.numbers(0, "values")),
    "DIV": _binary(_divided, divides=True),
    "FILL": _fill,
    "FLOOR_DIV": _binary(lambda a, b: a // b, divides=True),
    "FLOOR_MOD": _binary(lambda a, b: a % b, divides=True),
    "GATHER": _gather,
    "MAXIMUM": _binary(max),
    "MINIMUM": _binary(min),
    "MUL": _binary(lambda a, b: a * b),
    "RANGE": _range,
    "RANK": lambda sources: _packed(sources, (), [len(sources.input().shape)]),
    "REDUCE_MAX": _reduced(max),
    "REDUCE_MIN": _reduced(min),
    "REDUCE_PROD": _reduced(prod),
    "SHAPE": lambda sources: _packed(sources, (len(sources.input().shape),), sources.input().shape),
    "SUB": _binary(lambda a, b: a - b),
    "SUM": _reduced(sum),
}
"""Operator -> the bytes of its output; raises :class:`~neuralart_reference.context.Unsupported`."""


# ---------------------------------------------------------------------------------------------------------------------

_SIZES_ONLY = ("SHAPE", "RANK")
"""Operators that ask for the size of a tensor, whatever is in it."""
FOLDED = (*sorted({*REARRANGE, *ARITHMETIC}),)
"""Operators that are computed when all they need is constant."""


def fold(model: Model) -> Model:
    """Compute what is constant and leave out the operators that did it; the model itself if nothing is.

    Values are moved and repeated whatever their type; computed are int32 and int64 only, the types of shapes. Operators
    keep their numbers. An output of the model may become a constant. Raises NeuralArtError when an operator on
    constants makes no sense.
    """
    tensors = list(model.tensors)
    operators = []
    for op in model.operators:
        if not foldable(tensors, op):
            operators.append(op)
            continue
        try:
            made = computed(tensors, op)
        except Unsupported as error:
            where = f"{model.path}: operator {op.index} ({op.kind})"
            raise NeuralArtError(error.what, where=where, hint=error.hint) from error
        for index, data in made.items():
            tensors[index] = replace(tensors[index], data=data)
    if len(operators) == len(model.operators):
        return model
    return replace(model, tensors=tuple(tensors), operators=tuple(operators))


def foldable(tensors: Sequence[Tensor], op: Operator) -> bool:
    """All that the operator needs is constant, and :func:`computed` takes it."""
    present = [tensors[index] for index in (*op.inputs, *op.outputs) if index >= 0]
    if not op.inputs or any(tensor.dtype not in DTYPE_BYTES or min(tensor.shape, default=1) < 1 for tensor in present):
        return False
    if op.kind in _SIZES_ONLY:
        return True
    if any(tensors[index].data is None for index in op.inputs if index >= 0):
        return False
    if op.kind in REARRANGE or op.kind == "FILL":
        return True
    return op.kind in ARITHMETIC and all(tensor.dtype in ("int32", "int64") for tensor in present)


def computed(tensors: Sequence[Tensor], op: Operator) -> dict[int, bytes]:
    """The bytes of each output. Raises Unsupported when the operator makes no sense."""
    sources = Sources(tensors, op)
    if op.kind not in REARRANGE:
        return {sources.output().index: ARITHMETIC[op.kind](sources)}
    pieces = REARRANGE[op.kind](sources)
    given = sum(tensors[index].elements for index in {*op.inputs} if index >= 0)
    for index in op.outputs:
        # An input that is used twice makes more of it: a few of those in a row must not fill the memory.
        if tensors[index].elements > max(given, MOST_ELEMENTS):
            what = f"{describe(tensors[index])} is constant and too large"
            raise Unsupported(what, f"at most {MOST_ELEMENTS} elements")
    outputs = {index: bytearray(tensors[index].bytes) for index in op.outputs}
    for piece in pieces:
        source = tensors[piece.source]
        assert source.data is not None
        if len(source.data) != source.bytes:
            raise Unsupported(f"{describe(source)} holds {len(source.data)} bytes, its shape asks for {source.bytes}")
        apply(piece.move, DTYPE_BYTES[source.dtype], source.data, outputs[piece.target])
    return {index: bytes(data) for index, data in outputs.items()}
