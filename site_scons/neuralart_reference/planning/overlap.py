"""How far in front of its input a kernel may write its output while it runs.

The kernels of :data:`WINDOWED` compute output positions (all channels of a place in a picture) in the order of memory.
Each needs the input under its window, and nothing in front of the first byte of that is needed again. So an output that
begins ``distance`` bytes below its input never reaches what is still needed, with

    distance = max over positions (end of the position in the output - first byte still needed in the input)

Nothing is assumed of the order within a position: a kernel may write all of it before it reads. The plain C kernels
and those for the DSP extension keep to that, the only ones that CPU networks run with. The MVE convolutions do not:
they go over their input again for each 64 output channels and each group; networks of an NPU have no overlaps.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from neuralart_reference.ir import Call, StructArg, TensorArg

WINDOWED = (
    "na_conv2d_s8",
    "na_conv2d_offset_s8",
    "na_depthwise_conv2d_s8",
    "na_depthwise_conv2d_offset_s8",
    "na_conv2d_f32",
    "na_depthwise_conv2d_f32",
    "na_max_pool_f32",
    "na_average_pool_f32",
    "na_max_pool_s8",
    "na_average_pool_s8",
    "na_average_pool_half_up_s8",
    "na_conv2d_s16",
    "na_conv2d_s16_b32",
    "na_depthwise_conv2d_s16",
    "na_max_pool_s16",
    "na_average_pool_s16",
)
"""Kernels whose first argument may be overwritten while they run."""
MOVING = ("na_move_8", "na_map_rows_s8")
"""Kernels that take block for block elsewhere: as into a part of a concatenation."""
QUANTIZING = ("na_quantize_f32_s8", "na_quantize_f32_u8")
"""Kernels that make a byte of four, one after the other: in the place of the input, or in front of it."""


def distance(call: Call) -> int | None:
    """How many bytes the output must begin below the input, at least; None when it must not lie over it.

    The number is the smallest one, except for windows with gaps (a dilation) or with no tap inside of the input: then a
    part of the input counts as needed longer than it is.
    """
    parameters = call.args[-1] if call.args else None
    if not isinstance(call.args[0] if call.args else None, TensorArg) or not isinstance(parameters, StructArg):
        return None
    if call.kernel in QUANTIZING:
        return 1
    if call.kernel in MOVING:
        return _blocks({name: [*map(int, value.strip("{}").split(","))] for name, value in parameters.fields})
    if call.kernel not in WINDOWED:
        return None
    size = 4 if call.kernel.endswith("_f32") else 2 if "_s16" in call.kernel else 1
    return size * _windows(tuple(field for field in parameters.fields if field[0] not in ("low", "high")))


def _blocks(p: Mapping[str, list[int]]) -> int | None:
    """The distance of blocks on a grid; None if the input is not walked upwards."""
    if "rows" in p:
        (block,), shape, steps = p["count"], p["rows"], (p["count"], p["output_step"])
    else:
        (block,), shape, steps = p["block"], p["shape"], (p["input_step"], p["output_step"])
    distance, reached = block, block
    for size, source, target in zip(reversed(shape), reversed(steps[0]), reversed(steps[1]), strict=True):
        if size > 1 and source < reached:
            return None
        reached += (size - 1) * source
        distance += (size - 1) * max(0, target - source)
    return distance


@lru_cache(1 << 12)  # The same calls are asked for in every try.
def _windows(members: tuple[tuple[str, str], ...]) -> int:
    """The distance of a window that slides over height and width."""
    p = {name.removeprefix("window."): int(value) for name, value in members}
    in_depth, out_depth = (p.get(f"{side}_channels") or p["channels"] for side in ("input", "output"))
    (height, width), (rows, columns) = (p["input_height"], p["input_width"]), (p["output_height"], p["output_width"])

    def first(position: int, axis: str, pad: str, size: int) -> int:
        return min(size, max(0, position * p[f"stride_{axis}"] - p.get(f"pad_{pad}", 0)))

    # Along a row the end of a position grows evenly, and the first byte needed too from where the window has left the
    # edge: the difference is largest at an end, or there.
    leaves = p.get("pad_left", 0) // p["stride_width"]
    crucial = {0, columns - 1, *(x for x in (leaves, leaves + 1) if x < columns)}
    worst = 0
    for y in range(rows):
        here = first(y, "height", "top", height) * width * in_depth
        # The next row begins at the left edge again, perhaps in the same row of the input.
        after = height * width * in_depth
        if y + 1 < rows:
            after = first(y + 1, "height", "top", height) * width * in_depth
        for x in crucial:
            needed = min(here + first(x, "width", "left", width) * in_depth, after)
            worst = max(worst, (y * columns + x + 1) * out_depth - needed)
    growth = rows * columns * out_depth - height * width * in_depth
    return worst + max(0, (p["batches"] - 1) * growth)
