"""The installation of ST Edge AI Core that a build would use: the only place here that knows its finder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from neuralart.compilers.stedgeai import install
from neuralart.compilers.stedgeai.install import ROOTS, places
from neuralart.doctor.types import BROKEN, MISSING, NOTE, OK, UNFIT, WARNING, Remark, Row
from neuralart.errors import NeuralArtError

NAME = "stedgeai"
_MEANS = "networks with compiler: stedgeai, hence the NPU of an STM32N6; networks of the reference compiler need none"
_GET = "install ST Edge AI Core 2.0 or later of ST with its component stneuralart, or set STEDGEAI_CORE_DIR"
_SYSTEMS = {"linux": "linux", "windows": "win32", "mac": "darwin"}


def _environment(environ: Mapping[str, str], seconds: float, usual_places: bool) -> dict[str, str]:
    child = dict(environ)
    child.setdefault(install.PATIENCE, f"{seconds:g}")
    if not usual_places:
        child.setdefault(ROOTS, "")
    return child


def row(pin: str, environ: Mapping[str, str], system: str, seconds: float, *, usual_places: bool = True) -> Row:
    """Look for an installation as a build does.

    Args:
        pin: Version that networks ask for; empty: any.
        environ: Of the process.
        system: ``windows``, ``linux`` or ``mac``.
        seconds: Time limit of its answer; ``NEURALART_STEDGEAI_PATIENCE`` counts instead where it is set.
        usual_places: Look where installers put it, too.
    """
    name = f"{NAME} {pin}".strip()
    child = _environment(environ, seconds, usual_places)
    with tempfile.TemporaryDirectory() as folder:
        # What is remembered of earlier answers is used, and not added to: looking at a machine changes nothing on it.
        known = install.default_cache(child, _SYSTEMS[system])
        cache = Path(folder) / "stedgeai.json"
        if known is not None and known.is_file():
            shutil.copy(known, cache)
        try:
            found = install.find(pin, child, cache=cache, system=_SYSTEMS[system])
        except NeuralArtError as error:
            status = MISSING if error.what.startswith("no ") else BROKEN
            problem = f"{error.where}: {error.what}" if error.where else error.what
            return Row(name, status, problem=problem, means=_MEANS, get=_GET)
    details = (f"by {found.found}",)
    version = ".".join(map(str, found.version.numbers))
    compiler = found.program.with_name("atonn" + found.program.suffix)
    if not compiler.is_file():
        problem = "there is no atonn beside it: the component stneuralart is not installed"
        return Row(name, UNFIT, version, str(found.program), details, problem, _MEANS, _GET)
    return Row(name, OK, version, str(found.program), details, means=_MEANS, get=_GET)


def remarks(environ: Mapping[str, str], system: str, *, usual_places: bool = True) -> list[Remark]:
    """Installations beside the one that is used."""
    child = _environment(environ, 0, usual_places)
    found: dict[Path, str] = {}
    on_path = 0
    for place in places(child, _SYSTEMS[system]):
        program = place.program
        if program is not None and program.resolve() not in found:
            found[program.resolve()] = place.said
            on_path += place.said.startswith("PATH")
    if len(found) < 2:
        return []
    first, *others = found.values()
    return [
        Remark(
            f"shadowed-{NAME}",
            WARNING if on_path > 1 else NOTE,
            f"{len(found)} installations of ST Edge AI Core: {first} is looked at first, then {', '.join(others)}",
            'a pin takes the one that is meant, for example compiler: {stedgeai: "4.0.*"}',
        )
    ]
