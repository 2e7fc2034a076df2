"""Writes the address plan as a table for people, and as JSON (docs/reference/address-plan.md)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.memory.layout.conflicts import claim
from neuralart.memory.plan.plan import AddressPlan
from neuralart.memory.regions import is_on
from neuralart.quick import dataclass
from neuralart.text.json_values import document, shaped
from neuralart.text.sizes import size_text


@dataclass(frozen=True)
class MemoryUse:
    name: str  # of the memory
    start: int  # first address
    size: int  # bytes
    kind: str  # ram, psram, flash or rom
    used: int  # bytes that have an owner; ranges that overlap count once
    owners: tuple[str, ...]  # who, in address order


def memories(plan: AddressPlan) -> list[MemoryUse]:
    """Say how full each memory is, in the board's order. What is not known counts with its whole or declared size."""
    spans = []
    for use in plan.in_order:
        spans.append(claim(use.placement, use.placement.size if use.used is None or not plan.actual else use.used))
    found = []
    for region in plan.board.memory:
        inside = [s for s in spans if s.start < region.end and s.end > region.base and s.end > s.start]
        used, at = 0, region.base
        for span in inside:
            low, high = max(span.start, at), min(span.end, region.end)
            used += max(0, high - low)
            at = max(at, high)
        owners = tuple(span.owner for span in inside)
        found.append(MemoryUse(region.name, region.base, region.size, region.kind, used, owners))
    return found


SCHEMA = 1
_NUMBER = (int, type(None))
_MEMORY = {"name": str, "start": int, "size": int, "kind": str, "used": int, "owners": [str]}
_PLACEMENT = {"owner": str, "kind": str, "start": int, "size": int, "used": _NUMBER, "chosen_by": str}
_INITIALIZER = {
    **{"network": str, "pool": str, "strategy": str, "run_address": int, "load_address": int, "capacity": int},
    **{"cacheable": bool, "bytes": _NUMBER},
}
_PLAN = {
    **{"variant": str, "board": str, "view": str, "application": _NUMBER, "descriptor": _NUMBER},
    **{"memories": [_MEMORY], "placements": [_PLACEMENT], "initializers": [_INITIALIZER]},
}


def read(path: Path) -> dict[str, Any]:
    """Read the ``plan.json`` of :func:`as_data`. NeuralArtError: it is missing, or another file."""
    made: dict[str, Any] = shaped(document(path, SCHEMA), _PLAN, str(path))
    return made


def as_data(plan: AddressPlan, variant: str) -> dict[str, Any]:
    """Make the plan plain data, for JSON."""
    placements = [{**vars(use.placement), "used": use.used} for use in plan.uses]
    for placement in placements:
        del placement["group"]
    return {
        **{"schema": SCHEMA, "variant": variant, "board": plan.board.name},
        **{"view": "actual" if plan.actual else "declared", "application": plan.layout.application},
        "descriptor": plan.layout.descriptor,
        "memories": [{**vars(each), "owners": list(each.owners)} for each in memories(plan)],
        "placements": placements,
        "initializers": [
            {**vars(each), "bytes": plan.raws.get((each.network, each.pool))} for each in plan.layout.initializers
        ],
    }


def to_json(plan: AddressPlan, variant: str) -> str:
    """Write ``plan.json``; equal plans give equal bytes."""
    return json.dumps(as_data(plan, variant), indent=1, sort_keys=True) + "\n"


def _table(heads: str, rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [tuple(heads.split("|")), *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["", *("  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)]


def _memory_row(each: Mapping[str, Any], off: Collection[str]) -> tuple[str, ...]:
    by = ", ".join(each["owners"]) or ("unused, stays off" if each["name"] in off else "unused")
    return each["name"], f"0x{each['start']:08x}", size_text(each["size"]), each["kind"], str(each["used"]), by


def _placement_row(each: Mapping[str, Any]) -> tuple[str, ...]:
    used = "?" if each["used"] is None else str(each["used"])
    addresses = f"0x{each['start']:08x}", f"0x{each['start'] + each['size']:08x}"
    return *addresses, size_text(each["size"]), used, each["kind"], each["owner"], each["chosen_by"]


def _initializer_row(each: Mapping[str, Any]) -> tuple[str, ...]:
    size = each["bytes"]
    kept = f"0x{each['load_address']:08x}" if each["load_address"] else "-"
    used = "?" if size is None else "0, skipped" if not size else str(size)
    run = f"0x{each['run_address']:08x}"
    return each["network"], each["pool"], each["strategy"], kept, run, used, str(each["capacity"])


def unpowered(board: Board) -> frozenset[str]:
    """Names of the memories that stay off."""
    return frozenset(region.name for region in board.memory if not is_on(board, region))


def text(data: Mapping[str, Any], notes: Sequence[str] = (), off: Collection[str] = ()) -> str:
    """Write the plan for people. ``data``: from :func:`as_data` or ``plan.json``; ``notes``: last lines; ``off``: from
    :func:`unpowered`.
    """
    declared = "as declared: sizes are the most that fits, ? is known after a build"
    lines = [f"{data['variant']} on {data['board']}, {'as built' if data['view'] == 'actual' else declared}"]
    lines += _table("MEMORY|ADDRESS|SIZE|KIND|USED|BY", (_memory_row(each, off) for each in data["memories"]))
    in_order = sorted(data["placements"], key=lambda each: (each["start"], each["owner"]))
    lines += _table("START|END|SIZE|USED|KIND|OWNER|CHOSEN BY", map(_placement_row, in_order))
    if data["initializers"]:
        heads = "NETWORK|POOL|STRATEGY|KEPT AT|READ AT|BYTES|AT MOST"
        lines += _table(heads, map(_initializer_row, data["initializers"]))
    if notes:
        lines += ["", *notes]
    return "\n".join(lines) + "\n"
