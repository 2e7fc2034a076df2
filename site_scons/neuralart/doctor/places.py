"""Folders whose names some tool cannot stand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from neuralart.doctor.types import NOTE, WARNING, Remark

SPACES, NON_ASCII, AT = "spaces", "non-ascii", "at"


def traits(path: str) -> tuple[str, ...]:
    """What is unusual about a path."""
    found = [SPACES] if any(letter.isspace() for letter in path) else []
    found += [NON_ASCII] if not path.isascii() else []
    return (*found, *([AT] if "@" in path else []))


def looked_at(folder: Path, environ: Mapping[str, str], system: str) -> dict[str, str]:
    """The folders that tools get to see, by who they are."""
    found = {"the project": str(folder.absolute())}
    home = environ.get("USERPROFILE" if system == "windows" else "HOME", "")
    if home:
        found["the home folder"] = home
    temporary = next((environ[name] for name in ("TMPDIR", "TEMP", "TMP") if environ.get(name)), "")
    if temporary:
        found["the folder for temporary files"] = temporary
    return found


def shown(path: str) -> str:
    """A path that any console can print."""
    return path.encode("ascii", "backslashreplace").decode()


def remarks(found: Mapping[str, str]) -> list[Remark]:
    """What is unusual about them."""
    made = []
    for who, path in found.items():
        have = traits(path)
        if NON_ASCII in have:
            made.append(
                Remark(
                    "path-non-ascii",
                    WARNING,
                    f"{who} has other letters than those of ASCII in its path: {shown(path)}",
                    "builds with the reference compiler take it; move it where tools of others are used",
                )
            )
        if SPACES in have:
            made.append(
                Remark(
                    "path-spaces",
                    NOTE,
                    f"{who} has a space in its path: {shown(path)}",
                    "builds of ours take it; makefiles and scripts of others often do not",
                )
            )
    return made


def first_entries_missing(environ: Mapping[str, str]) -> list[Remark]:
    """Folders on PATH that are not there: often a tool that was moved."""
    gone = [entry for entry in environ.get("PATH", "").split(os.pathsep) if entry and not Path(entry).is_dir()]
    if not gone:
        return []
    return [Remark("path-gone", NOTE, f"PATH names folders that are not there: {', '.join(map(shown, gone))}")]
