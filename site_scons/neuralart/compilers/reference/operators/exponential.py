"""EXP, LOG, LOGISTIC and TANH."""

from __future__ import annotations

import math

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._table import nearest, sampled, table
from neuralart.compilers.reference.quantize import RANGES, float32
from neuralart.model.graph import Operator

_LOGISTIC_SCALE = 1 / 256
_FUNCTIONS = {"EXP": nearest(math.exp), "LOG": nearest(math.log), "TANH": nearest(math.tanh)}


@operator("EXP", limits="int8, by table")
@operator("TANH", limits="int8, by table")
def sampled_function(ctx: Lowering, op: Operator) -> None:
    """Lower the exponential function or the hyperbolic tangent."""
    source, target = ctx.ends(op)
    table(ctx, op, source, target, sampled(source, target, _FUNCTIONS[op.kind]))


@operator("LOG", limits="int8, by table; the smallest value for zero and below")
def log(ctx: Lowering, op: Operator) -> None:
    """Lower the natural logarithm."""
    source, target = ctx.ends(op)
    smallest = float32((RANGES[target.dtype][0] - target.zero_point) * target.scale)
    table(ctx, op, source, target, sampled(source, target, lambda x: _FUNCTIONS["LOG"](x) if x > 0 else smallest))


@operator("LOGISTIC", limits="int8, by table; output scale 1/256")
def logistic(ctx: Lowering, op: Operator) -> None:
    """Lower 1 / (1 + exp(-x))."""
    source, target = ctx.ends(op)
    if target.scale != _LOGISTIC_SCALE:
        ctx.refuse(op, f"output scale {target.scale:g}", "a logistic has scale 1/256")
    exp = _FUNCTIONS["EXP"]
    table(ctx, op, source, target, sampled(source, target, lambda x: float32(1.0 / float32(1.0 + exp(-x)))))
