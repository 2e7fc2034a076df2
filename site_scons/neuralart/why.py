"""``neuralart why``: what has changed since the last good build of a variant, or of the variants that have a file."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from neuralart import intact, project_folder
from neuralart.errors import NeuralArtError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("target", metavar="TARGET", help="a variant, or a file that a build made")
    parser.add_argument("--build", default="build", metavar="FOLDER", help="the build folder (default: build)")


def run(args: argparse.Namespace) -> int:
    """Print what has changed. NeuralArtError: no good build of the target is known."""
    (target,) = project_folder.enter([args.target])  # Stamps name files from there
    path = str(Path(args.build, intact.NAME))
    data = intact.load(path) or {"variants": {}}
    try:
        file = Path(target).as_posix()
        names = sorted(name for name in data["variants"] if name == target or file in intact.files_of(data, name))
        for name in names:
            entry = data["variants"][name]
            # Of the command line nothing is known here: as it was then.
            words = data["worlds"][entry["world"]]["words"]
            changed = list(dict.fromkeys(intact.Checker(data, words, intact.environment(os.environ)).broken(name)))
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry["at"]))
            verdict = f"has changed since the build of {at}:" if changed else f"is as the build of {at} left it"
            print(f"{name} {verdict}", *(f"  {text}" for text in changed), sep="\n")
    except intact.DAMAGED as error:
        raise NeuralArtError("is damaged", where=path, hint="delete it; the next build makes it anew") from error
    if not names:
        hint = "build its variant with scons, from here; only an SConstruct that is a description leaves stamps"
        raise NeuralArtError(f"no good build of '{target}' is known", where=path, hint=hint)
    return 0
