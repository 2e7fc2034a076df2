"""CONCATENATION."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from neuralart_reference.context import Lowering, Operand, struct
from neuralart_reference.data_movement import Piece
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import operator
from neuralart_reference.operators._movement import TYPES, emit_move, pieces
from neuralart_reference.quantize import float32, round_half_away

_LARGEST_RATIO = 1 << 22  # of scales: rescaled values fit 32 bits
_OFFSET = 128  # int8 is uint8 less 128


def rescaled(source: Operand, target: Operand) -> bytes:
    """What each stored input value becomes, from -128 to 127: int8 bytes.

    LiteRT rescales in float32, and on uint8 only; the zero points of int8 are taken to uint8 for it, where the same
    real numbers have stored values that are larger by 128.
    """
    inverse = float32(1.0 / float32(target.scale))
    scale = float32(float32(source.scale) * inverse)
    bias = float32(-(source.zero_point + _OFFSET) * scale)
    zero = target.zero_point + _OFFSET
    table = bytearray()
    for value in range(-128, 128):
        real = float32(float32((value + _OFFSET) * scale) + bias)
        table.append((min(255, max(0, round_half_away(real) + zero)) - _OFFSET) & 0xFF)
    return bytes(table)


@operator(
    "CONCATENATION",
    limits=f"{TYPES}; any dimension; int8 inputs with another scale or zero point than the output are rescaled as "
    "LiteRT does for uint8; no fused activation",
    floats=True,
)
def concatenation(ctx: Lowering, op: Operator) -> None:
    """Lower a concatenation: every input is moved to its place in the output, and rescaled there if need be."""
    activation = str(op.options.get("fused_activation_function", "NONE"))
    if activation != "NONE":
        ctx.refuse(op, f"fused activation {activation} is not supported", "supported: NONE")
    target = ctx.output(op)
    for number, piece in enumerate(pieces(ctx, op)):
        source = ctx.tensors[piece.source]
        if source.dtype == "int8" and source.quantization != target.quantization:
            _rescale(ctx, op, piece, ctx.operand(op, source), ctx.operand(op, target), number)
        else:
            emit_move(ctx, op, piece)


def _rescale(ctx: Lowering, op: Operator, piece: Piece, source: Operand, target: Operand, number: int) -> None:
    if source.scale / target.scale > _LARGEST_RATIO:
        ctx.refuse(
            op, f"input scale {source.scale:g} is more than {_LARGEST_RATIO} times the output scale {target.scale:g}"
        )
    move = piece.move.joined()
    shape, steps = list(move.shape), list(move.target_steps)
    # Rows that lie together in both tensors, and their distance in the output: no more than that remains.
    count = shape.pop() if steps and steps.pop() == 1 else 1
    parameters = struct(
        "na_map_rows_t", rows=prod(shape), count=count, output_step=move.target_steps[0] if shape else count
    )
    args = (
        ctx.read(op, source.tensor, f"input{number}"),
        ctx.data(op, rescaled(source, target), "int8_t", f"table{number}"),
        replace(ctx.write(target.tensor), offset=move.target_start),
        parameters,
    )
    ctx.emit(op, "na_map_rows_s8", args)
