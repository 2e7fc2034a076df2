"""CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV."""

from __future__ import annotations

import struct as binary
from collections.abc import Sequence

from neuralart_reference import quantize
from neuralart_reference.context import C_TYPES, WIDE, Lowering, Operand, describe, same_type, struct
from neuralart_reference.ir import Arg, Null, StructArg
from neuralart_reference.model.graph import Operator, Tensor
from neuralart_reference.operators import Plain, operator
from neuralart_reference.operators._plain import bounds, weights_and_bias
from neuralart_reference.operators._window import down_and_right, members, padding_kind, window
from neuralart_reference.quantize import float32
from neuralart_reference.unsigned import is_unsigned

_LARGEST_SHIFT = 7  # to the left, of sums of 64 bits
FLOAT32_MAX = 3.4028234663852886e38


def int32_bytes(values: Sequence[int]) -> bytes:
    """Little-endian 32-bit integers."""
    return binary.pack(f"<{len(values)}i", *values)


def filter_scales(ctx: Lowering, op: Operator, weights: Tensor, axis: int) -> tuple[float, ...]:
    """The scales of weights: one, or one per output channel. Weights of a uint8 model may have a zero point. Raises
    NeuralArtError when a zero point is not 0, or the number or the dimension of the scales is wrong.
    """
    quantization = ctx.quantization(op, weights)
    channels = weights.shape[axis]
    if any(quantization.zero_points) and not is_unsigned(op):
        ctx.refuse(op, f"weights {describe(weights)} have a zero point other than 0", "their zero points must be 0")
    if quantization.per_channel and (len(quantization.scales) != channels or quantization.axis != axis):
        what = f"weights {describe(weights)} have {len(quantization.scales)} scales along dimension {quantization.axis}"
        ctx.refuse(op, what, f"expected one scale, or {channels} along dimension {axis}")
    return quantization.scales


def product_of_scales(op: Operator, source: float, weights: float) -> float:
    """Input scale x weight scale: in float64, of a uint8 model in float32."""
    product = source * weights
    # What is no float32 any more is refused with its size, as a factor that is too large.
    return float32(product) if is_unsigned(op) and product < FLOAT32_MAX else product


def with_filter_offset(parameters: StructArg, zero_point: int) -> StructArg:
    """The parameters of the kernel for weights with a zero point; those of the plain kernel are its first member."""
    inner = tuple((f"window.{member}", value) for member, value in parameters.fields)
    return StructArg("na_conv2d_offset_t", (*inner, ("filter_offset", str(-zero_point))))


def kernel_suffix(op: Operator, source: Operand) -> str:
    """How the kernel's name ends: the type of activations and, for int16 ones, whether sums have only 32 bits."""
    if source.dtype == "int8":
        return "s8"
    return "s16_b32" if op.options.get("quantized_bias_type") == "int32" else "s16"


# Share of the output scale by which the profile allows a bias scale to be off.
_BIAS_TOLERANCE = 0.02


def _check_bias_scale(ctx: Lowering, op: Operator, bias: Tensor, wanted: Sequence[float], target: Operand) -> None:
    """The kernels add a bias to products: it must have their scale. What is checked is what the oracle checks."""
    quantization = bias.quantization
    if quantization is None or not quantization.scales:
        return
    full = op.kind == "FULLY_CONNECTED"
    if any(quantization.zero_points) and not full:
        ctx.refuse(op, f"bias {describe(bias)} has a zero point other than 0")
    if (full or is_unsigned(op)) and len(wanted) == 1 and len(quantization.scales) == 1:
        scale = quantization.scales[0]
        if not abs(scale - wanted[0]) / target.scale <= _BIAS_TOLERANCE:
            what = f"bias {describe(bias)} has scale {scale:g}, input and weights have {wanted[0]:g} together"
            ctx.refuse(op, what, "both must be equal")


def bias_argument(
    ctx: Lowering,
    op: Operator,
    channels: int,
    position: int = 2,
    *,
    source: Operand,
    scales: Sequence[float],
    target: Operand,
) -> Arg:
    """The bias that one of the inputs is, or a null pointer. Raises NeuralArtError when it is not a constant vector of
    the type of the sums with an element per channel, or has another scale than the products that it is added to.
    """
    bias = ctx.optional(op, position)
    if bias is None:
        return Null()
    dtype = "int64" if kernel_suffix(op, source) == "s16" else "int32"
    data = ctx.constant(op, bias, "biases", (dtype,))
    if bias.elements != channels:
        ctx.refuse(op, f"bias {describe(bias)} has {bias.elements} elements, expected {channels}")
    _check_bias_scale(ctx, op, bias, [source.scale * scale for scale in scales], target)
    return ctx.data(op, data, C_TYPES[dtype], "bias", bias)


def _arguments(
    ctx: Lowering, op: Operator, source: Operand, target: Operand, weights: Tensor, axis: int = 0, bias: int = 2
) -> tuple[Arg, ...]:
    """Input, weights, bias, multiplier and shift of each output channel (an axis of the weights), and output."""
    data, channels = ctx.constant(op, weights, "weights", ("int8",)), weights.shape[axis]
    scales = filter_scales(ctx, op, weights, axis)
    most = _LARGEST_SHIFT if source.dtype == "int16" else 30
    factors = [ctx.fixed_point(op, product_of_scales(op, source.scale, scale) / target.scale, most) for scale in scales]
    if len(factors) == 1:
        factors *= channels
    return (
        ctx.read(op, source.tensor),
        ctx.data(op, data, "int8_t", "weights", weights),
        bias_argument(ctx, op, channels, bias, source=source, scales=scales, target=target),
        ctx.data(op, int32_bytes([f.multiplier for f in factors]), "int32_t", "multiplier"),
        ctx.data(op, int32_bytes([f.shift for f in factors]), "int32_t", "shift"),
        ctx.write(target.tensor),
    )


_WEIGHTS = "constant symmetric weights, per tensor or per channel; int32 bias or none; SAME and VALID padding, strides"
WIDE_WEIGHTS = "also int16: int64 bias, or int32 where quantized_bias_type says so"
_FUSED = "fused RELU, RELU6, RELU_N1_TO_1"


def _geometry(ctx: Lowering, op: Operator, source: Tensor, target: Tensor) -> tuple[dict[str, int], int]:
    """The members of na_conv2d_t that say where taps are, and multiply-accumulate operations: output elements x kernel
    height x kernel width x kernel channels (1 when depthwise).
    """
    weights, depthwise = ctx.input(op, 1), op.kind == "DEPTHWISE_CONV_2D"
    if len(weights.shape) != 4:
        ctx.refuse(op, f"weights {describe(weights)} have {len(weights.shape)} dimensions, expected 4")
    geometry = window(ctx, op, source, (weights.shape[1], weights.shape[2]))
    per_output = _kernel_channels(ctx, op, source, weights, depthwise)
    channels = weights.shape[3 if depthwise else 0]
    ctx.expect_shape(op, target, (source.shape[0], *geometry.output, channels))
    members_of = {
        "batches": source.shape[0],
        **members("input", source.shape[1:3]),
        "input_channels": source.shape[3],
        **members("output", geometry.output),
        "output_channels": channels,
        **members("kernel", weights.shape[1:3]),
        "kernel_channels": per_output,
        **members("stride", geometry.stride),
        **members("dilation", geometry.dilation),
        "pad_top": geometry.pad[0],
        "pad_left": geometry.pad[1],
    }
    return members_of, target.elements * weights.shape[1] * weights.shape[2] * per_output


def _windowed(ctx: Lowering, op: Operator, ctype: str, geometry: dict[str, int]) -> StructArg:
    inner = ((f"window.{name}", str(value)) for name, value in geometry.items())
    return StructArg(ctype, (*inner, *bounds(ctx, op).items()))


def _plain(ctx: Lowering, op: Operator) -> None:
    """Lower a convolution in float32."""
    source, target = ctx.input(op), ctx.output(op)
    same_type(source, target, ctx.input(op, 1))
    geometry, macc = _geometry(ctx, op, source, target)
    parameters = _windowed(ctx, op, "na_conv2d_f32_t", geometry)
    args = (
        ctx.read(op, source),
        *weights_and_bias(ctx, op, geometry["output_channels"]),
        ctx.write(target),
        parameters,
    )
    kernel = "na_depthwise_conv2d_f32" if op.kind == "DEPTHWISE_CONV_2D" else "na_conv2d_f32"
    ctx.emit(op, kernel, args, macc=macc)


_REALS = Plain(_plain, ("float32",))


@operator("CONV_2D", limits=f"int8; {_WEIGHTS}, dilation, groups; {_FUSED}; {WIDE_WEIGHTS}", plain=_REALS)
@operator(
    "DEPTHWISE_CONV_2D",
    limits=f"int8; {_WEIGHTS}, dilation, depth multiplier; {_FUSED}; also int16, int64 bias",
    plain=_REALS,
)
def convolution(ctx: Lowering, op: Operator) -> None:
    """Lower a convolution."""
    source, target = ctx.ends(op, WIDE)
    weights, depthwise = ctx.input(op, 1), op.kind == "DEPTHWISE_CONV_2D"
    ctx.constant(op, weights, "weights", ("int8",))
    geometry, macc = _geometry(ctx, op, source.tensor, target.tensor)
    args = _arguments(ctx, op, source, target, weights, 3 if depthwise else 0)
    parameters = struct(
        "na_conv2d_t",
        **geometry,
        input_offset=-source.zero_point,
        output_offset=target.zero_point,
        **ctx.activation_members(op, ctx.activation(op), target),
    )
    kernel = "na_depthwise_conv2d" if depthwise else "na_conv2d"
    filter_zero_point = ctx.quantization(op, weights).zero_point
    if filter_zero_point:
        kernel += "_offset"
        parameters = with_filter_offset(parameters, filter_zero_point)
    ctx.emit(op, f"{kernel}_{kernel_suffix(op, source)}", (*args, parameters), macc=macc)


def _kernel_channels(ctx: Lowering, op: Operator, source: Tensor, weights: Tensor, depthwise: bool) -> int:
    """Input channels that one output value depends on."""
    inputs, outputs, per_output = source.shape[3], weights.shape[0], weights.shape[3]
    if depthwise:
        fit, expected = outputs == 1 and not per_output % inputs, f"[1, height, width, a multiple of {inputs}]"
    else:
        fit = not inputs % per_output and not outputs % (inputs // per_output)
        expected = f"[outputs, height, width, {inputs} or, grouped, a divisor of it]"
    if not fit:
        ctx.refuse(op, f"weights {describe(weights)} do not fit {describe(source)}", f"expected {expected}")
    return 1 if depthwise else per_output


def _transposed(ctx: Lowering, op: Operator, source: Tensor, target: Tensor) -> tuple[dict[str, int], int]:
    """The members of na_transpose_conv_t that say where taps are, and multiply-accumulate operations: input elements x
    kernel height x kernel width x output channels.
    """
    weights = ctx.input(op, 1)
    ctx.expect_shape(op, target, ctx.int32_values(op, 0, "output shapes"))
    for tensor in (source, weights, target):
        if len(tensor.shape) != 4:
            ctx.refuse(op, f"{describe(tensor)} has {len(tensor.shape)} dimensions, expected 4")
    channels, *kernel, depth = weights.shape
    if depth != source.shape[3]:
        expected = f"expected [outputs, height, width, {source.shape[3]}]"
        ctx.refuse(op, f"weights {describe(weights)} do not fit {describe(source)}", expected)
    ctx.expect_shape(op, target, (source.shape[0], *target.shape[1:3], channels))
    strides = down_and_right(ctx, op, "stride_h", "stride_w")
    pads = _pads(ctx, op, source, target, kernel, strides)
    members_of = {
        "batches": source.shape[0],
        **members("input", source.shape[1:3]),
        "input_channels": depth,
        **members("output", target.shape[1:3]),
        "output_channels": channels,
        **members("kernel", kernel),
        **members("stride", strides),
        "pad_top": pads[0],
        "pad_left": pads[1],
    }
    return members_of, source.elements * kernel[0] * kernel[1] * channels


@operator(
    "TRANSPOSE_CONV",
    limits=f"int8; constant output shape; {_WEIGHTS}; {_FUSED}; also int16, int64 bias; also float32",
    floats=True,
)
def transpose_conv(ctx: Lowering, op: Operator) -> None:
    """Lower a transposed convolution."""
    weights, given, result = ctx.input(op, 1), ctx.input(op, 2), ctx.output(op)
    if given.dtype == "float32":
        same_type(given, result, weights)
        geometry, macc = _transposed(ctx, op, given, result)
        constants = weights_and_bias(ctx, op, geometry["output_channels"], 3)
        reals = _windowed(ctx, op, "na_transpose_conv_f32_t", geometry)
        ctx.emit(op, "na_transpose_conv_f32", (ctx.read(op, given), *constants, ctx.write(result), reals), macc=macc)
        return
    source = ctx.operand(op, given, WIDE)
    target = ctx.operand(op, result, (source.dtype,))
    ctx.constant(op, weights, "weights", ("int8",))
    geometry, macc = _transposed(ctx, op, given, result)
    args = _arguments(ctx, op, source, target, weights, bias=3)
    parameters = struct(
        "na_transpose_conv_t",
        **geometry,
        input_offset=-source.zero_point,
        filter_offset=-ctx.quantization(op, weights).zero_point,
        output_offset=target.zero_point,
        **ctx.activation_members(op, ctx.activation(op), target),
    )
    ctx.emit(op, f"na_transpose_conv_{kernel_suffix(op, source)}", (*args, parameters), macc=macc)


def _pads(
    ctx: Lowering, op: Operator, source: Tensor, target: Tensor, kernel: Sequence[int], strides: tuple[int, int]
) -> list[int]:
    """Rows above and columns left of the output that are cut off: the padding of the convolution back to the input.
    Raises NeuralArtError when that convolution gives another size than the input has.
    """
    if op.options.get("padding") == "EXPLICIT" and "pads" in op.options:
        return list(op.options["pads"])  # Of an ONNX model, whose sizes are checked already
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
