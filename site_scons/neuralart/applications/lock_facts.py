"""What the parts of an application say of the versions they belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.applications import archives, postprocessing
from neuralart.applications.archives import NEWLIB, PICOLIBC, ArchiveName
from neuralart.applications.postprocessing import Choice, Kinds
from neuralart.applications.staging import Generated
from neuralart.files import read_bytes
from neuralart.lint import runtime_header
from neuralart.lint.runtime_header import RuntimeHeader
from neuralart.text.c_source import Lines, decode
from neuralart.vendor.network_c.banner import guard
from neuralart.vendor.releases import CoreVersion, parse_core

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
class NetworkStamp:
    """What a network's C says.

    Attributes:
        name: Of the network.
        runtime: The runtime that it was made for; None if it does not say.
        guard: ``error`` or ``warning``: what another runtime gives.
        where: ``file:line`` of the guard.
        tool: The compiler's version as its report says it; None without report.
        tool_where: ``file:line`` of that.
    """

    name: str
    runtime: tuple[int, int, int, int] | None
    guard: str
    where: str
    tool: CoreVersion | None = None
    tool_where: str = ""


@dataclass(frozen=True)
class Archive:
    """A library of the runtime: in the tree, or named by a build file.

    Attributes:
        name: What its name says.
        where: The file, or ``file:line`` of who names it.
        path: The file; None where it is only named.
    """

    name: ArchiveName
    where: str
    path: Path | None = None


@dataclass(frozen=True)
class CLibrary:
    """The C library that the application is linked with.

    Attributes:
        name: ``newlib`` or ``picolibc``.
        where: Who says so.
    """

    name: str
    where: str


@dataclass(frozen=True)
class LockFacts:
    """All of it.

    Attributes:
        networks: The networks of the application.
        headers: Every ``ll_aton_version.h``.
        archives: Libraries of the runtime in the tree.
        mentions: Libraries that build files name.
        libraries: C libraries that build files name, or that somebody said.
        kinds: Headers that name post-processings.
        choices: Post-processings that configurations choose.
        core: ``CM55``, ``CM7``: of the board; empty: not known.
    """

    networks: tuple[NetworkStamp, ...] = ()
    headers: tuple[RuntimeHeader, ...] = ()
    archives: tuple[Archive, ...] = ()
    mentions: tuple[Archive, ...] = ()
    libraries: tuple[CLibrary, ...] = ()
    kinds: tuple[Kinds, ...] = ()
    choices: tuple[Choice, ...] = ()
    core: str = ""


def is_read(name: str) -> bool:
    """Whether a file of this name says something about versions."""
    special = name == runtime_header.NAME or archives.parse_name(name) is not None
    return special or any(each.fullmatch(name) for each in (_CONFIGURATION, _POSTPROCESSING, _BUILD_FILE))


@dataclass
class _Draft:
    headers: list[RuntimeHeader] = field(default_factory=list)
    archives: list[Archive] = field(default_factory=list)
    mentions: list[Archive] = field(default_factory=list)
    libraries: list[CLibrary] = field(default_factory=list)
    kinds: list[Kinds] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)

    def file(self, path: Path, shown: str) -> None:
        name = path.name
        archive = archives.parse_name(name)
        if archive is not None:
            self.archives.append(Archive(archive, shown, path))
        elif name == runtime_header.NAME:
            found = runtime_header.parse(_text(path), shown)
            self.headers += [found] if found is not None else []
        elif _CONFIGURATION.fullmatch(name) or _POSTPROCESSING.fullmatch(name):
            text = _text(path)
            kinds = postprocessing.kinds(text, shown)
            self.kinds += [kinds] if kinds is not None else []
            self.choices += postprocessing.choices(text, shown)
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
                libc = PICOLIBC if match[1].startswith(PICOLIBC) else NEWLIB
                self.libraries.append(CLibrary(libc, where))
                continue
            name = archives.parse_name(f"{match[0]}.a")
            if name is not None:
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
    """What the C of each network says.

    Raises:
        NeuralArtError: A file cannot be read.
    """
    found = []
    for item in files:
        if not item.network or item.name != f"{item.network}.c":
            continue
        text = decode(read_bytes(item.path))
        runtime, complaint = guard(text)
        at = _GUARD.search(text)
        line = f":{Lines(text).of(at.start())}" if at is not None else ""
        tool, tool_where = _tool(item.path, item.network)
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

    Args:
        files: Generated files.
        tree: Path below the user's folder -> file: what is compiled and linked with them.
        shown: The user's folder as messages name it.
        libc: C library, where no build file names one.
        libc_where: Who says so.
        core: ``CM55``, ``CM7``; empty: not known.

    Raises:
        NeuralArtError: A file cannot be read.
    """
    draft = _Draft()
    for name, path in tree.items():
        draft.file(path, f"{shown}/{name}" if shown else name)
    plain = NEWLIB if libc.startswith(NEWLIB) else libc
    if plain and not draft.libraries:
        draft.libraries.append(CLibrary(plain, libc_where or "toolchain"))
    return LockFacts(
        stamps(files),
        tuple(draft.headers),
        tuple(draft.archives),
        tuple(draft.mentions),
        tuple(draft.libraries),
        tuple(draft.kinds),
        tuple(draft.choices),
        core,
    )
