"""make, cmake and STM32CubeIDE: found as the doctor finds them, so that both say the same."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from neuralart.config.application_types import CMAKE, CUBEIDE, MAKE
from neuralart.doctor import asking, programs
from neuralart.errors import NeuralArtError

_TOOLS = {MAKE: programs.MAKE, CMAKE: programs.CMAKE, CUBEIDE: programs.CUBEIDE}


def system_name(platform: str) -> str:
    """``windows``, ``mac`` or ``linux``."""
    return {"win32": "windows", "cygwin": "windows", "darwin": "mac"}.get(platform, "linux")


def find(
    kind: str, executable: str, root: Path, environ: Mapping[str, str], where: str = "", platform: str = sys.platform
) -> Path:
    """The program that builds an application.

    Args:
        kind: ``make``, ``cmake`` or ``cubeide``.
        executable: A name on PATH, or a path; empty: the usual names and places.
        root: What a path is relative to.
        environ: Of the process.
        where: Who names it.
        platform: As ``sys.platform``.

    Raises:
        NeuralArtError: It is not there; says where it was looked for.
    """
    system = system_name(platform)
    tool = _TOOLS[kind]
    if "/" in executable or "\\" in executable:
        path = root / executable
        if not path.is_file():
            raise NeuralArtError(f"executable: no file {path}", where=where, hint=tool.get)
        return path.absolute()
    names = (executable,) if executable else tool.programs
    found = asking.on_path(names, environ, system)
    if found:
        return found[0]
    if not executable:
        placed = next(asking.in_places(tool.places.get(system, ()), environ, system), None)
        if placed is not None:
            return placed
    places = ", ".join(("PATH", *(() if executable else tool.places.get(system, ()))))
    raise NeuralArtError(f"no {' or '.join(names)} found ({places} looked at)", where=where, hint=tool.get)
