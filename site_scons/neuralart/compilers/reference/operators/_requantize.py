"""Elementwise change of scale, zero point and range."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, Operand, struct
from neuralart.model.graph import Operator

_SUFFIX = {"int8": "s8", "uint8": "u8"}


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
        multiplier=fixed.multiplier,
        shift=fixed.shift,
        output_offset=target.zero_point,
        activation_min=bounds[0],
        activation_max=bounds[1],
    )
    kernel = f"na_requantize_{_SUFFIX[source.dtype]}_{_SUFFIX[target.dtype]}"
    args = (ctx.read(op, source.tensor), ctx.write(target.tensor), parameters)
    ctx.emit(op, kernel, args, macc=target.tensor.elements)
