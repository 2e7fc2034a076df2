"""SQUARED_DIFFERENCE."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._binary import BROADCAST_LIMITS, emit_sum
from neuralart.model.graph import Operator


@operator("SQUARED_DIFFERENCE", limits=BROADCAST_LIMITS)
def squared_difference(ctx: Lowering, op: Operator) -> None:
    """Lower (a - b)**2."""
    emit_sum(ctx, op, "na_squared_difference_s8", fraction=1 << 7, power=2)
