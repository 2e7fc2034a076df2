"""PAD, PADV2 and MIRROR_PAD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neuralart_reference.block_movement import space_to_batch
from neuralart_reference.context import Lowering, describe, same_type, struct
from neuralart_reference.data_movement import Sources, dense
from neuralart_reference.ir import Arg, Null
from neuralart_reference.model.graph import DTYPE_BYTES, Operator, Tensor
from neuralart_reference.operators import operator
from neuralart_reference.operators._movement import (
    RANK,
    TYPES,
    check_types,
    emit_move,
    row,
    same_quantization,
    source_bytes,
    target_bytes,
)
from neuralart_reference.quantize import RANGES

_LARGEST_RANK = 5  # of LiteRT, whatever can be joined

Paddings = list[tuple[int, int]]


def _paddings(ctx: Lowering, op: Operator) -> tuple[Tensor, Tensor, Paddings]:
    """Input, output and what comes before and after along each dimension."""
    source, target, sources = ctx.input(op), ctx.output(op), Sources(ctx.tensors, op)
    check_types(ctx, op, source, target)
    rank = len(source.shape)
    same_type(source, target)
    given = sources.numbers(1, "paddings")
    if len(given) != 2 * rank:
        ctx.refuse(op, f"{len(given)} paddings for {rank} dimensions of {describe(source)}")
    pairs = list(zip(given[::2], given[1::2], strict=True))
    for axis, pair in enumerate(pairs):
        if min(pair) < 0:
            ctx.refuse(op, f"paddings {list(pair)} of dimension {axis} of {describe(source)} are negative")
    sources.expect(target, [size + sum(pair) for size, pair in zip(source.shape, pairs, strict=True)])
    if rank > _LARGEST_RANK:
        ctx.refuse(op, f"padding over {rank} dimensions is not supported", f"at most {_LARGEST_RANK}")
    return source, target, pairs


def _joined(shape: Sequence[int], pairs: Paddings) -> tuple[list[int], Paddings]:
    """Dimensions that are not padded become a part of the one before."""
    sizes: list[int] = []
    joined: Paddings = []
    for size, pair in zip(shape, pairs, strict=True):
        if sizes and pair == (0, 0):
            sizes[-1] *= size
            joined[-1] = (joined[-1][0] * size, joined[-1][1] * size)
        else:
            sizes.append(size)
            joined.append(pair)
    return sizes, joined


@operator(
    "PAD",
    limits=f"{TYPES}; at most {_LARGEST_RANK} dimensions; constant paddings, filled with the zero point of the output",
    floats=True,
)
@operator(
    "PADV2",
    limits=f"{TYPES}; at most {_LARGEST_RANK} dimensions; constant paddings; a value of the output's quantization",
    floats=True,
)
def pad(ctx: Lowering, op: Operator) -> None:
    """Lower a padding with one value. The input's bytes are copied, whatever its scale, as LiteRT does."""
    source, target, pairs = _paddings(ctx, op)
    fill, value = 0, ctx.optional(op, 2)
    if value is None and op.kind == "PADV2":
        ctx.refuse(op, "the value is absent")
    if value is None and target.dtype in RANGES:
        fill = ctx.operand(op, target, tuple(RANGES)).zero_point & 0xFF
    _emit_pad(ctx, op, (source, target), pairs, _value(ctx, op, target, value), fill)


def _emit_pad(ctx: Lowering, op: Operator, ends: tuple[Tensor, Tensor], pairs: Paddings, value: Arg, fill: int) -> None:
    source, target = ends
    sizes, joined = _joined(source.shape, pairs)
    parameters = struct(
        "na_pad_t",
        element=DTYPE_BYTES[source.dtype],
        fill=fill,
        shape=row(sizes, 1),
        before=row([before for before, _ in joined], 0),
        after=row([after for _, after in joined], 0),
    )
    ctx.emit(op, "na_pad_8", (source_bytes(source), value, target_bytes(target), parameters))


@operator("SPACE_TO_BATCH_ND", limits=f"{TYPES}; constant blocks and paddings, filled as those of PAD", floats=True)
def space_to_batch_nd(ctx: Lowering, op: Operator) -> None:
    """Lower a change of blocks of a picture to a batch, of a padded picture in two steps."""
    source, target, sources = ctx.input(op), ctx.output(op), Sources(ctx.tensors, op)
    check_types(ctx, op, source, target)
    found = space_to_batch(sources)
    given = sources.numbers(2, "paddings")
    if any(given):
        after = len(source.shape) - 1 - len(given) // 2
        pairs = [(0, 0), *zip(given[::2], given[1::2], strict=True), *[(0, 0)] * after]
        if len(pairs) > _LARGEST_RANK:
            ctx.refuse(op, f"padding over {len(pairs)} dimensions is not supported", f"at most {_LARGEST_RANK}")
        shape = tuple(size + sum(pair) for size, pair in zip(source.shape, pairs, strict=True))
        name = f"{target.name}_padded"
        padded = replace(source, index=len(ctx.tensors), name=name, shape=shape, data=None)
        ctx.tensors.append(padded)
        fill = ctx.operand(op, target, tuple(RANGES)).zero_point & 0xFF if target.dtype in RANGES else 0
        _emit_pad(ctx, op, (source, padded), pairs, Null(), fill)
        none = replace(ctx.input(op, 2), index=len(ctx.tensors), data=bytes(ctx.input(op, 2).bytes))
        ctx.tensors.append(none)
        inner = replace(op, inputs=(padded.index, op.inputs[1], none.index))
        found = space_to_batch(Sources(ctx.tensors, inner))
    for piece in found:
        emit_move(ctx, op, piece)


def _value(ctx: Lowering, op: Operator, target: Tensor, value: Tensor | None) -> Arg:
    if value is None:
        return Null()
    if value.dtype != target.dtype or value.elements != 1:
        ctx.refuse(op, f"{describe(value)} is not one value for {describe(target)}")
    same_quantization(ctx, op, [target, value])
    return source_bytes(value)


@operator(
    "MIRROR_PAD",
    limits=f"{TYPES}, equal quantization of input and output; at most {_LARGEST_RANK} dimensions; constant paddings; "
    "REFLECT and SYMMETRIC",
    floats=True,
)
def mirror_pad(ctx: Lowering, op: Operator) -> None:
    """Lower a padding with what lies on the other side of the border: REFLECT leaves out the border itself."""
    source, target, pairs = _paddings(ctx, op)
    same_quantization(ctx, op, [source, target])
    reflect = int(op.options.get("mode", "REFLECT") == "REFLECT")
    for axis, (size, pair) in enumerate(zip(source.shape, pairs, strict=True)):
        if max(pair) > size - reflect:
            mode = "REFLECT" if reflect else "SYMMETRIC"
            hint = f"{mode} takes at most {size - reflect} here"
            ctx.refuse(op, f"padding {max(pair)} of dimension {axis} of {describe(source)} is more than there is", hint)
    # Only what is not padded at the end may be joined: it moves in one piece.
    padded = [axis for axis, pair in enumerate(pairs) if pair != (0, 0)]
    rank = padded[-1] + 1 if padded else 0
    size = DTYPE_BYTES[source.dtype]
    steps = dense(source.shape)[:rank]
    parameters = struct(
        "na_mirror_pad_t",
        block=size * (source.elements if not rank else steps[-1]),
        reflect=reflect,
        input_shape=row(source.shape[:rank], 1),
        before=row([before for before, _ in pairs[:rank]], 0),
        output_shape=row(target.shape[:rank], 1),
        input_step=row([step * size for step in steps], 0),
    )
    ctx.emit(op, "na_mirror_pad_8", (source_bytes(source), target_bytes(target), parameters))


assert _LARGEST_RANK <= RANK
