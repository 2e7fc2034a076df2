"""A whole profile file (``neural_art.json``), all profiles of it, for looking at.

:mod:`~neuralart.vendor.profile` reads the one that a build uses.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import nearest
from neuralart.files import read_bytes
from neuralart.text.json_values import JsonValue, parse_tolerant

_TOP = {"Globals", "Profiles"}
_PROFILE = {"machine_desc", "memory_desc", "memory_pool", "options"}


@dataclass(frozen=True)
class ProfileEntry:
    """One profile."""

    name: str  # Its name
    memory_pool: str  # Pool file as written, relative to the profile file; empty if none is named
    found: bool | None  # That file exists; None if none is named or the profile file's folder is not known
    options: tuple[str, ...]  # Options of the compiler, split into words
    machine_desc: str = ""  # Machine description as written; empty if none
    old_key: bool = False  # It is named with ``memory_desc``, which tools from 2.2 on ignore with a warning
    line: int = 0  # Where the profile's value begins, from 1


@dataclass(frozen=True)
class ProfileFile:
    """All of them."""

    file: str  # Name of the file as shown to the user
    profiles: tuple[ProfileEntry, ...]  # In its order
    global_keys: tuple[str, ...] = ()  # Keys of ``Globals``
    notes: tuple[str, ...] = ()  # ``line:column: what`` was not understood, or the tool would refuse or ignore


def _words(profile: JsonValue) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(profile.string_at("options")))
    except ValueError as error:
        options = profile.need("options")
        raise options.fault(f"{options.name}: {error}".lower()) from error


def _entry(name: str, profile: JsonValue, folder: Path | None, notes: list[str]) -> ProfileEntry:
    what = f"profile '{name}'"
    members = profile.called(what).mapping()
    notes += profile.unknown(_PROFILE, what)
    old = "memory_desc" in members
    if old:
        ignored = f"'memory_desc' in {what} is ignored from 2.2 on: use 'machine_desc'"
        notes.append(members["memory_desc"].note(ignored))
    pool = profile.string_at("memory_pool")
    return ProfileEntry(
        name=name,
        memory_pool=pool,
        found=_exists(folder, pool) if pool and folder is not None else None,
        options=_words(profile),
        machine_desc=profile.string_at("machine_desc") or profile.string_at("memory_desc"),
        old_key=old,
        line=profile.where.line,
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
    top = document.mapping()
    if "Profiles" not in top:
        document.fail("there is no 'Profiles'", nearest("Profiles", list(top)) if top else "empty file")
    notes = document.unknown(_TOP)
    keys = tuple(top["Globals"].mapping()) if "Globals" in top else ()
    listed = top["Profiles"].mapping().items()
    profiles = tuple(_entry(name, profile, folder, notes) for name, profile in listed)
    if not profiles:
        notes.append(top["Profiles"].note("no profile is listed"))
    return ProfileFile(file, profiles, keys, (*marks, *notes))


def read_profiles(path: Path, display: str = "") -> ProfileFile:
    """Read a profile file.

    Raises:
        NeuralArtError: It cannot be read, or as :func:`parse_profiles`.
    """
    return parse_profiles(read_bytes(path), display or str(path), path.parent)
