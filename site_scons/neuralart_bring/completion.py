"""``neuralart tool completion``: a script with which a shell completes commands, options and names of files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from neuralart.errors import NeuralArtError

SHELLS = ("bash", "fish", "zsh")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=SHELLS, metavar="NAME", help=", ".join(SHELLS))


def run(args: argparse.Namespace) -> int:
    """Print the script. NeuralArtError: The library that makes it is not installed."""
    from neuralart.cli import commands, parser_of

    try:
        import shtab
    except ImportError as error:
        what = "completion needs the package shtab"
        raise NeuralArtError(what, hint="pip install 'scons-neuralart[completion]'") from error
    parser = parser_of((*commands(), None))
    _mark_files(parser, {"FILE": shtab.FILE, "MODEL": shtab.FILE, "DIR": shtab.DIRECTORY, "FOLDER": shtab.DIRECTORY})
    print(shtab.complete(parser, args.shell))
    return 0


def _mark_files(parser: argparse.ArgumentParser, kinds: Mapping[str, object]) -> None:
    """Say which values are files or folders, by how the help calls them."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            action.help = None  # What has no place in the help is not completed
            for command in action.choices.values():
                _mark_files(command, kinds)
        elif action.metavar in kinds:
            vars(action)["complete"] = kinds[str(action.metavar)]
