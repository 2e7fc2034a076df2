"""Python and its packages, files of a project that stand in front of them, and folders some tool cannot stand."""

from __future__ import annotations

import re
import sys
from functools import partial
from importlib import metadata
from pathlib import Path

from neuralart import __version__
from neuralart.errors import NeuralArtError
from neuralart.findings import ERROR, NOTE, WARNING
from neuralart.resources import PACKAGE
from neuralart.vendor.programs import ask, fits, folders, on_path
from neuralart.vendor.tools import MISSING, OK, UNFIT, Host, Remark, ToolRow

# Distribution -> range that works, as pyproject.toml has them.
PACKAGES = {
    **{"scons": ">=4.5,<5", "pyyaml": ">=6,<7", "jinja2": ">=3.1,<4", "pyelftools": ">=0.31,<1"},
    **{"filelock": ">=3.25,<5", "packaging": ">=24"},
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
# What we import, and what the tool is to SCons.
MODULES = ("neuralart", "SCons", "yaml", "jinja2", "elftools", "filelock")
# SCons puts these on the path of modules and of tools; ``python -m`` puts the folder it runs in there.
_FOLDERS = ("", "site_scons", "site_scons/site_tools")
SPACES, NON_ASCII, AT = "spaces", "non-ascii", "at"


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def python_rows() -> list[ToolRow]:
    """The Python that runs this, the packages that the tool needs, and those that parts of it need."""
    details = ("a virtual environment",) if sys.prefix != sys.base_prefix else ()
    rows = [ToolRow("python", OK, ".".join(map(str, sys.version_info[:3])), sys.executable, details)]
    for name, wanted in {**PACKAGES, **EXTRAS}.items():
        get = "scons-neuralart[emulator]" if name in EXTRAS else f"'{name}{wanted}'"
        made = partial(ToolRow, name, means=_MEANS[name], get=f"pip install {get}")
        version = _installed(name)
        if version is None:
            rows.append(made(MISSING, problem="not installed for this Python"))
        elif not fits(version, wanted):
            rows.append(made(UNFIT, version, problem=f"version {version}, needed: {wanted}"))
        else:
            rows.append(made(OK, version))
    return rows


def scons_remarks(host: Host) -> list[Remark]:
    """Is the ``scons`` on PATH the one that belongs to this Python?"""
    hits = on_path(("scons",), host.environ, host.system)
    if not hits:
        return [Remark("scons-command", NOTE, "no scons is on PATH", "python -m SCons does the same")]
    if hits[0].parent.resolve() == Path(sys.executable).parent.resolve():
        return []
    try:
        found = _SCONS.search(ask(hits[0], ("--version",), host.environ, host.seconds))
        version = (found[1] or found[2]) if found else ""
    except NeuralArtError as error:
        return [Remark("scons-command", WARNING, f"{hits[0]}: {error.what}", "use python -m SCons")]
    said = f"the scons on PATH, {hits[0]}{f' ({version})' if version else ''}, is not the one of {sys.executable}"
    if version and not fits(version, PACKAGES["scons"]):
        return [Remark("scons-command", WARNING, f"{said}; needed: {PACKAGES['scons']}", "use python -m SCons")]
    return [Remark("scons-command", NOTE, said, "python -m SCons is")]


def project_files(folder: Path) -> list[Remark]:
    """What shadows a module that a build imports, in the folder of the project's SConstruct."""
    remarks = []
    paths = [folder / below / name for below in _FOLDERS for name in MODULES]
    for path in (each for base in paths for each in (base.with_name(f"{base.name}.py"), base / "__init__.py")):
        if not path.is_file() or path.parent.resolve() == PACKAGE.resolve():
            continue
        if path.name != "__init__.py":
            shown, name = path, path.stem
        else:
            shown, name = path.parent, path.parent.name
        # A checkout of this very package is what a submodule is.
        if path != shown and (shown / "scons" / "tool.py").is_file():
            message = f"{shown} is another copy of neuralart than {PACKAGE}, which runs now"
            remedy = "use one of them: the submodule, or what pip installed"
            remarks.append(Remark("shadowed-module", WARNING, message, remedy))
        else:
            remedy = "rename it: a file of this name stands in front of the real module"
            remarks.append(Remark("shadowed-module", ERROR, f"{shown} shadows the module {name}", remedy))
    return remarks


def installed_twice() -> list[Remark]:
    """A version of the package that pip knows, and another one that runs."""
    version = _installed("scons-neuralart")
    if version in (None, __version__):
        return []
    message = f"pip has scons-neuralart {version}, {__version__} in {PACKAGE} runs"
    remedy = "use one of them: pip uninstall scons-neuralart, or take the submodule off PYTHONPATH"
    return [Remark("shadowed-package", WARNING, message, remedy)]


def traits(path: str) -> tuple[str, ...]:
    """What is unusual about a path."""
    unusual = {SPACES: any(letter.isspace() for letter in path), NON_ASCII: not path.isascii(), AT: "@" in path}
    return tuple(name for name, so in unusual.items() if so)


def _shown(path: str) -> str:
    """A path that any console can print."""
    return path.encode("ascii", "backslashreplace").decode()


def path_remarks(folder: Path, host: Host) -> list[Remark]:
    """Unusual letters in the folders that tools get to see, and folders on PATH that are gone: a tool was moved."""
    home = host.environ.get("USERPROFILE" if host.system == "windows" else "HOME", "")
    temporary = next((host.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if host.environ.get(name)), "")
    seen = {"the project": str(folder.absolute()), "the home folder": home}
    seen["the folder for temporary files"] = temporary
    made = []
    for who, path in seen.items():
        have, shown = traits(path), _shown(path)
        if NON_ASCII in have:
            message = f"{who} has other letters than those of ASCII in its path: {shown}"
            remedy = "builds with the reference compiler take it; move it where tools of others are used"
            made.append(Remark("path-non-ascii", WARNING, message, remedy))
        if SPACES in have:
            remedy = "builds of ours take it; makefiles and scripts of others often do not"
            made.append(Remark("path-spaces", NOTE, f"{who} has a space in its path: {shown}", remedy))
    gone = ", ".join(_shown(str(entry)) for entry in folders(host.environ) if not entry.is_dir())
    return made + ([Remark("path-gone", NOTE, f"PATH names folders that are not there: {gone}")] if gone else [])
