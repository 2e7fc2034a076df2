"""Rows of the programs of others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from neuralart.doctor import versions
from neuralart.doctor.asking import ask
from neuralart.doctor.finding import in_places, on_path
from neuralart.doctor.tools import Tool
from neuralart.doctor.types import BROKEN, MISSING, NOTE, OK, UNFIT, WARNING, Remark, Row
from neuralart.errors import NeuralArtError


def _version(tool: Tool, path: Path, environ: Mapping[str, str], seconds: float) -> str:
    """What a program says it is; empty if that is not understood. Raises NeuralArtError: it cannot be started or does
    not end.
    """
    text = ask(path, tool.question, environ, seconds) if tool.question else path.resolve().as_posix()
    found = re.search(tool.answer, text)
    return found[1] if found else ""


def row(tool: Tool, environ: Mapping[str, str], system: str, seconds: float, *, usual_places: bool = True) -> Row:
    """Look for a program: on PATH, then where installers put it."""
    hits = on_path(tool.programs, environ, system)
    outside = not hits
    if outside and usual_places:
        hits = list(in_places(tool.places.get(system, ()), environ, system))
    if not hits:
        where = "neither on PATH nor in the usual folders" if tool.places and usual_places else "not on PATH"
        return Row(tool.name, MISSING, problem=where, means=tool.means, get=tool.get)
    path = hits[0]
    try:
        version = _version(tool, path, environ, seconds)
    except NeuralArtError as error:
        return Row(tool.name, BROKEN, path=str(path), problem=error.what, means=tool.means, get=tool.get)
    details = ("not on PATH",) if outside else ()
    if tool.fits and not versions.fits(version, tool.fits):
        what = f"version {version}, needed: {tool.fits}" if version else f"does not say a version, needed: {tool.fits}"
        return Row(tool.name, UNFIT, version, str(path), details, what, tool.means, tool.get)
    return Row(tool.name, OK, version, str(path), details, means=tool.means, get=tool.get)


def shadowed(tool: Tool, environ: Mapping[str, str], system: str, seconds: float) -> list[Remark]:
    """Say that a second program of the same name is on PATH, and whether it is another version."""
    hits = on_path(tool.programs, environ, system)
    if len(hits) < 2:
        return []
    said = []
    for path in hits[:2]:
        try:
            said.append(_version(tool, path, environ, seconds))
        except NeuralArtError:
            said.append("")
    shown = [f"{path}{f' ({version})' if version else ''}" for path, version in zip(hits, said, strict=False)]
    same = said[0] == said[1] != ""
    return [
        Remark(
            f"shadowed-{tool.name}",
            NOTE if same else WARNING,
            f"{tool.programs[0]} is on PATH {len(hits)} times: {shown[0]} is used, {shown[1]} is not",
            "" if same else "order the folders of PATH so that the one you mean comes first",
        )
    ]


def qemu_details(found: Row, machines: tuple[str, ...], environ: Mapping[str, str], seconds: float) -> Row:
    """QEMU's row with the machines that the boards' images run on (``machines``: QEMU's names of them)."""
    if found.status != OK:
        return found
    try:
        listed = {line.split(" ")[0] for line in ask(Path(found.path), ("-M", "help"), environ, seconds).splitlines()}
    except NeuralArtError as error:
        return replace(found, status=BROKEN, problem=error.what)
    missing = [name for name in machines if name not in listed]
    if missing:
        return replace(
            found, status=UNFIT, problem=f"it has no machine {', '.join(missing)}: too old, or built without"
        )
    return replace(found, details=(*found.details, *(f"machine {name}" for name in machines)))
