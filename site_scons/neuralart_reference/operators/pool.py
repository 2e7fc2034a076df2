"""MAX_POOL_2D and AVERAGE_POOL_2D."""

from __future__ import annotations

from neuralart_reference.context import WIDE, Lowering, struct
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import operator
from neuralart_reference.operators._plain import SUFFIXES
from neuralart_reference.operators._window import members, window
from neuralart_reference.unsigned import is_unsigned

POOL_LIMITS = (
    "int8 or int16, equal quantization of input and output; SAME and VALID padding, strides; fused RELU, RELU6, "
    "RELU_N1_TO_1"
)

_LARGEST_WINDOW = {"int8": 1 << 23, "int16": 1 << 15}  # the sum of so many values fits 32 bits


def pool(ctx: Lowering, op: Operator, kernel: str) -> None:
    """Emit a pooling. Operations counted as multiply-accumulate: output elements x kernel height x kernel width."""
    source, target = ctx.ends(op, WIDE)
    taps = (int(op.options.get("filter_height", 0)), int(op.options.get("filter_width", 0)))
    geometry = window(ctx, op, source.tensor, taps)
    if taps[0] * taps[1] > _LARGEST_WINDOW[source.dtype]:
        hint = f"at most {_LARGEST_WINDOW[source.dtype]} elements"
        ctx.refuse(op, f"a window of {taps[0]} x {taps[1]} is not supported", hint)
    ctx.expect_shape(op, target.tensor, (source.shape[0], *geometry.output, source.shape[3]))
    ctx.same_quantization(op, source, target)
    parameters = struct(
        "na_pool_t",
        batches=source.shape[0],
        **members("input", source.shape[1:3]),
        channels=source.shape[3],
        **members("output", geometry.output),
        **members("kernel", taps),
        **members("stride", geometry.stride),
        pad_top=geometry.pad[0],
        pad_left=geometry.pad[1],
        **ctx.activation_members(op, ctx.activation(op), target),
    )
    args = (ctx.read(op, source.tensor), ctx.write(target.tensor), parameters)
    ctx.emit(op, f"{kernel}_{SUFFIXES[source.dtype]}", args, macc=target.tensor.elements * taps[0] * taps[1])


@operator("MAX_POOL_2D", limits=POOL_LIMITS)
def max_pool_2d(ctx: Lowering, op: Operator) -> None:
    """Lower a window's maximum."""
    pool(ctx, op, "na_max_pool")


@operator("AVERAGE_POOL_2D", limits=POOL_LIMITS)
def average_pool_2d(ctx: Lowering, op: Operator) -> None:
    """Lower a window's average. The profile rounds halves of uint8 up, of int8 away from zero."""
    pool(ctx, op, "na_average_pool_half_up" if is_unsigned(op) else "na_average_pool")
