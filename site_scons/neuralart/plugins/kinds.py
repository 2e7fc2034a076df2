"""The kinds of plugins (their protocols, as data; nothing of them is imported here), and where modules with plugins
come from: installed packages and a project's folder.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import __version__
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "neuralart."


@dataclass(frozen=True)
class Kind:
    """A kind of plugin."""

    name: str  # Word of :func:`~neuralart.plugins.register` and end of the entry-point group
    one: str  # One of the kind, in messages
    version: int  # Version of its protocol. A change that breaks a plugin adds one.
    protocol: str  # ``module:class`` that says what a plugin offers
    what: str  # What a plugin of the kind adds, and where it is then named
    own: Mapping[str, str] = field(default_factory=dict)  # Name -> module of what this package brings
    # Modules of this package that register several; their names are known when they are imported
    modules: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The entry-point group."""
        return GROUP + self.name


_COMPILERS = "neuralart.compilers."
_LINT = "neuralart.lint.rules_"

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "compilers",
            "compiler",
            1,
            "neuralart.compilers.protocol:Compiler",
            "who compiles a network: `compiler:` of variants.yaml, `env.Network(compiler=)`, `compile --compiler`",
            own={name: f"{_COMPILERS}own" for name in ("reference", "stedgeai", "auto", "recorded", "adopted")},
        ),
        Kind(
            "runners",
            "flash runner",
            1,
            "neuralart.flashing.runners:Runner",
            "what writes the flash of a device: `NEURALART_RUNNER`, `neuralart flash --runner`",
            own={
                name: f"neuralart.flashing.runners.{name}"
                for name in ("virtual", "cubeprogrammer", "gdb", "openocd", "pyocd")
            },
        ),
        Kind(
            "boards",
            "board",
            1,
            "neuralart.boards.loading:BoardFile",
            "a board: `board:` of variants.yaml, `env.Network(board=)`, `neuralart boards`",
            modules=("neuralart.boards.loading",),
        ),
        Kind(
            "operators",
            "operator",
            1,
            "neuralart.compilers.reference.operators:Registration",
            "an operator of the reference compiler, by its TensorFlow Lite name",
            modules=("neuralart.compilers.reference.operators.builtin",),
        ),
        Kind(
            "lint",
            "lint rule",
            1,
            "neuralart.lint.types:Rule",
            "a rule of `neuralart lint`",
            modules=tuple(_LINT + room for room in ("memory", "network", "sources")),
        ),
        Kind(
            "inspect",
            "kind of file",
            1,
            "neuralart.inspect.kinds:FileKind",
            "a kind of file that `neuralart inspect` reads",
            modules=("neuralart.inspect.own_kinds",),
        ),
        Kind(
            "use_cases",
            "use case",
            1,
            "neuralart.app_config.kinds:UseCase",
            "a header of an application: `use_case/model_type`, the two keys of `app_config:`",
            modules=("neuralart.app_config.kinds",),
        ),
        Kind(
            "strategies",
            "strategy",
            1,
            "neuralart.memory.layout.strategies:Strategy",
            "how the constants of a pool leave the build: `strategies:` of variants.yaml, `env.Network(strategies=)`",
            own={
                name: "neuralart.memory.layout.strategies"
                for name in ("flash", "boot-copy", "link", "external-loader", "relocatable")
            },
        ),
    )
}


FOLDER = "site_scons/neuralart_plugins"
# The name that files of a project have as modules, so that they can import each other.
_PACKAGE = "neuralart_plugins"


@dataclass(frozen=True)
class Origin:
    """A place that a plugin comes from."""

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
        """What to do, for the user who installed it, or its author."""
        return f"{text}, or uninstall {self.text}" if self.version else text

    def error(self, what: str, hint: str) -> NeuralArtError:
        """A mistake of its author."""
        return NeuralArtError(what, where=self.text, hint=hint)

    def taken(self, what: str, other: Origin) -> NeuralArtError:
        """The name of a plugin is another's."""
        return self.error(f"{what}: the name is taken by {other.text}", self.remedy("register it under another name"))

    def files(self, file: Path) -> list[tuple[str, Path]]:
        """The code behind a plugin: a module, package or file with helpers. Name and path, the same on each machine."""
        if self.folder is not None:
            return [(path.name, path) for path in (file, *sorted(self.folder.glob("_*.py")))]
        top = sys.modules.get(self.module.partition(".")[0])
        folders = [Path(each) for each in getattr(top, "__path__", ())]
        files = [(folder, path) for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        files = [(folder, path) for folder, path in files if "__pycache__" not in path.parts]
        found = [(f"{folder.name}/{path.relative_to(folder).as_posix()}", path) for folder, path in files]
        return found or [(file.name, file)]


OWN = Origin(f"scons-neuralart {__version__}", __version__)


@cache
def somebody_installed() -> bool:
    """Some installed package has a plugin for us. Reads small files: importlib.metadata costs ten times that."""
    mark = f"[{GROUP}".encode()
    for entry in dict.fromkeys(sys.path):
        with contextlib.suppress(OSError):
            infos = [each.path for each in os.scandir(entry or ".") if each.name.endswith((".dist-info", ".egg-info"))]
            for info in infos:
                with contextlib.suppress(OSError):
                    if mark in Path(info, "entry_points.txt").read_bytes():
                        return True
    return False


@cache
def _points(group: str) -> tuple[Origin, ...]:
    if not somebody_installed():
        return ()
    from importlib.metadata import entry_points

    found = {_of_point(point) for point in entry_points(group=group)}
    return tuple(sorted(found, key=lambda each: (each.name, each.text)))


def _of_point(point: EntryPoint) -> Origin:
    """An entry point, also of a damaged installation."""
    try:
        module = point.module
    except AttributeError:
        module = point.value
    try:
        name, version = (point.dist.name, point.dist.version) if point.dist is not None else ("", "")
    except (KeyError, TypeError, AttributeError):
        name = version = ""
    return Origin(f"{name} {version}" if name and version else point.value, version or "", module, point.name)


def of_python(kind: Kind) -> tuple[Origin, ...]:
    """Entry points of a kind, sorted by name; none of them is imported."""
    return _points(kind.group)


def of_project(kind: Kind, top: Path | None) -> Iterator[Origin]:
    """Files of a project that name a kind of plugin somewhere. ``top``: the project; None: the current folder."""
    folder = (top or Path.cwd()) / FOLDER
    for path in sorted(folder.glob("[!_]*.py")):
        if path.is_file() and kind.name.encode() in read_bytes(path):
            yield Origin(f"{FOLDER}/{path.name}", module=f"{_PACKAGE}.{path.stem}", folder=folder)


def loaded(kind: Kind, source: Origin) -> None:
    """Import the module of a source. NeuralArtError: It cannot be imported; ``where`` is the line that failed."""
    if source.folder is not None:
        package = sys.modules.setdefault(_PACKAGE, types.ModuleType(_PACKAGE))
        package.__path__ = [str(source.folder)]
    try:
        importlib.import_module(source.module)
    except NeuralArtError:
        raise
    except (Exception, SystemExit) as error:
        name = f" '{source.name}'" if source.name else ""
        what = f"{kind.one}{name} cannot be loaded: {said(error)}"
        raise NeuralArtError(what, where=place(source, error), hint=source.remedy("repair it")) from error


def said(error: BaseException) -> str:
    """An exception of a plugin's code, in words."""
    return f"{type(error).__name__}: {error}".rstrip(": ")


def place(source: Origin, error: BaseException) -> str:
    """The source, with the line of its own code that failed."""
    stem = source.module.replace(".", os.sep)
    top = source.module.partition(".")[0]
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno))
    mine = [(name, line) for name, line in frames if f"{os.sep}{top}{os.sep}" in name or name.endswith(f"{stem}.py")]
    if not mine:
        return source.text
    name, line = mine[-1]
    if source.folder is not None:
        return f"{FOLDER}/{Path(name).name}:{line}"
    inside = name[name.rfind(f"{os.sep}{top}") + 1 :].replace(os.sep, "/")
    return f"{source.text}: {inside}:{line}"


def unload(source: Origin) -> None:
    """Let the module of a source be imported again; of a project's folder, all modules."""
    top = _PACKAGE if source.folder is not None else source.module
    for name in [name for name in sys.modules if name == top or name.startswith(f"{top}.")]:
        del sys.modules[name]


def forget() -> None:
    """Forget what is installed."""
    somebody_installed.cache_clear()
    _points.cache_clear()
