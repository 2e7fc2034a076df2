"""Reading one board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuralart.boards import bootfields, checks, fields, layers
from neuralart.boards.find import locate
from neuralart.boards.types import Board
from neuralart.resources import stable_name
from neuralart.text.yaml_values import YamlValue


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
    memory, flash = fields.need(top, "memory"), fields.flash(entries.get("flash"))
    board = Board(
        name=name,
        title=fields.need(top, "title").text(),
        target=fields.word(top, "target"),
        device=fields.word(top, "device"),
        cpu=fields.word(top, "cpu"),
        security=fields.need(top, "security").choice(fields.SECURITIES),
        memory=fields.memory(memory),
        registers=fields.registers(entries.get("registers")),
        machines=fields.machines(fields.need(top, "machines")),
        console=fields.console(entries.get("console")),
        code=fields.section(entries.get("code")),
        data=fields.section(entries.get("data")),
        mpool=fields.file(entries.get("mpool")),
        profile=fields.file(entries.get("profile")),
        memory_pools=fields.file(entries.get("memory_pools")),
        flash=flash,
        slots=fields.slots(entries.get("slots")),
        switches=fields.switches(entries.get("switches")),
        boot=bootfields.boot(entries.get("boot")),
        windows=bootfields.windows(entries.get("windows"), memory),
        relocatable=bootfields.load_slots(top, flash),
        note=fields.text(top, "note"),
        where=str(path),
        files=tuple(str(file) for file in files),
        places=_places(entries),
    )
    checks.check(board, top)
    return board


def _places(entries: dict[str, YamlValue]) -> dict[str, str]:
    """Where the keys that decide addresses were written."""
    found = {key: value for key, value in entries.items() if key in ("code", "data", "flash", "boot")}
    for group in ("slots", "relocatable"):
        if group in entries:
            found.update({f"{group}.{name}": entry for name, entry in entries[group].mapping().items()})
    return {key: stable_name(str(entry.where)) for key, entry in found.items()}
