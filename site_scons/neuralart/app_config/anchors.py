"""Anchors of BlazeFace: one for each cell of each layer, in the middle of the cell (strides 8, 16, 16, 16)."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.app_config.ctext import cfloat

# Two anchors for each layer of a grid: the first has one layer, the second has three.
_GRIDS = ((8, 2), (16, 6))


def blazeface(size: int) -> list[list[tuple[float, float]]] | None:
    """Middles of the boxes, x and y from 0 to 1, for the two grids.

    Args:
        size: Width and height of the input.

    Returns:
        512 and 384 anchors for 128; None where the size is no multiple of the strides.
    """
    if any(size % stride for stride, _ in _GRIDS):
        return None
    grids = []
    for stride, count in _GRIDS:
        cells = size // stride
        middles = [(at + 0.5) / cells for at in range(cells)]
        grids.append([(x, y) for y in middles for x in middles for _ in range(count)])
    return grids


def header(number: int, grid: Sequence[tuple[float, float]]) -> str:
    """Text of ``fd_blazeface_anchors_<number>.h``: x and y of each anchor.

    Args:
        number: 0 or 1.
        grid: Middles of the boxes.
    """
    return "\n".join(
        [
            f"/* Anchors of grid {number}: x and y of the middle, from 0 to 1. Generated. */",
            f"#ifndef FD_BLAZEFACE_ANCHORS_{number}_H",
            f"#define FD_BLAZEFACE_ANCHORS_{number}_H",
            "",
            '#include "arm_math.h"',
            "",
            f"static const float32_t g_Anchors_{number}[{2 * len(grid)}] = {{",
            *(f"  {cfloat(x)}, {cfloat(y)}," for x, y in grid),
            "};",
            "",
            "#endif",
            "",
        ]
    )
