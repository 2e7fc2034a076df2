"""A memory as a strip to scale, with what is in it: for the memory map and for what goes into a flash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuralart.memory.plan.picture import COLORS
from neuralart.report.page import figures
from neuralart.report.page.parts import Cell, Jump, PageTable, Picture, count_of, span

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


def strip(key: str, title: str, start: int, size: int, uses: Sequence[StripUse]) -> Picture:
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
        about: dict[str, Any] = {"owner": use.owner, "range": span(use.start, use.size), "color": use.color}
        about |= {"size": count_of(use.size, "byte"), "used": use.used_text, "remark": use.remark, **_BAR}
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
    return Picture(key, title, figure, len(rows))


def table(key: str, uses: Sequence[StripUse], start: int, size: int, remark: str) -> PageTable:
    """Who owns what in a strip; a click on an owner zooms to it."""
    rows: list[tuple[Cell, ...]] = []
    for use in sorted(uses, key=lambda use: (use.start, use.owner)):
        margin = max((use.used or use.size) / 2, _LEAST)
        low = max(start, use.start - margin)
        high = min(start + size, use.start + (use.used or use.size) + margin)
        jump = Jump(use.owner, key, low, high, use.color)
        rows.append((jump, span(use.start, use.size), f"{use.size:,}", use.used_text, use.remark))
    return PageTable(("Owner", "Addresses", "Bytes reserved", "Bytes used", remark), tuple(rows), (2, 3))
