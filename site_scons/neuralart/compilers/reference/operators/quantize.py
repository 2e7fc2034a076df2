"""QUANTIZE."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, float_literal, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._requantize import requantize
from neuralart.compilers.reference.quantize import RANGES
from neuralart.model.graph import Operator

_TYPES = ("int8", "uint8")
_KERNELS = {"int8": "na_quantize_f32_s8", "uint8": "na_quantize_f32_u8"}


@operator("QUANTIZE", limits="float32 to int8 or uint8; between int8 and uint8; one scale per tensor", floats=True)
def quantize(ctx: Lowering, op: Operator) -> None:
    """Lower a quantization of float32, or a change of quantization.

    Operations counted as multiply-accumulate: output elements.
    """
    source = ctx.input(op)
    target = ctx.operand(op, ctx.output(op), _TYPES)
    if source.dtype != "float32":
        operand = ctx.operand(op, source, ("float32", *_TYPES))
        requantize(ctx, op, operand, target, operand.scale / target.scale, RANGES[target.dtype])
        return
    ctx.expect_shape(op, target.tensor, source.shape)
    parameters = struct(
        "na_quantize_t",
        count=source.elements,
        scale=float_literal(target.scale),
        zero_point=target.zero_point,
    )
    args = (ctx.read(op, source), ctx.write(target.tensor), parameters)
    ctx.emit(op, _KERNELS[target.dtype], args, macc=source.elements)
