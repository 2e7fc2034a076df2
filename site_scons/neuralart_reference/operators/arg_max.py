"""ARG_MAX and ARG_MIN."""

from __future__ import annotations

from math import prod

from neuralart_reference.context import INTEGERS, Lowering, describe, struct
from neuralart_reference.data_movement import Sources
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import operator
from neuralart_reference.operators._movement import check_types
from neuralart_reference.operators._plain import SUFFIXES

_LIMITS = (
    "int8, int32 or float32 to int32 or int64; one constant dimension; the first one counts where values are equal"
)


@operator("ARG_MAX", "ARG_MIN", limits=_LIMITS, floats=True)
def arg_max(ctx: Lowering, op: Operator) -> None:
    """Lower a search along a dimension. Operations counted as multiply-accumulate: input elements."""
    source, target, sources = ctx.input(op), ctx.output(op), Sources(ctx.tensors, op)
    check_types(ctx, op, source, types=("int8", "int32", "float32"))
    if target.dtype not in INTEGERS:
        what = f"an index of type {target.dtype} is not supported: {describe(target)}"
        ctx.refuse(op, what, "make it int32 in the model: output_type=tf.int32")
    axis = sources.one_axis(1, source)
    sources.expect(target, (*source.shape[:axis], *source.shape[axis + 1 :]))
    parameters = struct(
        "na_arg_max_t",
        outer=prod(source.shape[:axis]),
        count=source.shape[axis],
        inner=prod(source.shape[axis + 1 :]),
        smallest=int(op.kind == "ARG_MIN"),
    )
    args = (ctx.read(op, source), ctx.write(target), parameters)
    wide = "_i64" if target.dtype == "int64" else ""
    ctx.emit(op, f"na_arg_max_{SUFFIXES[source.dtype]}{wide}", args, macc=source.elements)
