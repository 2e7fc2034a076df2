"""EXP, LOG, LOGISTIC and TANH, and TABLE: a function that the reader of ONNX models has sampled."""

from __future__ import annotations

import math
from struct import unpack

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


@operator("TABLE", limits="int8; of ONNX models: any function of one value, with requantization")
def looked_up(ctx: Lowering, op: Operator) -> None:
    """Lower a table; input 1 has the result for each stored value from -128 to 127."""
    results = unpack("<256b", ctx.constant(op, ctx.input(op, 1), "results", ("int8",)))
    table(ctx, op, *ctx.ends(op), lambda stored: results[stored + 128])
