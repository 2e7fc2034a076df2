"""Slices, splits, packs, transpositions, and depth to space and back: operators that are nothing but moves."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._movement import RANK, TYPES, rearrange, same_quantization
from neuralart.model.graph import Operator

_BLOCKS = f"{TYPES}; 4 dimensions, any block_size"


@operator("DEPTH_TO_SPACE", limits=_BLOCKS, floats=True)
@operator("SPACE_TO_DEPTH", limits=_BLOCKS, floats=True)
@operator("SQUEEZE", limits=f"{TYPES}; costs nothing, except between an input and an output", floats=True)
@operator("SLICE", limits=f"{TYPES}; constant begin and size", floats=True)
@operator("SPLIT", limits=f"{TYPES}; constant dimension", floats=True)
@operator("SPLIT_V", limits=f"{TYPES}; constant sizes and dimension", floats=True)
@operator(
    "STRIDED_SLICE",
    limits=f"{TYPES}; constant begin, end and strides (negative too), all masks, not the option offset",
    floats=True,
)
@operator(
    "TRANSPOSE",
    limits=f"{TYPES}; constant order of at most {RANK} dimensions that cannot be joined",
    floats=True,
)
def copied(ctx: Lowering, op: Operator) -> None:
    """Lower an operator that copies values; LiteRT does not look at the scales."""
    rearrange(ctx, op)


@operator(
    "EXPAND_DIMS",
    limits=f"{TYPES}, equal quantization of input and output; constant dimension; costs nothing, except between an "
    "input and an output",
    floats=True,
)
@operator("PACK", limits=f"{TYPES}, equal quantization of inputs and output; any dimension", floats=True)
@operator("UNPACK", limits=f"{TYPES}, equal quantization of input and outputs; any dimension", floats=True)
def packed(ctx: Lowering, op: Operator) -> None:
    """Lower an operator that copies values between equal scales only."""
    values = op.inputs[:1] if op.kind == "EXPAND_DIMS" else op.inputs
    same_quantization(ctx, op, [ctx.tensors[index] for index in (*values, *op.outputs) if index >= 0])
    rearrange(ctx, op)
