"""BATCH_MATMUL."""

from __future__ import annotations

from neuralart_reference.context import Lowering, describe, same_type, struct
from neuralart_reference.data_movement import broadcast
from neuralart_reference.model.graph import Operator, Tensor
from neuralart_reference.operators import Plain, operator
from neuralart_reference.operators._plain import SUFFIXES, as_stored, check_rank
from neuralart_reference.quantize import single


def _emit(ctx: Lowering, op: Operator, first: Tensor, second: Tensor, target: Tensor, **quantized: int) -> None:
    """Check shapes and emit the call. Multiply-accumulate operations: output elements x depth."""
    for tensor in (first, second):
        if len(tensor.shape) < 2:
            ctx.refuse(op, f"{describe(tensor)} is no matrix")
    walk = broadcast(first.shape[:-2], second.shape[:-2])
    check_rank(ctx, op, walk)
    (height1, width1), (height2, width2) = first.shape[-2:], second.shape[-2:]
    turned1, turned2 = bool(op.options.get("adj_x", False)), bool(op.options.get("adj_y", False))
    rows, depth = (width1, height1) if turned1 else (height1, width1)
    terms, columns = (width2, height2) if turned2 else (height2, width2)
    if depth != terms:
        ctx.refuse(op, f"{describe(first)} has {depth} terms per sum, {describe(second)} {terms}")
    ctx.expect_shape(op, target, (*walk.output, rows, columns))
    parameters = struct(
        "na_batch_matmul_t",
        batches=walk.expression(),
        rows=rows,
        columns=columns,
        depth=depth,
        row1=1 if turned1 else width1,
        depth1=width1 if turned1 else 1,
        size1=height1 * width1,
        column2=width2 if turned2 else 1,
        depth2=1 if turned2 else width2,
        size2=height2 * width2,
        **quantized,
    )
    args = (ctx.read(op, first, "input1"), ctx.read(op, second, "input2"), ctx.write(target), parameters)
    ctx.emit(op, f"na_batch_matmul_{SUFFIXES[first.dtype]}", args, macc=target.elements * depth)


def _plain(ctx: Lowering, op: Operator) -> None:
    """Lower a product of float32 matrices."""
    first, second, target = ctx.input(op), ctx.input(op, 1), ctx.output(op)
    same_type(first, second, target)
    _emit(ctx, op, first, second, target)


@operator(
    "BATCH_MATMUL",
    limits="int8; either input may be constant and transposed (adj_x, adj_y); broadcasting of batches; not uint8",
    plain=Plain(_plain, ("float32",)),
)
def batch_matmul(ctx: Lowering, op: Operator) -> None:
    """Lower a product of matrices. The profile multiplies the scales of the inputs in float32."""
    as_stored(ctx, op)
    (first, second), target = (ctx.operand(op, ctx.input(op, n)) for n in (0, 1)), ctx.operand(op, ctx.output(op))
    fixed = ctx.fixed_point(op, single(first.scale * second.scale) / target.scale)
    offsets = {"input1_offset": -first.zero_point, "input2_offset": -second.zero_point}
    offsets["output_offset"] = target.zero_point
    _emit(ctx, op, first.tensor, second.tensor, target.tensor, **offsets, **fixed.members())
