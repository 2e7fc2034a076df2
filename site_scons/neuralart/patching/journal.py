"""Several files changed as one: after a kill at any moment, all of them are brought to all-old or all-new.

Order of a commit: new and old bytes of every file are written into a folder of ours, then the journal is renamed into
place (from here on the change is decided), then each file is renamed over its target, then the journal is deleted,
then the folder. Recovery looks at the journal: without one nothing was changed; with one, the change is finished if all
new bytes are still there, else the old ones are put back. Recovery may be killed, too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.patching import disk
from neuralart.patching.plan import digest

SCHEMA = 1
STATE = ".neuralart-patch"
FORWARD, BACK = "forward", "back"


@dataclass(frozen=True)
class Change:
    """A file that is to have other bytes."""

    path: str  # from the root, with ``/``
    new: bytes | None  # bytes; None to delete it
    like: Path | None = None  # file whose permissions a new file gets; None for the usual ones


@dataclass(frozen=True)
class _Entry:
    number: int
    path: str
    old: str
    new: str


def _folder(root: Path) -> Path:
    return root / STATE / "change"


def _journal(root: Path) -> Path:
    return _folder(root) / "journal.json"


def pending(root: Path) -> bool:
    """Was a change interrupted after it was decided?"""
    return _journal(root).is_file()


def commit(root: Path, changes: Sequence[Change]) -> list[str]:
    """Make changes as one.

    Args:
        root: Folder that paths start from.
        changes: Files; those that have their bytes already are left alone.

    Returns:
        Paths that were changed.

    Raises:
        NeuralArtError: Something failed; all files are as they were.
    """
    wanted = [change for change in changes if _now(root / change.path) != change.new]
    if not wanted:
        return []
    try:
        for change in wanted:
            _check_place(root, change.path)
        _stage(root, wanted)
    except OSError as error:
        _tidy(root)
        raise _failed(error, root, "nothing was changed") from error
    try:
        for entry in _entries(root):
            _forward(root, entry)
        disk.remove(_journal(root))
    except OSError as error:
        try:
            recover(root, prefer=BACK)
        except (OSError, NeuralArtError):
            raise _failed(error, root, "the next patch or --restore finishes or undoes it") from error
        raise _failed(error, root, "all files are as they were") from error
    _tidy(root)
    return [change.path for change in wanted]


def recover(root: Path, prefer: str = FORWARD, *, force: bool = False) -> str:
    """Finish or undo what was interrupted, and clear away what it left.

    Args:
        root: Folder that paths start from.
        prefer: ``forward`` or ``back``, where both can be done.
        force: Take a file that somebody changed since for one of ours.

    Returns:
        ``forward``, ``back``, or empty if nothing was interrupted.

    Raises:
        NeuralArtError: Somebody changed one of the files since, or the journal cannot be read.
        OSError: The disk does not let us.
    """
    if not pending(root):
        _tidy(root)
        return ""
    entries = _entries(root)
    state = {entry.path: _digest(root / entry.path) for entry in entries}
    strange = [each.path for each in entries if state[each.path] not in (each.old, each.new)]
    if strange and not force:
        raise NeuralArtError(
            f"a patch was interrupted, and since then {', '.join(strange)} changed",
            where=str(root),
            hint=f"say --force to have the patch win; bytes from before it are in {STATE}/change/old",
        )
    missing = [
        each for each in entries if state[each.path] != each.new and each.new and _digest(_new(root, each)) != each.new
    ]
    way = BACK if prefer == BACK or missing else FORWARD
    for entry in entries:
        wanted = entry.new if way == FORWARD else entry.old
        if state[entry.path] == wanted:
            continue
        if way == FORWARD:
            _forward(root, entry)
        else:
            _back(root, entry)
    disk.remove(_journal(root))
    _tidy(root)
    return way


def _check_place(root: Path, path: str) -> None:
    """A link to elsewhere would be replaced by a file, or a file elsewhere changed: neither is meant."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise NeuralArtError(f"'{path}' is not within {root}", where=str(root))
    target = root / path
    real = Path(os.path.realpath(root))
    if target.is_symlink() or real not in Path(os.path.realpath(target)).parents:
        raise NeuralArtError(
            "is a link: it would be replaced by a file", where=str(target), hint="patch out of tree: --output DIR"
        )
    if target.is_dir():
        raise NeuralArtError("is a folder, a file is to be written", where=str(target))


def _stage(root: Path, changes: Sequence[Change]) -> None:
    disk.remove_tree(_folder(root))
    for folder in (root / STATE, _folder(root), _folder(root) / "new", _folder(root) / "old"):
        disk.make_folders(folder)
    entries = []
    for number, change in enumerate(changes):
        target = root / change.path
        old = _now(target)
        entry = _Entry(
            number,
            change.path,
            "" if old is None else digest(old),
            "" if change.new is None else digest(change.new),
        )
        entries.append(entry)
        like = target if old is not None else change.like
        if old is not None:
            disk.write(_old(root, entry), old)
            disk.set_mode(_old(root, entry), target)
        if change.new is not None:
            disk.write(_new(root, entry), change.new)
            if like is not None:
                disk.set_mode(_new(root, entry), like)
    rows = [{"path": each.path, "old": each.old, "new": each.new} for each in entries]
    text = json.dumps({"schema": SCHEMA, "files": rows}, indent=1) + "\n"
    part = _journal(root).with_suffix(".part")
    disk.write(part, text.encode())
    disk.replace(part, _journal(root))


def _entries(root: Path) -> list[_Entry]:
    path = _journal(root)
    try:
        data: Any = jsontext.loads(path.read_bytes())
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema {data['schema']}")
        entries = []
        for number, row in enumerate(data["files"]):
            pure = PurePosixPath(row["path"])
            if pure.is_absolute() or ".." in pure.parts or not all(isinstance(row[k], str) for k in ("old", "new")):
                raise ValueError(f"entry {number}")
            entries.append(_Entry(number, row["path"], row["old"], row["new"]))
        return entries
    except (ValueError, KeyError, TypeError) as error:
        raise NeuralArtError(
            f"the journal of an interrupted patch cannot be read: {error}",
            where=str(path),
            hint=f"bytes from before it are in {STATE}/change/old; delete {STATE}/change when the files are right",
        ) from error


def _forward(root: Path, entry: _Entry) -> None:
    target = root / entry.path
    if entry.new:
        disk.make_folders(target.parent)
        disk.replace(_new(root, entry), target)
    elif target.exists():
        disk.remove(target)


def _back(root: Path, entry: _Entry) -> None:
    target = root / entry.path
    if not entry.old:
        if target.exists():
            disk.remove(target)
        return
    saved, again = _old(root, entry), _folder(root) / f"back{entry.number}"
    if _digest(saved) != entry.old:
        raise NeuralArtError("the saved bytes from before the patch are damaged", where=str(saved))
    disk.write(again, saved.read_bytes())
    disk.set_mode(again, saved)
    disk.make_folders(target.parent)
    disk.replace(again, target)


def _tidy(root: Path) -> None:
    """Clear away the folder of a change, and the state folder if nothing is left in it."""
    try:
        disk.remove_tree(_folder(root))
        state = root / STATE
        if state.is_dir() and not any(state.iterdir()):
            disk.remove_folder(state)
    except OSError:
        return  # what is left does not matter: without a journal it is never read


def _old(root: Path, entry: _Entry) -> Path:
    return _folder(root) / "old" / str(entry.number)


def _new(root: Path, entry: _Entry) -> Path:
    return _folder(root) / "new" / str(entry.number)


def _now(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _digest(path: Path) -> str:
    data = _now(path)
    return "" if data is None else digest(data)


def _failed(error: OSError, root: Path, state: str) -> NeuralArtError:
    return NeuralArtError(
        f"cannot write: {error.strerror or error}; {state}",
        where=str(error.filename or root),
        hint="is the folder writable, is the disk full?",
    )
