"""Profile files (``neural_art.json``): which pools and which compiler options belong to a profile name."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from posixpath import normpath

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.text.json_values import JsonValue, parse

DEFAULT_PROFILE = "default"
RELOCATABLE_PROFILE = "relocatable"
"""What a relocatable model is compiled with if its network names neither profile nor pools."""
_BUILTIN = "profile-"
FORMS = "<profile>@<file.json>, <file.json>, profile-<name of the board's own file>, or nothing"


@dataclass(frozen=True)
class Profile:
    """One profile."""

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
    """What ``--st-neural-art`` named."""

    name: str  # The profile
    file: str = ""  # The file; empty: the board's own


def parse_argument(text: str) -> ProfileArgument:
    """Understand the argument of ``--st-neural-art``.

    The profile's name ends at the first ``@``, so a path may hold further ones.

    Args:
        text: ``default@my.json``, ``my.json`` (profile ``default``), ``profile-default`` (a profile of the board's own
            file) or nothing (``default`` of the board's own file).

    Raises:
        NeuralArtError: None of these.
    """
    name, at, file = text.partition("@")
    if at:
        if not name or not file:
            raise NeuralArtError(
                f"'{text}' names no {'file' if name else 'profile'}", where="--st-neural-art", hint=f"allowed: {FORMS}"
            )
        return ProfileArgument(name, file)
    if not text:
        return ProfileArgument(DEFAULT_PROFILE)
    if text.lower().endswith(".json"):
        return ProfileArgument(DEFAULT_PROFILE, text)
    if text.startswith(_BUILTIN) and len(text) > len(_BUILTIN):
        return ProfileArgument(text.removeprefix(_BUILTIN))
    if text == "help":
        raise NeuralArtError(
            "'help' is not a profile", where="--st-neural-art", hint="docs/reference/generate-options.md lists them all"
        )
    hint = f"allowed: {FORMS}"
    raise NeuralArtError(f"'{text}' names neither a profile nor a file", where="--st-neural-art", hint=hint)


def _options(value: JsonValue | None) -> tuple[str, ...]:
    if value is None:
        return ()
    try:
        return tuple(shlex.split(value.called("options").string()))
    except ValueError as error:
        raise value.fault(f"options: {error}".lower()) from error


def _pool_path(value: JsonValue, path: Path, file: str, profile: str) -> tuple[Path, str]:
    """The pool file and how to show it."""
    written = value.called("memory_pool").string()
    found = path.parent / written
    # A file that was found by an absolute name is shown with it, one beside the profile by the profile's own path.
    absolute = Path(written).is_absolute() or PureWindowsPath(written).is_absolute()
    shown = written if absolute else normpath(PurePosixPath(PurePosixPath(file.replace("\\", "/")).parent, written))
    if not written or not found.is_file():
        hint = "the path is relative to the profile file"
        if "\\" in written:
            hint += "; write it with / instead of \\"
        elif absolute:
            hint = "the path is absolute: it exists on its author's machine only?"
        raise value.fault(
            f"profile '{profile}' names the memory pools '{written}': no such file"
            + ("" if absolute else f", looked for at {found}"),
            hint,
        )
    return found, shown


def read(path: Path, profile_name: str, display: str = "", *, need_pools: bool = True) -> Profile:
    """Read one profile of a profile file.

    Args:
        path: The file.
        profile_name: Which profile.
        display: The file's name in messages; by default the path.
        need_pools: False if another pool file is used anyway: then the profile need not name one that exists.

    Raises:
        NeuralArtError: It cannot be read, has no such profile, or names pools that are not there.
    """
    file = display or str(path)
    document = parse(read_bytes(path), file, relaxed=True)
    top = document.mapping()
    if "Profiles" not in top:
        document.fail("there is no 'Profiles'", nearest("Profiles", list(top)) if top else "empty file")
    profiles = top["Profiles"].mapping()
    if profile_name not in profiles:
        hint = nearest(profile_name, list(profiles))
        if profile_name == RELOCATABLE_PROFILE:
            hint += "; a relocatable model needs it, or a 'profile:' or 'mpool:' of its network"
        top["Profiles"].fail(f"no profile '{profile_name}'", hint)
    profile = profiles[profile_name].called(f"profile '{profile_name}'")
    members = profile.mapping()
    mpool, shown = Path(), ""
    if need_pools:
        if "memory_pool" not in members:
            profile.fail(f"profile '{profile_name}' names no 'memory_pool'", "or use --mpool FILE")
        mpool, shown = _pool_path(members["memory_pool"], path, file, profile_name)
    # Up to 2.1 the key was memory_desc.
    desc = members.get("machine_desc") or members.get("memory_desc")
    known = {"memory_pool", "options", "machine_desc", "memory_desc"}
    options = members.get("options")
    return Profile(
        name=profile_name,
        file=file,
        mpool=mpool,
        mpool_display=shown,
        options=_options(options),
        machine_desc=desc.called("machine_desc").string() if desc is not None else "",
        unknown=tuple(sorted(key for key in members if key not in known and not key.startswith("_"))),
        where=str(profile.where),
        options_where=str((options or profile).where),
    )
