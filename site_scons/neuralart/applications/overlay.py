"""Keeps a copy of the user's tree with generated files up to date, so that make stays incremental. Files are copied,
not linked: a build that writes to its own sources must not write to the user's.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import is_within, new_file, write_text
from neuralart.quick import astuple, dataclass, field

TREE, RECORD = "tree", "overlay.json"
SCHEMA = 1
# A file that changes again within one tick of its file system's clock keeps its time: such are compared next time.
_TICK = 2_000_000_000
_CHUNK = 1 << 20
# What a compiler reads. The dependencies that a build has noted name such files, and make refuses to go on without one.
_COMPILED = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".inc", ".inl", ".s", ".S")


@dataclass(frozen=True)
class Changes:
    """What a synchronization changed."""

    written: tuple[str, ...] = field(repr=False)  # paths that are new or have other bytes now
    removed: tuple[str, ...] = field(repr=False)  # paths that are gone
    kept: int = 0  # how many files stayed as they were


@dataclass(frozen=True)
class _Mark:
    """By what a file is known again."""

    size: int  # of the source
    time: int  # of the source; -1: it was too new to be trusted
    changed: int  # when the source was last touched in any way. An archive may give all its files one time of their own
    runs: bool  # it can be run
    copied: int  # time of the copy

    @staticmethod
    def parse(data: Any) -> _Mark | None:
        if not isinstance(data, list) or len(data) != 5:
            return None
        return _Mark(int(data[0]), int(data[1]), int(data[2]), bool(data[3]), int(data[4]))


@dataclass(frozen=True)
class _Known:
    """What the record says of the last time."""

    files: dict[str, _Mark | None] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    settings: str = ""


def _read_record(path: Path) -> _Known | None:
    """The last time; None if the record is damaged."""
    try:
        data = jsontext.loads(path.read_bytes())
        if data["schema"] != SCHEMA:
            return None
        files = {str(name): _Mark.parse(row) for name, row in data["files"].items()}
        folders = {str(folder) for folder in data["folders"]}
        if not all(is_within(name) for name in (*files, *folders)):
            return None
        return _Known(files, folders, str(data["settings"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


def _write_record(path: Path, files: Mapping[str, _Mark | None], folders: Iterable[str], settings: str) -> None:
    rows = {name: list(astuple(mark)) if mark is not None else None for name, mark in sorted(files.items())}
    data = {"schema": SCHEMA, "settings": settings, "folders": sorted(folders), "files": rows}
    write_text(path, json.dumps(data, indent=0) + "\n")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
        return
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except PermissionError:
        path.chmod(stat.S_IWRITE | stat.S_IREAD)  # a read-only file of a build, where that protects it
        path.unlink()


def _same(one: Path, other: Path) -> bool:
    with one.open("rb") as left, other.open("rb") as right:
        while True:
            a, b = left.read(_CHUNK), right.read(_CHUNK)
            if a != b:
                return False
            if not a:
                return True


def _stamp(of: os.stat_result) -> tuple[int, int, int]:
    return of.st_size, of.st_mtime_ns, of.st_ctime_ns


def _remove_made(tree: Path, ours: Iterable[str]) -> None:
    """Remove what builds have made."""
    kept = {tree / name for name in ours}
    for here, folders, names in os.walk(tree):
        for name in [*names, *(each for each in folders if (Path(here) / each).is_symlink())]:
            if Path(here) / name not in kept:
                _remove(Path(here) / name)


class _Sync:
    def __init__(self, tree: Path, first: bool) -> None:
        self.tree = tree
        self.first = first
        self.real: set[Path] = {tree}

    def folder(self, path: Path) -> None:
        """Make a folder of ours: whatever a build put in its place goes."""
        if path in self.real:
            return
        self.folder(path.parent)
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            _remove(path)
        path.mkdir(exist_ok=True)
        self.real.add(path)

    def file(self, name: str, source: Path, known: _Mark | None) -> tuple[_Mark, bool]:
        """Bring one file up to date; says whether its bytes were written."""
        target = self.tree / name
        self.folder(target.parent)
        from_ = source.stat()
        runs = bool(from_.st_mode & 0o111)
        is_file = not target.is_symlink() and target.is_file()
        now = target.stat() if is_file else None
        if known is not None and now is not None and known.time >= 0:
            mine = (known.size, known.time, known.changed, known.runs, known.size, known.copied)
            if mine == (*_stamp(from_), runs, now.st_size, now.st_mtime_ns):
                return known, False
        written = now is None or now.st_size != from_.st_size or not _same(source, target)
        if written:
            self._copy(source, target, from_)
        target.chmod(0o755 if runs else 0o644)
        size, modified, changed = _stamp(from_)
        settled = max(modified, changed) < time.time_ns() - _TICK
        return _Mark(size, modified if settled else -1, changed, runs, target.stat().st_mtime_ns), written

    def _copy(self, source: Path, target: Path, from_: os.stat_result) -> None:
        if target.is_dir() and not target.is_symlink():
            _remove(target)
        with new_file(target) as part:
            shutil.copyfile(source, part)
            # The first time there is nothing that was made of it, so the tree's own order of times can stay: make
            # would else run generators whose results the user keeps beside their sources. Later, new is new.
            if self.first:
                os.utime(part, ns=(from_.st_mtime_ns, from_.st_mtime_ns))


def _is_ours(tree: Path, name: str) -> bool:
    """No folder above it is a link that a build made: what lies behind one does not belong to the copy."""
    parts = name.split("/")[:-1]
    return not any((tree / "/".join(parts[: count + 1])).is_symlink() for count in range(len(parts)))


def _prune(tree: Path, folders: Iterable[str], wanted: set[str]) -> None:
    """Remove folders that are not wanted any more, deepest first, if nothing of a build is in them."""
    for name in sorted(set(folders) - wanted, key=lambda each: -each.count("/")):
        place = tree / name
        if _is_ours(tree, f"{name}/") and place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def synchronize(
    wanted: Mapping[str, Path],
    work: Path,
    folders: Iterable[str] = (),
    generated: Iterable[str] = (),
    settings: str = "",
) -> Changes:
    """Make ``work/tree`` hold exactly these files, and what builds put beside them.

    A file with the same bytes is not touched: what was made of it stays newer. What a build changed among these files
    is put right again. When a source or a header is gone, so is all that builds have made: it was made with it. Other
    settings have the same effect: make does not look at them. ``wanted``: path in the tree -> where its bytes are;
    ``work``: folder of the copy and of its record; ``folders``: folders to be there although they may be empty;
    ``generated``: those of the files that are not the user's: their times are always their own; ``settings``: what
    builds depend on besides the files. NeuralArtError: a file cannot be read or written, or the folder holds what is
    not ours.
    """
    tree, record = work / TREE, work / RECORD
    known: _Known | None = None
    try:
        if record.is_file():
            known = _read_record(record)
            if known is None:
                shutil.rmtree(tree, ignore_errors=True)
        elif tree.is_dir() and any(tree.iterdir()):
            what = "this folder was not made by this tool, so nothing is put into it"
            raise NeuralArtError(what, where=str(tree), hint="delete it")
        return _synchronize(wanted, tree, record, known, set(folders), set(generated), settings)
    except OSError as error:
        where = str(error.filename or tree)
        what = f"cannot be copied: {error.strerror or error}"
        raise NeuralArtError(what, where=where, hint="is the disk full?") from error


def _synchronize(
    wanted: Mapping[str, Path],
    tree: Path,
    record: Path,
    known: _Known | None,
    folders: set[str],
    generated: set[str],
    settings: str,
) -> Changes:
    last = known or _Known(settings=settings)
    old = last.files
    all_folders = folders | {name[:at] for name in wanted for at in range(len(name)) if name[at] == "/"}
    tree.mkdir(parents=True, exist_ok=True)
    # If this is interrupted, the next time knows of every file that may be there.
    new: dict[str, _Mark | None] = {name: None for name in wanted if name not in old}
    _write_record(record, {**old, **new}, all_folders | last.folders, last.settings)
    removed = sorted(name for name in old if name not in wanted)
    if settings != last.settings or any(name.endswith(_COMPILED) for name in removed):
        _remove_made(tree, old)
    for name in removed:
        if _is_ours(tree, name) and ((tree / name).is_file() or (tree / name).is_symlink()):
            _remove(tree / name)
    _prune(tree, last.folders, all_folders)
    worker = _Sync(tree, first=known is None)
    marks: dict[str, _Mark | None] = {}
    written = []
    for name in sorted(wanted):
        worker.first = known is None and name not in generated
        marks[name], changed = worker.file(name, wanted[name], old.get(name))
        if changed:
            written.append(name)
    for name in sorted(folders):
        worker.folder(tree / name)
    _write_record(record, marks, all_folders, settings)
    return Changes(tuple(written), tuple(removed), len(wanted) - len(written))
