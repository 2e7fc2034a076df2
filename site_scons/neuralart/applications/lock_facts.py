"""Reads which versions the parts of an application belong to. The post-processing header numbers its kinds
(``POSTPROCESS_OD_YOLO_V8_UI``) differently in each release; ``app_config.h`` chooses one: ``POSTPROCESS_TYPE``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.applications.runtime import NEWLIB, PICOLIBC, ArchiveName, parse_name
from neuralart.applications.staging import Generated
from neuralart.files import read_bytes
from neuralart.text.c_source import Lines, decode
from neuralart.vendor.network_c.banner import guard
from neuralart.vendor.releases import CoreVersion, parse_core
from neuralart.vendor.runtime_header import RUNTIME_HEADER, RuntimeHeader, parse_runtime

CHOICE = "POSTPROCESS_TYPE"
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(POSTPROCESS_\w+)[ \t]+(.*?)[ \t]*(?://.*)?$", re.M)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_NUMBER = re.compile(r"\(?\s*(\d{1,9})\s*\)?")
_NAME = re.compile(r"\(?\s*(POSTPROCESS_\w+)\s*\)?")
# A configuration may repeat a few of the wrapper's lines; the wrapper itself has more of them.
_LEAST = 4
_GUARD = re.compile(r"LL_ATON_VERSION_MAJOR")
_REPORTS = ("{0}_generate_report.txt", "{0}_analyze_report.txt")
_BUILD_FILE = re.compile(r"(?:GNU|)[Mm]akefile|.*\.mk|CMakeLists\.txt|.*\.cmake|\.cproject|.*\.ld|CMakePresets\.json")
_CONFIGURATION = re.compile(r"app_config\w*\.h|ai_model_config\.h")
_POSTPROCESSING = re.compile(r"\w*post_?process\w*\.h|.*_pp_\w*\.h", re.I)
_MENTION = re.compile(r"NetworkRuntime\d{3,6}_CM\w+?_(?:GCC|IAR|Keil|ARM)(?:_PIC)?(?=\W|$)")
_SPECS = re.compile(r"(picolibc(?:cpp)?|nano|nosys|rdimon)\.specs")
_COMMENT_LINE = re.compile(r"[ \t]*(?:#|//)")
_LARGEST = 4 << 20


@dataclass(frozen=True)
class Kinds:
    """Kinds of post-processing that a header defines."""

    file: str  # the header
    values: Mapping[str, tuple[int, str]] = field(repr=False)  # name -> (number, ``file:line``)

    @property
    def release(self) -> str:
        """The release of the wrapper, by its numbers; empty if no known release has them."""
        number = min((value for value, _ in self.values.values()), default=-1)
        if 10 <= number < 100:
            return "1.0"
        return "later than 1.0" if number >= 100 else ""


@dataclass(frozen=True)
class Choice:
    """The ``POSTPROCESS_TYPE`` of a configuration."""

    name: str  # what it is; empty where it is a number
    number: int | None  # the number; None where it is a name
    where: str  # ``file:line``


def _defines(text: str, file: str) -> list[tuple[str, str, str]]:
    text = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    lines = Lines(text)
    return [(match[1], match[2], f"{file}:{lines.of(match.start(1))}") for match in _DEFINE.finditer(text)]


def kinds(text: str, file: str) -> Kinds | None:
    """Read the kinds of post-processing that a header defines; None: none."""
    found: dict[str, tuple[int, str]] = {}
    for name, value, where in _defines(text, file):
        number = _NUMBER.fullmatch(value)
        if name != CHOICE and number is not None:
            found.setdefault(name, (int(number[1]), where))
    return Kinds(file, found) if found else None


def is_wrapper(found: Kinds) -> bool:
    """Whether a header is the wrapper's own, not a copy of a few of its lines."""
    return len(found.values) >= _LEAST


def choices(text: str, file: str) -> list[Choice]:
    """Read what a configuration chooses; several under conditions."""
    found = []
    for value, where in [(value, where) for name, value, where in _defines(text, file) if name == CHOICE]:
        if (other := _NAME.fullmatch(value)) is not None:
            found.append(Choice(other[1], None, where))
        elif (number := _NUMBER.fullmatch(value)) is not None:
            found.append(Choice("", int(number[1]), where))
    return found


@dataclass(frozen=True)
class NetworkStamp:
    """The versions that a network's C names."""

    name: str  # of the network
    runtime: tuple[int, int, int, int] | None  # the runtime that it was made for; None if it does not say
    guard: str  # ``error`` or ``warning``: what another runtime gives
    where: str  # ``file:line`` of the guard
    tool: CoreVersion | None = None  # the compiler's version as its report says it; None without report
    tool_where: str = ""  # ``file:line`` of that


@dataclass(frozen=True)
class Archive:
    """A library of the runtime, in the tree or named by a build file."""

    name: ArchiveName  # what its name says
    where: str  # the file, or ``file:line`` of who names it
    path: Path | None = None  # the file; None where it is only named


@dataclass(frozen=True)
class CLibrary:
    """The C library that the application is linked with."""

    name: str  # ``newlib`` or ``picolibc``
    where: str  # who says so


@dataclass(frozen=True)
class LockFacts:
    """Versions of all parts."""

    networks: tuple[NetworkStamp, ...] = ()  # the networks of the application
    headers: tuple[RuntimeHeader, ...] = ()  # every ``ll_aton_version.h``
    archives: tuple[Archive, ...] = ()  # libraries of the runtime in the tree
    mentions: tuple[Archive, ...] = ()  # libraries that build files name
    libraries: tuple[CLibrary, ...] = ()  # C libraries that build files name, or that a setting names
    kinds: tuple[Kinds, ...] = ()  # headers that name post-processings
    choices: tuple[Choice, ...] = ()  # post-processings that configurations choose
    core: str = ""  # ``CM55``, ``CM7``: of the board; empty: not known


def is_read(name: str) -> bool:
    """Whether files of this name say something about versions."""
    special = name == RUNTIME_HEADER or parse_name(name) is not None
    return special or any(each.fullmatch(name) for each in (_CONFIGURATION, _POSTPROCESSING, _BUILD_FILE))


@dataclass
class _Gathered:
    headers: list[RuntimeHeader] = field(default_factory=list)
    archives: list[Archive] = field(default_factory=list)
    mentions: list[Archive] = field(default_factory=list)
    libraries: list[CLibrary] = field(default_factory=list)
    kinds: list[Kinds] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)

    def file(self, path: Path, shown: str) -> None:
        name = path.name
        archive = parse_name(name)
        if archive is not None:
            self.archives.append(Archive(archive, shown, path))
        elif name == RUNTIME_HEADER:
            found = parse_runtime(_text(path), shown)
            self.headers += [found] if found is not None else []
        elif _CONFIGURATION.fullmatch(name) or _POSTPROCESSING.fullmatch(name):
            text = _text(path)
            found_kinds = kinds(text, shown)
            self.kinds += [found_kinds] if found_kinds is not None else []
            self.choices += choices(text, shown)
        elif _BUILD_FILE.fullmatch(name):
            self._build_file(_text(path), shown)

    def _build_file(self, text: str, shown: str) -> None:
        lines = Lines(text)
        for match in re.finditer(f"{_MENTION.pattern}|{_SPECS.pattern}", text):
            start = text.rfind("\n", 0, match.start()) + 1
            if _COMMENT_LINE.match(text, start):
                continue
            where = f"{shown}:{lines.of(match.start())}"
            if match[1]:
                self.libraries.append(CLibrary(PICOLIBC if match[1].startswith(PICOLIBC) else NEWLIB, where))
            elif (name := parse_name(f"{match[0]}.a")) is not None:
                self.mentions.append(Archive(name, where))


def _text(path: Path) -> str:
    # What is larger is no header and no build file.
    return decode(read_bytes(path)) if path.stat().st_size <= _LARGEST else ""


def _tool(path: Path, name: str) -> tuple[CoreVersion | None, str]:
    """Version of the compiler as the report beside a network says it in its first line."""
    for pattern in _REPORTS:
        report = path.with_name(pattern.format(name))
        if report.is_file():
            first = _text(report).partition("\n")[0]
            return parse_core(first), f"{report.as_posix()}:1"
    return None, ""


def stamps(files: Sequence[Generated]) -> tuple[NetworkStamp, ...]:
    """Read the versions from the C of each network. NeuralArtError: a file cannot be read."""
    found = []
    for item in files:
        if not item.network or item.name != f"{item.stem}.c":
            continue
        text = decode(read_bytes(item.path))
        runtime, complaint = guard(text)
        at = _GUARD.search(text)
        line = f":{Lines(text).of(at.start())}" if at is not None else ""
        tool, tool_where = _tool(item.path, item.stem)
        found.append(NetworkStamp(item.network, runtime, complaint, item.path.as_posix() + line, tool, tool_where))
    return tuple(found)


def gather(
    files: Sequence[Generated],
    tree: Mapping[str, Path],
    *,
    shown: str = "",
    libc: str = "",
    libc_where: str = "",
    core: str = "",
) -> LockFacts:
    """Read what the parts of an application say.

    ``files``: generated files; ``tree``: path below the user's folder -> file: what is compiled and linked with them;
    ``shown``: the user's folder as messages name it; ``libc``: C library, where no build file names one;
    ``libc_where``: who says so; ``core``: ``CM55``, ``CM7``; empty: not known. NeuralArtError: a file cannot be read.
    """
    draft = _Gathered()
    for name, path in tree.items():
        draft.file(path, f"{shown}/{name}" if shown else name)
    plain = NEWLIB if libc.startswith(NEWLIB) else libc
    if plain and not draft.libraries:
        draft.libraries.append(CLibrary(plain, libc_where or "toolchain"))
    return LockFacts(stamps(files), **{name: tuple(found) for name, found in vars(draft).items()}, core=core)
