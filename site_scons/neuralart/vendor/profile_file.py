"""A whole profile file (``neural_art.json``), all profiles of it, for looking at.

:mod:`~neuralart.vendor.profile` reads the one that a build uses.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.jsonpos import Node, parse_tolerant

_TOP = {"Globals", "Profiles"}
_PROFILE = {"machine_desc", "memory_desc", "memory_pool", "options"}


@dataclass(frozen=True)
class ProfileEntry:
    """One profile.

    Attributes:
        name: Its name.
        memory_pool: Pool file as written, relative to the profile file; empty if none is named.
        found: That file exists; None if none is named or the profile file's folder is not known.
        options: Options of the compiler, split into words.
        machine_desc: Machine description as written; empty if none.
        old_key: It is named with ``memory_desc``, which tools from 2.2 on ignore with a warning.
        line: Where the profile's value begins, from 1.
    """

    name: str
    memory_pool: str
    found: bool | None
    options: tuple[str, ...]
    machine_desc: str = ""
    old_key: bool = False
    line: int = 0


@dataclass(frozen=True)
class ProfileFile:
    """All of them.

    Attributes:
        file: Name of the file as shown to the user.
        profiles: In its order.
        global_keys: Keys of ``Globals``.
        notes: ``line:column: what`` was not understood, or the tool would refuse or ignore.
    """

    file: str
    profiles: tuple[ProfileEntry, ...]
    global_keys: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _typed(node: Node, kind: type, what: str) -> None:
    if not isinstance(node.value, kind):
        wanted = "a text" if kind is str else "an object { }"
        raise NeuralArtError(f"{what} must be {wanted}, not {node.kind}", where=node.where)


def _text(members: dict[str, Node], key: str, what: str) -> str:
    node = members.get(key)
    if node is None:
        return ""
    _typed(node, str, f"{key} of {what}")
    return str(node.value)


def _words(members: dict[str, Node], what: str) -> tuple[str, ...]:
    text = _text(members, "options", what)
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise NeuralArtError(f"options of {what}: {error}".lower(), where=members["options"].where) from error


def _entry(name: str, node: Node, folder: Path | None, notes: list[str]) -> ProfileEntry:
    what = f"profile '{name}'"
    _typed(node, dict, what)
    members: dict[str, Node] = node.value
    notes += [
        f"{child.line}:{child.column}: unknown key '{key}' in {what}"
        for key, child in members.items()
        if key not in _PROFILE and not key.startswith("_")
    ]
    old = "memory_desc" in members
    if old:
        child = members["memory_desc"]
        notes.append(f"{child.line}:{child.column}: 'memory_desc' in {what} is ignored from 2.2 on: use 'machine_desc'")
    pool = _text(members, "memory_pool", what)
    return ProfileEntry(
        name=name,
        memory_pool=pool,
        found=_exists(folder, pool) if pool and folder is not None else None,
        options=_words(members, what),
        machine_desc=_text(members, "machine_desc", what) or _text(members, "memory_desc", what),
        old_key=old,
        line=node.line,
    )


def _exists(folder: Path, name: str) -> bool:
    try:
        return (folder / name).is_file()
    except (OSError, ValueError):
        return False


def parse_profiles(data: bytes, file: str, folder: Path | None = None) -> ProfileFile:
    """Read the content of a profile file.

    Args:
        data: The file's bytes.
        file: Its name for messages.
        folder: Its folder, to look for the pool files.

    Raises:
        NeuralArtError: It is no such file, or a known key has a wrong value; ``where`` is ``file:line:column``.
    """
    document, marks = parse_tolerant(data, file, relaxed=True)
    _typed(document, dict, "the document")
    top: dict[str, Node] = document.value
    if "Profiles" not in top:
        hint = nearest("Profiles", list(top)) if top else "empty file"
        raise NeuralArtError("there is no 'Profiles'", where=document.where, hint=hint)
    _typed(top["Profiles"], dict, "Profiles")
    notes = [
        f"{child.line}:{child.column}: unknown key '{key}'"
        for key, child in top.items()
        if key not in _TOP and not key.startswith("_")
    ]
    keys: tuple[str, ...] = ()
    if "Globals" in top:
        _typed(top["Globals"], dict, "Globals")
        keys = tuple(top["Globals"].value)
    profiles = tuple(_entry(name, node, folder, notes) for name, node in top["Profiles"].value.items())
    if not profiles:
        notes.append(f"{top['Profiles'].line}:{top['Profiles'].column}: no profile is listed")
    return ProfileFile(file, profiles, keys, (*marks, *notes))


def read_profiles(path: Path, display: str = "") -> ProfileFile:
    """Read a profile file.

    Raises:
        NeuralArtError: It cannot be read, or as :func:`parse_profiles`.
    """
    return parse_profiles(read_bytes(path), display or str(path), path.parent)
