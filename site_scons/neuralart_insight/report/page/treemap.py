"""The section ``firmware``: a treemap of functions, constants and variables by their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from neuralart_insight.report.page import figures
from neuralart_insight.report.page.gather import CODE, CONSTANTS, DATA, ZEROED, PageFacts, SizedPart, groups
from neuralart_insight.report.page.parts import (
    Cell,
    Meter,
    Note,
    PageSection,
    PageTable,
    Picture,
    count_of,
    share_of,
    unknown,
)

KEY, TITLE = "firmware", "Firmware by function"
_HELP = (
    "The area of a box is its number of bytes while the program runs. What runs from RAM, or starts with a value, has "
    "its bytes in the flash as well."
)
_COLORS = {CODE: "#0072b2", CONSTANTS: "#009e73", DATA: "#cc79a7", ZEROED: "#888888"}
_WIDTH, _HEIGHT, _HEAD = 1000.0, 560.0, 20.0
_MOST, _ROWS = 300, 200  # Boxes, and rows of the table
_LETTER, _TALL = 7.2, 15.0  # Room that a letter and a line need


def _boxes(sizes: Sequence[int], x: float, y: float, width: float, height: float) -> list[dict[str, float]]:
    """A box for each size (the largest first), in a rectangle."""
    import squarify

    made: list[dict[str, float]] = squarify.squarify(
        squarify.normalize_sizes([float(each) for each in sizes], width, height), x, y, width, height
    )
    return made


def _shown(parts: Sequence[SizedPart]) -> list[SizedPart]:
    """The largest parts; the small ones of a group together."""
    small = parts[_MOST:]
    rest = []
    for memory, kind in groups(tuple(small)):
        inside = [part for part in small if (part.memory, part.kind) == (memory, kind)]
        name = f"{len(inside):,} smaller ones"
        rest.append(replace(inside[0], name=name, section="", bytes=sum(part.bytes for part in inside)))
    return [*parts[:_MOST], *rest]


def layout(parts: Sequence[SizedPart]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Boxes of groups (memory and kind) and, in each, boxes of its parts, as rows of columns."""
    total = sum(part.bytes for part in parts)
    shown, sums = _shown(parts), groups(tuple(parts))
    outer, inner = [], []
    for (memory, kind), box in zip(sums, _boxes(list(sums.values()), 0, 0, _WIDTH, _HEIGHT), strict=True):
        left, bottom, width, height = box["x"], box["y"], box["dx"], box["dy"]
        size = sums[memory, kind]
        title = f"{memory}: {kind}, {count_of(size, 'byte')} ({share_of(size, total)})"
        head = _HEAD if height > 2 * _HEAD else 0.0
        outer.append(_row(_fitting(title, width) if head else "", left, bottom, width, height, _COLORS[kind]))
        inside = sorted((p for p in shown if (p.memory, p.kind) == (memory, kind)), key=lambda p: -p.bytes)
        for part, place in zip(
            inside, _boxes([part.bytes for part in inside], left, bottom, width, height - head), strict=True
        ):
            name = _fitting(part.name, place["dx"]) if place["dy"] > _TALL else ""
            said = {"name": part.name, "group": f"{memory}: {kind}", "section": part.section}
            said |= {"bytes": f"{count_of(part.bytes, 'byte')} ({share_of(part.bytes, total)})"}
            sides = place["x"], place["y"], place["dx"], place["dy"]
            inner.append({**_row(name, *sides, _COLORS[kind]), **said})
    return outer, inner


def _fitting(text: str, width: float) -> str:
    """As much of a text as a width has room for; nothing where that is little."""
    letters = int((width - 6) / _LETTER)
    return text if len(text) <= letters else f"{text[: letters - 1]}…" if letters > 4 else ""


def _row(text: str, left: float, bottom: float, width: float, height: float, color: str) -> dict[str, Any]:
    sides = {"left": left, "right": left + width, "bottom": bottom, "top": bottom + height}
    return {"text": text, "color": color, **sides}


def _picture(parts: Sequence[SizedPart]) -> Picture:
    outer, inner = layout(parts)
    figure = figures.new(int(_HEIGHT), (0, _WIDTH), (0, _HEIGHT))
    figure.axis.visible = False
    figure.quad(**figures.SIDES, fill_color="color", fill_alpha=0.25, line_color=None, source=figures.columns(outer))
    tips = [("", "name"), ("", "bytes"), ("", "group"), ("section", "section")]
    source = figures.boxes(figure, inner, tips, fill_alpha=0.85, line_color="#ffffff", line_width=0.7)
    style: dict[str, Any] = {"text_font_size": "12px", "x": "left", "y": "top", "text": "text", "text_baseline": "top"}
    style |= {"x_offset": 4, "y_offset": 4}
    figure.text(**style, source=source, text_color="#ffffff")
    figure.text(**style, source=figures.columns(outer), text_color=figures.INK)
    return Picture(f"{KEY}-sizes", "All bytes of the image", figure, len(inner))


def section(facts: PageFacts) -> PageSection:
    """The section."""
    if not facts.parts:
        return unknown(KEY, TITLE, "Unknown: the firmware is built elsewhere.")
    total, count = sum(part.bytes for part in facts.parts), len(facts.parts)
    rows: list[tuple[Cell, ...]] = [
        (part.name, part.kind, part.memory, part.section, f"{part.bytes:,}", Meter("", part.bytes / total))
        for part in facts.parts[:_ROWS]
    ]
    folded = f"The {len(rows)} largest of {count} parts" if len(rows) < count else f"All {count} parts"
    heads = ("Name", "Kind", "Memory", "Section", "Bytes", "")
    table = PageTable(heads, tuple(rows), (4,), folded)
    note = Note(f"{count_of(total, 'byte')}. {_HELP}")
    return PageSection(KEY, TITLE, (note, _picture(facts.parts), table))
