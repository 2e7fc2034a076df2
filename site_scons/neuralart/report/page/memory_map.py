"""The section ``memory``: every memory of the board to scale, and what is used by whom."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.boards.cli import size_text
from neuralart.memory.plan.plan_report import MemoryUse
from neuralart.report.page import strips
from neuralart.report.page.gather import PageFacts
from neuralart.report.page.parts import Cell, Meter, Note, PageSection, PageTable, Part, share_of, span, unknown
from neuralart.report.page.strips import StripUse

KEY, TITLE = "memory", "Memory map"
_HELP = (
    "Each strip is a whole memory, to scale. Pale: reserved; full color: used; a triangle marks what is too narrow to "
    "see. Click an owner to zoom to it; drag over a strip, or turn the wheel with Ctrl, to zoom anywhere. Where the "
    "use is unknown, all that is reserved counts."
)
_BY_LINKER = (
    "This variant has no address plan: the linker has chosen all addresses. The sections of the firmware are shown."
)


def _by_plan(facts: PageFacts) -> tuple[list[MemoryUse], list[StripUse]]:
    plan = facts.plan or {}
    memories = [MemoryUse(**{**each, "owners": tuple(each["owners"])}) for each in plan["memories"]]
    return memories, [
        StripUse(each["owner"], each["kind"], each["start"], each["size"], each["used"], each["chosen_by"])
        for each in plan["placements"]
    ]


def _by_linker(facts: PageFacts) -> tuple[list[MemoryUse], list[StripUse]]:
    """Memories of the board and sections of the image."""
    sections: dict[tuple[str, str], tuple[int, int]] = {}
    for part in facts.parts or ():
        start, size = sections.get((part.memory, part.section), (part.address, 0))
        sections[part.memory, part.section] = (min(start, part.address), size + part.bytes)
    uses = [
        StripUse(f"section {name}", "firmware", start, size, size, "the linker")
        for (_, name), (start, size) in sorted(sections.items(), key=lambda item: item[1])
    ]
    found = []
    for region in facts.board.memory:
        inside = [use for use in uses if region.base <= use.start < region.end]
        owners = tuple(use.owner for use in inside)
        found.append(
            MemoryUse(region.name, region.base, region.size, region.kind, sum(use.size for use in inside), owners)
        )
    return found, uses


def _overview(memories: Sequence[MemoryUse]) -> PageTable:
    rows: list[tuple[Cell, ...]] = []
    for each in memories:
        share = each.used / each.size if each.size else 0.0
        text = f"{each.used:,} of {each.size:,} bytes ({share_of(each.used, each.size)})" if each.used else "unused"
        rows.append((each.name, each.kind, span(each.start, each.size), Meter(text, share), ", ".join(each.owners)))
    return PageTable(("Memory", "Kind", "Addresses", "Used", "By"), tuple(rows))


def section(facts: PageFacts) -> PageSection:
    """The section."""
    if facts.plan is None and facts.parts is None:
        return unknown(KEY, TITLE, "Unknown: the firmware is built elsewhere, and there is no address plan.")
    memories, uses = _by_plan(facts) if facts.plan is not None else _by_linker(facts)
    parts: list[Part] = [Note(_HELP)] if facts.plan is not None else [Note(_BY_LINKER), Note(_HELP)]
    parts.append(_overview(memories))
    idle = []
    for number, each in enumerate(memories):
        inside = [use for use in uses if use.start < each.start + each.size and use.start + use.size > each.start]
        if not each.used:
            idle += [(each.name, use.owner, span(use.start, use.size), use.remark) for use in inside]
        elif inside:
            key = f"{KEY}-{number}"
            used = f"{each.used:,} of {each.size:,} bytes used ({share_of(each.used, each.size)})"
            title = f"{each.name}: {size_text(each.size)} {each.kind}, {used}"
            parts.append(strips.strip(key, title, each.start, each.size, inside))
            parts.append(strips.table(key, inside, each.start, each.size, "Place chosen by"))
    if idle:
        folded = f"Reserved in memories that nothing uses: {len(idle)}"
        parts.append(PageTable(("Memory", "Owner", "Addresses", "Place chosen by"), tuple(idle), (), folded))
    return PageSection(KEY, TITLE, tuple(parts))
