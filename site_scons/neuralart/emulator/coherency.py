"""Did the core clean its data cache behind what it wrote for the NPU?

The virtual board has no cache. What memory behind a write-back cache would hold is kept beside it instead: a line
changes there when it is cleaned by address, or when somebody else than the core writes it. At the first epoch, a
watched line that differs from that was stored and never cleaned, or stored to again after it was cleaned. The worst
case is assumed: a cache that never evicts a line by itself, and is on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from neuralart.boards.types import Board
from neuralart.memory.regions import fold
from neuralart.network.facts import Network

# The name under which the boot chain knows it.
canonical = fold

LINE = 32
CLEANS = ("DCCMVAC", "DCCIMVAC")
INVALIDATES = ("DCIMVAC",)


@dataclass(frozen=True)
class Watched:
    """A range that the NPU reads and the core fills."""

    owner: str  # For messages, like ``pool npuRAM5 of network digits``
    start: int  # First address, in the alias of the firmware's security state
    end: int  # First address behind it
    npu_cached: bool = False  # The NPU reads it through its own cache


@dataclass(frozen=True)
class Dirty:
    """Bytes of a watched range that memory does not have."""

    watched: Watched  # The range
    start: int  # First address of its first line
    end: int  # First address behind its last one
    bytes: int  # How many, in lines that differ
    invalidated: bool  # One of these lines was invalidated without being cleaned


def watched_ranges(board: Board, networks: Sequence[Network]) -> tuple[Watched, ...]:
    """Initializers in RAM: somebody must bring them there at each start, and not into the core's cache alone."""
    ranges = []
    for network in networks:
        for pool in network.initializers:
            region = board.region_at(pool.address)
            if region is None or region.kind in ("flash", "rom"):
                continue
            start = fold(board, pool.address)
            owner = f"pool {pool.fname} of network {network.name}"
            ranges.append(Watched(owner, start, start + pool.weights, pool.cacheable))
    return tuple(ranges)


class Coherency:
    """What memory behind the data cache holds of the watched ranges."""

    def __init__(self, board: Board, watched: Sequence[Watched], peek: Callable[[int, int], bytes], fill: int) -> None:
        """Nothing was written yet: RAM is made of ``fill``. ``peek`` tells what the core sees at an address."""
        self._board = board
        self._watched = tuple(watched)
        self._peek = peek
        self._unwritten = bytes([fill]) * LINE
        self._held: dict[int, bytes] = {}
        self._invalidated: set[int] = set()

    def _lines(self, start: int, end: int) -> Iterator[int]:
        """Lines of [start, end) that hold a byte of a watched range."""
        for watched in self._watched:
            first, last = max(start, watched.start), min(end, watched.end)
            if first < last:
                yield from range(first // LINE * LINE, last, LINE)

    def operation(self, name: str, operand: int) -> None:
        """The core maintains its cache. Only operations by address say which bytes they are for."""
        if name not in (*CLEANS, *INVALIDATES):
            return
        line = fold(self._board, operand) // LINE * LINE
        for at in self._lines(line, line + LINE):
            if name in CLEANS:
                self._held[at] = self._peek(at, LINE)
                self._invalidated.discard(at)
            elif self._peek(at, LINE) != self._held.get(at, self._unwritten):
                self._invalidated.add(at)

    def settle(self, address: int, size: int) -> None:
        """Somebody else than the core wrote these bytes: memory has them."""
        start = fold(self._board, address)
        for at in self._lines(start, start + size):
            self._held[at] = self._peek(at, LINE)

    def forget(self, start: int, end: int) -> None:
        """Memories lost their contents."""
        for at in [at for at in self._held if start <= at < end]:
            del self._held[at]
        self._invalidated = {at for at in self._invalidated if not start <= at < end}

    def dirty(self) -> Dirty | None:
        """The first watched range with bytes that memory does not have."""
        for watched in self._watched:
            lines = [at for at in self._lines(watched.start, watched.end) if self._differs(watched, at)]
            if lines:
                size = sum(min(at + LINE, watched.end) - max(at, watched.start) for at in lines)
                lost = any(at in self._invalidated for at in lines)
                return Dirty(watched, lines[0], lines[-1] + LINE, size, lost)
        return None

    def _differs(self, watched: Watched, line: int) -> bool:
        # A line at the border holds bytes of others too: they are none of our business.
        first, last = max(line, watched.start) - line, min(line + LINE, watched.end) - line
        return self._peek(line, LINE)[first:last] != self._held.get(line, self._unwritten)[first:last]


NPU_LINE = 64


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
            first = start // NPU_LINE * NPU_LINE
            self.settle(first, end // NPU_LINE * NPU_LINE + NPU_LINE - first)

    def settle(self, address: int, size: int) -> None:
        """No line of the cache stands for these bytes any more."""
        self._behind.settle(address, size)

    def forget(self, start: int, end: int) -> None:
        """Memories lost their contents."""
        self._behind.forget(start, end)

    def dirty(self) -> Dirty | None:
        """The first watched range for which the cache may hold something else than the memory."""
        return self._behind.dirty()
