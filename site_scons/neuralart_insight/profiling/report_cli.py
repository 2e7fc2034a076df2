"""``neuralart report``: one HTML page with pictures of what a build made."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import outputs
from neuralart.text.console import say

if TYPE_CHECKING:
    from neuralart_insight.report.page.document import More
    from neuralart_insight.report.page.gather import PageFacts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("what", metavar="VARIANT", help="a variant of the project file that is built, or a folder with its index.json")
    mine = outputs.says(b'content="neuralart report"')
    outputs.add(parser, "-o", "--output", required=True, mine=mine, help="the page to write")
    text = "project file (default: variants.yaml)"
    add("--file", type=Path, default=Path("variants.yaml"), metavar="FILE", help=text)
    add("--build", type=Path, metavar="DIR", help="build folder (default: build beside the project file)")
    add("--title", default="", metavar="TEXT", help="a line below the heading (default: the variant's title)")
    text = "what a board measured, as -d of 'neuralart profile' takes it: the profile shows it beside the estimate"
    add("--measured", default="", metavar="DESC", help=text)
    add("--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own")


def _profile(facts: PageFacts, desc: str) -> More:
    """The section of the profile. NeuralArtError: what was measured is of another build."""
    from neuralart_insight.profiling import cli, page
    from neuralart_insight.profiling.estimate import from_c_info

    told = [(each, each.info) for each in facts.networks if each.info is not None]
    # Times in the file itself may be damaged, which must not break a build: they are shown if they are asked for.
    estimates = [replace(from_c_info(info), name=each.facts.name, executions=()) for each, info in told]
    pairs, npu_hz = cli.with_measured(desc, estimates, {k: mhz * 1_000_000 for k, mhz in facts.board.clocks.items()})
    profiled = [(each, *pair) for (each, _), pair in zip(told, pairs, strict=True)]
    return lambda most: [page.section(profiled, npu_hz, most)] if profiled else []


def run(args: argparse.Namespace) -> int:
    """Write the page. NeuralArtError: nothing is built, a file is damaged, or the plotting library is missing."""
    from neuralart import config
    from neuralart.files import is_file, write_text
    from neuralart_insight.report.page.document import html
    from neuralart_insight.report.page.gather import gather

    folder, extra, title = Path(args.what), list(args.board_file), args.title
    if not is_file(folder / "index.json"):
        file: Path = args.file
        project = config.read(file, file.as_posix())
        variant = project.variant(args.what)
        folder = (args.build or file.parent / "build") / variant.name
        extra += [file.parent / path for path in project.config.boards]
        title = title or variant.title
    facts = gather(folder, extra, title)
    text = html(facts, _profile(facts, args.measured))
    write_text(args.output, text)
    say(f"{args.output.as_posix()}: {len(text.encode('utf-8')):,} bytes")
    return 0
