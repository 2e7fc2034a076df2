"""Reads profile files (``neural_art.json``): the pools and compiler options of each profile."""

from __future__ import annotations

import shlex
from pathlib import Path, PurePosixPath, PureWindowsPath
from posixpath import normpath
from typing import NoReturn

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import is_file, read_bytes
from neuralart.quick import dataclass
from neuralart.text.json_values import JsonValue, parse, parse_tolerant

DEFAULT_PROFILE = "default"
RELOCATABLE_PROFILE = "relocatable"
"""What a relocatable model is compiled with if its network names neither profile nor pools."""
_BUILTIN = "profile-"
LOAD_MPOOL = "--load-mpool"
"""An option that names the pool file; also ``--load-mpool-file``."""
FORMS = "<profile>@<file.json>, <file.json>, <name of a profile of the board's own file>, or nothing"


@dataclass(frozen=True)
class Profile:
    name: str  # Its name
    file: str  # The file as shown to the user
    mpool: Path  # The memory-pool file, found relative to the profile file
    mpool_display: str  # The same as shown to the user
    options: tuple[str, ...]  # The compiler options, split into words
    machine_desc: str = ""  # Machine description as written; empty if none. Software epochs need none.
    unknown: tuple[str, ...] = ()  # Keys of the profile that have no meaning
    where: str = ""  # ``file:line:column`` of the profile
    options_where: str = ""  # The same of its options


@dataclass(frozen=True)
class ProfileArgument:
    """The argument of ``--st-neural-art``."""

    name: str  # The profile
    file: str = ""  # The file; empty: the board's own


def parse_argument(text: str) -> ProfileArgument:
    """Understand the argument of ``--st-neural-art``; NeuralArtError if it is none of these. ``default@my.json`` (the
    name ends at the first ``@``, so a path may hold further ones), ``my.json`` (profile ``default``),
    ``profile-default`` or ``default`` (a profile of the board's own file) or nothing (``default`` of that file).
    """

    def fail(what: str, hint: str = f"allowed: {FORMS}") -> NoReturn:
        raise NeuralArtError(f"'{text}' {what}", where="--st-neural-art", hint=hint)

    name, at, file = text.partition("@")
    if at:
        if not name or not file:
            fail(f"names no {'file' if name else 'profile'}")
        return ProfileArgument(name, file)
    if not text:
        return ProfileArgument(DEFAULT_PROFILE)
    if text.lower().endswith(".json"):
        return ProfileArgument(DEFAULT_PROFILE, text)
    if text.startswith(_BUILTIN) and len(text) > len(_BUILTIN):
        return ProfileArgument(text.removeprefix(_BUILTIN))
    if text == "help":
        fail("is not a profile", "docs/reference/generate-options.md lists them all")
    if "/" not in text and not Path(text).suffix and text != _BUILTIN:
        return ProfileArgument(text)
    fail("names neither a profile nor a file")


def _words(options: JsonValue | None) -> tuple[str, ...]:
    if options is None:
        return ()
    try:
        return tuple(shlex.split(options.string()))
    except ValueError as error:
        raise options.fault(f"{options.name}: {error}".lower()) from error


def _profiles(document: JsonValue) -> JsonValue:
    top = document.mapping()
    if "Profiles" not in top:
        document.fail("there is no 'Profiles'", nearest("Profiles", list(top)) if top else "empty file")
    return top["Profiles"]


def _without_pools(words: tuple[str, ...], options: JsonValue | None) -> tuple[tuple[str, ...], str]:
    """Options without ``--load-mpool``, and the pool file that it names; the last one counts."""
    rest, left, named = [], list(words), ""
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name not in (LOAD_MPOOL, f"{LOAD_MPOOL}-file"):
            rest.append(f"{name}{equals}{value}")
            continue
        named = value if equals else left.pop(0) if left and not left[0].startswith("-") else ""
        if not named and options is not None:
            options.fail(f"{name} lacks its value")
    return tuple(rest), named


def _pool_path(value: JsonValue, written: str, path: Path, file: str, profile: str) -> tuple[Path, str]:
    """The pool file and how to show it; ``value`` is where it is named."""
    found = path.parent / written
    # A file that was found by an absolute name is shown with it, one beside the profile by the profile's own path.
    absolute = Path(written).is_absolute() or PureWindowsPath(written).is_absolute()
    shown = written if absolute else normpath(PurePosixPath(PurePosixPath(file.replace("\\", "/")).parent, written))
    if not written or not is_file(found):
        hint = "the path is relative to the profile file"
        if "\\" in written:
            hint += "; write it with / instead of \\"
        elif absolute:
            hint = "the path is absolute: it exists on its author's machine only?"
        said = f"profile '{profile}' names the memory pools '{written}': no such file"
        raise value.fault(said + ("" if absolute else f", looked for at {found}"), hint)
    return found, shown


def read(path: Path, profile_name: str, display: str = "", *, need_pools: bool = True) -> Profile:
    """Read one profile of a profile file. ``path``: the file, ``display`` in messages; ``profile_name``: which profile;
    ``display``: by default the path; ``need_pools``: false if another pool file is used anyway: then the profile need
    not name one that exists. NeuralArtError: it cannot be read, has no such profile, or names pools that are not there.
    """
    file = display or str(path)
    listed = _profiles(parse(read_bytes(path), file, relaxed=True))
    profiles = listed.mapping()
    if profile_name not in profiles:
        hint = nearest(profile_name, list(profiles))
        if profile_name == RELOCATABLE_PROFILE:
            hint += "; a relocatable model needs it, or a 'profile:' or 'mpool:' of its network"
        listed.fail(f"no profile '{profile_name}'", hint)
    profile = profiles[profile_name].called(f"profile '{profile_name}'")
    members = profile.mapping()
    mpool, shown = Path(), ""
    options = members.get("options")
    words, loaded = _without_pools(_words(options.called("options") if options is not None else None), options)
    if need_pools:
        named = members.get("memory_pool")
        if named is None and not loaded:
            profile.fail(f"profile '{profile_name}' names no 'memory_pool'", "or use --mpool FILE")
        written = named.called("memory_pool").string() if named is not None else loaded
        mpool, shown = _pool_path(named or options or profile, written, path, file, profile_name)
        if loaded and path.parent.joinpath(loaded).resolve() != mpool.resolve():
            what = f"profile '{profile_name}' names two pool files: memory_pool '{written}', {LOAD_MPOOL} '{loaded}'"
            (options or profile).fail(what, "keep one of them")
    # Up to 2.1 the key was memory_desc.
    desc = members.get("machine_desc") or members.get("memory_desc")
    return Profile(
        name=profile_name,
        file=file,
        mpool=mpool,
        mpool_display=shown,
        options=words,
        machine_desc=desc.called("machine_desc").string() if desc is not None else "",
        unknown=tuple(sorted(key for key in members if key not in _KEYS and not key.startswith("_"))),
        where=str(profile.where),
        options_where=str((options or profile).where),
    )


_TOP = {"Globals", "Profiles"}
_KEYS = {"machine_desc", "memory_desc", "memory_pool", "options"}


@dataclass(frozen=True)
class ProfileEntry:
    name: str  # Its name
    memory_pool: str  # Pool file as written, relative to the profile file; empty if none is named
    found: bool | None  # That file exists; None if none is named or the profile file's folder is not known
    options: tuple[str, ...]  # Options of the compiler, split into words
    machine_desc: str = ""  # Machine description as written; empty if none
    old_key: bool = False  # It is named with ``memory_desc``, which tools from 2.2 on ignore with a warning
    line: int = 0  # Where the profile's value begins, from 1


@dataclass(frozen=True)
class ProfileFile:
    file: str  # Name of the file as shown to the user
    profiles: tuple[ProfileEntry, ...]  # In its order
    global_keys: tuple[str, ...] = ()  # Keys of ``Globals``
    notes: tuple[str, ...] = ()  # ``line:column: what`` was not understood, or the tool would refuse or ignore


def _entry(name: str, profile: JsonValue, folder: Path | None, notes: list[str]) -> ProfileEntry:
    what = f"profile '{name}'"
    members = profile.called(what).mapping()
    notes += profile.unknown(_KEYS, what)
    old = members.get("memory_desc")
    if old is not None:
        notes.append(old.note(f"'memory_desc' in {what} is ignored from 2.2 on: use 'machine_desc'"))
    pool = profile.string_at("memory_pool")
    return ProfileEntry(
        name=name,
        memory_pool=pool,
        found=is_file(folder / pool) if pool and folder is not None else None,
        options=_words(profile.get("options")),
        machine_desc=profile.string_at("machine_desc") or profile.string_at("memory_desc"),
        old_key=old is not None,
        line=profile.where.line,
    )


def parse_profiles(data: bytes, file: str, folder: Path | None = None) -> ProfileFile:
    """All of a profile file; pool files are looked for from its folder. NeuralArtError with ``file:line:column``."""
    document, marks = parse_tolerant(data, file, relaxed=True)
    listed, globals_ = _profiles(document), document.get("Globals")
    notes = document.unknown(_TOP)
    keys = tuple(globals_.mapping()) if globals_ is not None else ()
    profiles = tuple(_entry(name, profile, folder, notes) for name, profile in listed.mapping().items())
    if not profiles:
        notes.append(listed.note("no profile is listed"))
    return ProfileFile(file, profiles, keys, (*marks, *notes))


def read_profiles(path: Path, display: str = "") -> ProfileFile:
    """As :func:`parse_profiles`, for a file; ``display``: its name in messages."""
    return parse_profiles(read_bytes(path), display or str(path), path.parent)
