"""The address plan in words: a table for people, JSON for programs (docs/reference/address-plan.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuralart.boards.cli import size_text
from neuralart.memory.layout.conflicts import claim
from neuralart.memory.plan.plan import AddressPlan
from neuralart.memory.regions import is_on


@dataclass(frozen=True)
class MemoryUse:
    """A memory of the board and how full it is."""

    name: str  # of the memory
    start: int  # first address
    size: int  # bytes
    kind: str  # ram, psram, flash or rom
    used: int  # bytes that somebody has; ranges that overlap count once
    owners: tuple[str, ...]  # who, in address order


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


SCHEMA = 1


def view(plan: AddressPlan) -> str:
    """Which of the two views a plan is: ``actual`` or ``declared``."""
    return "actual" if plan.actual else "declared"


def as_data(plan: AddressPlan, variant: str) -> dict[str, Any]:
    """The plan as plain mappings, lists, texts and integers."""
    return {
        "schema": SCHEMA,
        "variant": variant,
        "board": plan.board.name,
        "view": view(plan),
        "application": plan.layout.application,
        "descriptor": plan.layout.descriptor,
        "memories": [
            {
                "name": each.name,
                "start": each.start,
                "size": each.size,
                "kind": each.kind,
                "used": each.used,
                "owners": list(each.owners),
            }
            for each in memories(plan)
        ],
        "placements": [
            {
                "owner": use.placement.owner,
                "kind": use.placement.kind,
                "start": use.placement.start,
                "size": use.placement.size,
                "used": use.used,
                "chosen_by": use.placement.chosen_by,
            }
            for use in plan.uses
        ],
        "initializers": [
            {
                "network": each.network,
                "pool": each.pool,
                "strategy": each.strategy,
                "run_address": each.run_address,
                "load_address": each.load_address,
                "capacity": each.capacity,
                "cacheable": each.cacheable,
                "bytes": plan.raws.get((each.network, each.pool)),
            }
            for each in plan.layout.initializers
        ],
    }


def to_json(plan: AddressPlan, variant: str) -> str:
    """Text of ``plan.json``: the same plan gives the same bytes."""
    return json.dumps(as_data(plan, variant), indent=1, sort_keys=True) + "\n"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _memory_rows(plan: AddressPlan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("MEMORY", "ADDRESS", "SIZE", "KIND", "USED", "BY")]
    for each in memories(plan):
        rows.append(
            (each.name, f"0x{each.start:08x}", size_text(each.size), each.kind, str(each.used), _by(plan, each))
        )
    return rows


def _by(plan: AddressPlan, each: MemoryUse) -> str:
    if each.owners:
        return ", ".join(each.owners)
    if is_on(plan.board, plan.board.region(each.name)):
        return "unused"
    return "unused, stays off"


def _placement_rows(plan: AddressPlan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("START", "END", "SIZE", "USED", "KIND", "OWNER", "CHOSEN BY")]
    for use in sorted(plan.uses, key=lambda use: (use.placement.start, use.placement.owner)):
        placement = use.placement
        rows.append(
            (
                f"0x{placement.start:08x}",
                f"0x{placement.end:08x}",
                size_text(placement.size),
                "?" if use.used is None else str(use.used),
                placement.kind,
                placement.owner,
                placement.chosen_by,
            )
        )
    return rows


def _initializer_rows(plan: AddressPlan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("NETWORK", "POOL", "STRATEGY", "KEPT AT", "READ AT", "BYTES", "AT MOST")]
    for each in plan.layout.initializers:
        size = plan.raws.get((each.network, each.pool))
        rows.append(
            (
                each.network,
                each.pool,
                each.strategy,
                f"0x{each.load_address:08x}" if each.load_address else "-",
                f"0x{each.run_address:08x}",
                "?" if size is None else "0, skipped" if not size else str(size),
                str(each.capacity),
            )
        )
    return rows


def text(plan: AddressPlan, variant: str, notes: Sequence[str] = ()) -> str:
    """The plan for people. ``variant``: its name; ``notes``: lines to put at the end."""
    what = "as built" if plan.actual else "as declared: sizes are the most that fits, ? is known after a build"
    lines = [
        f"{variant} on {plan.board.name}, {what}",
        "",
        *_table(_memory_rows(plan)),
        "",
        *_table(_placement_rows(plan)),
    ]
    if plan.layout.initializers:
        lines += ["", *_table(_initializer_rows(plan))]
    if notes:
        lines += ["", *notes]
    return "\n".join(lines) + "\n"
