"""Which generated files go where in the copy of a user's tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from neuralart.config.application import StageConfig, StageRule
from neuralart.errors import NeuralArtError, nearest

# What a network's folder may hold besides what an application copies.
_COPIED = re.compile(r".*\.(?:c|h|raw|bin|s|S)")


@dataclass(frozen=True)
class Generated:
    """A file that a build made for an application.

    Attributes:
        network: Name of its network; empty: for all networks together.
        path: The file.
    """

    network: str
    path: Path

    @property
    def name(self) -> str:
        """File name."""
        return self.path.name


@dataclass(frozen=True)
class Staged:
    """Where files go.

    Attributes:
        files: Path in the tree -> the file.
        superseded: Paths in the user's tree that belong to another generation of a staged network.
        networks: (name of a network, path in the tree of its C and of its epoch-controller programs).
    """

    files: dict[str, Path] = field(repr=False)
    superseded: tuple[str, ...] = ()
    networks: tuple[tuple[str, str], ...] = ()


def is_copied(name: str) -> bool:
    """Whether a file of a compile is one that applications copy: C, headers, constants; no reports and no facts."""
    return _COPIED.fullmatch(name) is not None


def _default(item: Generated, folder: str) -> str:
    parts = [part for part in (folder if folder != "." else "", item.network, item.name) if part]
    return "/".join(parts)


def _by_rule(item: Generated, rule: StageRule) -> str:
    if rule.destination == "./":
        return item.name
    return f"{rule.destination}{item.name}" if rule.destination.endswith("/") else rule.destination


def _place(item: Generated, stage: StageConfig) -> tuple[str, StageRule | None]:
    rule = next((rule for rule in stage.rules if fnmatchcase(item.name, rule.pattern)), None)
    if rule is None:
        return _default(item, stage.folder), None
    return (_by_rule(item, rule) if rule.destination else ""), rule


def _check_rules(files: Sequence[Generated], stage: StageConfig) -> None:
    names = [item.name for item in files]
    for rule in stage.rules:
        if rule.literal and rule.pattern not in names:
            raise NeuralArtError(
                f"stage: no file {rule.pattern} is generated",
                where=rule.where,
                hint=f"{nearest(rule.pattern, names)}; a pattern (*_ecblobs.h) may fit nothing",
            )


def _superseded(place: str, files: Mapping[str, Path], tree: Iterable[str]) -> list[str]:
    """Files beside a staged network that its compiler writes, and did not write this time."""
    folder, _, name = place.rpartition("/")
    stem = re.escape(name.removesuffix(".c"))
    ours = re.compile(rf"{stem}\.h|{stem}_ecblobs\.h|stai_{stem}\.[ch]|{stem}_\w+\.\w+\.(?:raw|c)")
    beside = (path for path in tree if path.rpartition("/")[0] == folder and path not in files)
    return [path for path in beside if ours.fullmatch(path.rpartition("/")[2])]


def _refuse_collisions(files: Mapping[str, Path], tree: Iterable[str]) -> None:
    """Refuse what not every file system can hold."""
    known = {path.casefold(): path for path in tree}
    folders = {path[:at] for path in files for at in range(len(path)) if path[at] == "/"}
    for path, source in files.items():
        other = known.get(path.casefold(), path)
        if other != path:
            raise NeuralArtError(
                f"stage: {path} differs from the tree's {other} only in upper and lower case", where=str(source)
            )
        if path in folders or any(each.startswith(f"{path}/") for each in known.values()):
            raise NeuralArtError(f"stage: {path} is a folder", where=str(source), hint=f"{path}/ puts the file into it")
    for folder in folders:
        if folder.casefold() in known:
            raise NeuralArtError(f"stage: {folder} is a file in the user's tree, not a folder", where=folder)


def stage(files: Sequence[Generated], config: StageConfig, tree: Iterable[str] = ()) -> Staged:
    """Give generated files their places.

    Args:
        files: What there is.
        config: The rules.
        tree: Files of the user's tree; one at the place of a generated file is replaced.

    Raises:
        NeuralArtError: Two files want one place, a rule names a file that there is not, or a place is impossible.
    """
    _check_rules(files, config)
    listed = tuple(tree)
    made: dict[str, Path] = {}
    owners: dict[str, str] = {}
    networks = []
    for item in files:
        place, rule = _place(item, config)
        if not place:
            continue
        other = owners.get(place.casefold())
        if other is not None:
            raise NeuralArtError(
                f"stage: {other} and {item.path} would both become {place}",
                where=rule.where if rule else str(item.path),
            )
        owners[place.casefold()] = str(item.path)
        made[place] = item.path
        if item.network and item.name in (f"{item.network}.c", f"{item.network}_ecblobs.h"):
            networks.append((item.network, place))
    _refuse_collisions(made, listed)
    old = [path for _, place in networks if place.endswith(".c") for path in _superseded(place, made, listed)]
    return Staged(made, tuple(dict.fromkeys(old)), tuple(networks))
