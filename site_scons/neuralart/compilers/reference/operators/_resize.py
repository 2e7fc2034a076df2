"""What RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR share."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.compilers.reference.context import Lowering, Operand, describe
from neuralart.compilers.reference.operators._constants import int32_values
from neuralart.model.graph import Operator

RESIZE_LIMITS = "int8; four dimensions; constant size; equal quantization of input and output; "

_LARGEST = 1 << 20  # rows or columns; in steps of 2**-10 their positions fit 32 bits


@dataclass(frozen=True)
class Resize:
    """A checked operator."""

    source: Operand  # input
    target: Operand  # output
    align_corners: bool  # the outermost rows and columns of input and output lie on each other
    half_pixel_centers: bool  # values lie in the middles of their pixels

    @property
    def axes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Input and output size, of the height and of the width."""
        (_, *before, _), (_, *after, _) = self.source.shape, self.target.shape
        return (before[0], after[0]), (before[1], after[1])

    def geometry(self) -> dict[str, int]:
        """The members that all parameter structures begin with."""
        (input_height, output_height), (input_width, output_width) = self.axes
        return {
            "batches": self.source.shape[0],
            "input_height": input_height,
            "input_width": input_width,
            "channels": self.source.shape[3],
            "output_height": output_height,
            "output_width": output_width,
        }


def resize(ctx: Lowering, op: Operator) -> Resize:
    """Check an operator; NeuralArtError when something is not supported."""
    source = ctx.operand(op, ctx.input(op))
    target = ctx.operand(op, ctx.output(op))
    if len(source.shape) != 4:
        ctx.refuse(op, f"{describe(source.tensor)} has {len(source.shape)} dimensions, expected 4 (N, H, W, C)")
    size = int32_values(ctx, op, ctx.input(op, 1), "sizes")
    if len(size) != 2:
        ctx.refuse(op, f"size {list(size)} has {len(size)} values, expected height and width")
    ctx.expect_shape(op, target.tensor, (source.shape[0], *size, source.shape[3]))
    largest = max(*source.shape[1:3], *size)
    if largest > _LARGEST:
        ctx.refuse(op, f"{largest} rows or columns are not supported", f"at most {_LARGEST}")
    ctx.same_quantization(op, source, target)
    flags = (bool(op.options.get("align_corners", False)), bool(op.options.get("half_pixel_centers", False)))
    return Resize(source, target, *flags)
