"""QUANTIZE, DEQUANTIZE and CAST, and RELU, RELU6, RELU_N1_TO_1 and RELU_0_TO_1 as operators of their own."""

from __future__ import annotations

from neuralart_reference.context import BYTES_T, WIDE, Lowering, Operand, describe, float_literal, struct
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import operator
from neuralart_reference.operators._movement import check_types
from neuralart_reference.operators._plain import FUNCTION, SUFFIXES, as_stored, emit_not_zero
from neuralart_reference.quantize import INT32_MAX, RANGES, float32


def requantize(
    ctx: Lowering, op: Operator, source: Operand, target: Operand, factor: float, bounds: tuple[int, int]
) -> None:
    """Emit a requantization between stored bounds.

    The factor, input scale / output scale, has the precision that the profile prescribes. Operations counted as
    multiply-accumulate: output elements.
    """
    ctx.expect_shape(op, target.tensor, source.shape)
    fixed = ctx.fixed_point(op, factor)
    parameters = struct(
        "na_requantize_t",
        count=source.tensor.elements,
        input_offset=-source.zero_point,
        **fixed.members(),
        output_offset=target.zero_point,
        activation_min=bounds[0],
        activation_max=bounds[1],
    )
    kernel = f"na_requantize_{SUFFIXES[source.dtype]}_{SUFFIXES[target.dtype]}"
    args = (ctx.read(op, source.tensor), ctx.write(target.tensor), parameters)
    ctx.emit(op, kernel, args, macc=target.tensor.elements)


@operator(
    "QUANTIZE",
    limits="float32, int8, uint8 or int16; float32 to any of the others; "
    "between int8 and uint8; int16 to int16 or int8; int16 to int32, int32 to int16 or int8; one scale per tensor",
    floats=True,
)
def quantize(ctx: Lowering, op: Operator) -> None:
    """Lower a change of quantization, or one of float32. Multiply-accumulate operations: output elements."""
    source, result = ctx.input(op), ctx.output(op)
    if (source.dtype, result.dtype) in _WITH_INT32:
        first, second = ctx.scaled(op, source), ctx.scaled(op, result)
        bounds = RANGES.get(result.dtype, (-INT32_MAX - 1, INT32_MAX))
        requantize(ctx, op, first, second, first.scale / second.scale, bounds)
        return
    target = ctx.operand(op, result, tuple(RANGES))
    if source.dtype != "float32":
        operand = ctx.operand(op, source, ("float32", *RANGES))
        if target.dtype not in _FROM[source.dtype]:
            what = f"{describe(source)} to {describe(target.tensor)} is not supported"
            ctx.refuse(op, what, f"supported: {source.dtype} to {' and '.join(_FROM[source.dtype])}")
        requantize(ctx, op, operand, target, operand.scale / target.scale, RANGES[target.dtype])
        return
    ctx.expect_shape(op, target.tensor, source.shape)
    scale = float_literal(target.scale)
    parameters = struct("na_quantize_t", count=source.elements, scale=scale, zero_point=target.zero_point)
    args = (ctx.read(op, source), ctx.write(target.tensor), parameters)
    ctx.emit(op, f"na_quantize_f32_{SUFFIXES[target.dtype]}", args, macc=source.elements)


@operator("DEQUANTIZE", limits="int8, uint8 or int16 to float32; one scale per tensor", floats=True)
def dequantize(ctx: Lowering, op: Operator) -> None:
    """Lower a dequantization. Operations counted as multiply-accumulate: output elements."""
    source, target = ctx.operand(op, ctx.input(op), tuple(RANGES)), ctx.output(op)
    check_types(ctx, op, target, types=("float32",))
    ctx.expect_shape(op, target, source.shape)
    scale = float_literal(source.scale)
    parameters = struct("na_quantize_t", count=target.elements, scale=scale, zero_point=source.zero_point)
    args = (ctx.read(op, source.tensor), ctx.write(target), parameters)
    ctx.emit(op, f"na_dequantize_{SUFFIXES[source.dtype]}_f32", args, macc=target.elements)


@operator(
    "CAST",
    limits=f"between {', '.join(SUFFIXES)}; of stored values, whatever they mean; uint32 to or from int32",
    floats=True,
)
def cast(ctx: Lowering, op: Operator) -> None:
    """Lower a change of type. Operations counted as multiply-accumulate: output elements."""
    as_stored(ctx, op)
    source, target = ctx.input(op), ctx.output(op)
    ctx.expect_shape(op, target, source.shape)
    if {source.dtype, target.dtype} == {"int32", "uint32"}:  # the same bytes
        ctx.alias(op, source, target)
        return
    check_types(ctx, op, source, target)
    if target.dtype == "bool" and source.dtype != "bool":
        emit_not_zero(ctx, op, source, target)
        return
    args = (ctx.read(op, source), ctx.write(target), struct(BYTES_T, count=target.elements))
    ctx.emit(op, f"na_cast_{SUFFIXES[source.dtype]}_{SUFFIXES[target.dtype]}", args, macc=target.elements)


_WITH_INT32 = (("int16", "int32"), ("int32", "int16"), ("int32", "int8"))
_FROM = {"int8": ("int8", "uint8"), "uint8": ("int8", "uint8"), "int16": WIDE}


@operator("RELU", "RELU6", limits="int8 or int16, with requantization", plain=FUNCTION)
@operator("RELU_N1_TO_1", "RELU_0_TO_1", limits="int8, with requantization", plain=FUNCTION)
def relu(ctx: Lowering, op: Operator) -> None:
    """Lower an activation; its kind names the bounds. The profile divides the scales in float32 here."""
    source, target = ctx.ends(op, WIDE if op.kind in ("RELU", "RELU6") else ("int8",))
    bounds = ctx.activation_range(op, op.kind, target)
    factor = source.scale / target.scale
    if factor < INT32_MAX:  # else it is refused, and may not be a float32
        factor = float32(factor)
    requantize(ctx, op, source, target, factor, bounds)
