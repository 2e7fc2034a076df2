"""The address plan in words: a table for people, JSON for programs (docs/reference/address-plan.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from neuralart.boards.cli import size_text
from neuralart.memory.image.reachable import is_on
from neuralart.memory.plan.occupancy import MemoryUse, memories
from neuralart.memory.plan.usage import AddressPlan

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
    """The plan for people.

    Args:
        plan: The plan.
        variant: Its name.
        notes: Lines to put at the end.
    """
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
