"""GATHER."""

from __future__ import annotations

from math import prod

from neuralart.compilers.reference.context import Lowering, describe, integers, struct
from neuralart.compilers.reference.moves import Sources
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._movement import TYPES, check_types, source_bytes, target_bytes
from neuralart.model.graph import DTYPE_BYTES, Operator


@operator(
    "GATHER",
    limits=f"{TYPES}; int32 indices, constant or computed; any dimension, batch_dims; a computed index outside of the "
    "dimension is taken to its nearest end",
    floats=True,
)
def gather(ctx: Lowering, op: Operator) -> None:
    """Lower a selection of slices. The bytes are copied, whatever the scales, as LiteRT does."""
    source, indices, target = ctx.input(op), ctx.input(op, 1), ctx.output(op)
    check_types(ctx, op, source, target)
    if indices.dtype != "int32":
        ctx.refuse(op, f"indices of type {indices.dtype} are not supported: {describe(indices)}", "supported: int32")
    sources, batches = Sources(ctx.tensors, op), int(op.options.get("batch_dims", 0))
    sources.same_dtype(source, target)
    axis = sources.axis(int(op.options.get("axis", 0)), len(source.shape), source)
    batches += len(indices.shape) if batches < 0 else 0
    if not 0 <= batches <= min(axis, len(indices.shape)) or source.shape[:batches] != indices.shape[:batches]:
        given = op.options.get("batch_dims", 0)
        ctx.refuse(op, f"batch_dims {given} does not fit {describe(source)} and {describe(indices)}")
    sources.expect(target, (*source.shape[:axis], *indices.shape[batches:], *source.shape[axis + 1 :]))
    for index in () if indices.data is None else integers(indices.data, indices.dtype):
        if not 0 <= index < source.shape[axis]:
            ctx.refuse(op, f"index {index} is outside of dimension {axis} of {describe(source)}")
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
