"""RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from math import floor

from neuralart.compilers.reference.context import Lowering, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._convolution import int32_bytes
from neuralart.compilers.reference.operators._resize import RESIZE_LIMITS, Resize, resize
from neuralart.compilers.reference.quantize import float32, round_half_away
from neuralart.model.graph import Operator


@operator("RESIZE_NEAREST_NEIGHBOR", limits=f"{RESIZE_LIMITS}align_corners, half_pixel_centers")
def resize_nearest_neighbor(ctx: Lowering, op: Operator) -> None:
    """Lower a choice of the nearest rows and columns, which are found here.

    Operations counted as multiply-accumulate: output elements.
    """
    made = resize(ctx, op)
    rows, columns = (nearest(*sizes, made) for sizes in made.axes)
    args = (
        ctx.read(op, made.source.tensor),
        ctx.data(op, int32_bytes(rows), "int32_t", "rows"),
        ctx.data(op, int32_bytes(columns), "int32_t", "columns"),
        ctx.write(made.target.tensor),
        struct("na_resize_nearest_t", **made.geometry()),
    )
    ctx.emit(op, "na_resize_nearest_s8", args, macc=made.target.tensor.elements)


def nearest(before: int, after: int, made: Resize) -> list[int]:
    """Position in the input of each row (or column) of the output; LiteRT computes it in float32."""
    aligned = made.align_corners and after > 1
    scale = float32((before - 1) / (after - 1)) if aligned else float32(before / after)
    center = 0.5 if made.half_pixel_centers else 0.0
    positions = [float32((i + center) * scale) for i in range(after)]
    return [min(round_half_away(p) if made.align_corners else floor(p), before - 1) for p in positions]
