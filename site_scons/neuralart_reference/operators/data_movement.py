"""Reshapes, slices, splits, packs, transpositions, depth to space and back: nothing but moves."""

from __future__ import annotations

from neuralart_reference.context import BYTES_T, Lowering, describe, struct
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import operator
from neuralart_reference.operators._movement import (
    RANK,
    TYPES,
    check_types,
    rearrange,
    same_quantization,
    source_bytes,
    target_bytes,
)


@operator("RESHAPE", limits=f"{TYPES}; costs nothing, except between an input and an output", floats=True)
def reshape(ctx: Lowering, op: Operator) -> None:
    """Lower a reshape: the output is the input's memory. The wanted shape is the output tensor's."""
    source, target = ctx.input(op), ctx.output(op)
    check_types(ctx, op, source)
    shape = ctx.optional(op, 1)
    if shape is not None and shape.data is None:
        ctx.refuse(op, f"the shape {describe(shape)} is computed while the network runs", "it must be constant")
    if source.dtype != target.dtype or source.elements != target.elements:
        ctx.refuse(op, f"{describe(source)} cannot be {describe(target)}")
    ctx.alias(op, source, target)


@operator("ASSIGN_VARIABLE", limits=f"{TYPES}; the variable keeps the value for the next inference", floats=True)
@operator("READ_VARIABLE", limits=f"{TYPES}; first value of equal bytes, set by CALL_ONCE", floats=True)
def variable(ctx: Lowering, op: Operator) -> None:
    """Lower a copy from or to a variable, which may be assigned before what was read is used for the last time."""
    reads = op.kind == "READ_VARIABLE"
    source, target = (ctx.input(op), ctx.output(op)) if reads else (ctx.input(op, 1), ctx.input(op))
    check_types(ctx, op, source, target)
    ctx.emit(op, "na_copy_8", (source_bytes(source), target_bytes(target), struct(BYTES_T, count=source.bytes)))


_BLOCKS = f"{TYPES}; 4 dimensions, any block_size"


@operator("BATCH_TO_SPACE_ND", limits=f"{TYPES}; constant blocks and crops", floats=True)
@operator(
    "BROADCAST_TO", limits=f"{TYPES}; constant shape; at most {RANK} dimensions that cannot be joined", floats=True
)
@operator("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", limits=_BLOCKS, floats=True)
@operator("MOVE", limits=f"{TYPES}; of ONNX models: at most {RANK} dimensions that cannot be joined", floats=True)
@operator("REVERSE_V2", limits=f"{TYPES}; constant dimensions", floats=True)
@operator("SQUEEZE", limits=f"{TYPES}; costs nothing, except between an input and an output", floats=True)
@operator("SLICE", limits=f"{TYPES}; constant begin and size", floats=True)
@operator("SPLIT", limits=f"{TYPES}; constant dimension", floats=True)
@operator("SPLIT_V", limits=f"{TYPES}; constant sizes and dimension", floats=True)
@operator(
    "STRIDED_SLICE",
    limits=f"{TYPES}; constant begin, end and strides (negative too), all masks, not the option offset",
    floats=True,
)
@operator("TILE", limits=f"{TYPES}; constant multiples; at most {RANK} dimensions that cannot be joined", floats=True)
@operator(
    "TRANSPOSE", limits=f"{TYPES}; constant order of at most {RANK} dimensions that cannot be joined", floats=True
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
