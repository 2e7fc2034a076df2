"""From a frame of sound to energies: window, scaling, Fourier transform, energy; of TensorFlow Lite Micro."""

from __future__ import annotations

import math
import struct as binary
from collections.abc import Iterable

from neuralart_reference.context import BYTES_T, Lowering, describe, struct
from neuralart_reference.model.graph import Operator, Tensor
from neuralart_reference.operators import operator
from neuralart_reference.operators._movement import check_types
from neuralart_reference.operators.custom import Options

_UNIT = 32767
_LONGEST = 1 << 15


def ends(ctx: Lowering, op: Operator, inputs: str, outputs: str) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs and outputs of an operator, which must have these element types. NeuralArtError: they have others."""
    found = []
    for numbers, types in ((op.inputs, inputs.split()), (op.outputs, outputs.split())):
        if len(numbers) != len(types) or min(numbers) < 0:
            ctx.refuse(op, f"{len(op.inputs)} inputs and {len(op.outputs)} outputs, expected {inputs} to {outputs}")
        tensors = [ctx.tensors[number] for number in numbers]
        for tensor, dtype in zip(tensors, types, strict=True):
            check_types(ctx, op, tensor, types=(dtype,))
        found.append(tensors)
    return found[0], found[1]


@operator("CUSTOM:SignalWindow", limits="int16; constant window", floats=True)
def window(ctx: Lowering, op: Operator) -> None:
    """Lower a product with a window, shifted to the right. Multiply-accumulate operations: elements."""
    (source, weights), (target,) = ends(ctx, op, "int16 int16", "int16")
    data = ctx.constant(op, weights, "weights", ("int16",))
    ctx.expect_shape(op, target, source.shape)
    ctx.expect_shape(op, weights, source.shape[-1:])
    length = weights.elements
    shift = Options(ctx, op).integer("shift", 0, 31)
    parameters = struct("na_window_t", rows=source.elements // length, length=length, shift=shift)
    args = (ctx.read(op, source), ctx.data(op, data, "int16_t", "window", weights), ctx.write(target), parameters)
    ctx.emit(op, "na_window_s16", args, macc=source.elements)


@operator("CUSTOM:SignalFftAutoScale", limits="int16", floats=True)
def auto_scale(ctx: Lowering, op: Operator) -> None:
    """Lower the largest left shift that fits 16 bits, whose second output is the shift."""
    (source,), (target, bits) = ends(ctx, op, "int16", "int16 int32")
    ctx.expect_shape(op, target, source.shape)
    ctx.expect_shape(op, bits, ())
    args = (ctx.read(op, source), ctx.write(target), ctx.write(bits), struct(BYTES_T, count=source.elements))
    ctx.emit(op, "na_auto_scale_s16", args, macc=source.elements)


def _turns(angles: Iterable[float]) -> bytes:
    """Powers of roots of one, real and imaginary."""
    parts = (part for angle in angles for part in (math.cos(angle), math.sin(angle)))
    return b"".join(binary.pack("<h", math.floor(0.5 + _UNIT * part)) for part in parts)


@operator("CUSTOM:SignalRfft", limits=f"int16; length of a power of two, 4 to {_LONGEST}", floats=True)
def rfft(ctx: Lowering, op: Operator) -> None:
    """Lower the Fourier transform of real values. Multiply-accumulate operations: 2 x length x log2(length)."""
    (source,), (target,) = ends(ctx, op, "int16", "int16")
    size = Options(ctx, op).integer("fft_length", 4, _LONGEST)
    if size & (size - 1) or not source.shape or source.shape[-1] > size:
        what = f"its option fft_length is {size}, for {describe(source)}"
        ctx.refuse(op, what, "supported: powers of two that are not below the last dimension")
    ctx.expect_shape(op, target, (*source.shape[:-1], size + 2))
    half, rows = size // 2, source.elements // source.shape[-1]
    turns = _turns(-2 * math.pi * k / half for k in range(half))
    half_turns = _turns(-math.pi * ((k + 1) / half + 0.5) for k in range(half // 2))
    args = (
        ctx.read(op, source),
        ctx.data(op, turns, "int16_t", "turns"),
        ctx.data(op, half_turns, "int16_t", "half_turns"),
        ctx.write(target),
        struct("na_rfft_t", rows=rows, length=source.shape[-1], size=size),
    )
    macc = 2 * rows * size * (size.bit_length() - 1)
    ctx.emit(op, "na_rfft_s16", args, macc=macc, scratch=2 * size)


@operator("CUSTOM:SignalEnergy", limits="int16 to uint32; zero outside of its range", floats=True)
def energy(ctx: Lowering, op: Operator) -> None:
    """Lower the squares of complex values, of a range of them. Multiply-accumulate operations: input elements."""
    (source,), (target,) = ends(ctx, op, "int16", "uint32")
    count, options = source.elements // 2, Options(ctx, op)
    ctx.expect_shape(op, target, (count,))
    first, end = (options.integer(name, 0, count) for name in ("start_index", "end_index"))
    parameters = struct("na_energy_t", count=count, first=first, end=end)
    ctx.emit(op, "na_energy_s16", (ctx.read(op, source), ctx.write(target), parameters), macc=source.elements)
