"""The files of a repository by their paths; read only where a name or a beginning says that something is in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text.c_source import decode

# Other people's folders, what tools leave (``.ai``: runs of X-CUBE-AI), and copies of what is elsewhere.
_NEVER = {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".metadata", "st_ai_ws", ".vendor"}
_NEVER |= {".ai"}
# Folders of libraries: nothing of the application is in them.
LIBRARIES = {"drivers", "middlewares", "cmsis", "edge-impulse-sdk", "templates", "stm32cube_fw_n6"}
_BUILT = {"CMakeCache.txt", ".toolchain.json"}
_LARGEST_TEXT = 4 << 20


@dataclass(frozen=True)
class Repository:
    """A folder."""

    root: Path
    paths: tuple[str, ...] = field(repr=False)  # Of its files below it, with ``/``, sorted

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.paths:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    def named(self, *patterns: str) -> Iterator[str]:
        """Paths whose file name fits one of some patterns, without regard to upper and lower case."""
        for path in self.paths:
            name = path.rpartition("/")[2].lower()
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                yield path

    def own(self, *patterns: str) -> list[str]:
        """The same without what is in folders of libraries."""
        return [path for path in self.named(*patterns) if not in_library(path)]

    def file(self, path: str) -> Path:
        return self.root / path

    def head(self, path: str, size: int = 4096) -> bytes:
        """The beginning of a file; empty if it cannot be read."""
        try:
            with (self.root / path).open("rb") as stream:
                return stream.read(size)
        except OSError:
            return b""

    def text(self, path: str) -> str:
        """The text of a file; empty if it is too large for one that people write."""
        file = self.root / path
        return decode(read_bytes(file)) if file.stat().st_size <= _LARGEST_TEXT else ""


def in_library(path: str) -> bool:
    """Whether a path leads through a folder of libraries."""
    return any(part.lower() in LIBRARIES for part in path.split("/")[:-1])


def folder_of(path: str) -> str:
    """The folder of a file, ``.`` at the top."""
    return path.rpartition("/")[0] or "."


def look(root: Path, shown: str) -> Repository:
    """Look for files; links to folders are not followed. NeuralArtError: it is no folder, or cannot be read."""
    if not root.is_dir():
        raise NeuralArtError("no such folder" if not root.exists() else "is a file, not a folder", where=shown)
    found: list[str] = []

    def failed(error: OSError) -> None:
        raise NeuralArtError(f"cannot read: {error.strerror}", where=str(error.filename)) from error

    for folder, folders, names in os.walk(root, onerror=failed):
        folders[:] = sorted(name for name in folders if name not in _NEVER)
        # What CMake has built is no source, whatever it is called, nor is what we have.
        if _BUILT.intersection(names):
            folders[:] = []
            continue
        below = Path(folder).relative_to(root).as_posix()
        names = [name for name in names if os.path.isfile(os.path.join(folder, name))]  # noqa: PTH113, PTH118
        found += [name if below == "." else f"{below}/{name}" for name in names]
    return Repository(root, tuple(sorted(found)))
