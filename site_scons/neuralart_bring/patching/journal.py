"""Several files changed as one: after a kill at any moment, all of them are brought to all-old or all-new.

Order of a commit: new and old bytes of every file are written into a folder of ours, then the journal is renamed into
place (from here on the change is decided), then each file is renamed over its target, then the journal is deleted,
then the folder. Recovery looks at the journal: without one nothing was changed; with one, the change is finished if all
new bytes are still there, else the old ones are put back. Recovery may be killed, too.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import is_within
from neuralart_bring.patching.plan import digest

SCHEMA = 1
STATE = ".neuralart-patch"
FORWARD, BACK = "forward", "back"


@dataclass(frozen=True)
class Change:
    """A file that is to have other bytes."""

    path: str  # from the root, with ``/``
    new: bytes | None  # None to delete it
    like: Path | None = None  # file whose permissions a new file gets; None for the usual ones


@dataclass(frozen=True)
class _Entry:
    number: int
    path: str
    old: str  # digest; empty: no file
    new: str

    def place(self, root: Path, which: str) -> Path:
        """Where the bytes from before (``old``) and behind (``new``) are kept."""
        return _folder(root) / which / str(self.number)


# The only places where patching changes a disk, one call for one change ----------------------------------------------


def write(path: Path, data: bytes) -> None:
    """Write a new file and hand it to the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def set_mode(path: Path, like: Path) -> None:
    """Give a file the permissions of another."""
    path.chmod(stat.S_IMODE(like.stat().st_mode))


def replace(path: Path, target: Path) -> None:
    """Rename; what was there is gone."""
    path.replace(target)


def remove(path: Path) -> None:
    path.unlink()


def make_folder(path: Path) -> None:
    path.mkdir()


def remove_folder(path: Path) -> None:
    path.rmdir()


def _make_folders(path: Path) -> None:
    if not path.is_dir():
        _make_folders(path.parent)
        make_folder(path)


def _remove_tree(path: Path) -> None:
    if not path.is_dir():
        return
    for each in sorted(path.iterdir()):
        if each.is_dir() and not each.is_symlink():
            _remove_tree(each)
        else:
            remove(each)
    remove_folder(path)


def clear(root: Path, name: str) -> None:
    """Delete a folder of ours with all in it, and the state folder if nothing is left in that. What the disk does not
    let us delete does not matter: without a journal or a record it is never read.
    """
    state = root / STATE
    try:
        _remove_tree(state / name)
        if state.is_dir() and not any(state.iterdir()):
            remove_folder(state)
    except OSError:
        return


# ---------------------------------------------------------------------------------------------------------------------


def _folder(root: Path) -> Path:
    return root / STATE / "change"


def _journal(root: Path) -> Path:
    return _folder(root) / "journal.json"


def _tidy(root: Path) -> None:
    clear(root, "change")


def pending(root: Path) -> bool:
    """Was a change interrupted after it was decided?"""
    return _journal(root).is_file()


def commit(root: Path, changes: Sequence[Change]) -> list[str]:
    """Make changes as one; those that have their bytes already are left alone. Returns the paths that were changed.
    NeuralArtError: something failed; all files are as they were.
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
        remove(_journal(root))
    except OSError as error:
        try:
            recover(root, prefer=BACK)
        except (OSError, NeuralArtError):
            raise _failed(error, root, "the next patch or --restore finishes or undoes it") from error
        raise _failed(error, root, "all files are as they were") from error
    _tidy(root)
    return [change.path for change in wanted]


def recover(root: Path, prefer: str = FORWARD, *, force: bool = False) -> str:
    """Finish or undo what was interrupted, and clear away what it left: ``forward``, ``back``, or empty (nothing was).

    ``prefer`` is one of both, where both can be done; ``force`` treats a file that was changed since as if the patch
    had written it. NeuralArtError: one of the files was changed since, or the journal cannot be read. OSError: the disk
    does not let us.
    """
    if not pending(root):
        _tidy(root)
        return ""
    entries = _entries(root)
    state = {entry.path: _digest(root / entry.path) for entry in entries}
    strange = [each.path for each in entries if state[each.path] not in (each.old, each.new)]
    if strange and not force:
        what = f"a patch was interrupted, and since then {', '.join(strange)} changed"
        hint = f"say --force to have the patch win; bytes from before it are in {STATE}/change/old"
        raise NeuralArtError(what, where=str(root), hint=hint)
    left = [each for each in entries if state[each.path] != each.new and each.new]
    missing = any(_digest(each.place(root, "new")) != each.new for each in left)
    way = BACK if prefer == BACK or missing else FORWARD
    for entry in entries:
        if way == FORWARD and state[entry.path] != entry.new:
            _forward(root, entry)
        elif way == BACK and state[entry.path] != entry.old:
            _back(root, entry)
    remove(_journal(root))
    _tidy(root)
    return way


def _check_place(root: Path, path: str) -> None:
    """A link to elsewhere would be replaced by a file, or a file elsewhere changed: neither is meant."""
    if not is_within(path):
        raise NeuralArtError(f"'{path}' is not within {root}", where=str(root))
    target = root / path
    if target.is_symlink() or Path(os.path.realpath(root)) not in Path(os.path.realpath(target)).parents:
        hint = "patch out of tree: --output DIR"
        raise NeuralArtError("is a link: it would be replaced by a file", where=str(target), hint=hint)
    if target.is_dir():
        raise NeuralArtError("is a folder, a file is to be written", where=str(target))


def _stage(root: Path, changes: Sequence[Change]) -> None:
    _remove_tree(_folder(root))
    for folder in (root / STATE, _folder(root), _folder(root) / "new", _folder(root) / "old"):
        _make_folders(folder)
    rows = []
    for number, change in enumerate(changes):
        target = root / change.path
        old = _now(target)
        entry = _Entry(number, change.path, _hash(old), _hash(change.new))
        rows.append({"path": entry.path, "old": entry.old, "new": entry.new})
        like = target if old is not None else change.like
        if old is not None:
            write(entry.place(root, "old"), old)
            set_mode(entry.place(root, "old"), target)
        if change.new is not None:
            write(entry.place(root, "new"), change.new)
            if like is not None:
                set_mode(entry.place(root, "new"), like)
    part = _journal(root).with_suffix(".part")
    write(part, (json.dumps({"schema": SCHEMA, "files": rows}, indent=1) + "\n").encode())
    replace(part, _journal(root))


def _entries(root: Path) -> list[_Entry]:
    path = _journal(root)
    try:
        data: Any = jsontext.loads(path.read_bytes())
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema {data['schema']}")
        entries = []
        for number, row in enumerate(data["files"]):
            if not is_within(row["path"]) or not all(isinstance(row[key], str) for key in ("old", "new")):
                raise ValueError(f"entry {number}")
            entries.append(_Entry(number, row["path"], row["old"], row["new"]))
        return entries
    except (ValueError, KeyError, TypeError) as error:
        what = f"the journal of an interrupted patch cannot be read: {error}"
        hint = f"bytes from before it are in {STATE}/change/old; delete {STATE}/change when the files are right"
        raise NeuralArtError(what, where=str(path), hint=hint) from error


def _forward(root: Path, entry: _Entry) -> None:
    target = root / entry.path
    if entry.new:
        _make_folders(target.parent)
        replace(entry.place(root, "new"), target)
    elif target.exists():
        remove(target)


def _back(root: Path, entry: _Entry) -> None:
    target = root / entry.path
    if not entry.old:
        if target.exists():
            remove(target)
        return
    saved, again = entry.place(root, "old"), _folder(root) / f"back{entry.number}"
    if _digest(saved) != entry.old:
        raise NeuralArtError("the saved bytes from before the patch are damaged", where=str(saved))
    write(again, saved.read_bytes())
    set_mode(again, saved)
    _make_folders(target.parent)
    replace(again, target)


def _now(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _hash(data: bytes | None) -> str:
    return "" if data is None else digest(data)


def _digest(path: Path) -> str:
    return _hash(_now(path))


def _failed(error: OSError, root: Path, state: str) -> NeuralArtError:
    what, where = f"cannot write: {error.strerror or error}; {state}", str(error.filename or root)
    return NeuralArtError(what, where=where, hint="is the folder writable, is the disk full?")
