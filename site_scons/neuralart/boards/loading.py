"""Reading one board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuralart.boards import checks, fields, layers
from neuralart.boards.find import locate
from neuralart.boards.types import Board


def load(name: str, extra: Sequence[Path] = (), where: str = "") -> Board:
    """Read a board, built in or of the user's own files.

    Args:
        name: Its name: the stem of its file.
        extra: The user's own board files.
        where: Who asks, for the message when there is no such board.

    Raises:
        NeuralArtError: There is no such board, or one of its files is wrong.
    """
    path = locate(name, extra, where)
    top, files = layers.read(path, extra)
    entries = top.mapping()
    board = Board(
        name=name,
        title=fields.need(top, "title").text(),
        target=fields.word(top, "target"),
        device=fields.word(top, "device"),
        cpu=fields.word(top, "cpu"),
        security=fields.need(top, "security").choice(fields.SECURITIES),
        memory=fields.memory(fields.need(top, "memory")),
        registers=fields.registers(entries.get("registers")),
        machines=fields.machines(fields.need(top, "machines")),
        console=fields.console(entries.get("console")),
        code=fields.section(entries.get("code")),
        data=fields.section(entries.get("data")),
        mpool=fields.file(entries.get("mpool")),
        profile=fields.file(entries.get("profile")),
        flash=fields.flash(entries.get("flash")),
        slots=fields.slots(entries.get("slots")),
        switches=fields.switches(entries.get("switches")),
        note=fields.text(top, "note"),
        where=str(path),
        files=tuple(str(file) for file in files),
    )
    checks.check(board, top)
    return board
