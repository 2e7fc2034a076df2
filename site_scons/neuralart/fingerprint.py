"""Hashes the code of a part of this package with all that it imports. SCons cannot see that a command depends on our
code, so each command depends on such a fingerprint: a change of the planner compiles the networks again, and nothing
else.
"""
# Hundreds of files: a path object for each takes longer than reading it.
# ruff: noqa: PTH118

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from neuralart.quick import lazy_regex
from neuralart.resources import PACKAGE

# It begins with letters: so a search goes over most of a file at once. What stands before it is looked at then.
_IMPORT = lazy_regex(rb"(neuralart[\w.]*)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+))?")
_NAME = lazy_regex(rb"[A-Za-z_]\w*")
_BESIDE = "neuralart_"  # What the names of the packages beside the core begin with
# What every command runs through: the entry point decides nothing about the result.
_NEUTRAL = frozenset({"__init__.py", "__main__.py", "cli.py"})


@cache
def _modules(package: str) -> dict[str, str]:
    """The modules of a package of ours and their files. One walk costs less than to ask the disk for each name."""
    found: dict[str, str] = {}
    top = os.path.join(PACKAGE.parent, package)
    for folder, _, names in os.walk(top):
        inside = package + folder[len(top) :].replace(os.sep, ".")
        for name in names:
            if name.endswith(".py"):
                module = inside if name == "__init__.py" else f"{inside}.{name[:-3]}"
                found[module] = os.path.join(folder, name)
    return found


looked: set[str] = set()
"""Files that fingerprints were made of."""


@cache
def _look(path: str) -> tuple[bytes, frozenset[str]]:
    """The hash of a file, and the files of our packages that it imports, but for the packages' own ``__init__.py``."""
    with open(path, "rb") as file:  # noqa: PTH123
        data = file.read()
    looked.add(path)
    found = set[str]()
    for match in _IMPORT.finditer(data) if path.endswith(".py") else ():
        if data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()].strip() in (b"from", b"import"):
            dotted = match[1].decode()
            names = {dotted, *(f"{dotted}.{name.decode()}" for name in _NAME.findall(match[2] or b""))}
            package = dotted.partition(".")[0]
            modules = _modules(package)
            found |= {modules[name] for name in names & modules.keys() if name != package}
    return hashlib.sha256(data).digest(), frozenset(found)


def closure(rooms: tuple[str, ...]) -> list[Path]:
    """List the files of rooms (folders with their data, or files) and all that they import, in a fixed order. A room of
    another package begins with its name: ``neuralart_insight/report``.
    """
    paths = [(PACKAGE.parent if room.startswith(_BESIDE) else PACKAGE) / room for room in rooms]
    files = [each for path in paths for each in (path.rglob("*") if path.is_dir() else [path])]
    return [Path(path) for _, path in _followed(path for path in files if path.is_file())]


def _followed(files: Iterable[Path]) -> list[tuple[str, str]]:
    """Some files and what they import, in a fixed order: names, the same on every machine, and paths. What is in no
    package of ours is followed, but left out.
    """
    todo, seen = [*map(str, files)], set[str]()
    while todo:
        path = todo.pop()
        if path not in seen and f"{os.sep}__pycache__{os.sep}" not in path:
            seen.add(path)
            todo += _look(path)[1]
    names = ((_name(path), path) for path in seen)
    return sorted((name, path) for name, path in names if name and name not in _NEUTRAL)


def _name(path: str) -> str:
    """The name of a file in the core, or with the package beside the core; empty: it is in none of ours."""
    core, beside = os.path.join(PACKAGE, ""), os.path.join(PACKAGE.parent, _BESIDE)
    head = core if path.startswith(core) else os.path.join(PACKAGE.parent, "") if path.startswith(beside) else ""
    return path[len(head) :].replace(os.sep, "/") if head else ""


known: dict[str, str] = {}
"""Fingerprints, by the names of their rooms. Stamps keep them beside the state of all code that counts."""


def fingerprint(*rooms: str) -> str:
    """Hash the closure of some rooms: 16 hex digits."""
    key = " ".join(rooms)
    if key not in known:
        known[key] = _digest((_name(str(path)), str(path)) for path in closure(rooms))
    return known[key]


def fingerprint_of(files: Iterable[tuple[str, Path]]) -> str:
    """Hash code outside of this package, given as names (equal on every machine) and paths, and its imports."""
    given = [(name, str(path)) for name, path in files]
    return _digest([*given, *_followed(Path(path) for _, path in given)])


def _digest(files: Iterable[tuple[str, str]]) -> str:
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(name.encode() + b"\0" + _look(path)[0])
    return digest.hexdigest()[:16]
