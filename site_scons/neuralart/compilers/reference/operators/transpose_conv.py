"""TRANSPOSE_CONV."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.compilers.reference import quantize
from neuralart.compilers.reference.context import Lowering, describe, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._constants import int32_values
from neuralart.compilers.reference.operators._convolution import (
    bias_argument,
    filter_scales,
    int32_bytes,
    product_of_scales,
)
from neuralart.compilers.reference.operators._window import down_and_right, padding_kind
from neuralart.model.graph import Operator, Tensor


@operator(
    "TRANSPOSE_CONV",
    limits="int8; constant output shape; constant symmetric weights, per tensor or per channel; int32 bias or none; "
    "SAME and VALID padding, strides; fused RELU, RELU6, RELU_N1_TO_1",
)
def transpose_conv(ctx: Lowering, op: Operator) -> None:
    """Lower a transposed convolution.

    Operations counted as multiply-accumulate: input elements x kernel height x kernel width x output channels.
    """
    weights = ctx.input(op, 1)
    source = ctx.operand(op, ctx.input(op, 2))
    target = ctx.operand(op, ctx.output(op))
    data = ctx.constant(op, weights, "weights", ("int8",))
    ctx.expect_shape(op, target.tensor, int32_values(ctx, op, ctx.input(op, 0), "output shapes"))
    for tensor in (source.tensor, weights, target.tensor):
        if len(tensor.shape) != 4:
            ctx.refuse(op, f"{describe(tensor)} has {len(tensor.shape)} dimensions, expected 4")
    channels, *kernel, depth = weights.shape
    if depth != source.shape[3]:
        ctx.refuse(
            op,
            f"weights {describe(weights)} do not fit {describe(source.tensor)}",
            f"expected [outputs, height, width, {source.shape[3]}]",
        )
    ctx.expect_shape(op, target.tensor, (source.shape[0], *target.shape[1:3], channels))
    strides = down_and_right(ctx, op, "stride_h", "stride_w")
    pads = _pads(ctx, op, source.tensor, target.tensor, kernel, strides)
    scales = filter_scales(ctx, op, weights, 0)
    factors = [ctx.fixed_point(op, product_of_scales(op, source.scale, scale) / target.scale) for scale in scales]
    if len(factors) == 1:
        factors *= channels
    low, high = ctx.activation_range(op, ctx.activation(op), target)
    parameters = struct(
        "na_transpose_conv_t",
        batches=source.shape[0],
        input_height=source.shape[1],
        input_width=source.shape[2],
        input_channels=depth,
        output_height=target.shape[1],
        output_width=target.shape[2],
        output_channels=channels,
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride_height=strides[0],
        stride_width=strides[1],
        pad_top=pads[0],
        pad_left=pads[1],
        input_offset=-source.zero_point,
        filter_offset=-ctx.quantization(op, weights).zero_point,
        output_offset=target.zero_point,
        activation_min=low,
        activation_max=high,
    )
    args = (
        ctx.read(op, source.tensor),
        ctx.data(op, data, "int8_t", "weights", weights),
        bias_argument(ctx, op, channels, position=3, source=source, scales=scales, target=target),
        ctx.data(op, int32_bytes([f.multiplier for f in factors]), "int32_t", "multiplier"),
        ctx.data(op, int32_bytes([f.shift for f in factors]), "int32_t", "shift"),
        ctx.write(target.tensor),
        parameters,
    )
    ctx.emit(op, "na_transpose_conv_s8", args, macc=source.tensor.elements * kernel[0] * kernel[1] * channels)


def _pads(
    ctx: Lowering, op: Operator, source: Tensor, target: Tensor, kernel: Sequence[int], strides: tuple[int, int]
) -> list[int]:
    """Rows above and columns left of the output that are cut off: the padding of the convolution back to the input.

    Raises NeuralArtError when that convolution gives another size than the input has.
    """
    padding = padding_kind(ctx, op)
    pads = []
    for before, after, taps, stride in zip(source.shape[1:3], target.shape[1:3], kernel, strides, strict=True):
        needed = quantize.output_size(after, taps, stride, 1, padding)
        if needed != before:
            ctx.refuse(
                op,
                f"{describe(target)} does not fit {describe(source)}: {taps} taps with stride {stride} and {padding} "
                f"padding make {after} of {needed}, not of {before}",
            )
        pads.append(quantize.padding_before(after, needed, taps, stride, 1))
    return pads
