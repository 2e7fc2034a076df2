"""A hash of a part of this package and of all that it imports. A command of ours depends on the code that runs in it,
which SCons cannot see. So each command depends on the fingerprint of its room: a change of the planner compiles the
networks again and leaves everything else alone.
"""
# Hundreds of files: a path object for each takes longer than reading it.
# ruff: noqa: PTH118

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from neuralart.patterns import later
from neuralart.resources import PACKAGE

# It begins with letters: so a search goes over most of a file at once. What stands before it is looked at then.
_IMPORT = later(rb"neuralart([\w.]*)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+))?")
_NAME = later(rb"[A-Za-z_]\w*")
# What every command runs through: the entry point decides nothing about the result.
_NEUTRAL = frozenset({"__init__.py", "__main__.py", "cli.py"})


@cache
def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read()


@cache
def _modules() -> dict[str, str]:
    """All modules of the package, ``.room.name``, and their files. One walk costs less than to ask for each name."""
    found: dict[str, str] = {}
    for folder, _, names in os.walk(PACKAGE):
        inside = folder[len(str(PACKAGE)) :].replace(os.sep, ".")
        for name in names:
            if name.endswith(".py"):
                module = inside if name == "__init__.py" else f"{inside}.{name[:-3]}"
                found[module] = os.path.join(folder, name)
    return found


@cache
def _imports(path: str) -> frozenset[str]:
    data, modules = _read(path), _modules()
    found = set[str]()
    for match in _IMPORT.finditer(data):
        if data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()].strip() in (b"from", b"import"):
            dotted = match[1].decode()
            found.update((dotted, *(f"{dotted}.{name.decode()}" for name in _NAME.findall(match[2] or b""))))
    return frozenset(modules[name] for name in found & modules.keys() if name)


def closure(rooms: tuple[str, ...]) -> list[Path]:
    """The files of some rooms (folders, data too, or files) and all that they import, in a fixed order."""
    paths = [PACKAGE / room for room in rooms]
    files = [each for path in paths for each in (path.rglob("*") if path.is_dir() else [path])]
    return [PACKAGE / name for name in _followed(path for path in files if path.is_file())]


def _followed(files: Iterable[Path]) -> list[str]:
    """Some files and what they import of this package, in a fixed order; those of the package, by their names in it."""
    todo, seen = [*map(str, files)], set[str]()
    while todo:
        path = todo.pop()
        if path not in seen and f"{os.sep}__pycache__{os.sep}" not in path:
            seen.add(path)
            todo += _imports(path) if path.endswith(".py") else ()
    head = os.path.join(PACKAGE, "")
    names = {path[len(head) :].replace(os.sep, "/") for path in seen if path.startswith(head)}
    return sorted(names - _NEUTRAL, key=lambda name: name.split("/"))


@cache
def fingerprint(*rooms: str) -> str:
    """16 hex digits that change when the code of these rooms, or any code they import, changes."""
    return _digest((path.relative_to(PACKAGE).as_posix(), path) for path in closure(rooms))


def fingerprint_of(files: Iterable[tuple[str, Path]]) -> str:
    """The same of code outside of this package (names, the same on every machine, and paths) and what it imports."""
    given = list(files)
    return _digest([*given, *((name, PACKAGE / name) for name in _followed(path for _, path in given))])


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(name.encode() + b"\0" + _read(str(path)) + b"\0")
    return digest.hexdigest()[:16]
