"""DEQUANTIZE."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, describe, float_literal, struct
from neuralart.compilers.reference.operators import operator
from neuralart.model.graph import Operator

_KERNELS = {"int8": "na_dequantize_s8_f32", "uint8": "na_dequantize_u8_f32"}


@operator("DEQUANTIZE", limits="int8 or uint8 to float32; one scale per tensor", floats=True)
def dequantize(ctx: Lowering, op: Operator) -> None:
    """Lower a dequantization.

    Operations counted as multiply-accumulate: output elements.
    """
    source = ctx.operand(op, ctx.input(op), tuple(_KERNELS))
    target = ctx.output(op)
    if target.dtype != "float32":
        ctx.refuse(op, f"element type {target.dtype} is not supported: {describe(target)}", "supported: float32")
    ctx.expect_shape(op, target, source.shape)
    parameters = struct(
        "na_quantize_t",
        count=target.elements,
        scale=float_literal(source.scale),
        zero_point=source.zero_point,
    )
    args = (ctx.read(op, source.tensor), ctx.write(target), parameters)
    ctx.emit(op, _KERNELS[source.dtype], args, macc=target.elements)
