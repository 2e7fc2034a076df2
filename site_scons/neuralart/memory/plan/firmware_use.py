"""Computes how much of its places the firmware uses from what it uses of each memory."""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.boards.types import Board
from neuralart.memory.plan.plan import CODE, DATA
from neuralart.memory.regions import firmware_spans, touched_regions


def firmware_sizes(board: Board, used: Mapping[str, int]) -> dict[str, int]:
    """Sizes for :func:`neuralart.memory.plan.plan.make_plan`.

    Args:
        board: The board.
        used: Bytes that the image occupies in each memory, by its name.

    Returns:
        Bytes of code and data; one that uses nothing known is left out.
    """
    spans = {span.owner: span for span in firmware_spans(board)}
    sizes = {}
    for key in (CODE, DATA):
        span = spans.get(f"firmware {key}")
        found = [used[region.name] for region in touched_regions(board, [span] if span else []) if region.name in used]
        if found:
            sizes[key] = sum(found)
    return sizes
