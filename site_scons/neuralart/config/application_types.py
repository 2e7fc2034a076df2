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
    """A path within a tree, in its shortest form; ``.`` is the tree itself.

    Args:
        text: Relative, with ``/`` between its parts.

    Raises:
        ValueError: It leads out of the tree, or is none; says why.
    """
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
    """Where some generated files go in the copy of the user's tree.

    Attributes:
        pattern: File name, or a pattern of names with ``*``, ``?`` and ``[...]``.
        destination: File; with ``/`` at its end a folder; empty: nowhere.
        where: ``file:line``.
    """

    pattern: str
    destination: str
    where: str = field(default="", compare=False)

    @property
    def literal(self) -> bool:
        """It names one file."""
        return not any(sign in self.pattern for sign in "*?[")


@dataclass(frozen=True)
class StageConfig:
    """Where generated files go.

    Attributes:
        folder: For what no rule is about: ``<folder>/<network>/`` and, for files of all networks, ``<folder>/``.
        rules: The first that fits decides.
    """

    folder: str = STAGE_FOLDER
    rules: tuple[StageRule, ...] = ()


@dataclass(frozen=True)
class SourcesConfig:
    """The user's sources, compiled by SCons.

    Attributes:
        files: Paths and patterns relative to the project file, ``**`` for any folders; with ``!`` in front: left out.
        include_dirs: Folders.
        defines: ``NAME`` or ``NAME=value``.
        linker_script: Path; empty: the board's own.
        libraries: Archives (paths) and names as behind ``-l``.
        runtime: Folder of the user's ST Edge AI Core or of its Middlewares; empty: the runtime of this project.
    """

    files: tuple[str, ...]
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    linker_script: str = ""
    libraries: tuple[str, ...] = ()
    runtime: str = ""


@dataclass(frozen=True)
class ExternalConfig:
    """A build of the user's own, run in a copy of the user's tree.

    Attributes:
        folder: The tree, relative to the project file.
        artefact: The linked program; below ``directory``, with CMake below the build folder.
        directory: Where make runs, where CMakeLists.txt or the project of STM32CubeIDE is; below ``folder``.
        target: Of make or CMake; empty: its own default.
        variables: (name, value) on the command line of make.
        generator: Of CMake; empty: its own default.
        toolchain_file: Of CMake: below ``directory``, or absolute.
        options: Words for the command line of CMake's configuration.
        configuration: Of STM32CubeIDE.
        executable: STM32CubeIDE, make or cmake: a name on PATH or a path; empty: found.
        exclude: Patterns of what is not copied, besides the usual.
        stage: Where generated files go.
    """

    folder: str
    artefact: str
    directory: str = "."
    target: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    generator: str = ""
    toolchain_file: str = ""
    options: tuple[str, ...] = ()
    configuration: str = CONFIGURATION
    executable: str = ""
    exclude: tuple[str, ...] = ()
    stage: StageConfig = StageConfig()


@dataclass(frozen=True)
class ApplicationConfig:
    """``application:`` of a variant.

    Attributes:
        kind: One of :data:`KINDS`.
        sources: Of kind ``sources``, else None.
        external: Of the kinds in :data:`EXTERNAL`, else None.
        elf: Of kind ``elf``: a program that somebody has linked already; else empty.
        places: ``file:line`` of each key, of the application itself under the empty key.
    """

    kind: str = REFERENCE
    sources: SourcesConfig | None = None
    external: ExternalConfig | None = None
    elf: str = ""
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def said(self, key: str = "") -> str:
        """The place of a key for a message; its name where no file said it."""
        place = self.places.get(key) or self.places.get("", "")
        return place or (f"application.{self.kind}.{key}" if key else f"application {self.kind}")
