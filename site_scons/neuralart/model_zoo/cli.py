"""``neuralart import``: a configuration of the model zoo becomes entries of variants.yaml."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("config", type=Path, metavar="FILE", help="user_config.yaml of the model zoo, releases 1 to 4")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write it here (default: print it); never over another file"
    )
    parser.add_argument("--model", default="", metavar="FILE", help="the model, instead of model_path")
    parser.add_argument("--name", default="", metavar="NAME", help="name of the network (default: by the model)")
    parser.add_argument(
        "--board", default="", metavar="NAME", help="name of the board, instead of hardware_setup.board"
    )
    parser.add_argument("--use-case", default="", metavar="NAME", help="use case, where the file does not show it")
    parser.add_argument("--force", action="store_true", help="replace the output file")


def run(args: argparse.Namespace) -> int:
    """Print or write the entries; say on standard error what was left out, one line each.

    NeuralArtError: The file is no such configuration, or there is an output file already.
    """
    from neuralart import boards
    from neuralart.config.networks import NAME
    from neuralart.errors import NeuralArtError
    from neuralart.files import write_text
    from neuralart.model_zoo import convert, emit, tree

    if args.name and not NAME.fullmatch(args.name):
        raise NeuralArtError(f"'{args.name}' is no C identifier", hint="the name of a network becomes part of symbols")
    top = tree.read(args.config, args.config.as_posix())
    wishes = convert.Wishes(args.name, args.model, args.board, args.use_case)
    imported = convert.convert(top, wishes, tuple(boards.names(())))
    output: Path | None = args.output
    imported = emit.relocated(imported, args.config, output, model_is_named=bool(args.model))
    text = emit.text(imported, args.config.name)
    if output is None:
        print(text, end="")
    elif output.exists() and not args.force:
        raise NeuralArtError("is there already", where=output.as_posix(), hint="another name, or --force to replace it")
    else:
        write_text(output, text)
    for dropped in imported.dropped:
        print(f"dropped: {dropped}", file=sys.stderr)
    for note in imported.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0
