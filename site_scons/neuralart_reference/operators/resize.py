"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from neuralart_reference.context import Lowering, describe, float_literal, same_type, struct
from neuralart_reference.ir import TensorArg
from neuralart_reference.model.graph import DTYPE_BYTES, Operator, Tensor
from neuralart_reference.operators import operator
from neuralart_reference.operators._window import members
from neuralart_reference.operators.convolution import int32_bytes
from neuralart_reference.quantize import float32, round_half_away
from neuralart_reference.unsigned import is_unsigned

PLAIN = ("float32", "int16")
"""Types whose values are taken as they are."""
RESIZE_LIMITS = "int8; four dimensions; constant size; equal quantization of input and output; "

_LARGEST = 1 << 20  # rows or columns; in steps of 2**-10 their positions fit 32 bits


@dataclass(frozen=True)
class Resize:
    """A checked operator."""

    source: Tensor  # input
    target: Tensor  # output
    align_corners: bool  # the outermost rows and columns of input and output lie on each other
    half_pixel_centers: bool  # values lie in the middles of their pixels

    @property
    def axes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Input and output size, of the height and of the width."""
        (_, *before, _), (_, *after, _) = self.source.shape, self.target.shape
        return (before[0], after[0]), (before[1], after[1])

    def geometry(self, width: int = 1) -> dict[str, int]:
        """The members that all parameter structures begin with; ``width``: parts of an element that count as one."""
        batches, *before, channels = self.source.shape
        sizes = {"batches": batches, **members("input", before), "channels": channels * width}
        return {**sizes, **members("output", self.target.shape[1:3])}


def resize(ctx: Lowering, op: Operator) -> Resize:
    """Check an operator; NeuralArtError when something is not supported."""
    source, target = ctx.input(op), ctx.output(op)
    if source.dtype in PLAIN:
        same_type(source, target)
    else:
        ctx.same_quantization(op, *ctx.ends(op))
    if len(source.shape) != 4:
        ctx.refuse(op, f"{describe(source)} has {len(source.shape)} dimensions, expected 4 (N, H, W, C)")
    size = ctx.int32_values(op, 1, "sizes")
    if len(size) != 2:
        ctx.refuse(op, f"size {list(size)} has {len(size)} values, expected height and width")
    ctx.expect_shape(op, target, (source.shape[0], *size, source.shape[3]))
    largest = max(*source.shape[1:3], *size)
    if largest > _LARGEST:
        ctx.refuse(op, f"{largest} rows or columns are not supported", f"at most {_LARGEST}")
    flags = (bool(op.options.get("align_corners", False)), bool(op.options.get("half_pixel_centers", False)))
    return Resize(source, target, *flags)


@operator(
    "RESIZE_NEAREST_NEIGHBOR",
    limits=f"{RESIZE_LIMITS}align_corners, half_pixel_centers; also {' and '.join(PLAIN)}",
    floats=True,
)
def resize_nearest_neighbor(ctx: Lowering, op: Operator) -> None:
    """Lower a choice of rows and columns, found here. Multiply-accumulate operations: output elements."""
    made = resize(ctx, op)
    rows, columns = (nearest(*sizes, made) for sizes in made.axes)
    args = (
        TensorArg(made.source.index, "int8_t"),
        ctx.data(op, int32_bytes(rows), "int32_t", "rows"),
        ctx.data(op, int32_bytes(columns), "int32_t", "columns"),
        TensorArg(made.target.index, "int8_t", written=True),
        struct("na_resize_nearest_t", **made.geometry(DTYPE_BYTES[made.source.dtype])),
    )
    ctx.emit(op, "na_resize_nearest_s8", args, macc=made.target.elements)


def nearest(before: int, after: int, made: Resize) -> list[int]:
    """Position in the input of each row (or column) of the output; LiteRT computes it in float32."""
    scale = float32(_steps(before, after, made))
    center = 0.5 if made.half_pixel_centers else 0.0
    positions = [float32((i + center) * scale) for i in range(after)]
    return [min(round_half_away(p) if made.align_corners else floor(p), before - 1) for p in positions]


_ONE = 1 << 10  # a step of the input


@operator(
    "RESIZE_BILINEAR", limits=f"{RESIZE_LIMITS}align_corners or half_pixel_centers, not both; also float32", floats=True
)
def resize_bilinear(ctx: Lowering, op: Operator) -> None:
    """Lower an interpolation in fixed point (uint8: float32). Multiply-accumulate operations: 4 x output elements."""
    made = resize(ctx, op)
    if made.align_corners and made.half_pixel_centers:
        ctx.refuse(op, "align_corners and half_pixel_centers are both set", "LiteRT has no such resizing either")
    args = (ctx.read(op, made.source), ctx.write(made.target))
    macc = 4 * made.target.elements
    if made.source.dtype == "int16":
        ctx.ends(op)
    if is_unsigned(op) or made.source.dtype == "float32":
        rows, columns = (_steps(*sizes, made) for sizes in made.axes)
        parameters = struct(
            "na_resize_float_t",
            **made.geometry(),
            height_scale=float_literal(rows),
            width_scale=float_literal(columns),
            half_pixel_centers=int(made.half_pixel_centers),
        )
        kernel = "na_resize_bilinear_float_s8" if is_unsigned(op) else "na_resize_bilinear_f32"
        ctx.emit(op, kernel, (*args, parameters), macc=macc)
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
    """Scale and offset that turn an output position into an input position, in steps of 2**-10. Raises NeuralArtError
    when the rounded scale leads out of the input, where LiteRT reads whatever is there.
    """
    near, far = (before - 1, after - 1) if made.align_corners and after > 1 else (before, after)
    scale = (_ONE * near + far // 2) // far
    offset = scale // 2 - _ONE // 2 if made.half_pixel_centers else 0
    last = ((after - 1) * scale + offset) // _ONE
    if last > before - 1:
        what = f"resizing {before} to {after} is beyond the precision of LiteRT's fixed point: it ends at {last}"
        ctx.refuse(op, what, f"the last position is {before - 1}")
    return scale, offset
