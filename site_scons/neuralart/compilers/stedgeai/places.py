"""Where installations of ST Edge AI Core are looked for, on three systems."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

CORE_DIR = "STEDGEAI_CORE_DIR"
ROOTS = "NEURALART_STEDGEAI_ROOTS"
_FOLDERS = {"win32": ("windows",), "darwin": ("mac", "macarm")}
_PACKS = "STM32Cube/Repository/Packs/STMicroelectronics/X-CUBE-AI"


@dataclass(frozen=True)
class Place:
    """A folder to look into."""

    said: str  # How a message names it
    programs: tuple[Path, ...]  # The program, if it is there, by any of these paths
    root: Path | None = None  # The root of the installation; None: it follows from the program

    @property
    def program(self) -> Path | None:
        """The program, if it is there."""
        return next((path for path in self.programs if path.is_file()), None)


def program_name(system: str) -> str:
    """File name of the program."""
    return "stedgeai.exe" if system == "win32" else "stedgeai"


def _programs(root: Path, system: str) -> tuple[Path, ...]:
    folders = _FOLDERS.get(system, ("linux",))
    return tuple(root / "Utilities" / folder / program_name(system) for folder in folders)


def home_of(environ: Mapping[str, str], system: str) -> Path | None:
    """The user's own folder."""
    found = environ.get("USERPROFILE" if system == "win32" else "HOME", "")
    return Path(found) if found else None


def usual_roots(environ: Mapping[str, str], system: str) -> list[Path]:
    """Folders that hold one installation per version, as the installers make them.

    Args:
        environ: ``NEURALART_STEDGEAI_ROOTS``, a list like PATH, replaces them all.
        system: As ``sys.platform``.
    """
    if ROOTS in environ:
        return [Path(entry) for entry in environ[ROOTS].split(os.pathsep) if entry]
    home = home_of(environ, system)
    if system == "win32":
        roots = [Path("C:/ST/STEdgeAI")]
    elif system == "darwin":
        roots = [Path("/Applications/ST/STEdgeAI"), Path("/opt/ST/STEdgeAI")]
    else:
        roots = [Path("/opt/ST/STEdgeAI"), Path("/opt/stedgeai")]
    if home is not None:
        roots += [home / "ST" / "STEdgeAI", home / "STEdgeAI", home / _PACKS]
    return roots


def _newest_first(folder: Path) -> tuple[tuple[int, ...], str]:
    numbers = tuple(int(part) for part in re.findall(r"\d{1,9}", folder.name))
    return tuple(-number for number in (*numbers, *(0,) * (8 - len(numbers)))), folder.name


def _below(root: Path, system: str) -> list[Place]:
    """The versions in a root; a root that is an installation itself is one, too."""
    try:
        folders = sorted((folder for folder in root.iterdir() if folder.is_dir()), key=_newest_first)
    except OSError:
        folders = []
    found = [Place(str(folder), _programs(folder, system), folder) for folder in (root, *folders)]
    found = [place for place in found if place.program is not None]
    return found or [Place(str(root), (), root)]


def places(environ: Mapping[str, str], system: str) -> Iterator[Place]:
    """Everywhere an installation may be, in the order of preference."""
    named = environ.get(CORE_DIR, "")
    if named:
        yield Place(f"{CORE_DIR}={named}", _programs(Path(named), system), Path(named))
    entries = [entry for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    on_path = [Place(f"PATH ({entry})", (Path(entry) / program_name(system),)) for entry in entries]
    on_path = [place for place in on_path if place.program is not None]
    yield from on_path or [Place("PATH", ())]
    for root in usual_roots(environ, system):
        yield from _below(root, system)


def root_of(program: Path) -> Path | None:
    """The installation a program belongs to; None where it lies like no installation."""
    real = program.resolve()
    return real.parents[2] if len(real.parents) > 2 and real.parents[1].name == "Utilities" else None
