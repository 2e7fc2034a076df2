"""``neuralart build``: SCons where ``./sconsw`` is not there; what is intact is said before it is loaded."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from neuralart.errors import NeuralArtError

# The script, and options of SCons that say where it is.
_SCRIPTS = ("SConstruct", "Sconstruct", "sconstruct", "SConstruct.py")
_ELSEWHERE = ("-C", "--dir", "-f", "--file", "--makefile", "--sconstruct", "-D", "-u", "-U", "--up", "--search-up")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="variants, and options of scons")


def run(args: argparse.Namespace) -> int:
    """Call SCons, with as many jobs as there are cores. NeuralArtError: there is nothing to build here."""
    import subprocess

    words = args.words[args.words[:1] == ["--"] :]
    if not any(word.startswith(_ELSEWHERE) for word in words) and not any(Path(name).is_file() for name in _SCRIPTS):
        raise NeuralArtError("no SConstruct", where=str(Path.cwd()), hint="call it in the folder of your project")
    flags = os.environ.get("SCONSFLAGS", "").split()
    jobs = [] if any(word.startswith(("-j", "--jobs")) for word in flags) else [f"-j{os.cpu_count() or 1}"]
    return subprocess.call([sys.executable, "-m", "SCons", "-Q", *jobs, *words])
