"""Did the firmware maintain the NPU's cache behind what it wrote into cacheable pools?

As with the core's cache (:mod:`neuralart.emulator.coherency`), what memory behind a cache would hold is kept beside
the memory; here it changes by commands of the NPU cache alone. It counts only while that cache is on: off, it holds
nothing, and it starts empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuralart.boards.types import Board
from neuralart.emulator.coherency import Coherency, Dirty, Watched

LINE = 64


class NpuLines:
    """What memory behind the NPU cache holds of the watched ranges that it caches."""

    def __init__(self, board: Board, watched: Sequence[Watched], peek: Callable[[int, int], bytes], fill: int) -> None:
        """As :class:`~neuralart.emulator.coherency.Coherency`."""
        self._watched = [each for each in watched if each.npu_cached]
        self._behind = Coherency(board, self._watched, peek, fill)

    def command(self, name: str, start: int, end: int) -> None:
        """The NPU cache does something to the lines from that of address ``start`` to that of address ``end``."""
        if name in ("invalidate all", "enable"):
            for each in self._watched:
                self.settle(each.start, each.end - each.start)
        elif name in ("clean", "invalidate", "clean and invalidate") and start <= end:
            first = start // LINE * LINE
            self.settle(first, end // LINE * LINE + LINE - first)

    def settle(self, address: int, size: int) -> None:
        """No line of the cache stands for these bytes any more."""
        self._behind.settle(address, size)

    def forget(self, start: int, end: int) -> None:
        """Memories lost their contents."""
        self._behind.forget(start, end)

    def dirty(self) -> Dirty | None:
        """The first watched range for which the cache may hold something else than the memory."""
        return self._behind.dirty()
