"""The sections ``memory`` (the board's memories, and who uses them) and ``flash`` (what is written)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuralart.flashing.plan import FlashPlan
from neuralart.memory.plan.plan_report import MemoryUse
from neuralart.text.sizes import size_text
from neuralart_insight.plan.picture import COLORS
from neuralart_insight.report.page import figures, parts
from neuralart_insight.report.page.gather import PageFacts

# Kinds of what is written to a flash, beside those of the address plan.
_COLORS = {**COLORS, "application": COLORS["slot"], "model": COLORS["pool"]}
_NARROW = 1 / 400  # Share of a strip; what is narrower has a mark above it
_DECLARED, _USED = 0.18, 1.0  # Opacities
_HEIGHT = 118
_BAR = {"bottom": 0.12, "top": 0.72}
_LEAST = 16  # Bytes that a strip shows at least


@dataclass(frozen=True)
class StripUse:
    """A range of a memory that has an owner."""

    owner: str
    kind: str  # As in the address plan or the flash plan
    start: int  # First address
    size: int  # Bytes that belong to it
    used: int | None  # Bytes from its start on that it uses; None: unknown
    remark: str = ""  # Who has chosen its place, or a name

    @property
    def color(self) -> str:
        """Of its bars."""
        return _COLORS.get(self.kind, figures.INK)

    @property
    def used_text(self) -> str:
        """Bytes in words."""
        return "unknown" if self.used is None else f"{self.used:,}"


def strip(key: str, title: str, start: int, size: int, uses: Sequence[StripUse]) -> parts.Picture:
    """A picture of a memory; it shows all of it, until the reader zooms."""
    end = start + max(size, 1)
    figure = figures.new(_HEIGHT, (start, end), (0.0, 1.0), zoom="x")
    figure.x_range.min_interval = min(_LEAST, end - start)
    figure.yaxis.visible = False
    figures.axis_of_bytes(figure.xaxis, addresses=True)
    whole = figures.columns([{"left": start, "right": end, **_BAR}])
    figure.quad(**figures.SIDES, source=whole, fill_color=None, line_color=figures.INK)
    rows, marks = [], []
    # Large ones first: what lies inside a larger range stays visible.
    for use in sorted(uses, key=lambda use: (-use.size, use.start, use.owner)):
        about: dict[str, Any] = {"owner": use.owner, "range": parts.span(use.start, use.size), "color": use.color}
        about |= {"size": parts.count_of(use.size, "byte"), "used": use.used_text, "remark": use.remark, **_BAR}
        for right, opacity in ((use.start + use.size, _DECLARED), (use.start + (use.used or 0), _USED)):
            low, high = max(use.start, start), min(right, end)
            if low < high:
                rows.append({**about, "left": low, "right": high, "opacity": opacity})
                if opacity == _USED and high - low < _NARROW * (end - start):
                    marks.append({**about, "x": (low + high) / 2})
    tips = [("", "owner"), ("range", "range"), ("size", "size"), ("used", "used"), ("", "remark")]
    figures.boxes(figure, rows, tips, fill_alpha="opacity", line_color=None)
    if marks:
        style = {"marker": "inverted_triangle", "size": 9, "fill_color": "color", "line_color": None}
        figures.hover(figure, figure.scatter(x="x", y=0.84, source=figures.columns(marks), **style), tips)
    return parts.Picture(key, title, figure, len(rows))


def table(key: str, uses: Sequence[StripUse], start: int, size: int, remark: str) -> parts.PageTable:
    """Who owns what in a strip; a click on an owner zooms to it."""
    rows: list[tuple[parts.Cell, ...]] = []
    for use in sorted(uses, key=lambda use: (use.start, use.owner)):
        margin = max((use.used or use.size) / 2, _LEAST)
        low = max(start, use.start - margin)
        high = min(start + size, use.start + (use.used or use.size) + margin)
        jump = parts.Jump(use.owner, key, low, high, use.color)
        rows.append((jump, parts.span(use.start, use.size), f"{use.size:,}", use.used_text, use.remark))
    return parts.PageTable(("Owner", "Addresses", "Bytes reserved", "Bytes used", remark), tuple(rows), (2, 3))


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


def _overview(memories: Sequence[MemoryUse]) -> parts.PageTable:
    rows: list[tuple[parts.Cell, ...]] = []
    for each in memories:
        share = each.used / each.size if each.size else 0.0
        used = f"{each.used:,} of {each.size:,} bytes ({parts.share_of(each.used, each.size)})"
        meter, where = parts.Meter(used if each.used else "unused", share), parts.span(each.start, each.size)
        rows.append((each.name, each.kind, where, meter, ", ".join(each.owners)))
    return parts.PageTable(("Memory", "Kind", "Addresses", "Used", "By"), tuple(rows))


def section(facts: PageFacts) -> parts.PageSection:
    """The section."""
    if facts.plan is None and facts.parts is None:
        return parts.unknown(KEY, TITLE, "Unknown: the firmware is built elsewhere, and there is no address plan.")
    memories, uses = _by_plan(facts) if facts.plan is not None else _by_linker(facts)
    notes = (_HELP,) if facts.plan is not None else (_BY_LINKER, _HELP)
    found: list[parts.Part] = [*map(parts.Note, notes), _overview(memories)]
    idle = []
    for number, each in enumerate(memories):
        inside = [use for use in uses if use.start < each.start + each.size and use.start + use.size > each.start]
        if not each.used:
            idle += [(each.name, use.owner, parts.span(use.start, use.size), use.remark) for use in inside]
        elif inside:
            key = f"{KEY}-{number}"
            used = f"{each.used:,} of {each.size:,} bytes used ({parts.share_of(each.used, each.size)})"
            title = f"{each.name}: {size_text(each.size)} {each.kind}, {used}"
            found.append(strip(key, title, each.start, each.size, inside))
            found.append(table(key, inside, each.start, each.size, "Place chosen by"))
    if idle:
        folded = f"Reserved in memories that nothing uses: {len(idle)}"
        found.append(parts.PageTable(("Memory", "Owner", "Addresses", "Place chosen by"), tuple(idle), (), folded))
    return parts.PageSection(KEY, TITLE, tuple(found))


_FLASH = "Flash plan"


def _of_plan(number: int, name: str, plan: FlashPlan, facts: PageFacts) -> list[parts.Part]:
    uses = [StripUse(each.name, each.kind, each.address, each.bytes, each.bytes, each.file) for each in plan.writes]
    total = sum(write.bytes for write in plan.writes)
    found: list[parts.Part] = [
        parts.Note(f"{name}: {parts.count_of(len(plan.writes), 'write')}, {parts.count_of(total, 'byte')}.")
    ]
    for region in facts.board.memory:
        inside = [use for use in uses if region.base <= use.start < region.end]
        if inside:
            key = f"flash-{number}-{region.name}"
            found.append(strip(key, f"{region.name} after {name}", region.base, region.size, inside))
            found.append(table(key, inside, region.base, region.size, "File"))
    rows = tuple(
        (str(order), each.name, each.kind, parts.span(each.address, each.bytes), f"{each.bytes:,}", each.sha256)
        for order, each in enumerate(plan.writes, 1)
    )
    found.append(
        parts.PageTable(("Order", "Write", "Kind", "Addresses", "Bytes", "SHA-256"), rows, (0, 4), "Order and hashes")
    )
    return found


def flash_section(facts: PageFacts) -> parts.PageSection:
    """The section ``flash``."""
    if not facts.flash:
        return parts.unknown("flash", _FLASH, "This variant writes no flash by a plan.")
    shown = [
        part for number, (name, plan) in enumerate(facts.flash.items()) for part in _of_plan(number, name, plan, facts)
    ]
    return parts.PageSection("flash", _FLASH, tuple(shown))
