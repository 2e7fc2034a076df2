"""Finds the project of a command: the nearest folder, from the current one upward, with an SConstruct."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError

if TYPE_CHECKING:
    import argparse

_SCRIPTS = ("SConstruct", "Sconstruct", "sconstruct", "SConstruct.py")


def find(folder: Path) -> Path | None:
    """Find the folder of the project, or None."""
    places = (folder, *folder.parents)
    return next((place for place in places if any((place / name).is_file() for name in _SCRIPTS)), None)


def default(name: str) -> Path:
    """Make the path of a file of the project (``variants.yaml``, ``build``), relative to the current folder."""
    here = Path.cwd()
    top = None if (here / name).exists() else find(here)
    return Path(name) if top is None else Path(os.path.relpath(top / name))


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add ``--file``: the project file."""
    text = "project file (default: variants.yaml)"
    parser.add_argument("--file", type=Path, default=default("variants.yaml"), metavar="FILE", help=text)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--file`` and ``--build``, whose default is None: beside the project file."""
    add_file(parser)
    text = "build folder (default: build beside the project file)"
    parser.add_argument("--build", type=Path, metavar="DIR", help=text)


def enter(words: Sequence[str]) -> list[str]:
    """Change to the folder of the project. Returns ``words`` with files as paths from there. NeuralArtError: no
    SConstruct here or upward.
    """
    here = Path.cwd()
    top = find(here)
    if top is None:
        hint = "call it in the folder of your project, or below it"
        raise NeuralArtError("no SConstruct", where=str(here), hint=hint)
    if top == here:
        return list(words)
    print(f"neuralart: Entering directory '{top}'")  # As make says it: editors find files by that
    os.chdir(top)
    below = here.relative_to(top).as_posix()
    return [f"{below}/{word}" if (here / word).exists() else word for word in words]
