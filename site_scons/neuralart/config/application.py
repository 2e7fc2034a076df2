"""The application of a variant: who supplies the firmware around its networks.

Places are texts (``file:line``), so that these types need none of the reader's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from neuralart.config.keys import define, distinct
from neuralart.errors import nearest
from neuralart.text.values import Value

REFERENCE, SOURCES, MAKE, CMAKE, CUBEIDE, ELF = "reference", "sources", "make", "cmake", "cubeide", "elf"
KINDS = (REFERENCE, SOURCES, MAKE, CMAKE, CUBEIDE, ELF)
# Builds of the user's own that run in a copy of the user's tree.
EXTERNAL = (MAKE, CMAKE, CUBEIDE)
STAGE_FOLDER = "neuralart"
CONFIGURATION = "Debug"
_DRIVE = re.compile(r"[A-Za-z]:")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
_TARGET = re.compile(r"[^\s=#:-][^\s=#:]*")
_FILE_PATTERN = re.compile(r"[^\s/\\]+")
_STAGE_BASE = "folder"
# CMake words that decide what this tool decides.
_OURS = ("-S", "-B", "-G", "-P", "-E", "--build", "--install", "--open", "--toolchain", "--workflow", "--help", "-h")
_COMMON = ("folder", "directory", "artefact", "executable", "exclude", "stage")
KEYS = {
    SOURCES: ("files", "include_dirs", "defines", "linker_script", "libraries", "runtime"),
    MAKE: (*_COMMON, "target", "variables"),
    CMAKE: (*_COMMON, "target", "generator", "toolchain_file", "options"),
    CUBEIDE: (*_COMMON, "configuration"),
}
_EXAMPLE = "for example application: {make: {folder: ../my-app, artefact: build/app.elf}}"


def inside(text: str) -> str:
    """A path within a tree in its shortest form, the tree being ``.``; ValueError: it leads out of it, or is none."""
    if "\\" in text:
        raise ValueError("write / between the parts of a path")
    if text.startswith("/") or _DRIVE.match(text):
        raise ValueError("must be a path within the folder, this is an absolute one")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError("leads out of the folder with '..'")
    return "/".join(parts) or "."


@dataclass(frozen=True)
class StageRule:
    """Where some generated files go in the copy of the user's tree."""

    pattern: str  # File name, or a pattern of names with ``*``, ``?`` and ``[...]``
    destination: str  # File; with ``/`` at its end a folder; empty: nowhere
    where: str = field(default="", compare=False)  # ``file:line``

    @property
    def literal(self) -> bool:
        """It names one file."""
        return not any(sign in self.pattern for sign in "*?[")


@dataclass(frozen=True)
class StageConfig:
    """Where generated files go."""

    folder: str = STAGE_FOLDER  # What no rule is about goes to ``<folder>/<network>/``, or ``<folder>/``
    rules: tuple[StageRule, ...] = ()  # The first that fits decides


@dataclass(frozen=True)
class SourcesConfig:
    """The user's sources, compiled by SCons."""

    files: tuple[str, ...]  # Paths and patterns relative to the project file; with ``!`` in front: left out
    include_dirs: tuple[str, ...] = ()  # Folders
    defines: tuple[str, ...] = ()  # ``NAME`` or ``NAME=value``
    linker_script: str = ""  # Path; empty: the board's own
    libraries: tuple[str, ...] = ()  # Archives (paths) and names as behind ``-l``
    runtime: str = ""  # Folder of the user's ST Edge AI Core or of its Middlewares; empty: the runtime of this project


@dataclass(frozen=True)
class ExternalConfig:
    """A build of the user's own, run in a copy of the user's tree."""

    folder: str  # The tree, relative to the project file
    artefact: str  # The linked program; below ``directory``, with CMake below the build folder
    directory: str = "."  # Where make runs, where CMakeLists.txt or the project of STM32CubeIDE is; below ``folder``
    target: str = ""  # Of make or CMake; empty: its own default
    variables: tuple[tuple[str, str], ...] = ()  # (name, value) on the command line of make
    generator: str = ""  # Of CMake; empty: its own default
    toolchain_file: str = ""  # Of CMake: below ``directory``, or absolute
    options: tuple[str, ...] = ()  # Words for the command line of CMake's configuration
    configuration: str = CONFIGURATION  # Of STM32CubeIDE
    executable: str = ""  # STM32CubeIDE, make or cmake: a name on PATH or a path; empty: found
    exclude: tuple[str, ...] = ()  # Patterns of what is not copied, besides the usual
    stage: StageConfig = StageConfig()  # Where generated files go


@dataclass(frozen=True)
class ApplicationConfig:
    """``application:`` of a variant."""

    kind: str = REFERENCE  # One of KINDS
    sources: SourcesConfig | None = None  # Of kind ``sources``, else None
    external: ExternalConfig | None = None  # Of the kinds in EXTERNAL, else None
    elf: str = ""  # Of kind ``elf``: a program that somebody has linked already; else empty
    # ``file:line`` of each key, of the application itself under the empty key
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def said(self, key: str = "") -> str:
        """The place of a key for a message; its name where no file said it."""
        place = self.places.get(key) or self.places.get("", "")
        return place or (f"application.{self.kind}.{key}" if key else f"application {self.kind}")


def application(value: Value) -> ApplicationConfig:
    """``reference``, or a mapping with the one kind of application that it is."""
    if not value.is_mapping:
        text = value.text()
        if text == REFERENCE:
            return ApplicationConfig(places={"": str(value.where)})
        if text in KINDS:
            raise value.error(f"'{text}' needs more than its name", _EXAMPLE)
        raise value.error(f"'{text}' is not allowed", nearest(text, KINDS))
    fields = value.fields(tuple(kind for kind in KINDS if kind != REFERENCE))
    if len(fields) != 1:
        named = " and ".join(fields) or "nothing"
        raise value.error(f"must be one kind of application, this names {named}", _EXAMPLE)
    kind, entry = next(iter(fields.items()))
    places = {"": str(value.where)}
    if kind == ELF:
        return ApplicationConfig(ELF, elf=entry.text(), places={**places, ELF: str(entry.where)})
    known = entry.fields(KEYS[kind])
    places |= {name: str(each.where) for name, each in known.items()}
    if kind == SOURCES:
        return ApplicationConfig(SOURCES, sources=_sources(entry, known), places=places)
    return ApplicationConfig(kind, external=_external(kind, entry, known), places=places)


def _needed(owner: Value, fields: dict[str, Value], key: str, hint: str) -> Value:
    if key not in fields:
        raise owner.error(f"'{key}' is missing", hint)
    return fields[key]


def _inside(value: Value) -> str:
    try:
        return inside(value.text())
    except ValueError as error:
        raise value.error(f"'{value.text()}' {error}") from None


def _sources(owner: Value, fields: dict[str, Value]) -> SourcesConfig:
    files = _needed(owner, fields, "files", "files: [src/**/*.c]")
    patterns = distinct(files, Value.text)
    if not any(not pattern.startswith("!") for pattern in patterns):
        raise files.error("names no source file", "for example [src/**/*.c, startup.s]")
    made: dict[str, Any] = {
        key: distinct(fields[key], define if key == "defines" else Value.text)
        for key in ("include_dirs", "defines", "libraries")
        if key in fields
    }
    made |= {key: fields[key].text() for key in ("linker_script", "runtime") if key in fields}
    return SourcesConfig(patterns, **made)


def _variables(value: Value) -> tuple[tuple[str, str], ...]:
    found = []
    for name, entry in value.mapping().items():
        if not _VARIABLE.fullmatch(name):
            raise entry.error("the key must be the name of a variable of make")
        found.append((name, entry.text(empty=True)))
    return tuple(found)


def _option(value: Value) -> str:
    text = value.text()
    for word in _OURS:
        # -GNinja and --build=x, too
        if text == word or text.startswith(f"{word}=") or (len(word) == 2 and word != "-h" and text.startswith(word)):
            raise value.error(f"'{text}' is decided by this tool", "directory, generator and toolchain_file are keys")
    if text.startswith("-DCMAKE_TOOLCHAIN_FILE"):
        raise value.error(f"'{text}' has a key of its own", "toolchain_file: FILE")
    return text


def _exclude(value: Value) -> str:
    text = value.text()
    if "\\" in text or ".." in text.split("/") or text.strip("!/") == "":
        raise value.error(f"'{text}' is no pattern of paths in the folder", "for example [docs, '*.pdf', '!/build']")
    return text


def _destination(value: Value) -> str:
    text = value.text(empty=True)
    if not text:
        return ""
    try:
        path = inside(text)
    except ValueError as error:
        raise value.error(f"'{text}' {error}") from None
    return f"{path}/" if text.endswith("/") or path == "." else path


def _stage(value: Value) -> StageConfig:
    if not value.is_mapping:
        return StageConfig(_inside(value))
    rules = []
    folder = StageConfig().folder
    for name, entry in value.mapping().items():
        if name == _STAGE_BASE:
            folder = _inside(entry)
            continue
        if not _FILE_PATTERN.fullmatch(name):
            raise entry.error("the key must be a file name or a pattern of names, without folders")
        rules.append(StageRule(name, _destination(entry), str(entry.where)))
    return StageConfig(folder, tuple(rules))


def _toolchain_file(value: Value) -> str:
    text = value.text()
    return text if text.startswith("/") or text[1:2] == ":" else _inside(value)


def _artefact(kind: str, owner: Value, fields: dict[str, Value]) -> str:
    if "artefact" not in fields:
        if kind == CUBEIDE:
            return ""  # the configuration's own: <configuration>/<project>.elf
        below = "the build folder of CMake" if kind == CMAKE else "where make runs"
        _needed(owner, fields, "artefact", f"the linked program, below {below}: build/app.elf")
    path = _inside(fields["artefact"])
    if path == ".":
        raise fields["artefact"].error("names a folder, it must be the linked program")
    return path


def _external(kind: str, owner: Value, fields: dict[str, Value]) -> ExternalConfig:
    folder = _needed(owner, fields, "folder", "the folder that holds all of the application").text()
    made: dict[str, Any] = {"artefact": _artefact(kind, owner, fields)}
    made |= {key: read(fields[key]) for key, read in _READERS.items() if key in fields}
    return ExternalConfig(folder, **made)


_READERS: Mapping[str, Callable[[Value], Any]] = {
    "directory": _inside,
    "target": lambda value: value.matching(_TARGET, "a target: one word, no option and no VARIABLE=value"),
    "variables": _variables,
    "options": lambda value: tuple(_option(item) for item in value.items()),
    "toolchain_file": _toolchain_file,
    "generator": Value.text,
    "executable": Value.text,
    "configuration": Value.text,
    "exclude": lambda value: distinct(value, _exclude),
    "stage": _stage,
}
