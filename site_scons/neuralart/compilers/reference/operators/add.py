"""ADD and SUB."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._binary import BROADCAST_LIMITS, emit_sum
from neuralart.model.graph import Operator

_LIMITS = f"{BROADCAST_LIMITS}; fused RELU, RELU6, RELU_N1_TO_1"


@operator("ADD", limits=_LIMITS)
@operator("SUB", limits=_LIMITS)
def add(ctx: Lowering, op: Operator) -> None:
    """Lower an addition or a subtraction, which is an addition with a negative second factor."""
    kernel = "na_sub_s8" if op.kind == "SUB" else "na_add_s8"
    emit_sum(ctx, op, kernel, fraction=1 << 20, activation=ctx.activation(op))
