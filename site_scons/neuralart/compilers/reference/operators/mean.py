"""MEAN."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from neuralart.compilers.reference.context import Lowering, describe, struct
from neuralart.compilers.reference.moves import filled
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.quantize import FixedPoint
from neuralart.model.graph import Operator, Tensor

RANK = 3
"""NA_MEAN_RANK of the kernels."""


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


@operator(
    "MEAN",
    limits=f"int8; constant axes, any of them; keep_dims or not; at most {RANK} groups of neighboring dimensions that "
    f"are reduced, and {RANK} that are kept",
)
def mean(ctx: Lowering, op: Operator) -> None:
    """Lower a mean over the axes of input 1. Operations counted as multiply-accumulate: input elements."""
    source, target = ctx.ends(op)
    axes = _axes(ctx, op, source.tensor)
    keep = bool(op.options.get("keep_dims", False))
    shape = [1 if i in axes else size for i, size in enumerate(source.shape) if keep or i not in axes]
    ctx.expect_shape(op, target.tensor, shape)
    kept, summed = groups(source.shape, axes)
    for side, what in ((kept, "kept"), (summed, "reduced")):
        if len(side) > RANK:
            groups_text = f"{len(side)} separate groups of {what} dimensions in {describe(source.tensor)}"
            ctx.refuse(op, groups_text, f"at most {RANK}")
    count = prod(group.size for group in summed)
    factor = _divided(ctx.fixed_point(op, source.scale / target.scale), count)
    parameters = struct(
        "na_mean_t",
        kept=filled([group.size for group in kept], 1, RANK),
        kept_stride=filled([group.stride for group in kept], 0, RANK),
        summed=filled([group.size for group in summed], 1, RANK),
        summed_stride=filled([group.stride for group in summed], 0, RANK),
        sum_offset=_int32(-source.zero_point * count),
        multiplier=factor.multiplier,
        shift=factor.shift,
        output_offset=target.zero_point,
    )
    args = (ctx.read(op, source.tensor), ctx.write(target.tensor), parameters)
    ctx.emit(op, "na_mean_s8", args, macc=source.tensor.elements)


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
