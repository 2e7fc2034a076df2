"""``neuralart build``: SCons where ``./sconsw`` is not there; what is intact is said before it is loaded."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from neuralart.errors import NeuralArtError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="variants, and options of scons")


def run(args: argparse.Namespace) -> int:
    """Call SCons, with as many jobs as there are cores. NeuralArtError: there is nothing to build here."""
    import subprocess

    if not any(Path(name).is_file() for name in ("SConstruct", "Sconstruct", "sconstruct", "SConstruct.py")):
        raise NeuralArtError("no SConstruct", where=str(Path.cwd()), hint="call it in the folder of your project")
    jobs = [] if "-j" in os.environ.get("SCONSFLAGS", "") else [f"-j{os.cpu_count() or 1}"]
    return subprocess.call([sys.executable, "-m", "SCons", "-Q", *jobs, *args.words])
