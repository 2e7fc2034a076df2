"""MEAN, SUM, REDUCE_MAX, REDUCE_MIN and REDUCE_PROD."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from neuralart_reference.context import WIDE, Lowering, describe, same_type, struct
from neuralart_reference.data_movement import filled
from neuralart_reference.model.graph import Operator, Tensor
from neuralart_reference.operators import Plain, operator
from neuralart_reference.operators._plain import SUFFIXES, as_stored
from neuralart_reference.quantize import FixedPoint

RANK = 3
"""NA_MEAN_RANK of the kernels."""
_LARGEST_FACTOR = 7  # bits to the left that the product of 64 bits has room for


class Group(NamedTuple):
    """Neighboring dimensions of one kind as one."""

    size: int  # its length
    stride: int  # elements from one of it to the next


def groups(shape: Sequence[int], axes: frozenset[int]) -> tuple[list[Group], list[Group]]:
    """Dimensions that are kept and dimensions that are reduced, each outermost first, neighbors joined."""
    found: list[tuple[bool, int]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if found and found[-1][0] == (axis in axes):
            found[-1] = (found[-1][0], found[-1][1] * size)
        else:
            found.append((axis in axes, size))
    sides: tuple[list[Group], list[Group]] = ([], [])
    for position, (reduced, size) in enumerate(found):
        sides[reduced].append(Group(size, prod(inner for _, inner in found[position + 1 :])))
    return sides


def _reduction(ctx: Lowering, op: Operator) -> tuple[int, dict[str, str]]:
    """Values per result, and shapes and strides of the kernel's parameters; NeuralArtError when something is not
    supported.
    """
    source, target = ctx.input(op), ctx.output(op)
    axes = _axes(ctx, op, source)
    keep = bool(op.options.get("keep_dims", False))
    shape = [1 if i in axes else size for i, size in enumerate(source.shape) if keep or i not in axes]
    ctx.expect_shape(op, target, shape)
    kept, summed = groups(source.shape, axes)
    for side, what in ((kept, "kept"), (summed, "reduced")):
        if len(side) > RANK:
            ctx.refuse(op, f"{len(side)} separate groups of {what} dimensions in {describe(source)}", f"at most {RANK}")
    walk = {}
    for name, side in (("kept", kept), ("summed", summed)):
        walk[name] = filled([group.size for group in side], 1, RANK)
        walk[f"{name}_stride"] = filled([group.stride for group in side], 0, RANK)
    return prod(group.size for group in summed), walk


def _emit(ctx: Lowering, op: Operator, values: int, walk: dict[str, str], **quantized: int) -> None:
    """Emit a call of a reduction's own kernel. Operations counted as multiply-accumulate: input elements."""
    name, source = op.kind.lower().removeprefix("reduce_"), ctx.input(op)
    args = (ctx.read(op, source), ctx.write(ctx.output(op)), struct("na_reduce_t", **walk, count=values, **quantized))
    ctx.emit(op, f"na_reduce_{name}_{SUFFIXES[source.dtype]}", args, macc=source.elements)


def _plain(ctx: Lowering, op: Operator) -> None:
    found = _reduction(ctx, op)
    same_type(ctx.input(op), ctx.output(op))
    _emit(ctx, op, *found)


_REALS, _NUMBERS = Plain(_plain, ("float32",)), Plain(_plain, ("float32", "int32"))
_LIMITS = f"int8; constant axes; at most {RANK} groups of neighboring dimensions are reduced, and {RANK} are kept"


@operator("MEAN", limits=_LIMITS.replace("int8", "int8 or int16", 1), plain=_REALS)
@operator("SUM", limits=_LIMITS, plain=_NUMBERS)
def mean(ctx: Lowering, op: Operator) -> None:
    """Lower a mean or a sum over the axes of input 1. Operations counted as multiply-accumulate: input elements."""
    source, target = ctx.ends(op, WIDE if op.kind == "MEAN" else ("int8",))
    values, walk = _reduction(ctx, op)
    factor = ctx.fixed_point(op, source.scale / target.scale)
    if op.kind == "MEAN":
        factor = _divided(factor, values)
    parameters = struct(
        "na_mean_t",
        **walk,
        sum_offset=_int32(-source.zero_point * values),
        **factor.members(),
        output_offset=target.zero_point,
    )
    args = (ctx.read(op, source.tensor), ctx.write(target.tensor), parameters)
    ctx.emit(op, f"na_mean_{SUFFIXES[source.dtype]}", args, macc=source.tensor.elements)


@operator("REDUCE_MAX", "REDUCE_MIN", limits=f"{_LIMITS}; equal quantization of input and output", plain=_NUMBERS)
def extremum(ctx: Lowering, op: Operator) -> None:
    """Lower the largest or smallest value over the axes of input 1."""
    ctx.same_quantization(op, *ctx.ends(op))
    _emit(ctx, op, *_reduction(ctx, op))


@operator("REDUCE_PROD", limits=f"{_LIMITS}; not uint8", plain=_NUMBERS)
def product(ctx: Lowering, op: Operator) -> None:
    """Lower a product over the axes of input 1, which the profile scales after each factor."""
    source, target = ctx.ends(op)
    as_stored(ctx, op)
    values, walk = _reduction(ctx, op)
    factor = source.scale / target.scale ** (1.0 / values)
    fixed = ctx.fixed_point(op, factor)
    if fixed.shift > _LARGEST_FACTOR:
        ctx.refuse(op, f"the scale factor {factor:g} is too large", f"less than {1 << _LARGEST_FACTOR}")
    _emit(ctx, op, values, walk, input_offset=-source.zero_point, **fixed.members(), output_offset=target.zero_point)


def _axes(ctx: Lowering, op: Operator, source: Tensor) -> frozenset[int]:
    rank = len(source.shape)
    axes = ctx.int32_values(op, 1, "axes")
    for axis in axes:
        if rank and not -rank <= axis < rank:
            ctx.refuse(op, f"axis {axis} of {describe(source)}", f"expected {-rank} to {rank - 1}")
    return frozenset(axis % rank for axis in axes) if rank else frozenset()


def _divided(factor: FixedPoint, count: int) -> FixedPoint:
    """The factor / count. The multiplier gains the bits first that the division takes away, as far as there are any."""
    bits = min(count.bit_length() - 1, 32, 31 + factor.shift)
    return FixedPoint((factor.multiplier << bits) // count, factor.shift - bits)


def _int32(value: int) -> int:
    """The value in 32 bits, where sums wrap."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)
