"""From energies to features of speech: a bank of filters and what follows it, of TensorFlow Lite Micro."""

from __future__ import annotations

import math
import struct as binary

from neuralart_reference.context import BYTES_T, Lowering, describe, struct
from neuralart_reference.model.graph import Operator, Tensor
from neuralart_reference.operators import operator
from neuralart_reference.operators.custom import Options
from neuralart_reference.operators.custom.spectrum import ends

_GAINS = 125  # 3 for the numbers up to 2, 4 for each number of bits, the last of which is not used
_SEGMENTS = 128
_UINT32 = (1 << 32) - 1


def _values(ctx: Lowering, op: Operator, tensor: Tensor, count: int) -> tuple[int, ...]:
    """A constant of so many int16; NeuralArtError when it is none."""
    data = ctx.constant(op, tensor, "weights", ("int16",))
    ctx.expect_shape(op, tensor, (count,))
    return binary.unpack(f"<{count}h", data)


@operator("CUSTOM:SignalFilterBank", limits="uint32 to uint64; constant weights and bands", floats=True)
def filter_bank(ctx: Lowering, op: Operator) -> None:
    """Lower sums over bands. Multiply-accumulate operations: two for each weight."""
    given, (target,) = ends(ctx, op, "uint32" + 5 * " int16", "uint64")
    source, weights, rest, *bands = given
    channels = Options(ctx, op).integer("num_channels", 1, 1 << 15)
    ctx.expect_shape(op, target, (channels,))
    for tensor in (weights, rest):
        _values(ctx, op, tensor, weights.elements)
    rows = zip(*(_values(ctx, op, tensor, channels + 1) for tensor in bands), strict=True)
    macc = 0
    for start, first, width in rows:
        inside = start >= 0 and first >= 0 and start + width <= source.elements and first + width <= weights.elements
        if width > 0 and not inside:
            ctx.refuse(op, f"a band leaves {describe(source)} or {describe(weights)}: {start}, {first}, {width} values")
        macc += 2 * max(0, width)
    args = (ctx.read(op, tensor) for tensor in given)
    ctx.emit(op, "na_filter_bank_u32", (*args, ctx.write(target), struct(BYTES_T, count=channels)), macc=macc)


@operator("CUSTOM:SignalFilterBankSquareRoot", limits="uint64 to uint32", floats=True)
def square_root(ctx: Lowering, op: Operator) -> None:
    """Lower square roots, shifted to the right by the bits that a scaling has added."""
    (source, bits), (target,) = ends(ctx, op, "uint64 int32", "uint32")
    ctx.expect_shape(op, target, source.shape)
    ctx.expect_shape(op, bits, ())
    args = (ctx.read(op, source), ctx.read(op, bits), ctx.write(target), struct(BYTES_T, count=source.elements))
    ctx.emit(op, "na_square_root_u64", args, macc=source.elements)


@operator(
    "CUSTOM:SignalFilterBankSpectralSubtraction",
    limits="uint32; keeps the noise of each channel for the next inference",
    floats=True,
)
def subtraction(ctx: Lowering, op: Operator) -> None:
    """Lower the subtraction of noise, which is estimated as it goes: a state, zero at first."""
    (source,), (target, noise) = ends(ctx, op, "uint32", "uint32 uint32")
    options = Options(ctx, op)
    count = options.integer("num_channels", source.elements, source.elements)
    for tensor in (target, noise):
        ctx.expect_shape(op, tensor, (count,))
    names = ("smoothing", "one_minus_smoothing", "alternate_smoothing", "alternate_one_minus_smoothing")
    even, even_kept, odd, odd_kept = (options.integer(name, 0, _UINT32 >> 1) for name in names)
    state = ctx.state(f"{target.name}_noise", "uint32", (count,))
    parameters = struct(
        "na_subtraction_t",
        count=count,
        smoothing=f"{{{even}u, {odd}u}}",
        kept=f"{{{even_kept}u, {odd_kept}u}}",
        least=options.integer("min_signal_remaining", 0, _UINT32 >> 1),
        smoothing_bits=options.integer("smoothing_bits", 0, 31),
        bits=options.integer("spectral_subtraction_bits", 0, 63),
        clamp=options.integer("clamping", 0, 1),
    )
    args = (ctx.read(op, source), ctx.write(state), ctx.write(target), ctx.write(noise), parameters)
    ctx.emit(op, "na_subtraction_u32", args, macc=4 * count)


@operator("CUSTOM:SignalPCAN", limits=f"uint32; a constant table of {_GAINS} int16", floats=True)
def gain(ctx: Lowering, op: Operator) -> None:
    """Lower a gain for each channel by its noise."""
    (source, noise, table), (target,) = ends(ctx, op, "uint32 uint32 int16", "uint32")
    _values(ctx, op, table, _GAINS)
    for tensor in (noise, target):
        ctx.expect_shape(op, tensor, source.shape)
    shift = Options(ctx, op).integer("snr_shift", 0, 63)
    args = (*(ctx.read(op, tensor) for tensor in (source, noise, table)), ctx.write(target))
    ctx.emit(op, "na_gain_u32", (*args, struct("na_gain_t", count=source.elements, shift=shift)), macc=source.elements)


@operator("CUSTOM:SignalFilterBankLog", limits="uint32 to int16", floats=True)
def logarithm(ctx: Lowering, op: Operator) -> None:
    """Lower a natural logarithm, by a table of log2 between two powers of two."""
    (source,), (target,) = ends(ctx, op, "uint32", "int16")
    ctx.expect_shape(op, target, source.shape)
    options = Options(ctx, op)
    bent = [round(65536 * (math.log2(1 + at / _SEGMENTS) - at / _SEGMENTS)) for at in range(_SEGMENTS + 1)]
    table = ctx.data(op, binary.pack(f"<{_SEGMENTS + 2}H", *bent, 0), "uint16_t", "logarithms")
    parameters = struct(
        "na_log_t",
        count=source.elements,
        bits=options.integer("input_correction_bits", 0, 31),
        scale=f"{options.integer('output_scale', 0, _UINT32 >> 1)}u",
    )
    ctx.emit(op, "na_log_u32", (ctx.read(op, source), table, ctx.write(target), parameters), macc=source.elements)
