"""RESIZE_BILINEAR."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering, float_literal, struct
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._resize import RESIZE_LIMITS, Resize, resize
from neuralart.compilers.reference.unsigned import is_unsigned
from neuralart.model.graph import Operator

_ONE = 1 << 10  # a step of the input


@operator("RESIZE_BILINEAR", limits=f"{RESIZE_LIMITS}align_corners or half_pixel_centers, not both")
def resize_bilinear(ctx: Lowering, op: Operator) -> None:
    """Lower an interpolation between four neighbors, in fixed point; of a uint8 model in float32.

    Operations counted as multiply-accumulate: four per output element.
    """
    made = resize(ctx, op)
    if made.align_corners and made.half_pixel_centers:
        ctx.refuse(op, "align_corners and half_pixel_centers are both set", "LiteRT has no such resizing either")
    args = (ctx.read(op, made.source.tensor), ctx.write(made.target.tensor))
    macc = 4 * made.target.tensor.elements
    if is_unsigned(op):
        rows, columns = (_steps(*sizes, made) for sizes in made.axes)
        parameters = struct(
            "na_resize_float_t",
            **made.geometry(),
            height_scale=float_literal(rows),
            width_scale=float_literal(columns),
            half_pixel_centers=int(made.half_pixel_centers),
        )
        ctx.emit(op, "na_resize_bilinear_float_s8", (*args, parameters), macc=macc)
        return
    down, right = (_positions(ctx, op, *sizes, made) for sizes in made.axes)
    parameters = struct(
        "na_resize_bilinear_t",
        **made.geometry(),
        row_scale=down[0],
        row_offset=down[1],
        column_scale=right[0],
        column_offset=right[1],
    )
    ctx.emit(op, "na_resize_bilinear_s8", (*args, parameters), macc=macc)


def _steps(before: int, after: int, made: Resize) -> float:
    """Input steps per output step."""
    return (before - 1) / (after - 1) if made.align_corners and after > 1 else before / after


def _positions(ctx: Lowering, op: Operator, before: int, after: int, made: Resize) -> tuple[int, int]:
    """Scale and offset that turn an output position into an input position, in steps of 2**-10.

    Raises NeuralArtError when the rounded scale leads out of the input, where LiteRT reads whatever is there.
    """
    near, far = (before - 1, after - 1) if made.align_corners and after > 1 else (before, after)
    scale = (_ONE * near + far // 2) // far
    offset = scale // 2 - _ONE // 2 if made.half_pixel_centers else 0
    last = ((after - 1) * scale + offset) // _ONE
    if last > before - 1:
        ctx.refuse(
            op,
            f"resizing {before} to {after} is beyond the precision of LiteRT's fixed point: it ends at {last}",
            f"the last position is {before - 1}",
        )
    return scale, offset
