"""``application:`` of a variant: who supplies the firmware around its networks. Places are texts (``file:line``), so
these types do not need the YAML reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from neuralart.config.keys import Key, define, distinct, names, one_of, read_settings
from neuralart.errors import nearest
from neuralart.quick import dataclass, field, lazy_regex
from neuralart.text.values import Value

REFERENCE, SOURCES, MAKE, CMAKE, CUBEIDE, ELF = "reference", "sources", "make", "cmake", "cubeide", "elf"
KINDS = (REFERENCE, SOURCES, MAKE, CMAKE, CUBEIDE, ELF)
# Builds of the user's own that run in a copy of the user's tree.
EXTERNAL = (MAKE, CMAKE, CUBEIDE)
STAGE_FOLDER = "neuralart"
CONFIGURATION = "Debug"
BUILDS = IDE, NATIVE = "ide", "native"
_DRIVE = lazy_regex(r"[A-Za-z]:")
_VARIABLE = lazy_regex(r"[A-Za-z_][A-Za-z0-9_.-]*")
_TARGET = lazy_regex(r"[^\s=#:-][^\s=#:]*")
_FILE_PATTERN = lazy_regex(r"[^\s/\\]+")
_STAGE_BASE = "folder"
# CMake words that decide what this tool decides.
_OURS = ("-S", "-B", "-G", "-P", "-E", "--build", "--install", "--open", "--toolchain", "--workflow", "--help", "-h")
# Options of CMake that are keys here.
_KEYS_OF = {"CMAKE_TOOLCHAIN_FILE": "toolchain_file: FILE", "CMAKE_GENERATOR": "generator: NAME"}
_FOLDER = "the folder that holds all of the application"
_PROGRAM = "the linked program, below {}: build/app.elf"
# What must be there, and the hint where it is not.
_NEEDED = {
    SOURCES: {"files": "files: [src/**/*.c]"},
    MAKE: {"folder": _FOLDER, "artefact": _PROGRAM.format("where make runs")},
    CMAKE: {"folder": _FOLDER, "artefact": _PROGRAM.format("the build folder of CMake")},
    CUBEIDE: {"folder": _FOLDER},
}
_EXAMPLE = "for example application: {make: {folder: ../my-app, artefact: build/app.elf}}"


def inside(text: str) -> str:
    """Normalize a path within a tree, whose top is ``.``. ValueError: it leads out of the tree, or is no path."""
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
    """Where generated files go in the copy of the user's tree."""

    pattern: str  # File name, or a pattern of names with ``*``, ``?`` and ``[...]``
    destination: str  # File; with ``/`` at its end a folder; empty: nowhere
    where: str = field(default="", compare=False)  # ``file:line``

    @property
    def literal(self) -> bool:
        """Whether it names one file, not a pattern."""
        return not any(sign in self.pattern for sign in "*?[")


@dataclass(frozen=True)
class StageConfig:
    folder: str = STAGE_FOLDER  # What no rule is about goes to ``<folder>/<network>/``, or ``<folder>/``
    rules: tuple[StageRule, ...] = ()  # The first that fits decides


@dataclass(frozen=True)
class SourcesConfig:
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
    # The linked program; below ``directory``, with CMake below the build folder; empty: that of the configuration
    artefact: str = ""
    directory: str = "."  # Where make runs, where CMakeLists.txt or the project of STM32CubeIDE is; below ``folder``
    target: str = ""  # Of make or CMake; empty: its own default
    variables: tuple[tuple[str, str], ...] = ()  # (name, value) on the command line of make
    generator: str = ""  # Of CMake; empty: its own default
    toolchain_file: str = ""  # Of CMake: below ``directory`` or ``folder``, or absolute
    preset: str = ""  # Of CMake, for its configuration; empty: none
    options: tuple[str, ...] = ()  # Words for the command line of CMake's configuration
    configuration: str = CONFIGURATION  # Of STM32CubeIDE
    build: str = IDE  # By STM32CubeIDE itself, or as its project says by make (NATIVE)
    executable: str = ""  # STM32CubeIDE, make or cmake: a name on PATH or a path; empty: found
    exclude: tuple[str, ...] = ()  # Patterns of what is not copied, besides the usual
    stage: StageConfig = StageConfig()  # Where generated files go


@dataclass(frozen=True)
class ApplicationConfig:
    kind: str = REFERENCE  # One of KINDS
    sources: SourcesConfig | None = None  # Of kind ``sources``, else None
    external: ExternalConfig | None = None  # Of the kinds in EXTERNAL, else None
    elf: str = ""  # Of kind ``elf``: a program that is linked already; else empty
    # ``file:line`` of each key, of the application itself under the empty key
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def of_board(self) -> bool:
        """Whether the board's file places code and data, not a linker script of the user."""
        return self.kind == REFERENCE or (self.sources is not None and not self.sources.linker_script)

    def said(self, key: str = "") -> str:
        """Where a key was written, for messages; its name if no file has it."""
        place = self.places.get(key) or self.places.get("", "")
        return place or (f"application.{self.kind}.{key}" if key else f"application {self.kind}")


def application(value: Value) -> ApplicationConfig:
    """Read ``reference``, or a mapping with one kind of application."""
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
    read = read_settings(entry, KEYS[kind], names(KEYS[kind]))
    for key, hint in _NEEDED[kind].items():
        if key not in read:
            raise entry.error(f"'{key}' is missing", hint)
    places |= {key: str(where) for key, (_, where) in read.items()}
    made = {key: setting for key, (setting, _) in read.items()}
    if kind == SOURCES:
        return ApplicationConfig(SOURCES, sources=SourcesConfig(**made), places=places)
    return ApplicationConfig(kind, external=ExternalConfig(**made), places=places)


def _inside(value: Value) -> str:
    try:
        return inside(value.text())
    except ValueError as error:
        raise value.error(f"'{value.text()}' {error}") from None


def _files(value: Value) -> tuple[str, ...]:
    patterns = distinct(value)
    if all(pattern.startswith("!") for pattern in patterns):
        raise value.error("names no source file", "for example [src/**/*.c, startup.s]")
    return patterns


def _variables(value: Value) -> tuple[tuple[str, str], ...]:
    found = []
    for name, entry in value.mapping().items():
        text = entry.text(empty=True)
        try:
            check_variable(name, text)
        except ValueError as error:
            raise entry.error(f"{error}") from None
        found.append((name, text))
    return tuple(found)


def check_variable(name: str, text: str) -> None:
    """Refuse a make variable that would run something. ValueError: its name or value would."""
    if not _VARIABLE.fullmatch(name):
        raise ValueError("the key must be the name of a variable of make")
    # Functions of make run programs, write files and define rules; a reference only stands for a text.
    for dollar in re.finditer(r"\$(\$|\(\w+\)|\{\w+\})?", text):
        if dollar[1] is None:
            said = text[dollar.start() :][:20]
            raise ValueError(f"{said!r}: make takes only $(NAME), ${{NAME}} and $$ here, no function")


def _option(value: Value) -> str:
    text = value.text()
    for word in _OURS:
        # -GNinja and --build=x, too
        if text == word or text.startswith(f"{word}=") or (len(word) == 2 and word != "-h" and text.startswith(word)):
            raise value.error(f"'{text}' is decided by this tool", "directory, generator and toolchain_file are keys")
    for word, key in _KEYS_OF.items():
        if re.split("[=:]", text.removeprefix("-D"))[0] == word:
            raise value.error(f"'{text}' has a key of its own", key)
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


def _artefact(value: Value) -> str:
    path = _inside(value)
    if path == ".":
        raise value.error("names a folder, it must be the linked program")
    return path


SOURCES_KEYS: tuple[Key, ...] = (
    Key("files", _files).says(
        "paths and patterns of C, C++ and assembler files. `**` stands for any folders; `!` in front leaves matching "
        "files out again. A pattern that matches nothing is an error",
        "refused",
    ),
    Key("include_dirs", distinct, "folders of headers", "none"),
    Key("defines", lambda value: distinct(value, define), "`NAME` or `NAME=value`", "none"),
    Key("linker_script", Value.text, "your linker script", "the board's"),
    Key("libraries", distinct, "archives (`lib/x.a`), and names as for `-l` (`m`)", "none"),
    Key("runtime", Value.text).says(
        "an installation of ST Edge AI Core, or the `Middlewares/ST/AI` of an application: its ll_aton is compiled and "
        "its kernel library is linked. Nothing of it is copied",
        "the runtime of this project",
    ),
)
EXTERNAL_KEYS: tuple[Key, ...] = (
    Key("folder", Value.text, f"{_FOLDER}, relative to the project file", "refused"),
    Key("directory", _inside).says(
        "the folder below `folder` where make runs, or that contains `CMakeLists.txt` or `.project`", "`folder` itself"
    ),
    Key("artefact", _artefact).says(
        "the linked program (ELF), relative to `directory`, or with `cmake` to its build folder",
        "`cubeide`: `<configuration>/<project>.elf`; else refused",
    ),
    Key("executable", Value.text).says(
        "another make, cmake or STM32CubeIDE: a name on PATH, or a path relative to the project file",
        "found as [`neuralart doctor`](doctor.md) finds it",
    ),
    Key("exclude", lambda value: distinct(value, _exclude)).says(
        "patterns of files that are not copied, see below", "only the usual"
    ),
    Key("stage", _stage, "where generated files go, see below", "a folder `neuralart`"),
    Key("target", lambda value: value.matching(_TARGET, "a target: one word, no option and no VARIABLE=value")).says(
        "`make`, `cmake`: what to build", "its default"
    ),
    Key("variables", _variables).says(
        "`make`: variables on its command line. A value may refer to make's variables, `$(NAME)` or `${NAME}`, but not "
        "use its functions; `$$` is a dollar. Such a variable makes make ignore an addition in the Makefile "
        "(`OPT += -g`); a note names its line",
        "none",
    ),
    Key("generator", Value.text, "`cmake`: for example `Ninja`", "its default"),
    Key("toolchain_file", _toolchain_file, "`cmake`: below `directory` or `folder`, or an absolute path", "none"),
    Key("preset", Value.text, "`cmake`: a preset of its configuration, from `CMakePresets.json`", "none"),
    Key("options", lambda value: tuple(_option(item) for item in value.items())).says(
        "`cmake`: further words for its configuration, like `-DCMAKE_BUILD_TYPE=Release`", "none"
    ),
    Key("configuration", Value.text, "`cubeide`: a build configuration of the project"),
    Key("build", one_of(BUILDS), "`cubeide`: `ide`, or `native`, without STM32CubeIDE"),
)
# Keys that not every build of the user's own has.
_ONLY = {
    "target": (MAKE, CMAKE),
    "variables": (MAKE,),
    **dict.fromkeys(("generator", "toolchain_file", "preset", "options"), (CMAKE,)),
    **dict.fromkeys(("configuration", "build"), (CUBEIDE,)),
}
KEYS: Mapping[str, tuple[Key, ...]] = {
    SOURCES: SOURCES_KEYS,
    **{kind: tuple(key for key in EXTERNAL_KEYS if kind in _ONLY.get(key.name, EXTERNAL)) for kind in EXTERNAL},
}
