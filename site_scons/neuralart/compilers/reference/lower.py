"""From a model to kernel calls."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.compilers.reference import border, folding, unsigned
from neuralart.compilers.reference.context import Lowering, describe
from neuralart.compilers.reference.ir import BorderOptions, Call, Program
from neuralart.compilers.reference.operators import every, lookup
from neuralart.errors import NeuralArtError
from neuralart.model.graph import DTYPE_BYTES, Model, Operator, Tensor

_LARGEST_TENSOR = (1 << 31) - 1
_FLOATS = ("float32", "float16", "float64")
_16_BITS = ("int16", "uint16")


@dataclass(frozen=True)
class OperatorInfo:
    """A supported operator, for people."""

    kind: str  # upper-case TFLite name
    limits: str  # what of it is supported


def supported() -> list[OperatorInfo]:
    """The supported operators in alphabetical order."""
    return [OperatorInfo(entry.kind, entry.limits) for entry in every()]


def lower(model: Model, options: BorderOptions) -> Program:
    """Turn a model into kernel calls, one per operator that does something, and border conversions.

    Raises NeuralArtError when an operator, a tensor or an option is not supported, or the graph makes no sense.
    """
    border.check_positions(model, options)
    _check_border(model)
    ctx = Lowering(unsigned.signed(folding.fold(model)), model)
    inputs, before = _inputs(ctx, model, options)
    outputs, after = _outputs(ctx, model, options)
    ctx.border = {*inputs, *outputs}
    ctx.calls.extend(before)
    known = {*model.inputs}
    for op in ctx.model.operators:
        _check_graph(ctx, op, known)
        known.update(op.outputs)
        entry = lookup(op.kind)
        if entry is not None:
            _refuse_16_bits(ctx, op)
        if entry is None or not entry.floats:
            _refuse_float(ctx, op)
        if (
            entry is None
            and op.kind in folding.FOLDED
            and all(ctx.tensors[i].data is not None for i in op.inputs if i >= 0)
        ):
            what = "its result is constant, and an output of the model"
            if not any(index in model.outputs for index in op.outputs):
                what = f"constants of these types are not computed: {_signature(ctx, op)}"
            ctx.refuse(op, what, "leave it out of the model")
        if entry is None:
            ctx.refuse(
                op,
                f"operator is not supported: {_signature(ctx, op)}",
                f"supported: {', '.join(entry.kind for entry in every())}",
            )
        if all(ctx.tensors[i].data is not None for i in op.inputs if i >= 0):
            ctx.refuse(op, f"all inputs are constants: {_signature(ctx, op)}", "fold them when the model is made")
        entry.lower(ctx, op)
    for index in model.outputs:
        if index not in known:
            raise NeuralArtError(
                f"output {describe(model.tensors[index])} is computed by no operator", where=model.path
            )
    ctx.calls.extend(after)
    return Program(
        tensors=ctx.tensors, calls=ctx.calls, inputs=tuple(inputs), outputs=tuple(outputs), aliases=ctx.aliases
    )


def _inputs(ctx: Lowering, model: Model, options: BorderOptions) -> tuple[list[int], list[Call]]:
    dtypes = border.spread(model, "--input-data-type", options.input_dtypes, border.DTYPES, len(model.inputs))
    seen: list[int] = []
    calls: list[Call] = []
    for index, asked in zip(model.inputs, dtypes, strict=True):
        # Not asked, the application keeps the model's type, whatever is computed on.
        dtype, tensor = asked or model.tensors[index].dtype, ctx.tensors[index]
        if dtype == tensor.dtype:
            seen.append(index)
            continue
        outer, call = border.convert_input(model, tensor, dtype, len(ctx.tensors))
        ctx.tensors.append(outer)
        ctx.tensors[index] = border.inner(tensor)
        calls.append(call)
        seen.append(outer.index)
    return seen, calls


def _outputs(ctx: Lowering, model: Model, options: BorderOptions) -> tuple[list[int], list[Call]]:
    dtypes = border.spread(model, "--output-data-type", options.output_dtypes, border.DTYPES, len(model.outputs))
    seen: list[int] = []
    calls: list[Call] = []
    for index, asked in zip(model.outputs, dtypes, strict=True):
        # Not asked, the application keeps the model's type, whatever is computed on.
        dtype, tensor = asked or model.tensors[index].dtype, ctx.tensors[index]
        if dtype == tensor.dtype:
            seen.append(index)
            continue
        outer, call = border.convert_output(model, tensor, dtype, len(ctx.tensors))
        ctx.tensors.append(outer)
        ctx.tensors[index] = border.inner(tensor)
        calls.append(call)
        seen.append(outer.index)
    return seen, calls


def _check_border(model: Model) -> None:
    """Inputs and outputs must be different buffers that something fills."""
    for side, indices in (("inputs", model.inputs), ("outputs", model.outputs)):
        if not indices:
            raise NeuralArtError(f"the model has no {side}", where=model.path)
        for index in indices:
            tensor = model.tensors[index]
            if indices.count(index) > 1:
                raise NeuralArtError(f"{describe(tensor)} is listed twice among the {side}", where=model.path)
            if tensor.data is not None:
                raise NeuralArtError(f"{describe(tensor)} among the {side} is a constant", where=model.path)
            if problem := _problem(tensor):
                raise NeuralArtError(f"{side[:-1]} {describe(tensor)} {problem}", where=model.path)
    for index in model.outputs:
        if index in model.inputs:
            raise NeuralArtError(
                f"output {describe(model.tensors[index])} is also an input: nothing is computed", where=model.path
            )


def _check_graph(ctx: Lowering, op: Operator, known: set[int]) -> None:
    """Every tensor has a size, is filled before it is read, and is filled once."""
    for index in (*op.inputs, *op.outputs):
        if index < 0:
            continue
        tensor = ctx.tensors[index]
        if problem := _problem(tensor):
            ctx.refuse(op, f"{describe(tensor)} {problem}")
    for index in op.inputs:
        if index >= 0 and ctx.tensors[index].data is None and index not in known:
            ctx.refuse(op, f"{describe(ctx.tensors[index])} is read before any operator fills it")
    for index in op.outputs:
        if index in known or ctx.tensors[index].data is not None:
            ctx.refuse(op, f"{describe(ctx.tensors[index])} is filled twice")


def _problem(tensor: Tensor) -> str:
    """What makes a tensor unusable, whatever the operator."""
    if any(size <= 0 for size in tensor.shape):
        return "has no fixed size: dynamic shapes are not supported"
    if tensor.elements * DTYPE_BYTES.get(tensor.dtype, 1) > _LARGEST_TENSOR:
        return f"is larger than {_LARGEST_TENSOR} bytes"
    if tensor.data is not None and tensor.dtype in DTYPE_BYTES and len(tensor.data) != tensor.bytes:
        return f"holds {len(tensor.data)} bytes, its shape asks for {tensor.bytes}"
    return ""


def _refuse_16_bits(ctx: Lowering, op: Operator) -> None:
    """Say of a model with 16-bit activations that it is one, before anything about its operators."""
    for index in (*op.inputs, *op.outputs):
        if index < 0 or ctx.tensors[index].data is not None or ctx.tensors[index].dtype not in _16_BITS:
            continue
        tensor = ctx.tensors[index]
        ctx.refuse(
            op,
            f"{tensor.dtype} activations are not supported: {describe(tensor)}",
            "supported: int8 and uint8",
        )


def _refuse_float(ctx: Lowering, op: Operator) -> None:
    """Say of a float model that it is one, before anything about its operators."""
    for index in (*op.inputs, *op.outputs):
        if index < 0 or ctx.tensors[index].dtype not in _FLOATS:
            continue
        tensor = ctx.tensors[index]
        quantized = any(t.dtype in ("int8", "uint8") and t.data is None for t in ctx.model.tensors)
        what = "this part of the model is" if quantized else f"{tensor.dtype} model:"
        what = f"{what} computed in {tensor.dtype}" if quantized else f"{what} the operator computes"
        ctx.refuse(op, f"{what} on {describe(tensor)}", "quantize it to int8 (full integer quantization)")


def _signature(ctx: Lowering, op: Operator) -> str:
    sides = [
        ", ".join(describe(ctx.tensors[i]) if i >= 0 else "absent" for i in indices) or "nothing"
        for indices in (op.inputs, op.outputs)
    ]
    return f"{sides[0]} -> {sides[1]}"
