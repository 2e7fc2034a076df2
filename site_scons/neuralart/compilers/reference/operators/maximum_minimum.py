"""MAXIMUM and MINIMUM."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._binary import BROADCAST_LIMITS, binary, emit_binary
from neuralart.model.graph import Operator

_LIMITS = f"{BROADCAST_LIMITS}; equal quantization of inputs and output"
_KERNELS = {"MAXIMUM": "na_maximum_s8", "MINIMUM": "na_minimum_s8"}


@operator("MAXIMUM", limits=_LIMITS)
@operator("MINIMUM", limits=_LIMITS)
def maximum_minimum(ctx: Lowering, op: Operator) -> None:
    """Lower the choice of the larger or smaller value.

    The reference compares stored values whatever they mean; models whose scales differ are refused instead.
    """
    sides = binary(ctx, op)
    for source in (sides.first, sides.second):
        ctx.same_quantization(op, source, sides.target)
    emit_binary(ctx, op, sides, _KERNELS[op.kind], struct("na_extremum_t", broadcast=sides.walk.expression()))
