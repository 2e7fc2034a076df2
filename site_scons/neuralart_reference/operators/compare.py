"""Comparisons, logic, and the choice between two inputs."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart_reference.context import Lowering, Unsupported, describe, same_type, struct
from neuralart_reference.data_movement import BROADCAST_RANK, dense, filled
from neuralart_reference.ir import TensorArg
from neuralart_reference.model.graph import DTYPE_BYTES, Operator, Tensor
from neuralart_reference.operators import operator
from neuralart_reference.operators._movement import TYPES, check_types, same_quantization, source_bytes, target_bytes
from neuralart_reference.operators._plain import EQUAL, GREATER, LESS, NO_NUMBER, SUFFIXES, walked

_HOLDS = {
    "EQUAL": EQUAL,
    "NOT_EQUAL": LESS | GREATER | NO_NUMBER,
    "GREATER": GREATER,
    "GREATER_EQUAL": GREATER | EQUAL,
    "LESS": LESS,
    "LESS_EQUAL": LESS | EQUAL,
}
_LIMITS = "int8, int32, int64, float32 to bool; broadcasting"


@operator("EQUAL", "NOT_EQUAL", limits=f"{_LIMITS}; also bool", floats=True)
@operator("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", limits=_LIMITS, floats=True)
def compare(ctx: Lowering, op: Operator) -> None:
    """Lower a comparison. Operations counted as multiply-accumulate: output elements."""
    first, second, target = ctx.input(op), ctx.input(op, 1), ctx.output(op)
    boolean = ("bool",) if op.kind.removeprefix("NOT_") == "EQUAL" else ()
    check_types(ctx, op, first, types=("int8", "int32", "int64", "float32", *boolean))
    check_types(ctx, op, target, types=("bool",))
    same_type(first, second)
    scales: dict[str, int] = {}
    if first.dtype == "int8":  # by the scales, each a factor below 1 of its own, as LiteRT does
        for number, tensor in enumerate((first, second), 1):
            operand = ctx.operand(op, tensor)
            if operand.scale >= 1:
                ctx.refuse(op, f"scale {operand.scale:g} of {describe(tensor)} is not supported", "less than 1")
            members = ctx.fixed_point(op, operand.scale).members(f"input{number}_")
            scales |= {f"input{number}_offset": -operand.zero_point, **members}
    walk = walked(ctx, op, first, second, target)
    parameters = struct("na_compare_t", broadcast=walk.expression(), holds=_HOLDS[op.kind], **scales)
    args = (ctx.read(op, first, "input1"), ctx.read(op, second, "input2"), ctx.write(target), parameters)
    ctx.emit(op, f"na_compare_{SUFFIXES[first.dtype]}", args, macc=target.elements)


@operator("LOGICAL_AND", "LOGICAL_OR", limits="bool; broadcasting")
@operator("LOGICAL_NOT", limits="bool")
def logical(ctx: Lowering, op: Operator) -> None:
    """Lower a logical operation on bytes that are 0 or 1: the smaller one, the larger one, or not equal to 1."""
    tensors = [ctx.tensors[index] for index in op.inputs if index >= 0]
    check_types(ctx, op, *tensors, ctx.output(op), types=("bool",))
    target = ctx.output(op)
    if op.kind == "LOGICAL_NOT":
        source, one = ctx.input(op), ctx.data(op, b"\1", "uint8_t", "one")
        walk = walked(ctx, op, source, Tensor(-1, "", (), "bool"), target)
        parameters = struct("na_compare_t", broadcast=walk.expression(), holds=_HOLDS["NOT_EQUAL"])
        ctx.emit(op, "na_compare_u8", (ctx.read(op, source), one, ctx.write(target), parameters))
        return
    first, second = ctx.input(op), ctx.input(op, 1)
    kernel = "na_minimum_s8" if op.kind == "LOGICAL_AND" else "na_maximum_s8"
    parameters = struct("na_extremum_t", broadcast=walked(ctx, op, first, second, target).expression())
    inputs = (TensorArg(tensor.index, "int8_t") for tensor in (first, second))
    ctx.emit(op, kernel, (*inputs, TensorArg(target.index, "int8_t", written=True), parameters))


def _steps(shape: Sequence[int], output: Sequence[int]) -> list[int]:
    """Elements from one to the next along each dimension of the output, 0 where it repeats."""
    own = (*[1] * (len(output) - len(shape)), *shape)
    if len(own) > len(output) or any(size not in (1, wanted) for size, wanted in zip(own, output, strict=True)):
        raise Unsupported(f"shape {list(shape)} does not broadcast to {list(output)}")
    return [step if size > 1 else 0 for size, step in zip(own, dense(own), strict=True)]


_SELECT = f"{TYPES}; equal quantization; condition of bool; at most {BROADCAST_RANK} dimensions"


@operator("SELECT", limits=f"{_SELECT}; a condition of one dimension chooses rows", floats=True)
@operator("SELECT_V2", limits=f"{_SELECT}; broadcasting", floats=True)
def select(ctx: Lowering, op: Operator) -> None:
    """Lower a choice of elements. Operations counted as multiply-accumulate: output elements."""
    condition, first, second, target = *(ctx.input(op, n) for n in range(3)), ctx.output(op)
    check_types(ctx, op, condition, types=("bool",))
    check_types(ctx, op, first)
    same_type(first, second, target)
    same_quantization(ctx, op, [first, second, target])
    shape = condition.shape
    if op.kind == "SELECT":
        ctx.expect_shape(op, first, target.shape)
        ctx.expect_shape(op, second, target.shape)
        if len(shape) == 1:
            shape += (1,) * (len(target.shape) - 1)
    if len(target.shape) > BROADCAST_RANK:
        ctx.refuse(op, f"{len(target.shape)} dimensions of {describe(target)}", f"at most {BROADCAST_RANK}")
    sides = (("condition_step", shape), ("step1", first.shape), ("step2", second.shape))
    steps = {name: filled(_steps(own, target.shape), 0, BROADCAST_RANK) for name, own in sides}
    size, row = DTYPE_BYTES[target.dtype], filled(target.shape, 1, BROADCAST_RANK)
    args = (source_bytes(condition), source_bytes(first), source_bytes(second), target_bytes(target))
    ctx.emit(op, "na_select_8", (*args, struct("na_select_t", element=size, shape=row, **steps)), macc=target.elements)
