"""SOFTMAX."""

from __future__ import annotations

import math

from neuralart_reference.context import WIDE, Lowering, Operand, describe, float_literal, same_type, struct
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import Plain, operator
from neuralart_reference.quantize import INT32_MAX, quantize_multiplier, single
from neuralart_reference.tables import INT16_MAX, interpolation

_FRACTION_BITS = 26  # DIFFERENCE_FRACTION of the kernel
_INTEGER_BITS = 5
_LONGEST = 4095  # the sum of exponentials has 12 integer bits
_OUTPUT_SCALE = 1 / 256
_LOWEST_EXPONENT, _STEPS = 10.0, 65535  # of int16


def _plain(ctx: Lowering, op: Operator) -> None:
    """Lower a function of rows in float32."""
    source, target = ctx.input(op), ctx.output(op)
    same_type(source, target)
    ctx.expect_shape(op, target, source.shape)
    if (activation := ctx.activation(op)) != "NONE":
        ctx.refuse(op, f"fused activation {activation} is not supported", "supported: NONE")
    depth = source.shape[-1] if source.shape else 1
    beta = float_literal(float(op.options.get("beta", 1.0)))
    parameters = struct("na_softmax_f32_t", rows=source.elements // depth, depth=depth, beta=beta)
    ctx.emit(
        op, f"na_{op.kind.lower()}_f32", (ctx.read(op, source), ctx.write(target), parameters), macc=target.elements
    )


def _by_tables(ctx: Lowering, op: Operator, source: Operand, target: Operand) -> None:
    """Lower a softmax of int16, which the profile computes with exp(x) and 1 / (1 + x) by tables of 513 values."""
    if abs(target.scale * (INT16_MAX + 1) - 1) > 0.001:
        ctx.refuse(op, f"output scale {target.scale:g}", "a softmax of int16 has scale 1/32768")
    rescale = single(source.scale * float(op.options.get("beta", 1.0))) / (_LOWEST_EXPONENT / _STEPS)
    fixed = ctx.scale_factor(op, rescale, values=_STEPS)
    exponentials = interpolation(math.exp, -_LOWEST_EXPONENT, 0.0)
    reciprocals = interpolation(lambda x: 1.0 / (1.0 + x), 0.0, 1.0)
    depth = source.shape[-1]
    parameters = struct("na_softmax_s16_t", rows=source.tensor.elements // depth, depth=depth, **fixed.members())
    args = (
        ctx.read(op, source.tensor),
        ctx.data(op, exponentials, "int16_t", "exponentials"),
        ctx.data(op, reciprocals, "int16_t", "reciprocals"),
        ctx.write(target.tensor),
        parameters,
    )
    ctx.emit(op, "na_softmax_s16", args, macc=target.tensor.elements)


@operator(
    "SOFTMAX",
    limits=f"int8 over the last dimension of at most {_LONGEST}; output scale 1/256, zero point -128, of "
    f"int16 results 1/65536, -32768; or int16 of at most {INT16_MAX}; output scale 1/32768",
    plain=Plain(_plain, ("float32",)),
)
def softmax(ctx: Lowering, op: Operator) -> None:
    """Lower a softmax, in fixed point as the profile. Operations counted as multiply-accumulate: output elements."""
    source, result = ctx.operand(op, ctx.input(op), WIDE), ctx.output(op)
    rises = (source.dtype, result.dtype) == ("int8", "int16")
    target = ctx.scaled(op, result) if rises else ctx.operand(op, result, (source.dtype,))
    ctx.expect_shape(op, target.tensor, source.shape)
    if not source.shape:
        ctx.refuse(op, f"{describe(source.tensor)} has no dimension")
    depth, wide = source.shape[-1], source.dtype == "int16"
    if depth > (longest := INT16_MAX if wide else _LONGEST):
        ctx.refuse(op, f"{depth} values in the last dimension of {describe(source.tensor)}", f"at most {longest}")
    if wide:
        _by_tables(ctx, op, source, target)
        return
    expected, lowest = (_OUTPUT_SCALE / 256, -1 << 15) if rises else (_OUTPUT_SCALE, -128)
    if target.zero_point != lowest or abs(target.scale - expected) > 0.001 * expected:
        hint = f"a softmax has scale 1/{round(1 / expected)} and zero point {lowest}{'' if rises else ', in uint8 0'}"
        ctx.refuse(op, f"output scale {target.scale:g} zero point {ctx.said_zero_point(target)}", hint)
    beta = float(op.options.get("beta", 1.0))
    factor = beta * source.scale * (1 << _FRACTION_BITS)
    if not factor > 1:
        ctx.refuse(op, f"beta {beta:g} x input scale {source.scale:g} is not above 2**-{_FRACTION_BITS}")
    fixed = quantize_multiplier(min(factor, INT32_MAX), largest_shift=31)
    # Differences further from the maximum do not fit the integer bits once they are scaled.
    radius = math.floor(((1 << _INTEGER_BITS) - 1) * (1 << _FRACTION_BITS) / (1 << fixed.shift))
    parameters = struct(
        "na_softmax_t", rows=source.tensor.elements // depth, depth=depth, **fixed.members(), minimum_difference=-radius
    )
    args = (ctx.read(op, source.tensor), ctx.write(target.tensor), parameters)
    ctx.emit(op, "na_softmax_s8_s16" if rises else "na_softmax_s8", args, macc=target.tensor.elements)


@operator("L2_NORMALIZATION", "LOG_SOFTMAX", limits="", plain=Plain(_plain, ("float32",)))
def rows(ctx: Lowering, op: Operator) -> None:
    """Refuse the integer forms of functions of rows."""
    ctx.operand(op, ctx.input(op), ("float32",))
