"""Python, SCons and the packages that the tool is made of."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from neuralart.doctor import versions
from neuralart.doctor.asking import ask
from neuralart.doctor.finding import on_path
from neuralart.doctor.types import MISSING, NOTE, OK, UNFIT, WARNING, Remark, Row
from neuralart.errors import NeuralArtError

PYTHON = ">=3.11"
# Distribution -> range that works, as pyproject.toml has them.
PACKAGES = {
    "scons": ">=4.9,<5",
    "pyyaml": ">=6,<7",
    "jinja2": ">=3.1,<4",
    "pyelftools": ">=0.31,<1",
    "filelock": ">=3.25,<5",
    "packaging": ">=24",
}
EXTRAS = {"unicorn": ">=2.1.4,<3"}
_MEANS = {
    "scons": "every build",
    "pyyaml": "every build: variants.yaml and the boards are YAML",
    "jinja2": "every build",
    "pyelftools": "every build: images are checked",
    "filelock": "every build and flash: what several processes change is locked",
    "packaging": "versions that a network asks for, and this command",
    "unicorn": "run- and boot- of variants with machine: unicorn",
}
_SCONS = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)?)\.[0-9a-f]{6,}|SCons:? v?(\d+\.\d+(?:\.\d+)?)")


def python_row() -> Row:
    """The Python that runs this."""
    version = ".".join(map(str, sys.version_info[:3]))
    details = ("a virtual environment",) if sys.prefix != sys.base_prefix else ()
    return Row("python", OK, version, sys.executable, details)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def package_rows() -> list[Row]:
    """The packages that the tool needs, and those that parts of it need."""
    rows = []
    for name, wanted in {**PACKAGES, **EXTRAS}.items():
        extra = name in EXTRAS
        get = "pip install scons-neuralart[emulator]" if extra else f"pip install '{name}{wanted}'"
        version = _version(name)
        if version is None:
            rows.append(
                Row(name, MISSING, problem="not installed for this Python", means=_MEANS[name], get=get, path="")
            )
        elif not versions.fits(version, wanted):
            problem = f"version {version}, needed: {wanted}"
            rows.append(Row(name, UNFIT, version, problem=problem, means=_MEANS[name], get=get))
        else:
            rows.append(Row(name, OK, version, means=_MEANS[name], get=get))
    return rows


def scons_remarks(environ: Mapping[str, str], system: str, seconds: float) -> list[Remark]:
    """Is the ``scons`` on PATH the one that belongs to this Python?"""
    hits = on_path(("scons",), environ, system)
    if not hits:
        return [Remark("scons-command", NOTE, "no scons is on PATH", "python -m SCons does the same")]
    if hits[0].parent.resolve() == Path(sys.executable).parent.resolve():
        return []
    try:
        found = _SCONS.search(ask(hits[0], ("--version",), environ, seconds))
        version = (found[1] or found[2]) if found else ""
    except NeuralArtError as error:
        return [Remark("scons-command", WARNING, f"{hits[0]}: {error.what}", "use python -m SCons")]
    said = f"the scons on PATH, {hits[0]}{f' ({version})' if version else ''}, is not the one of {sys.executable}"
    if version and not versions.fits(version, PACKAGES["scons"]):
        return [Remark("scons-command", WARNING, f"{said}; needed: {PACKAGES['scons']}", "use python -m SCons")]
    return [Remark("scons-command", NOTE, said, "python -m SCons is")]
