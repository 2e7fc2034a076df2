"""Output options of commands: a file that this package did not write stays unless ``--force`` is given, and nothing is
written through a link. Each option has a function that recognizes our own files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes

Mine = Callable[[bytes], bool]


def says(*parts: bytes) -> Mine:
    """Make a function that recognizes a format by texts that it has near its beginning."""
    return lambda data: all(part in data[:4096] for part in parts)


def never(_data: bytes) -> bool:
    """Recognize nothing: for formats without a place for a mark."""
    return False


def refuse(path: Path, mine: Mine = never, *, force: bool = False, hint: str = "") -> None:
    """Check the place of a result. ``mine`` recognizes the file of an earlier call. NeuralArtError, unless ``force``: a
    link or another file is there, or no file can be written there.
    """
    try:
        if path.exists() and not path.is_file():
            what = "is a folder" if path.is_dir() else "is a device or a pipe"
            raise NeuralArtError(f"{what}, and a file is to be written", where=str(path), hint="name a file")
        if force or not (path.is_symlink() or (path.is_file() and path.stat().st_size)):
            return  # Nothing can be lost
    except (OSError, ValueError):
        return  # Who writes says what is wrong with such a name
    if path.is_symlink():
        what = "is a link, and results are not written through links"
    elif mine(read_bytes(path)):
        return
    else:
        what = "is there already" + ("" if mine is never else ", and does not say that we made it")
    raise NeuralArtError(what, where=path.as_posix(), hint=hint or "another name, or --force to replace it")


def add_force(parser: Any) -> None:
    """Add the option ``--force``, once, to a parser or a group."""
    if "--force" not in parser._option_string_actions:
        text = "replace files that this command did not make"
        parser.add_argument("--force", action="store_true", help=text)


def add(parser: argparse.ArgumentParser, *names: str, mine: Mine = never, **how: Any) -> None:
    """Add an option that names a file to write; :func:`check` checks it before the command runs."""
    option = parser.add_argument(*names, type=Path, **{"metavar": "FILE", **how})
    parser.set_defaults(outputs={**(parser.get_default("outputs") or {}), option.dest: mine})
    add_force(parser)


def check(args: argparse.Namespace) -> None:
    """Check all output files of a command line; errors as of :func:`refuse`."""
    for name, mine in getattr(args, "outputs", {}).items():
        if getattr(args, name) is not None:
            refuse(getattr(args, name), mine, force=args.force)
