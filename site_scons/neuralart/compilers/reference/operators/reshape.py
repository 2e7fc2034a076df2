"""RESHAPE."""

from __future__ import annotations

from neuralart.compilers.reference.context import C_TYPES, Lowering, describe
from neuralart.compilers.reference.operators import operator
from neuralart.model.graph import Operator


@operator(
    "RESHAPE",
    limits="int8, uint8, int32 and float32; costs nothing, except between an input and an output",
    floats=True,
)
def reshape(ctx: Lowering, op: Operator) -> None:
    """Lower a reshape: the output is the input's memory. The wanted shape is the output tensor's."""
    source = ctx.input(op)
    target = ctx.output(op)
    if source.dtype not in C_TYPES:
        ctx.refuse(
            op, f"element type {source.dtype} is not supported: {describe(source)}", f"supported: {', '.join(C_TYPES)}"
        )
    shape = ctx.optional(op, 1)
    if shape is not None and shape.data is None:
        ctx.refuse(op, f"the shape {describe(shape)} is computed while the network runs", "it must be constant")
    if source.dtype != target.dtype or source.elements != target.elements:
        ctx.refuse(op, f"{describe(source)} cannot be {describe(target)}")
    ctx.alias(op, source, target)
