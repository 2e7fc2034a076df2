"""GATHER and GATHER_ND."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from neuralart_reference.context import Lowering, describe, integers, same_type, struct
from neuralart_reference.data_movement import Sources, dense
from neuralart_reference.model.graph import DTYPE_BYTES, Operator, Tensor
from neuralart_reference.operators import operator
from neuralart_reference.operators._movement import RANK, TYPES, check_types, source_bytes, target_bytes


def _tensors(ctx: Lowering, op: Operator) -> tuple[Tensor, Tensor, Tensor]:
    """Values, indices and output, of types that can be copied."""
    source, indices, target = ctx.input(op), ctx.input(op, 1), ctx.output(op)
    check_types(ctx, op, source, target)
    if indices.dtype != "int32":
        ctx.refuse(op, f"indices of type {indices.dtype} are not supported: {describe(indices)}", "supported: int32")
    same_type(source, target)
    return source, indices, target


def _check(ctx: Lowering, op: Operator, source: Tensor, indices: Tensor, axes: Sequence[int]) -> None:
    """Check constant indices, which go through the axes in turn; NeuralArtError when one is outside."""
    for number, index in enumerate(() if indices.data is None else integers(indices.data, indices.dtype)):
        axis = axes[number % len(axes)]
        if not 0 <= index < source.shape[axis]:
            ctx.refuse(op, f"index {index} is outside of dimension {axis} of {describe(source)}")


@operator(
    "GATHER",
    limits=f"{TYPES}; int32 indices, constant or computed; any dimension, batch_dims; a computed index outside of the "
    "dimension is taken to its nearest end",
    floats=True,
)
def gather(ctx: Lowering, op: Operator) -> None:
    """Lower a selection of slices. The bytes are copied, whatever the scales, as LiteRT does."""
    source, indices, target = _tensors(ctx, op)
    sources, batches = Sources(ctx.tensors, op), int(op.options.get("batch_dims", 0))
    axis = sources.axis(int(op.options.get("axis", 0)), len(source.shape), source)
    batches += len(indices.shape) if batches < 0 else 0
    if not 0 <= batches <= min(axis, len(indices.shape)) or source.shape[:batches] != indices.shape[:batches]:
        given = op.options.get("batch_dims", 0)
        ctx.refuse(op, f"batch_dims {given} does not fit {describe(source)} and {describe(indices)}")
    sources.expect(target, (*source.shape[:axis], *indices.shape[batches:], *source.shape[axis + 1 :]))
    _check(ctx, op, source, indices, [axis])
    parameters = struct(
        "na_gather_t",
        batches=prod(source.shape[:batches]),
        outer=prod(source.shape[batches:axis]),
        size=source.shape[axis],
        count=prod(indices.shape[batches:]),
        block=prod(source.shape[axis + 1 :]) * DTYPE_BYTES[source.dtype],
    )
    args = (source_bytes(source), ctx.read(op, indices, "indices"), target_bytes(target), parameters)
    ctx.emit(op, "na_gather_8", args)


@operator(
    "GATHER_ND",
    limits=f"{TYPES}; int32 indices, constant or computed, of at most {RANK} dimensions; a computed index outside of a "
    "dimension is taken to its nearest end",
    floats=True,
)
def gather_nd(ctx: Lowering, op: Operator) -> None:
    """Lower a selection of slices by indices into several dimensions at once."""
    source, indices, target = _tensors(ctx, op)
    depth = indices.shape[-1] if indices.shape else 0
    if not 0 < depth <= min(len(source.shape), RANK):
        what = f"{describe(indices)} has {depth} indices into {describe(source)}"
        ctx.refuse(op, what, f"1 to {min(len(source.shape), RANK)}")
    Sources(ctx.tensors, op).expect(target, (*indices.shape[:-1], *source.shape[depth:]))
    _check(ctx, op, source, indices, range(depth))
    size = DTYPE_BYTES[source.dtype]
    parameters = struct(
        "na_gather_nd_t",
        count=prod(indices.shape[:-1]),
        depth=depth,
        block=prod(source.shape[depth:]) * size,
        size="{" + ", ".join(map(str, source.shape[:depth])) + "}",
        step="{" + ", ".join(str(step * size) for step in dense(source.shape)[:depth]) + "}",
    )
    args = (source_bytes(source), ctx.read(op, indices, "indices"), target_bytes(target), parameters)
    ctx.emit(op, "na_gather_nd_8", args)
