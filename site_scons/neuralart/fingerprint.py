"""A hash of a part of this package and of all that it imports. A command of ours depends on the code that runs in it,
which SCons cannot see. So each command depends on the fingerprint of its room: a change of the planner compiles the
networks again and leaves everything else alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from neuralart.patterns import later
from neuralart.resources import PACKAGE

_IMPORT = later(
    rb"^[ \t]*(?:from[ \t]+(neuralart[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+(neuralart[\w.]*))", re.M
)
_NAME = later(rb"[A-Za-z_]\w*")
_BESIDE = "neuralart_"  # What the names of the packages beside the core begin with
# What every command runs through: the entry point decides nothing about the result.
_NEUTRAL = frozenset({"__init__.py", "__main__.py", "cli.py"})


@cache
def _read(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _modules(top: str) -> frozenset[str]:
    """All Python files of a package of ours. One walk costs less than asking the disk for each imported name."""
    found: set[str] = set()
    package = _folder(top)
    for folder, _, names in os.walk(package):
        inside = folder[len(str(package)) + 1 :].replace(os.sep, "/")
        found.update(f"{inside}/{name}" if inside else name for name in names if name.endswith(".py"))
    return frozenset(found)


def _folder(top: str) -> Path:
    """The folder of the core, or of a package beside it."""
    return PACKAGE if top == "neuralart" else PACKAGE.parent / top


def _name(path: Path) -> str:
    """The name of a file, the same on every machine; empty: it is in no package of ours."""
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE).as_posix()
    beside = path.is_relative_to(PACKAGE.parent)
    return (
        path.relative_to(PACKAGE.parent).as_posix()
        if beside and path.parts[len(PACKAGE.parts) - 1].startswith(_BESIDE)
        else ""
    )


def _module_files(dotted: str) -> list[Path]:
    """The file of a module (or the package's ``__init__``), if it is one of ours."""
    top, _, rest = dotted.partition(".")
    inner = rest.replace(".", "/")
    names = (f"{inner}.py", f"{inner}/__init__.py")
    return [_folder(top) / name for name in names if inner and name in _modules(top)]


@cache
def _imports(path: Path) -> frozenset[Path]:
    found: set[Path] = set()
    for module, names, plain in _IMPORT.findall(_read(path)):
        dotted = (module or plain).decode()
        found.update(_module_files(dotted))
        for name in _NAME.findall(names):
            found.update(_module_files(f"{dotted}.{name.decode()}"))
    return frozenset(found)


def closure(rooms: tuple[str, ...]) -> list[Path]:
    """The files of some rooms (folders, data too, or files) and all that they import, in a fixed order. A room of a
    package beside the core begins with that package's name: ``neuralart_insight/report``.
    """
    todo: list[Path] = []
    for room in rooms:
        path = (PACKAGE.parent if room.startswith(_BESIDE) else PACKAGE) / room
        todo.extend(sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path])
    return _followed(todo)


def _followed(todo: list[Path]) -> list[Path]:
    """Some files and what they import of our packages, in a fixed order."""
    seen: set[Path] = set()
    while todo:
        path = todo.pop()
        if path in seen or "__pycache__" in path.parts:
            continue
        seen.add(path)
        if path.suffix == ".py":
            todo.extend(_imports(path))
    return sorted(path for path in seen if _name(path) and _name(path) not in _NEUTRAL)


known: dict[tuple[str, ...], str] = {}
"""Fingerprints by rooms: what was asked for, and what a build remembers while no file of the package has changed."""


def fingerprint(*rooms: str) -> str:
    """16 hex digits that change when the code of these rooms, or any code they import, changes."""
    if rooms not in known:
        known[rooms] = _digest((_name(path), path) for path in closure(rooms))
    return known[rooms]


def fingerprint_of(files: Iterable[tuple[str, Path]]) -> str:
    """The same of code outside of this package (names, the same on every machine, and paths) and what it imports."""
    given = list(files)
    ours = _followed([path for _, path in given])
    return _digest([*given, *((_name(path), path) for path in ours)])


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(name.encode() + b"\0" + _read(path) + b"\0")
    return digest.hexdigest()[:16]
