"""The lowest placement of a few blocks, by trying every order in which they can lie above one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuralart_reference.planning.arenas import Arena
from neuralart_reference.planning.lifetimes import Block, Key

NODES = 20_000
"""So many blocks are put down at most; then the lowest placement so far counts, whether a lower one exists or not."""
_MOST = 100  # blocks; of more, that many tries would be nothing


class ExactSearch:
    """Depth first: the next block by address is each of those left, as low as what lies below it allows.

    Some lowest placement is found so: push every block of any placement down until it meets another one (or the
    bottom), and put the blocks down in the order of their addresses.
    """

    def __init__(self, items: Sequence[Block], start: int, below: int) -> None:
        """Take what to place from an address on, and the end that is to be lowered."""
        self.best: dict[Key, int] = {}  # the lowest placement so far; empty: none is below the end
        self.nodes = 0
        self._end = below
        self._items = sorted(items, key=lambda block: (-block.size, block.first, block.key))
        # For each block those that it must lie above or below, with how far above its beginning that is free.
        self._above = [
            [(number, self._gap(block, other)) for number, other in enumerate(self._items) if self._meet(block, other)]
            for block in self._items
        ]
        self._at = [-1] * len(self._items)
        self._least = [self._aligned(block, start) for block in self._items]

    @staticmethod
    def _aligned(block: Block, address: int) -> int:
        return -(-address // block.align) * block.align

    @staticmethod
    def _meet(one: Block, other: Block) -> bool:
        return one is not other and one.first <= other.last and other.first <= one.last

    @staticmethod
    def _gap(lower: Block, upper: Block) -> int:
        return lower.over.distance if lower.over is not None and lower.over.key == upper.key else lower.size

    def run(self, enough: int) -> dict[Key, int]:
        """The lowest placement, or the first that ends at ``enough`` or below; empty: none is below the given end."""
        self._enough = enough
        self._next(len(self._items), (-1, -1))
        return self.best

    def _next(self, left: int, last: tuple[int, int]) -> None:
        if not left:
            self.best = {block.key: at for block, at in zip(self._items, self._at, strict=True)}
            self._end = max(self.best[block.key] + block.size for block in self._items)
            return
        waiting = [number for number, at in enumerate(self._at) if at < 0]
        if any(self._least[number] + self._items[number].size >= self._end for number in waiting):
            return
        for at, number in sorted((self._least[number], number) for number in waiting):
            self.nodes += 1
            if self.nodes > NODES or self._end <= self._enough:
                return
            if (at, number) <= last or at + self._items[number].size >= self._end:
                continue
            before = [(other, self._least[other]) for other, _ in self._above[number]]
            for other, gap in self._above[number]:
                if self._at[other] < 0:
                    self._least[other] = max(self._least[other], self._aligned(self._items[other], at + gap))
            self._at[number] = at
            self._next(left - 1, (at, number))
            self._at[number] = -1
            for other, least in before:
                self._least[other] = least


def lowered(
    items: Sequence[Block], placed: dict[Key, int], arenas: Sequence[Arena], free_from: Mapping[str, int], bound: int
) -> tuple[dict[Key, int], int]:
    """A placement in one arena, lower if there is a lower one, and how many bytes no placement can do without."""
    start = free_from.get(arenas[0].fname, arenas[0].address)
    end = max((placed[block.key] + block.size for block in items), default=start)
    if not 0 < len(items) <= _MOST or end > arenas[0].end or min(placed.values()) < start or end <= start + bound:
        return placed, bound
    search = ExactSearch(items, start, end)
    found = search.run(start + bound) or placed
    if search.nodes <= NODES:
        bound = max(bound, max(found[block.key] + block.size for block in items) - start)
    return found, bound
