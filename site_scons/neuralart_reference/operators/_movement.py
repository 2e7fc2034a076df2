"""What the operators that only rearrange values share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from neuralart_reference.context import BYTES_T, C_TYPES, Lowering, describe, struct
from neuralart_reference.data_movement import Move, Piece, Sources, filled
from neuralart_reference.ir import TensorArg
from neuralart_reference.model.graph import DTYPE_BYTES, Operator, Tensor
from neuralart_reference.movement_operators import REARRANGE
from neuralart_reference.quantize import RANGES

RANK = 6
"""NA_MOVE_RANK of the kernels."""
TYPES = "int8, uint8, int16, int32, int64, float32 and bool"


def check_types(ctx: Lowering, op: Operator, *tensors: Tensor, types: Collection[str] = C_TYPES) -> None:
    """Check that the tensors are of a type that can be copied, or of some types; NeuralArtError when one is not."""
    for tensor in tensors:
        if tensor.dtype not in types:
            hint = f"supported: {', '.join(types)}"
            ctx.refuse(op, f"element type {tensor.dtype} is not supported: {describe(tensor)}", hint)


def pieces(ctx: Lowering, op: Operator) -> list[Piece]:
    """The moves of an operator, checked; NeuralArtError when something is not supported."""
    found = REARRANGE[op.kind](Sources(ctx.tensors, op))
    for piece in found:
        check_types(ctx, op, ctx.tensors[piece.source], ctx.tensors[piece.target])
    return found


def same_quantization(ctx: Lowering, op: Operator, tensors: Sequence[Tensor]) -> None:
    """Check that copied values mean the same, as LiteRT does; NeuralArtError when scale or zero point differ."""
    first = tensors[0]
    for tensor in tensors[1:]:
        if tensor.dtype in RANGES and tensor.quantization != first.quantization:
            what = f"the quantizations of {describe(first)} and {describe(tensor)} differ"
            ctx.refuse(op, what, "all inputs and outputs must have the same")


def source_bytes(tensor: Tensor, start: int = 0) -> TensorArg:
    """The address of a tensor that is read as bytes, constant or not, beginning at an element."""
    return TensorArg(tensor.index, "uint8_t", offset=start * DTYPE_BYTES[tensor.dtype])


def target_bytes(tensor: Tensor, start: int = 0) -> TensorArg:
    """The address of a tensor that is written as bytes, beginning at an element."""
    return TensorArg(tensor.index, "uint8_t", written=True, offset=start * DTYPE_BYTES[tensor.dtype])


def row(values: Sequence[int], fill: int) -> str:
    """A C initializer of RANK numbers, filled up in front."""
    return filled(values, fill, RANK)


def emit_move(ctx: Lowering, op: Operator, piece: Piece) -> None:
    """Emit one move.

    Elements that lie together in both tensors become a copy of bytes, which takes an offset on either side; the
    planner may let the two share memory instead. Raises NeuralArtError when it has more dimensions than the kernel.
    """
    source, target = ctx.tensors[piece.source], ctx.tensors[piece.target]
    move: Move = piece.move.joined()
    size = DTYPE_BYTES[source.dtype]
    block, shape, steps = size, move.shape, (move.source_steps, move.target_steps)
    if shape and steps[0][-1] == steps[1][-1] == 1:
        block *= shape[-1]
        shape, steps = shape[:-1], (steps[0][:-1], steps[1][:-1])
    args = (source_bytes(source, move.source_start), target_bytes(target, move.target_start))
    if not shape:
        ctx.emit(op, "na_copy_8", (*args, struct(BYTES_T, count=block)))
        return
    if len(shape) > RANK:
        ctx.refuse(op, f"{len(shape)} dimensions that cannot be joined are not supported", f"at most {RANK}")
    parameters = struct(
        "na_move_t",
        block=block,
        shape=row(shape, 1),
        input_step=row([step * size for step in steps[0]], 0),
        output_step=row([step * size for step in steps[1]], 0),
    )
    ctx.emit(op, "na_move_8", (*args, parameters))


def rearrange(ctx: Lowering, op: Operator) -> None:
    """Lower an operator that is nothing but moves. The bytes are copied, whatever the scales, as LiteRT does.

    A move of a whole tensor in its own order costs nothing: both tensors share their memory. Raises NeuralArtError when
    something is not supported.
    """
    found = pieces(ctx, op)
    for piece in found:
        source, target = ctx.tensors[piece.source], ctx.tensors[piece.target]
        move = piece.move.joined()
        straight = move.source_steps == move.target_steps == (() if source.elements == 1 else (1,))
        if straight and source.elements == target.elements and source.data is None and len(found) == 1:
            ctx.alias(op, source, target)
        else:
            emit_move(ctx, op, piece)
