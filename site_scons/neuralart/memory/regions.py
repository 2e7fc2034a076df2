"""Which memories of a board a network touches, and whether anything stands on anything else."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from neuralart.boards.types import Board, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart.network.facts import Network


@dataclass(frozen=True)
class Span:
    """A used range of addresses, in the alias the firmware uses.

    Attributes:
        owner: Who uses it, for messages.
        group: Ranges of one group may overlap: a virtual pool and the pools it is made of.
        start: First address.
        end: First address behind it.
    """

    owner: str
    group: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.owner} [0x{self.start:08x}, 0x{self.end:08x})"


def fold_alias(board: Board, address: int, what: str = "") -> int:
    """The address of the same byte in the alias of the firmware's security state.

    Raises:
        NeuralArtError: The board has no memory there.
    """
    region = board.region_at(address)
    if region is None:
        raise NeuralArtError(
            f"{what + ': ' if what else ''}there is no memory at 0x{address:08x}",
            where=f"board {board.name}",
            hint="memories: " + ", ".join(f"{r.name} 0x{r.base:08x}-0x{r.end:08x}" for r in board.memory),
        )
    if region.alias is not None and region.alias <= address < region.alias + region.size:
        return address - region.alias + region.base
    return address


def network_spans(board: Board, network: Network) -> list[Span]:
    """What a network uses. A virtual pool's own range is used, its parts' are not counted again.

    Raises:
        NeuralArtError: A pool lies where the board has no memory, or runs over its end.
    """
    spans = []
    for pool in network.pools:
        if not pool.used:
            continue
        owner = f"pool {pool.fname} of network {network.name}"
        start = fold_alias(board, pool.address, owner)
        span = Span(owner, f"network {network.name}", start, start + pool.used)
        touched_regions(board, [span])
        spans.append(span)
    return spans


def touched_regions(board: Board, spans: Sequence[Span]) -> list[MemoryRegion]:
    """Memories under some ranges, in the board's order.

    Raises:
        NeuralArtError: Part of a range lies in no memory.
    """
    touched: set[str] = set()
    for span in spans:
        at = span.start
        while at < span.end:
            region = board.region_at(at)
            if region is None:
                raise NeuralArtError(
                    f"{span} runs out of memory at 0x{at:08x}",
                    where=f"board {board.name}",
                    hint="make the pool smaller or move it into a memory of the board",
                )
            touched.add(region.name)
            at = region.end
    return [region for region in board.memory if region.name in touched]


def firmware_spans(board: Board) -> list[Span]:
    """Where the reference application's code and data are."""
    spans = []
    for name, section in (("code", board.code), ("data", board.data)):
        if section is not None:
            start = board.region(section.region).base + section.offset
            spans.append(Span(f"firmware {name}", f"firmware {name}", start, start + section.size))
    return spans


def check_disjoint(spans: Sequence[Span], where: str) -> None:
    """No two ranges of different groups may share a byte.

    Raises:
        NeuralArtError: Two do; names both.
    """
    for before, after in itertools.combinations(sorted(spans, key=lambda span: (span.start, span.end)), 2):
        if after.start < before.end and after.group != before.group:
            raise NeuralArtError(
                f"{after} overlaps {before} by {min(before.end, after.end) - after.start} bytes",
                where=where,
                hint="give one of them another pool file, or move the pool",
            )
