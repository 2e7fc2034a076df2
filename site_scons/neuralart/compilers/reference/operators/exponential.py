"""EXP and LOG."""

from __future__ import annotations

import math

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._table import nearest, sampled, table
from neuralart.compilers.reference.quantize import RANGES, float32
from neuralart.model.graph import Operator

_exp = nearest(math.exp)
_log = nearest(math.log)


@operator("EXP", limits="int8, by table")
def exp(ctx: Lowering, op: Operator) -> None:
    """Lower the exponential function."""
    source, target = ctx.operand(op, ctx.input(op)), ctx.operand(op, ctx.output(op))
    table(ctx, op, source, target, sampled(source, target, _exp))


@operator("LOG", limits="int8, by table; the smallest value for zero and below")
def log(ctx: Lowering, op: Operator) -> None:
    """Lower the natural logarithm."""
    source, target = ctx.operand(op, ctx.input(op)), ctx.operand(op, ctx.output(op))
    smallest = float32((RANGES[target.dtype][0] - target.zero_point) * target.scale)
    table(ctx, op, source, target, sampled(source, target, lambda x: _log(x) if x > 0 else smallest))
