"""``neuralart report``: one HTML page with pictures of what a build made."""

from __future__ import annotations

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("what", metavar="VARIANT", help="a variant of the project file that is built, or a folder with its index.json")
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="the page to write")
    add(
        "--file", type=Path, default=Path("variants.yaml"), metavar="FILE", help="project file (default: variants.yaml)"
    )
    add("--build", type=Path, metavar="DIR", help="build folder (default: build beside the project file)")
    add("--title", default="", metavar="TEXT", help="a line below the heading (default: the variant's title)")
    add("--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own")


def run(args: argparse.Namespace) -> int:
    """Write the page. NeuralArtError: nothing is built, a file is damaged, or the plotting library is missing."""
    from neuralart import config
    from neuralart.files import is_file, write_text
    from neuralart.report.page.document import html
    from neuralart.report.page.gather import gather

    folder, extra, title = Path(args.what), list(args.board_file), args.title
    if not is_file(folder / "index.json"):
        file: Path = args.file
        project = config.read(file, file.as_posix())
        variant = project.variant(args.what)
        folder = (args.build or file.parent / "build") / variant.name
        extra += [file.parent / path for path in project.config.boards]
        title = title or variant.title
    text = html(gather(folder, extra, title))
    write_text(args.output, text)
    print(f"{args.output.as_posix()}: {len(text.encode('utf-8')):,} bytes")
    return 0
