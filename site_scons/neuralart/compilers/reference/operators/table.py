"""TABLE: a function of one stored value, whose results the reader of ONNX models has computed."""

from __future__ import annotations

from struct import unpack

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._table import table
from neuralart.model.graph import Operator


@operator("TABLE", limits="int8; of ONNX models: any function of one value, with requantization")
def looked_up(ctx: Lowering, op: Operator) -> None:
    """Lower a table; input 1 has the result for each stored value from -128 to 127."""
    source, target = ctx.ends(op)
    results = unpack("<256b", ctx.constant(op, ctx.input(op, 1), "results", ("int8",)))
    table(ctx, op, source, target, lambda stored: results[stored + 128])
