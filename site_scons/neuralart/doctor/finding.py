"""Where programs are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path


def folders(environ: Mapping[str, str]) -> list[Path]:
    """The folders of PATH, each once."""
    entries = [entry for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    return [Path(entry) for entry in dict.fromkeys(entries)]


def _names(program: str, environ: Mapping[str, str], system: str) -> list[str]:
    if system != "windows" or Path(program).suffix:
        return [program]
    endings = environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";")
    return [program + ending.lower() for ending in endings if ending]


def _in(folder: Path, program: str, environ: Mapping[str, str], system: str) -> Path | None:
    for name in _names(program, environ, system):
        path = folder / name
        try:
            if path.is_file() and os.access(path, os.X_OK):
                return path
        except OSError:  # a folder that may not be looked into
            continue
    return None


def on_path(programs: tuple[str, ...], environ: Mapping[str, str], system: str) -> list[Path]:
    """All hits on PATH in its order, without those that are the same file again under another name. Of several names of
    a program, the first that a folder has counts for that folder. ``system``: ``windows``, ``linux`` or ``mac``.
    """
    found: dict[Path, Path] = {}
    for folder in folders(environ):
        hit = next((path for name in programs if (path := _in(folder, name, environ, system))), None)
        if hit is not None:
            found.setdefault(hit.resolve(), hit.absolute())
    return list(found.values())


def in_places(patterns: tuple[str, ...], environ: Mapping[str, str], system: str) -> Iterator[Path]:
    """Programs in the folders where installers put them, newest name first; in the globs ``~`` is the user's folder."""
    home = environ.get("USERPROFILE" if system == "windows" else "HOME", "")
    for pattern in patterns:
        if pattern.startswith("~"):
            if not home:
                continue
            pattern = home.replace("\\", "/") + pattern[1:]
        parts = Path(pattern).parts
        star = next((number for number, part in enumerate(parts) if "*" in part), len(parts) - 1)
        try:
            hits = sorted(Path(*parts[:star]).glob("/".join(parts[star:])), key=_newest)
        except (OSError, ValueError):
            continue
        yield from (hit for hit in hits if hit.is_file())


def _newest(path: Path) -> tuple[list[int], str]:
    return [-int(number[:18]) for number in re.findall(r"\d+", path.as_posix())], path.as_posix()
