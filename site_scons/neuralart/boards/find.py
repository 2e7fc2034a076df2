"""Lists the boards: the built-in ones, the user's own files, and those of plugins. It reads folders, no board file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart import plugins, resources
from neuralart.errors import NeuralArtError, nearest

_SUFFIXES = (".yaml", ".yml")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


@dataclass(frozen=True)
class BoardFile:
    """A board as a plugin brings it."""

    path: Path  # Its YAML file (docs/reference/boards.md); files that it names are relative to it


def names(extra: Sequence[Path] = ()) -> tuple[str, ...]:
    """Names of all boards, sorted; no file is opened. NeuralArtError: a file's name cannot be used, or is taken."""
    return tuple(sorted({*_files(extra), *plugins.names("boards")}))


def locate(name: str, extra: Sequence[Path], where: str) -> Path:
    """The file of a board; ``where``: who asks. NeuralArtError: there is no such board."""
    files = _files(extra)
    if name in files:
        return files[name]
    known = {*files, *plugins.names("boards")}
    if name not in known:
        raise NeuralArtError(f"no board '{name}'", where=where, hint=nearest(name, tuple(known)))
    found: Path = plugins.find("boards", name, where).made.path
    return found


def locate_family(name: str) -> Path | None:
    """The file of a built-in family of boards; None if there is no such family."""
    return yaml_files(resources.board_data_dir() / "families").get(name)


def family_names() -> tuple[str, ...]:
    """Names of all families."""
    return tuple(yaml_files(resources.board_data_dir() / "families"))


def yaml_files(folder: Path) -> dict[str, Path]:
    """Name -> file of the boards in a folder."""
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _files(extra: Sequence[Path]) -> dict[str, Path]:
    """Name -> file of the built-in boards and of the user's own files."""
    files = {plugin.name: plugin.made.path for plugin in plugins.own("boards")}
    own: dict[str, Path] = {}
    for path in extra:
        if path.suffix.lower() not in _SUFFIXES or not _NAME.fullmatch(path.stem):
            raise NeuralArtError(
                "not the name of a board file", where=str(path), hint="NAME.yaml, with letters, digits, '.', '_', '-'"
            )
        if path.stem in files:
            raise NeuralArtError(
                f"board '{path.stem}' is built in",
                where=str(path),
                hint=f"give the file another name and begin it with 'base: {path.stem}'",
            )
        if own.setdefault(path.stem, path) != path:
            raise NeuralArtError(
                f"board '{path.stem}' has two files, the other is {own[path.stem]}", where=str(path), hint="rename one"
            )
    return {**files, **own}
