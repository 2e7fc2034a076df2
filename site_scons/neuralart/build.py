"""``neuralart build``: calls SCons, unless stamps show that all is intact."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from neuralart import project_folder

# Options of SCons that say where the SConstruct is.
_ELSEWHERE = ("-C", "--dir", "-f", "--file", "--makefile", "--sconstruct", "-D", "-u", "-U", "--up", "--search-up")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="variants, and options of scons")


def configure_target(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a command that is only the target of a variant."""
    parser.add_argument("words", nargs="+", metavar="VARIANT", help="of the project in this folder, or above it")


configure_debug = configure_monitor = configure_target


def run(args: argparse.Namespace) -> int:
    """Call SCons in the folder of the project, with as many jobs as there are cores.

    NeuralArtError: No folder from this one upward has an SConstruct.
    """
    import subprocess

    words = args.words[args.words[:1] == ["--"] :]
    if not any(word.startswith(_ELSEWHERE) for word in words):
        words = project_folder.enter(words)
    return subprocess.call(call_of(words))


def call_of(words: Sequence[str]) -> list[str]:
    """Make the command line of SCons, with one job per core unless SCONSFLAGS has ``-j``."""
    flags = os.environ.get("SCONSFLAGS", "").split()
    jobs = [] if any(word.startswith(("-j", "--jobs")) for word in flags) else [f"-j{os.cpu_count() or 1}"]
    return [sys.executable, "-m", "SCons", "-Q", *jobs, *words]
