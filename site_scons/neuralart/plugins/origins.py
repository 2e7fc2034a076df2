"""Finds modules with plugins: in our packages, installed packages, a project's folder. Entry points are read from their
files, because ``importlib.metadata`` takes ten times as long. An entry point whose name begins with ``_`` names a
module with several plugins.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import threading
import traceback
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from neuralart import __version__
from neuralart.errors import NeuralArtError
from neuralart.files import note, read_bytes
from neuralart.plugins.kinds import Kind
from neuralart.quick import dataclass, lazy_regex
from neuralart.resources import IMPORTED, PACKAGE, firmware_dir

DISTRIBUTION = "scons-neuralart"
_OWN_INFO = f"{DISTRIBUTION.replace('-', '_')}-"  # What the name of its folder of metadata begins with
FOLDER = "site_scons/neuralart_plugins"
# The name that files of a project have as modules, so that they can import each other.
_PACKAGE = "neuralart_plugins"
# ``[neuralart.lint]`` of an installed package; pyproject.toml has the same lines with quotes.
_SECTION = lazy_regex(r'\[(?:project\.entry-points\.")?([^"\]]+)"?\]')
_POINT = lazy_regex(r'"?([^"=\s]+)"?\s*=\s*"?([^"]+?)"?')


@dataclass(frozen=True)
class Origin:
    """Where a plugin comes from."""

    text: str  # What messages call it: a package with its version, or a file
    version: str = ""  # Of the package; empty for a file
    module: str = ""  # The module to import
    name: str = ""  # The plugin that an entry point promises; empty: known when the module is imported
    folder: Path | None = None  # Of a project's file: its folder

    @property
    def package(self) -> str:
        """The package without its version, or the file."""
        return self.text.removesuffix(f" {self.version}") if self.version else self.text

    def remedy(self, text: str) -> str:
        """What to do about it, for the user who installed it or for its author."""
        return f"{text}, or uninstall {self.text}" if self.version else text

    def error(self, what: str, hint: str) -> NeuralArtError:
        """Make an error that blames its author."""
        return NeuralArtError(what, where=self.text, hint=hint)

    def taken(self, what: str, other: Origin) -> NeuralArtError:
        """The name of a plugin is another's."""
        return self.error(f"{what}: the name is taken by {other.text}", self.remedy("register it under another name"))

    def files(self, file: Path) -> list[tuple[str, Path]]:
        """The code behind a plugin: a module, package or file with helpers.

        Returns names, the same on each machine, and paths.
        """
        if self.folder is not None:
            return [(path.name, path) for path in (file, *sorted(self.folder.glob("_*.py")))]
        top = sys.modules.get(self.module.partition(".")[0])
        folders = [Path(entry) for entry in getattr(top, "__path__", ())]
        files = [
            (folder, path)
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        ]
        named = [(f"{folder.name}/{path.relative_to(folder).as_posix()}", path) for folder, path in files]
        return named or [(file.name, file)]


OWN = Origin(f"{DISTRIBUTION} {__version__}", __version__)
"""This distribution: the core and the packages beside it."""


# ---- entry points


def _entry_points(text: str) -> dict[str, dict[str, str]]:
    """Name and module of the entry points of a file, by group (``neuralart.lint``)."""
    groups: dict[str, dict[str, str]] = {}
    group: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        if section := _SECTION.fullmatch(line):
            name = section[1]
            group = groups.setdefault(name, {}) if name.startswith("neuralart.") else {}
        elif point := _POINT.fullmatch(line):
            group[point[1]] = point[2]
    return groups


def _infos(folder: str) -> Iterator[str]:
    """Folders of metadata of the distributions that are installed in a folder."""
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(folder or "."))  # noqa: PTH208 - hundreds of names
        yield from (f"{folder or '.'}/{name}" for name in names if name.endswith((".dist-info", ".egg-info")))


def _text(folder: str, name: str) -> str:
    with contextlib.suppress(OSError):
        return Path(folder, name).read_text("utf-8", "replace")
    return ""


@cache
def _own_points() -> Path:
    """The file with our entry points: of the checkout that the core is in, of its installation, else (of folders that
    were copied into another repository) the one in the core.
    """
    checkout = PACKAGE.parent.parent
    if f'name = "{DISTRIBUTION}"' in _text(str(checkout), "pyproject.toml"):
        return checkout / "pyproject.toml"
    infos = (info for info in _infos(str(PACKAGE.parent)) if Path(info).name.startswith(_OWN_INFO))
    return Path(next(infos, str(PACKAGE / "plugins")), "entry_points.txt")


@cache
def _of_distribution() -> Mapping[str, Mapping[str, str]]:
    """Our entry points, by group."""
    path = _own_points()
    note(path)
    groups = _entry_points(_text(str(path.parent), path.name))
    return {
        group: {name: module for name, module in points.items() if _is_there(module.partition(".")[0])}
        for group, points in groups.items()
    }


@cache
def _is_there(package: str) -> bool:
    return (PACKAGE.parent / package).is_dir()


@cache
def _of_others() -> Mapping[str, tuple[Origin, ...]]:
    """Entry points of other installed distributions, by group; of a name that is installed twice the first."""
    points: dict[str, list[Origin]] = {}
    known = {DISTRIBUTION}
    for info in (info for folder in dict.fromkeys(sys.path) for info in _infos(folder)):
        if Path(info).name.startswith(_OWN_INFO):
            continue
        text = _text(info, "entry_points.txt")
        if "[neuralart." not in text:
            continue
        metadata = _text(info, "METADATA") or _text(info, "PKG-INFO")
        fields = dict(line.split(": ", 1) for line in metadata.partition("\n\n")[0].splitlines() if ": " in line)
        name, version = fields.get("Name", ""), fields.get("Version", "")
        if name and name in known:
            continue
        known.add(name)
        for group, modules in _entry_points(text).items():
            for plugin, value in modules.items():
                module = value.partition("[")[0].partition(":")[0].strip()
                shown = f"{name} {version}" if name and version else value
                origin = Origin(shown, version if name else "", module, _promised(plugin))
                points.setdefault(group, []).append(origin)
    return {
        group: tuple(sorted(origins, key=lambda origin: (origin.name, origin.text)))
        for group, origins in points.items()
    }


def _promised(name: str) -> str:
    """The plugin that an entry point of this name promises; empty: some."""
    return "" if name.startswith("_") else name


def of_distribution(group: str) -> Mapping[str, str]:
    """Modules of our entry points of a group, by name."""
    return _of_distribution().get(group, {})


def own_modules(kind: Kind) -> Mapping[str, str]:
    """Modules of this distribution with plugins of a kind, by the name of their entry point."""
    return {**kind.own, **of_distribution(kind.group)}


def others_installed() -> bool:
    """Whether packages of others have plugins for us."""
    return bool(_of_others())


def of_others(group: str) -> tuple[Origin, ...]:
    """List entry points of other distributions, sorted by name, without importing them."""
    return _of_others().get(group, ())


def project_files(top: Path | None) -> list[Path]:
    """List the plugin files of a project. ``top``: its folder; None: the current one."""
    return [path for path in sorted(((top or Path.cwd()) / FOLDER).glob("[!_]*.py")) if path.is_file()]


def of_project(kind: Kind, top: Path | None) -> Iterator[Origin]:
    """List the plugin files of a project that contain the name of a kind. ``top``: as of :func:`project_files`."""
    for path in project_files(top):
        if kind.name.encode() in read_bytes(path):
            yield Origin(f"{FOLDER}/{path.name}", module=f"{_PACKAGE}.{path.stem}", folder=path.parent)


# ---- modules


def loaded(kind: Kind, source: Origin) -> None:
    """Import the module of a source. NeuralArtError: it cannot be imported; ``where`` is the line that failed."""
    if source.folder is not None:
        package = sys.modules.setdefault(_PACKAGE, types.ModuleType(_PACKAGE))
        package.__path__ = [str(source.folder)]
    who = f"{kind.one} '{source.name}'" if source.name else kind.one
    try:
        with prints_named(source, who, "while it was loaded"):
            importlib.import_module(source.module)
    except NeuralArtError:
        raise
    except (Exception, SystemExit) as error:
        what = f"{who} cannot be loaded: {said(error)}"
        hint = source.remedy("repair it")
        raise NeuralArtError(what, where=place(source, error), hint=hint) from error


class _PluginOutput(io.TextIOBase):
    """Standard output while code of a plugin runs: keeps what the code prints, and the place of the first text."""

    def __init__(self, source: Origin, stream: TextIO) -> None:
        self.source, self.stream = source, stream
        self.text, self.place = "", ""

    def write(self, text: str) -> int:
        if threading.current_thread() is not threading.main_thread():
            return self.stream.write(text)  # Of another step of the build
        if not self.place and text.strip():
            frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_stack(sys._getframe(1))]
            self.place = _place(self.source, reversed(frames))
        self.text += text
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


_printed: set[str] = set()
"""Lines about what plugins print: each is shown once."""


@contextlib.contextmanager
def prints_named(source: Origin, who: str, when: str) -> Iterator[None]:
    """Redirect what a plugin prints from standard output, which programs read, to one line on standard error with its
    place. Only in the main thread: all threads share the streams.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    output = _PluginOutput(source, sys.stdout)
    try:
        with contextlib.redirect_stdout(output):
            yield
    finally:
        lines = output.text.split("\n")
        first = next((line.strip() for line in lines if line.strip()), "")
        if first:
            more = ", and more" if len([line for line in lines if line.strip()]) > 1 else ""
            what = f"warning: {who} printed {first[:60]!r}{more} {when}"
            hint = "use sys.stderr: programs read standard output"
            line = str(NeuralArtError(what, where=output.place, hint=hint))
            if line not in _printed:  # A reader of keys is called often
                _printed.add(line)
                print(line, file=sys.stderr)


def said(error: BaseException) -> str:
    """Describe an exception of a plugin's code."""
    return f"{type(error).__name__}: {error}".rstrip(": ")


def place(source: Origin, error: BaseException) -> str:
    """Find the line of a source's code that failed."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno))
    return _place(source, frames)


def _place(source: Origin, frames: Iterable[tuple[str, int | None]]) -> str:
    """The source, with the last of these lines that is of its own code."""
    stem = source.module.replace(".", os.sep)
    top = source.module.partition(".")[0]
    mine = [(name, line) for name, line in frames if f"{os.sep}{top}{os.sep}" in name or name.endswith(f"{stem}.py")]
    if not mine:
        return source.text
    name, line = mine[-1]
    if source.folder is not None:
        return f"{FOLDER}/{Path(name).name}:{line}"
    inside = name[name.rfind(f"{os.sep}{top}") + 1 :].replace(os.sep, "/")
    return f"{source.text}: {inside}:{line}"


def unload(source: Origin) -> None:
    """Unload the module of a source (of a project: all), so that it is imported again."""
    top = _PACKAGE if source.folder is not None else source.module
    for name in [name for name in sys.modules if name == top or name.startswith(f"{top}.")]:
        del sys.modules[name]


def parts() -> tuple[Path, ...]:
    """List the folders of this distribution's packages: the core, and those of its entry points."""
    modules = {name for points in _of_distribution().values() for name in points.values()}
    names = sorted({name.partition(".")[0] for name in modules} - {PACKAGE.name, "neuralart"})
    return (PACKAGE, *(PACKAGE.parent / name for name in names))


def is_ours(file: Path) -> bool:
    """Whether a file is a module of this distribution, under whatever path."""
    homes = dict.fromkeys((PACKAGE.parent, IMPORTED.parent))
    return any(file.is_relative_to(home / part.name) for part in parts() for home in homes)


def own_files() -> Iterator[tuple[str, Path]]:
    """List the files of this distribution: code and data of its packages, C sources."""
    roots = {part.name: part for part in parts()} | {"neuralart/data/firmware": firmware_dir()}
    for name, root in roots.items():
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"{name}/{path.relative_to(root).as_posix()}", path


def forget() -> None:
    """Forget what is installed."""
    _of_others.cache_clear()
    _printed.clear()
