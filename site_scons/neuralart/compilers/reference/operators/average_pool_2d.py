"""AVERAGE_POOL_2D."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._pool import POOL_LIMITS, pool
from neuralart.compilers.reference.unsigned import is_unsigned
from neuralart.model.graph import Operator


@operator("AVERAGE_POOL_2D", limits=POOL_LIMITS)
def average_pool_2d(ctx: Lowering, op: Operator) -> None:
    """Lower a window's average. The profile rounds halves of uint8 up, of int8 away from zero."""
    pool(ctx, op, "na_average_pool_half_up_s8" if is_unsigned(op) else "na_average_pool_s8")
