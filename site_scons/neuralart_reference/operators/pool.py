"""MAX_POOL_2D and AVERAGE_POOL_2D."""

from __future__ import annotations

from neuralart_reference.context import WIDE, Lowering, same_type, struct
from neuralart_reference.ir import StructArg
from neuralart_reference.model.graph import Operator, Tensor
from neuralart_reference.operators import Plain, operator
from neuralart_reference.operators._plain import SUFFIXES, bounds
from neuralart_reference.operators._window import members, window
from neuralart_reference.unsigned import is_unsigned

POOL_LIMITS = (
    "int8 or int16, equal quantization of input and output; SAME and VALID padding, strides; fused RELU, RELU6, "
    "RELU_N1_TO_1"
)

_LARGEST_WINDOW = {"int8": 1 << 23, "int16": 1 << 15, "float32": 1 << 23}  # the sum of so many values fits 32 bits


def _geometry(ctx: Lowering, op: Operator, source: Tensor, target: Tensor) -> tuple[dict[str, int], int]:
    """The members of na_pool_t that say where windows are, and elements of a window."""
    taps = (int(op.options.get("filter_height", 0)), int(op.options.get("filter_width", 0)))
    geometry, largest = window(ctx, op, source, taps), _LARGEST_WINDOW[source.dtype]
    if taps[0] * taps[1] > largest:
        ctx.refuse(op, f"a window of {taps[0]} x {taps[1]} is not supported", f"at most {largest} elements")
    ctx.expect_shape(op, target, (source.shape[0], *geometry.output, source.shape[3]))
    members_of = {
        "batches": source.shape[0],
        **members("input", source.shape[1:3]),
        "channels": source.shape[3],
        **members("output", geometry.output),
        **members("kernel", taps),
        **members("stride", geometry.stride),
        "pad_top": geometry.pad[0],
        "pad_left": geometry.pad[1],
    }
    return members_of, taps[0] * taps[1]


def pool(ctx: Lowering, op: Operator, kernel: str) -> None:
    """Emit a pooling. Operations counted as multiply-accumulate: output elements x kernel height x kernel width."""
    source, target = ctx.ends(op, WIDE)
    geometry, taps = _geometry(ctx, op, source.tensor, target.tensor)
    ctx.same_quantization(op, source, target)
    parameters = struct("na_pool_t", **geometry, **ctx.activation_members(op, ctx.activation(op), target))
    args = (ctx.read(op, source.tensor), ctx.write(target.tensor), parameters)
    ctx.emit(op, f"{kernel}_{SUFFIXES[source.dtype]}", args, macc=target.tensor.elements * taps)


def _plain(ctx: Lowering, op: Operator) -> None:
    """Lower a pooling in float32."""
    source, target = ctx.input(op), ctx.output(op)
    same_type(source, target)
    geometry, taps = _geometry(ctx, op, source, target)
    fields = (*((f"window.{name}", str(value)) for name, value in geometry.items()), *bounds(ctx, op).items())
    kernel = "na_max_pool_f32" if op.kind == "MAX_POOL_2D" else "na_average_pool_f32"
    args = (ctx.read(op, source), ctx.write(target), StructArg("na_pool_f32_t", fields))
    ctx.emit(op, kernel, args, macc=target.elements * taps)


_REALS = Plain(_plain, ("float32",))


@operator("MAX_POOL_2D", limits=POOL_LIMITS, plain=_REALS)
def max_pool_2d(ctx: Lowering, op: Operator) -> None:
    """Lower a window's maximum."""
    pool(ctx, op, "na_max_pool")


@operator("AVERAGE_POOL_2D", limits=POOL_LIMITS, plain=_REALS)
def average_pool_2d(ctx: Lowering, op: Operator) -> None:
    """Lower a window's average. The profile rounds halves of uint8 up, of int8 away from zero."""
    pool(ctx, op, "na_average_pool_half_up" if is_unsigned(op) else "na_average_pool")
