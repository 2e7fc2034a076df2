"""The address plan as a picture (SVG): for each memory a strip to scale, and below it a magnified part if it needs one.
Nothing is drawn wider than it is. What is narrower than a pixel has a mark above the strip, and the part of the memory
that is used is drawn a second time, with the factor beside it.
"""

from __future__ import annotations

from html import escape

from neuralart.memory.plan.plan import AddressPlan, Use
from neuralart.memory.plan.plan_report import MemoryUse, memories
from neuralart.text.sizes import size_text

# Of a color-blind-safe set; the pale shade of each is what is declared, the full one what is used.
COLORS = {
    "slot": "#0072b2",
    "pool": "#009e73",
    "firmware": "#d55e00",
    "staging": "#cc79a7",
    "descriptor": "#56b4e9",
    "reserved": "#888888",
}
MARK = "<!-- Made by neuralart plan -->"
_FREE = "#e8eaed"
_FREE_CLASS = 'class="free" '
# A browser that is set to dark shows it so, also within a page; other readers take the attributes.
_STYLE = """<style>
text { fill: #1f2328 } .small { fill: #57606a }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117 } text { fill: #e6edf3 } .small { fill: #9198a1 }
  .free { fill: #2a313c } .lead { stroke: #9198a1 }
}
</style>"""
_WIDTH, _LEFT, _STRIP, _LINE, _BLOCK_GAP, _HEAD = 960, 16, 22, 16, 14, 44
_ROOM = _WIDTH - 2 * _LEFT
_MARKED = 2.0  # Pixels; what is narrower gets a mark
_MAGNIFIED = 0.1  # Share of a strip; if what is used spans less, it is drawn magnified
_DECLARED, _USED = 0.15, 1.0  # Opacities


def svg(plan: AddressPlan, variant: str) -> str:
    """Text of an SVG file; the same plan gives the same bytes."""
    body: list[str] = []
    y = float(_HEAD)
    for memory in memories(plan):
        end = memory.start + memory.size
        uses = [use for use in plan.in_order if use.placement.start < end and use.placement.end > memory.start]
        lines, y = _block(memory, uses, y)
        body += lines
    title = f"{variant} on {plan.board.name}" + ("" if plan.actual else " (declared sizes)")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y:.0f}" '
            f'viewBox="0 0 {_WIDTH} {y:.0f}" font-family="ui-monospace, monospace" font-size="12">',
            MARK,
            f"<title>{escape(title)}</title>",
            _STYLE,
            f'<rect class="paper" width="{_WIDTH}" height="{y:.0f}" fill="#ffffff"/>',
            f'<text x="{_LEFT}" y="26" font-size="16">{escape(title)}</text>',
            *body,
            "</svg>",
            "",
        ]
    )


def used_span(memory: MemoryUse, uses: list[Use]) -> tuple[int, int] | None:
    """First used address of a memory and first address behind the last one; None: nothing is known to be used."""
    spans = [(use.placement.start, use.placement.start + (use.used or 0)) for use in uses]
    inside = [(max(low, memory.start), min(high, memory.start + memory.size)) for low, high in spans]
    found = [(low, high) for low, high in inside if low < high]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def around(whole: tuple[int, int], span: tuple[int, int]) -> tuple[int, int]:
    """A part of a memory to look at: what is used with as much again around it, so that it does not look full."""
    margin = max(span[1] - span[0], 2) // 2
    return max(whole[0], span[0] - margin), min(whole[1], span[1] + margin)


def _block(memory: MemoryUse, uses: list[Use], y: float) -> tuple[list[str], float]:
    """Elements of a memory, and where the next one begins."""
    label = f"{memory.name}  0x{memory.start:08x}  {size_text(memory.size)} {memory.kind}  "
    label += f"{memory.used} of {memory.size} bytes used ({_percent(memory)})" if uses else "unused"
    if not uses:
        return [f'<text class="small" x="{_LEFT}" y="{y + 8:.0f}">{escape(label)}</text>'], y + _LINE + 6
    top = y + _LINE + 1
    whole = (memory.start, memory.start + memory.size)
    lines = [f'<text x="{_LEFT}" y="{y + 8:.0f}" font-weight="bold">{escape(label)}</text>', *_strip(whole, uses, top)]
    at = top + _STRIP
    span = used_span(memory, uses)
    if span is not None and span[1] - span[0] < _MAGNIFIED * memory.size:
        lines += _magnified(whole, around(whole, span), uses, at)
        at += 2 * _LINE + _STRIP
    at += _LINE - 3
    for use in uses:
        color = COLORS[use.placement.kind]
        lines.append(f'<rect x="{_LEFT}" y="{at - 9:.0f}" width="10" height="10" fill="{color}"/>')
        lines.append(f'<text x="{_LEFT + 16}" y="{at:.0f}">{escape(_words(use))}</text>')
        at += _LINE
    return lines, at + _BLOCK_GAP


def _percent(memory: MemoryUse) -> str:
    share = 100 * memory.used / memory.size
    return "less than 0.01 %" if 0 < share < 0.01 else f"{share:.2f} %"


def _magnified(whole: tuple[int, int], span: tuple[int, int], uses: list[Use], y: float) -> list[str]:
    """The used part again, over the whole width; lines lead to it from where it is."""
    factor = (whole[1] - whole[0]) / (span[1] - span[0])
    words = f"{factor:.0f} times magnified: 0x{span[0]:08x}-0x{span[1]:08x}, {span[1] - span[0]} bytes"
    top = y + _LINE
    ends = [(_x(whole, address), edge) for address, edge in zip(span, (_LEFT, _LEFT + _ROOM), strict=True)]
    return [
        *(
            f'<path d="M{x:.2f} {y:.0f}L{edge} {top:.0f}" class="lead" stroke="#888" stroke-dasharray="3" fill="none"/>'
            for x, edge in ends
        ),
        *_strip(span, uses, top),
        f'<text x="{_LEFT + _ROOM}" y="{top + _STRIP + 12:.0f}" text-anchor="end" class="small">{escape(words)}</text>',
    ]


def _x(shown: tuple[int, int], address: int) -> float:
    """Where an address is on a strip that shows a range."""
    return _LEFT + (min(max(address, shown[0]), shown[1]) - shown[0]) * _ROOM / (shown[1] - shown[0])


def _strip(shown: tuple[int, int], uses: list[Use], top: float) -> list[str]:
    """A range of addresses with what is in it."""
    lines = [_rect(_LEFT, top, _ROOM, _FREE, 1.0, "free")]
    # Large ones first: what lies inside a declared pool stays visible.
    for use in sorted(uses, key=lambda use: (-use.placement.size, use.placement.start, use.placement.owner)):
        color, start = COLORS[use.placement.kind], use.placement.start
        for end, opacity in ((use.placement.end, _DECLARED), (start + (use.used or 0), _USED)):
            left, right = _x(shown, start), _x(shown, end)
            if min(end, shown[1]) <= max(start, shown[0]):
                continue
            lines.append(_rect(left, top, right - left, color, opacity, _words(use)))
            if opacity == _USED and right - left < _MARKED:
                x = (left + right) / 2
                lines.append(f'<path d="M{x - 3:.2f} {top - 5:.0f}h6l-3 5z" fill="{color}"/>')
    return lines


def _words(use: Use) -> str:
    placement = use.placement
    used = ", use unknown" if use.used is None else f", {use.used} used"
    return f"0x{placement.start:08x}-0x{placement.end:08x}  {placement.owner} ({size_text(placement.size)}{used})"


def _rect(x: float, y: float, width: float, color: str, opacity: float, words: str) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y:.0f}" width="{width:.4f}" height="{_STRIP}" rx="2" fill="{color}" '
        f'{_FREE_CLASS * (color == _FREE)}fill-opacity="{opacity:.2f}"><title>{escape(words)}</title></rect>'
    )
