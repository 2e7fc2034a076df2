"""The section ``flash``: what is written where, in which order."""

from __future__ import annotations

from neuralart.flashing.plan import FlashPlan
from neuralart_insight.report.page import memory_map
from neuralart_insight.report.page.gather import PageFacts
from neuralart_insight.report.page.memory_map import StripUse
from neuralart_insight.report.page.parts import (
    Note,
    PageSection,
    PageTable,
    Part,
    count_of,
    span,
    unknown,
)

KEY, TITLE = "flash", "Flash plan"


def _of_plan(number: int, name: str, plan: FlashPlan, facts: PageFacts) -> list[Part]:
    uses = [StripUse(each.name, each.kind, each.address, each.bytes, each.bytes, each.file) for each in plan.writes]
    total = sum(write.bytes for write in plan.writes)
    parts: list[Part] = [Note(f"{name}: {count_of(len(plan.writes), 'write')}, {count_of(total, 'byte')}.")]
    for region in facts.board.memory:
        inside = [use for use in uses if region.base <= use.start < region.end]
        if inside:
            key = f"{KEY}-{number}-{region.name}"
            parts.append(memory_map.strip(key, f"{region.name} after {name}", region.base, region.size, inside))
            parts.append(memory_map.table(key, inside, region.base, region.size, "File"))
    rows = tuple(
        (str(order), each.name, each.kind, span(each.address, each.bytes), f"{each.bytes:,}", each.sha256)
        for order, each in enumerate(plan.writes, 1)
    )
    parts.append(
        PageTable(("Order", "Write", "Kind", "Addresses", "Bytes", "SHA-256"), rows, (0, 4), "Order and hashes")
    )
    return parts


def section(facts: PageFacts) -> PageSection:
    """The section."""
    if not facts.flash:
        return unknown(KEY, TITLE, "This variant writes no flash by a plan.")
    parts = [
        part for number, (name, plan) in enumerate(facts.flash.items()) for part in _of_plan(number, name, plan, facts)
    ]
    return PageSection(KEY, TITLE, tuple(parts))
