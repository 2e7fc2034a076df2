"""How full each memory of the board is."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.memory.layout.conflicts import claim
from neuralart.memory.plan.usage import AddressPlan


@dataclass(frozen=True)
class MemoryUse:
    """A memory of the board and how full it is.

    Attributes:
        name: Of the memory.
        start: First address.
        size: Bytes.
        kind: ``ram``, ``psram``, ``flash`` or ``rom``.
        used: Bytes that somebody has; ranges that overlap count once.
        owners: Who, in address order.
    """

    name: str
    start: int
    size: int
    kind: str
    used: int
    owners: tuple[str, ...]


def memories(plan: AddressPlan) -> list[MemoryUse]:
    """How full each memory is, in the board's order; unused ones too.

    Used is what is known to be used; of what is not known the whole size, and before a build the declared size.
    """
    spans = []
    for use in sorted(plan.uses, key=lambda use: (use.placement.start, use.placement.owner)):
        size = use.placement.size if use.used is None or not plan.actual else use.used
        spans.append(claim(use.placement, size))
    found = []
    for region in plan.board.memory:
        inside = [s for s in spans if s.start < region.end and s.end > region.base and s.end > s.start]
        used, at = 0, region.base
        for span in inside:
            low, high = max(span.start, at), min(span.end, region.end)
            used += max(0, high - low)
            at = max(at, high)
        found.append(
            MemoryUse(region.name, region.base, region.size, region.kind, used, tuple(s.owner for s in inside))
        )
    return found
