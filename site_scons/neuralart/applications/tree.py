"""What a user's folder holds, without what nobody wants copied."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from neuralart.errors import NeuralArtError

# Histories of version control, caches, and what earlier builds of the user's own left: their objects belong to other
# flags and to another network.
USUAL = (".git", ".hg", ".svn", ".DS_Store", "__pycache__/", ".venv/", "node_modules/", ".metadata/", "*.o", "/build/")


@dataclass(frozen=True)
class Tree:
    """A folder's contents."""

    files: dict[str, Path] = field(repr=False)  # path below the folder, with ``/`` -> where its bytes are
    folders: tuple[str, ...] = field(repr=False)  # all folders below, the empty ones too
    notes: tuple[str, ...] = ()  # what was left out although no pattern says so


def _matches(pattern: str, name: str, path: str, is_folder: bool) -> bool:
    if pattern.endswith("/"):
        if not is_folder:
            return False
        pattern = pattern.rstrip("/")
    if "/" in pattern:
        return fnmatchcase(path, pattern.removeprefix("/"))
    return fnmatchcase(name, pattern)


def is_left_out(path: str, is_folder: bool, patterns: Sequence[str]) -> bool:
    """Whether patterns leave something out; the last one that fits decides.

    Args:
        path: Below the folder.
        is_folder: It is a folder.
        patterns: A name without ``/`` fits anywhere, others fit from the top; ``/`` at the end: folders only; ``!`` in
            front takes back what an earlier one says.
    """
    name = path.rpartition("/")[2]
    left_out = False
    for pattern in patterns:
        plain = pattern.removeprefix("!")
        if _matches(plain, name, path, is_folder):
            left_out = plain is pattern
    return left_out


@dataclass
class _Walk:
    top: Path
    patterns: Sequence[str]
    avoided: frozenset[Path]
    files: dict[str, Path] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def folder(self, place: Path, below: str, above: tuple[Path, ...]) -> None:
        for name in sorted(entry.name for entry in place.iterdir()):
            path = f"{below}/{name}" if below else name
            self._entry(place / name, path, above)

    def _entry(self, place: Path, path: str, above: tuple[Path, ...]) -> None:
        try:
            # Links are followed: in another place a relative one would lead elsewhere, or into the user's own tree.
            kind = place.stat().st_mode
        except OSError:
            if not is_left_out(path, False, self.patterns):
                self.notes.append(f"{path} is a link that leads nowhere: left out")
            return
        if stat.S_ISDIR(kind):
            if is_left_out(path, True, self.patterns):
                return
            real = place.resolve()
            if real in self.avoided:
                return
            if real in above:
                self.notes.append(f"{path} is a link to a folder that it is in: left out")
                return
            self.folders.append(path)
            self.folder(place, path, (*above, real))
        elif stat.S_ISREG(kind):
            if not is_left_out(path, False, self.patterns):
                self.files[path] = place
        elif not is_left_out(path, False, self.patterns):
            self.notes.append(f"{path} is neither a file nor a folder: left out")


def scan(folder: Path, exclude: Sequence[str] = (), avoid: Sequence[Path] = (), where: str = "") -> Tree:
    """Look through a folder; the order is that of the names, on every machine.

    Args:
        folder: The folder.
        exclude: Patterns behind the usual ones (:data:`USUAL`).
        avoid: Folders that are no part of it although they may lie in it: where we build.
        where: Who names it.

    Raises:
        NeuralArtError: It is no folder, or a part of it cannot be read.
    """
    if not folder.is_dir():
        what = "is a file, it must be a folder" if folder.exists() else "no such folder"
        raise NeuralArtError(f"{folder}: {what}", where=where, hint="paths are relative to the project file")
    walk = _Walk(folder, (*USUAL, *exclude), frozenset(path.resolve() for path in avoid))
    try:
        walk.folder(folder, "", (folder.resolve(),))
    except OSError as error:
        raise NeuralArtError(f"cannot read: {error.strerror}", where=str(error.filename or folder)) from error
    return Tree(walk.files, tuple(walk.folders), tuple(walk.notes))
