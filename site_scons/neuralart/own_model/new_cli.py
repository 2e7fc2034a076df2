"""``neuralart new``: a folder in which a model of the user's own is built and run."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add(
        "folder", type=Path, metavar="FOLDER", help="new or empty; its name becomes that of the variant and the network"
    )
    add("--board", default="", metavar="NAME", help="board of the database: neuralart boards")
    add("--model", type=Path, metavar="FILE", help="the model (.tflite or .onnx), which is copied")
    text = "folder of the package neuralart, for a project beside it (default: the package is installed)"
    add("--toolpath", type=Path, metavar="DIR", help=text)


def _asked_board() -> str:
    """The board, by a question if there is a terminal."""
    from neuralart import boards
    from neuralart.errors import NeuralArtError

    known = ", ".join(boards.names())
    if not sys.stdin.isatty():
        raise NeuralArtError("no board", where="--board", hint=f"known: {known}")
    try:
        return input(f"board ({known}): ").strip()
    except EOFError:
        return ""


def run(args: argparse.Namespace) -> int:
    """Make the folder, and say what comes next. NeuralArtError: it cannot be made."""
    from neuralart import boards
    from neuralart.own_model import project

    project.check_empty(args.folder)
    board = boards.load(args.board or _asked_board(), (), "--board")
    names, network = project.make(args.folder, board, args.model, args.toolpath)
    print(f"{args.folder.as_posix()}: variant {names.variant}, network {names.network}, board {board.name}")
    if network is None:
        print(f"  your model is missing: put it at {(args.folder / names.model).as_posix()}")
    else:
        weights = sum(pool.weights for pool in network.pools if not pool.virtual)
        print(f"  {names.model}: {len(network.epochs)} epochs, {weights} bytes of weights")
    print(f"  next: cd {shlex.quote(args.folder.as_posix())}; scons; scons run-{names.variant}")
    return 0
