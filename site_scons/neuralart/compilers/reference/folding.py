"""Operators whose inputs are all constants, computed before the network is lowered.

Converters write shapes of tensors as a part of the graph wherever a model was made for batches of any size: SHAPE,
STRIDED_SLICE and PACK in front of a RESHAPE, for example. All sizes are known here, so that only constants remain.
"""

from __future__ import annotations

from dataclasses import replace

from neuralart.compilers.reference.context import describe
from neuralart.compilers.reference.folding_integers import ARITHMETIC, MOST_ELEMENTS
from neuralart.compilers.reference.moves import Unsupported, apply
from neuralart.compilers.reference.rearrange import REARRANGE
from neuralart.compilers.reference.sources import Sources
from neuralart.errors import NeuralArtError
from neuralart.model.graph import DTYPE_BYTES, Model, Operator, Tensor

_SIZES_ONLY = ("SHAPE", "RANK")
"""Operators that ask for the size of a tensor, whatever is in it."""
FOLDED = (*sorted({*REARRANGE, *ARITHMETIC}),)
"""Operators that are computed when all they need is constant."""


def fold(model: Model) -> Model:
    """Compute what is constant and leave out the operators that did it.

    Values are moved and repeated whatever their type; computed are int32 and int64 only, the types of shapes. Operators
    keep their numbers. One whose result is an output of the model stays.

    Args:
        model: Any model.

    Returns:
        The model itself if there is nothing to compute.

    Raises:
        NeuralArtError: An operator on constants makes no sense.
    """
    tensors = list(model.tensors)
    operators = []
    for op in model.operators:
        if not _foldable(tensors, op) or any(index in model.outputs for index in op.outputs):
            operators.append(op)
            continue
        try:
            made = _values(tensors, op)
        except Unsupported as error:
            raise NeuralArtError(
                error.what, where=f"{model.path}: operator {op.index} ({op.kind})", hint=error.hint
            ) from error
        for index, data in made.items():
            tensors[index] = replace(tensors[index], data=data)
    if len(operators) == len(model.operators):
        return model
    return replace(model, tensors=tuple(tensors), operators=tuple(operators))


def _foldable(tensors: list[Tensor], op: Operator) -> bool:
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


def _values(tensors: list[Tensor], op: Operator) -> dict[int, bytes]:
    """The bytes of each output."""
    sources = Sources(tensors, op)
    if op.kind not in REARRANGE:
        return {sources.output().index: ARITHMETIC[op.kind](sources)}
    pieces = REARRANGE[op.kind](sources)
    given = sum(tensors[index].elements for index in {*op.inputs} if index >= 0)
    for index in op.outputs:
        # An input that is used twice makes more of it: a few of those in a row must not fill the memory.
        if tensors[index].elements > max(given, MOST_ELEMENTS):
            raise Unsupported(
                f"{describe(tensors[index])} is constant and too large", f"at most {MOST_ELEMENTS} elements"
            )
    outputs = {index: bytearray(tensors[index].bytes) for index in op.outputs}
    for piece in pieces:
        source = tensors[piece.source]
        assert source.data is not None
        if len(source.data) != source.bytes:
            raise Unsupported(f"{describe(source)} holds {len(source.data)} bytes, its shape asks for {source.bytes}")
        apply(piece.move, DTYPE_BYTES[source.dtype], source.data, outputs[piece.target])
    return {index: bytes(data) for index, data in outputs.items()}
