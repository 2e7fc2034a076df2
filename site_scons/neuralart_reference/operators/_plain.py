"""Operators on plain numbers, as those parts of a model compute that are not quantized: float32 and int32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from neuralart_reference.context import C_TYPES, Lowering, describe, float_literal, same_type, struct
from neuralart_reference.data_movement import BROADCAST_RANK, Broadcast, broadcast
from neuralart_reference.ir import Arg, Null, TensorArg
from neuralart_reference.model.graph import DTYPE_BYTES, Operator, Tensor
from neuralart_reference.operators import Plain
from neuralart_reference.quantize import ACTIVATIONS
from neuralart_reference.unsigned import is_unsigned

SUFFIXES = {"int8": "s8", "uint8": "u8", "int16": "s16"}
SUFFIXES |= {"int32": "i32", "int64": "i64", "float32": "f32", "bool": "u8"}
"""Element type -> how the names of kernels end."""
_LARGEST = float.fromhex("0x1.fffffep127")
# Kind -> kernel, and its two numbers.
_FUNCTIONS: Mapping[str, tuple[str, float, float]] = {
    "RELU6": ("clip", 0.0, 6.0),
    "RELU_0_TO_1": ("clip", 0.0, 1.0),
    "RELU_N1_TO_1": ("clip", -1.0, 1.0),
}


def as_stored(ctx: Lowering, op: Operator) -> None:
    """Refuse uint8 where the profile has no such operator, or the bytes themselves count: they become int8."""
    if is_unsigned(op):
        ctx.refuse(op, "quantized uint8 is not supported", "supported: int8")


def walked(ctx: Lowering, op: Operator, first: Tensor, second: Tensor, target: Tensor) -> Broadcast:
    """How two inputs fill the output; NeuralArtError when their shapes do not fit, or the kernels cannot."""
    walk = broadcast(first.shape, second.shape)
    ctx.expect_shape(op, target, walk.output)
    check_rank(ctx, op, walk)
    return walk


def check_rank(ctx: Lowering, op: Operator, walk: Broadcast) -> None:
    """Check that the kernels can walk so many dimensions; NeuralArtError when they cannot."""
    if len(walk.shape) > BROADCAST_RANK:
        ctx.refuse(op, f"broadcasting over {len(walk.shape)} dimensions is not supported", f"at most {BROADCAST_RANK}")


def _two_inputs(ctx: Lowering, op: Operator) -> None:
    """Lower an operator with two inputs. Operations counted as multiply-accumulate: output elements."""
    first, second, target = ctx.input(op), ctx.input(op, 1), ctx.output(op)
    same_type(first, second, target)
    walk = walked(ctx, op, first, second, target)
    if op.kind == "PRELU" and walk.output != first.shape:
        ctx.refuse(op, f"slopes {describe(second)} do not broadcast to {describe(first)}")
    low, high = ACTIVATIONS[ctx.activation(op)]
    limits = bounds(ctx, op)
    if first.dtype == "int32":
        limits["low"] = "INT32_MIN" if low is None else str(int(low))
        limits["high"] = "INT32_MAX" if high is None else str(int(high))
    suffix = SUFFIXES[first.dtype]
    parameters = struct(f"na_numbers_{suffix}_t", broadcast=walk.expression(), **limits)
    args = (ctx.read(op, first, "input1"), ctx.read(op, second, "input2"), ctx.write(target), parameters)
    ctx.emit(op, f"na_{op.kind.lower()}_{suffix}", args, macc=target.elements)


def _function(ctx: Lowering, op: Operator) -> None:
    """Lower a function of one value. Operations counted as multiply-accumulate: output elements."""
    source, target = ctx.input(op), ctx.output(op)
    same_type(source, target)
    ctx.expect_shape(op, target, source.shape)
    name, low, high = _FUNCTIONS.get(op.kind, (op.kind.lower(), float(op.options.get("alpha", 0.0)), 0.0))
    name += "_by_tanh" if op.options.get("approximate", False) else ""
    parameters = struct("na_function_f32_t", count=source.elements, low=float_literal(low), high=float_literal(high))
    ctx.emit(op, f"na_{name}_f32", (ctx.read(op, source), ctx.write(target), parameters), macc=target.elements)


LESS, EQUAL, GREATER, NO_NUMBER = 1, 2, 4, 8
"""What may hold in a comparison, as the kernels have it."""


def emit_not_zero(ctx: Lowering, op: Operator, source: Tensor, target: Tensor) -> None:
    """Emit a comparison of stored values with 0; NeuralArtError for a type that has none."""
    if source.dtype == "int16":
        ctx.refuse(op, f"int16 to bool is not supported: {describe(source)}")
    zero = ctx.data(
        op, bytes(DTYPE_BYTES[source.dtype]), "uint8_t" if source.dtype == "int8" else C_TYPES[source.dtype], "zero"
    )
    walk = walked(ctx, op, source, replace(source, shape=()), target)
    parameters = struct("na_compare_t", broadcast=walk.expression(), holds=LESS | GREATER | NO_NUMBER)
    suffix = "u8" if DTYPE_BYTES[source.dtype] == 1 else SUFFIXES[source.dtype]
    args = (TensorArg(source.index, C_TYPES[source.dtype] if suffix != "u8" else "uint8_t"), zero, ctx.write(target))
    ctx.emit(op, f"na_compare_{suffix}", (*args, parameters), macc=target.elements)


def bounds(ctx: Lowering, op: Operator) -> dict[str, str]:
    """The fused activation of an operator in float32, as members ``low`` and ``high``."""
    low, high = ACTIVATIONS[ctx.activation(op)]
    return {
        "low": float_literal(-_LARGEST if low is None else low),
        "high": float_literal(_LARGEST if high is None else high),
    }


def weights_and_bias(ctx: Lowering, op: Operator, channels: int, position: int = 2) -> tuple[Arg, Arg]:
    """Constant float32 weights and the bias of a layer, or a null pointer; NeuralArtError when they do not fit."""
    weights, bias = ctx.input(op, 1), ctx.optional(op, position)
    first = ctx.data(op, ctx.constant(op, weights, "weights", ("float32",)), "float", "weights", weights)
    if bias is None:
        return first, Null()
    data = ctx.constant(op, bias, "biases", ("float32",))
    if bias.elements != channels:
        ctx.refuse(op, f"bias {describe(bias)} has {bias.elements} elements, expected {channels}")
    return first, ctx.data(op, data, "float", "bias", bias)


FUNCTION = Plain(_function, ("float32",))
"""A function of one value."""
NUMBERS = Plain(_two_inputs, ("float32", "int32"))
"""An operator with two inputs."""
REALS = Plain(_two_inputs, ("float32",))
"""Likewise, of float32 only."""
