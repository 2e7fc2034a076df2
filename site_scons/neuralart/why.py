"""``neuralart why``: what has changed since the last good build of a variant, or of the variants that have a file."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from neuralart import intact
from neuralart.errors import NeuralArtError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("target", metavar="TARGET", help="a variant, or a file that a build made")
    parser.add_argument("--build", default="build", metavar="FOLDER", help="the build folder (default: build)")


def run(args: argparse.Namespace) -> int:
    """Print it. NeuralArtError: No good build of the target is known."""
    path = Path(args.build) / intact.NAME
    data = intact.load(str(path))
    what = f"no good build of '{args.target}' is known"
    unknown = NeuralArtError(what, where=str(path), hint="build its variant with scons, from here")
    if data is None:
        raise unknown
    try:
        numbers = {number for number, row in enumerate(data["files"]) if row[0] == Path(args.target).as_posix()}
        having = [name for name, row in data["variants"].items() if name == args.target or numbers & {*row["files"]}]
        for name in sorted(having):
            row = data["variants"][name]
            # Of the command line nothing is known here: as it was then.
            words = data["worlds"][row["world"]]["words"]
            changed = list(dict.fromkeys(intact.Checker(data, words, intact.environment(os.environ)).broken(name)))
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["at"]))
            said = f"has changed since the build of {at}:" if changed else f"is as the build of {at} left it"
            print(f"{name} {said}", *(f"  {each}" for each in changed), sep="\n")
    except intact.DAMAGED as error:
        raise NeuralArtError("is damaged", where=str(path), hint="delete it; the next build makes it anew") from error
    if not having:
        raise unknown
    return 0
