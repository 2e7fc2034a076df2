"""LOGISTIC and TANH."""

from __future__ import annotations

import math

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._table import nearest, sampled, table
from neuralart.compilers.reference.quantize import float32
from neuralart.model.graph import Operator

_SCALE = 1 / 256

_exp = nearest(math.exp)
_tanh = nearest(math.tanh)


def _logistic(x: float) -> float:
    return float32(1.0 / float32(1.0 + _exp(-x)))


@operator("LOGISTIC", limits="int8, by table; output scale 1/256")
def logistic(ctx: Lowering, op: Operator) -> None:
    """Lower 1 / (1 + exp(-x))."""
    source, target = ctx.operand(op, ctx.input(op)), ctx.operand(op, ctx.output(op))
    if target.scale != _SCALE:
        ctx.refuse(op, f"output scale {target.scale:g}", "a logistic has scale 1/256")
    table(ctx, op, source, target, sampled(source, target, _logistic))


@operator("TANH", limits="int8, by table")
def tanh(ctx: Lowering, op: Operator) -> None:
    """Lower the hyperbolic tangent."""
    source, target = ctx.operand(op, ctx.input(op)), ctx.operand(op, ctx.output(op))
    table(ctx, op, source, target, sampled(source, target, _tanh))
