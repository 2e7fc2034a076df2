"""``neuralart plan``: shows who has which addresses, as text, JSON and a picture: one strip per memory, to scale."""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.boards.cli import size_text
from neuralart.memory.plan.plan import AddressPlan, Use
from neuralart.memory.plan.plan_report import MemoryUse, memories

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart.memory.layout.strategies import LayoutNetwork


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("variant", metavar="VARIANT", help="a variant of the project file")
    parser.add_argument(
        "--file", type=Path, default=Path("variants.yaml"), metavar="FILE", help="project file (default: variants.yaml)"
    )
    parser.add_argument(
        "--build", type=Path, metavar="DIR", help="build folder (default: build beside the project file)"
    )
    parser.add_argument("--json", action="store_true", help="for programs; addresses and sizes are plain integers")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture as well")


def run(args: argparse.Namespace) -> int:
    """Print the plan, then say what is wrong with it.

    NeuralArtError: a file is wrong, or the plan does not work out.
    """
    from neuralart import boards, config
    from neuralart.errors import NeuralArtError
    from neuralart.files import write_text
    from neuralart.memory.layout.layout import make_layout
    from neuralart.memory.layout.relative_pools import placed_in
    from neuralart.memory.plan import last_build, plan_report
    from neuralart.memory.plan import plan as plans
    from neuralart.memory.plan.last_build import read_networks
    from neuralart.memory.regions import alias_warnings

    file: Path = args.file
    project = config.read(file, file.as_posix())
    variant = project.variant(args.variant)
    extra = [file.parent / path for path in project.config.boards]
    board = boards.load(variant.board, extra, str(variant.place("board")))
    networks = read_networks(board, variant, file.parent)
    layout = make_layout(board, variant, networks)
    built = last_build.read(args.build or file.parent / "build", variant.name, board, networks)
    failure: NeuralArtError | None = None
    try:
        plan = plans.make_plan(layout, board, placed_in(layout, built.networks), built.sizes)
    except NeuralArtError as error:
        failure = error
        plan = plans.make_plan(layout, board, (), {})
    aliases = [text for network in built.networks for text in alias_warnings(board, network)]
    notes = [*([built.note] if built.note else []), *_homeless(board, networks), *aliases]
    if args.json:
        print(plan_report.to_json(plan, variant.name), end="")
        for note in notes:
            print(f"neuralart plan: note: {note}", file=sys.stderr)
    else:
        data = plan_report.as_data(plan, variant.name)
        print(plan_report.text(data, notes, plan_report.unpowered(board)), end="")
    if args.svg is not None:
        write_text(args.svg, svg(plan, variant.name))
    if failure is not None:
        raise failure
    plans.check(plan)
    return 0


def _homeless(board: Board, networks: list[LayoutNetwork]) -> list[str]:
    return [
        f"{pool.where}: pool {pool.fname} of network {network.name} at 0x{pool.address:08x} is in no memory of "
        f"{board.name}; a network that uses it is refused"
        for network in networks
        for pool in network.pools.enabled
        if pool.mode == "USEMODE_ABSOLUTE" and board.region_at(pool.address) is None
    ]


_WIDTH = 960
_LEFT = 16
_STRIP = 22
_LINE = 16
_BLOCK_GAP = 14
_HEAD = 44
# Of a color-blind-safe set; the lighter shade of each is what is declared, the full one what is used.
_COLORS = {
    "slot": "#0072b2",
    "pool": "#009e73",
    "firmware": "#d55e00",
    "staging": "#cc79a7",
    "descriptor": "#56b4e9",
    "reserved": "#666666",
}
_FREE = "#f0f0f0"
_LEAST = 2.0


def svg(plan: AddressPlan, variant: str) -> str:
    """Text of an SVG file; the same plan gives the same bytes."""
    body: list[str] = []
    y = float(_HEAD)
    for memory in memories(plan):
        uses = _inside(plan, memory)
        body += _block(memory, uses, y)
        y += _LINE + _STRIP + _LINE * len(uses) + _BLOCK_GAP
    title = f"{variant} on {plan.board.name}" + ("" if plan.actual else " (declared sizes)")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y:.0f}" '
            f'viewBox="0 0 {_WIDTH} {y:.0f}" font-family="monospace" font-size="12">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{_WIDTH}" height="{y:.0f}" fill="#ffffff"/>',
            f'<text x="{_LEFT}" y="26" font-size="16">{escape(title)}</text>',
            *body,
            "</svg>",
            "",
        ]
    )


def _inside(plan: AddressPlan, memory: MemoryUse) -> list[Use]:
    end = memory.start + memory.size
    return [use for use in plan.in_order if use.placement.start < end and use.placement.end > memory.start]


def _block(memory: MemoryUse, uses: list[Use], y: float) -> list[str]:
    label = f"{memory.name}  0x{memory.start:08x}  {size_text(memory.size)} {memory.kind}"
    label += f"  {memory.used} bytes used" if uses else "  unused"
    top = y + _LINE - 4
    lines = [
        f'<text x="{_LEFT}" y="{y + 8:.0f}" font-weight="bold">{escape(label)}</text>',
        _rect(_LEFT, top, _WIDTH - 2 * _LEFT, _FREE, 1.0, "free"),
    ]
    # Large ones first: what lies inside a declared pool stays visible.
    for use in sorted(uses, key=lambda use: (-use.placement.size, use.placement.start, use.placement.owner)):
        color = _COLORS[use.placement.kind]
        lines.append(_bar(memory, use.placement.start, use.placement.end, top, color, 0.35, _words(use)))
        end = use.placement.start + (use.used or 0)
        if end > max(memory.start, use.placement.start):
            lines.append(_bar(memory, use.placement.start, end, top, color, 1.0, _words(use)))
    at = top + _STRIP + _LINE - 3
    for use in uses:
        lines.append(
            f'<rect x="{_LEFT}" y="{at - 9:.0f}" width="10" height="10" fill="{_COLORS[use.placement.kind]}"/>'
        )
        lines.append(f'<text x="{_LEFT + 16}" y="{at:.0f}">{escape(_words(use))}</text>')
        at += _LINE
    return lines


def _words(use: Use) -> str:
    placement = use.placement
    used = "" if use.used is None else f", {use.used} used"
    return f"0x{placement.start:08x}-0x{placement.end:08x}  {placement.owner} ({size_text(placement.size)}{used})"


def _bar(memory: MemoryUse, start: int, end: int, top: float, color: str, opacity: float, words: str) -> str:
    room = _WIDTH - 2 * _LEFT
    low = (max(start, memory.start) - memory.start) * room / memory.size
    high = (min(end, memory.start + memory.size) - memory.start) * room / memory.size
    width = max(high - low, _LEAST)
    return _rect(_LEFT + min(low, room - width), top, width, color, opacity, words)


def _rect(x: float, y: float, width: float, color: str, opacity: float, words: str) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y:.0f}" width="{width:.2f}" height="{_STRIP}" fill="{color}" '
        f'fill-opacity="{opacity:.2f}" stroke="#ffffff" stroke-width="0.5"><title>{escape(words)}</title></rect>'
    )
