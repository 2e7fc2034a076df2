"""FULLY_CONNECTED."""

from __future__ import annotations

import struct as binary

from neuralart_reference.context import WIDE, Lowering, describe, same_type, struct
from neuralart_reference.model.graph import Operator, Tensor
from neuralart_reference.operators import Plain, convolution, operator
from neuralart_reference.operators._plain import bounds, weights_and_bias


def _sizes(ctx: Lowering, op: Operator, source: Tensor, target: Tensor) -> dict[str, int]:
    """Rows, terms of a sum, and sums of a row; NeuralArtError when shapes do not fit."""
    weights, layout = ctx.input(op, 1), op.options.get("weights_format", "DEFAULT")
    if layout != "DEFAULT":
        ctx.refuse(op, f"weights format {layout} is not supported", "supported: DEFAULT")
    if len(weights.shape) != 2:
        ctx.refuse(op, f"weights {describe(weights)} have {len(weights.shape)} dimensions, expected 2")
    units, depth = weights.shape
    if source.elements % depth:
        ctx.refuse(op, f"{describe(source)} is no whole number of rows of {depth} for {describe(weights)}")
    batches = source.elements // depth
    if not target.shape or target.shape[-1] != units or target.elements != batches * units:
        ctx.expect_shape(op, target, (batches, units))
    return {"batches": batches, "depth": depth, "units": units}


def _plain(ctx: Lowering, op: Operator) -> None:
    """Lower a fully connected layer in float32."""
    source, target = ctx.input(op), ctx.output(op)
    same_type(source, target, ctx.input(op, 1))
    sizes = _sizes(ctx, op, source, target)
    parameters = struct("na_fully_connected_f32_t", **sizes, **bounds(ctx, op))
    args = (ctx.read(op, source), *weights_and_bias(ctx, op, sizes["units"]), ctx.write(target), parameters)
    ctx.emit(op, "na_fully_connected_f32", args, macc=target.elements * sizes["depth"])


@operator(
    "FULLY_CONNECTED",
    limits="int8; constant weights, per tensor (with any zero point) or per channel (symmetric); int32 bias or none; "
    f"fused RELU, RELU6, RELU_N1_TO_1; {convolution.WIDE_WEIGHTS}",
    plain=Plain(_plain, ("float32",)),
)
def fully_connected(ctx: Lowering, op: Operator) -> None:
    """Lower a fully connected layer.

    The profile requantizes this one operator in float64 (since TensorFlow 2.20): the factors stay real numbers.
    Multiply-accumulate operations: output elements x depth.
    """
    source, target = ctx.ends(op, WIDE)
    weights = ctx.input(op, 1)
    data = ctx.constant(op, weights, "weights", ("int8",))
    sizes = _sizes(ctx, op, source.tensor, target.tensor)
    scales, zero_point = _weights_quantization(ctx, op, weights)
    factors = [source.scale * scale / target.scale for scale in scales]
    parameters = struct(
        "na_fully_connected_t",
        **sizes,
        input_offset=-source.zero_point,
        filter_offset=-zero_point,
        output_offset=target.zero_point,
        **ctx.activation_members(op, ctx.activation(op), target),
        per_channel=int(len(factors) > 1),
    )
    args = (
        ctx.read(op, source.tensor),
        ctx.data(op, data, "int8_t", "weights", weights),
        convolution.bias_argument(ctx, op, sizes["units"], source=source, scales=scales, target=target),
        ctx.data(op, binary.pack(f"<{len(factors)}d", *factors), "double", "scale"),
        ctx.write(target.tensor),
        parameters,
    )
    macc = target.tensor.elements * sizes["depth"]
    ctx.emit(op, f"na_fully_connected_{convolution.kernel_suffix(op, source)}", args, macc=macc)


def _weights_quantization(ctx: Lowering, op: Operator, weights: Tensor) -> tuple[tuple[float, ...], int]:
    if ctx.quantization(op, weights).per_channel:
        return convolution.filter_scales(ctx, op, weights, 0), 0
    operand = ctx.operand(op, weights)
    return (operand.scale,), operand.zero_point
