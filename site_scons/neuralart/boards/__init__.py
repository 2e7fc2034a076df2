"""The board database (docs/reference/boards.md): a YAML file per board, families of boards, files of users."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuralart.boards.types import Board

# Imported when called, so that a type of this room, or --help, does not load the readers.


def load(name: str, extra: Sequence[Path] = (), where: str = "") -> Board:
    """Load a board by its name, the stem of its file, built in or of ``extra`` files. ``where``: who asks."""
    from neuralart.boards import loading

    return loading.load(name, extra, where)


def names(extra: Sequence[Path] = ()) -> tuple[str, ...]:
    """List the names of all boards, sorted; no file is opened. NeuralArtError: a file's name is impossible or taken."""
    from neuralart.boards import loading

    return loading.names(extra)
