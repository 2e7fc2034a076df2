"""The board database (docs/reference/boards.md): one YAML file per board, families of boards, the user's own files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuralart.boards.types import Board

# Imported when called: whoever needs a type of this room, or only its --help, does not pay for the readers.


def load(name: str, extra: Sequence[Path] = (), where: str = "") -> Board:
    """Read a board, built in or of the user's own files.

    Args:
        name: Its name: the stem of its file.
        extra: The user's own board files.
        where: Who asks, for the message when there is no such board.

    Raises:
        NeuralArtError: There is no such board, or one of its files is wrong.
    """
    from neuralart.boards import loading

    return loading.load(name, extra, where)


def names(extra: Sequence[Path] = ()) -> tuple[str, ...]:
    """Names of all boards, sorted; no file is opened.

    Args:
        extra: The user's own board files.

    Raises:
        NeuralArtError: A file has a name that no board can have, or that another one has.
    """
    from neuralart.boards import find

    return find.names(extra)
