"""Do the fixed destinations of pools lie in memory that a board has?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.memory.findings import Finding, error, warning
from neuralart.relocatable.format.addresses import COPY, RESET, align8
from neuralart.relocatable.format.types import Image

if TYPE_CHECKING:
    from neuralart.boards.types import Board

# What external memory controllers of the STM32N6 map: which chips are behind them is the board's matter.
_EXTERNAL = range(0x60000000, 0xA0000000)
_WINDOW = 1 << 28


class Memories:
    """Memory that programs may write, as ranges; adjoining ones are one.

    Attributes:
        names: Boards that they are of, for messages.
        any_board: Nobody said which board it is: external memory may be larger than that of boards known here.
    """

    def __init__(self, boards: Sequence[Board], *, any_board: bool = False) -> None:
        """Memories of boards, through either alias."""
        self.names = ", ".join(board.name for board in boards)
        self.any_board = any_board
        self._ranges = [_joined(board) for board in boards]

    def holds(self, start: int, end: int) -> bool:
        """All of a stretch is memory of one of the boards."""
        return any(low <= start and end <= high for ranges in self._ranges for low, high in ranges)


def _joined(board: Board) -> list[tuple[int, int]]:
    places = [
        (base, base + region.size)
        for region in board.memory
        if region.kind in ("ram", "psram")
        for base in (region.base, region.alias)
        if base is not None
    ]
    made: list[tuple[int, int]] = []
    for low, high in sorted(places):
        if made and low <= made[-1][1]:
            made[-1] = (made[-1][0], max(high, made[-1][1]))
        else:
            made.append((low, high))
    return made


def of_board(name: str = "", files: Sequence[Path] = ()) -> Memories:
    """Memories of a board; without a name, of all built-in boards with a core that loads relocatable models.

    Raises:
        NeuralArtError: There is no such board.
    """
    from neuralart import boards

    if name:
        return Memories([boards.load(name, files)])
    every = [boards.load(each) for each in boards.names()]
    return Memories([board for board in every if board.mpool and board.cpu == "cortex-m55"], any_board=True)


def check(image: Image, memories: Memories) -> Iterator[Finding]:
    """Destinations of COPY and RESET pools."""
    for number, pool in enumerate(image.pools):
        start, end = pool.dst, pool.dst + align8(pool.size)
        if pool.type not in (COPY, RESET) or not start or end > 1 << 32 or memories.holds(start, end):
            continue
        who = f"pool {number} ({pool.name}, 0x{pool.flags:08x})"
        text = f"{who}: [0x{start:08x}, 0x{end:08x}) is not all memory of {memories.names}"
        if memories.any_board and start in _EXTERNAL and start // _WINDOW == (end - 1) // _WINDOW:
            yield warning("pools", text, "name yours with --board or --board-file")
        else:
            yield error("pools", text)
