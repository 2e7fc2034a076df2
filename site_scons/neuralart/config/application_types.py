"""The application of a variant: who supplies the firmware around its networks.

Places are texts (``file:line``), so that these types need none of the reader's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

REFERENCE, SOURCES, MAKE, CMAKE, CUBEIDE, ELF = "reference", "sources", "make", "cmake", "cubeide", "elf"
KINDS = (REFERENCE, SOURCES, MAKE, CMAKE, CUBEIDE, ELF)
# Builds of the user's own that run in a copy of the user's tree.
EXTERNAL = (MAKE, CMAKE, CUBEIDE)
STAGE_FOLDER = "neuralart"
CONFIGURATION = "Debug"
_DRIVE = re.compile(r"[A-Za-z]:")


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

    # For what no rule is about: ``<folder>/<network>/`` and, for files of all networks, ``<folder>/``
    folder: str = STAGE_FOLDER
    rules: tuple[StageRule, ...] = ()  # The first that fits decides


@dataclass(frozen=True)
class SourcesConfig:
    """The user's sources, compiled by SCons."""

    # Paths and patterns relative to the project file, ``**`` for any folders; with ``!`` in front: left out
    files: tuple[str, ...]
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
