"""Decides what is copied of a user's folder, and where generated files go in the copy."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from pathlib import Path

from neuralart.config.application import StageConfig, StageRule
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import note, searched

# Histories of version control, caches, and what earlier builds of the user's own left: their objects belong to other
# flags and to another network.
USUAL = (
    *(".git", ".hg", ".svn", ".DS_Store", "__pycache__/", ".venv/", "node_modules/", ".metadata/", "*.o", "/build/"),
    # What SCons reads and writes, where the tree is built from within.
    *(".sconsign*", ".sconf_temp/", "/SConstruct", "/variants.yaml", "/site_scons/"),
)


@dataclass(frozen=True)
class Tree:
    """The contents of a folder."""

    files: dict[str, Path] = field(repr=False)  # path below the folder, with ``/`` -> where its bytes are
    folders: tuple[str, ...] = field(repr=False)  # all folders below, the empty ones too
    notes: tuple[str, ...] = ()  # what was left out although no pattern says so


def _matches(pattern: str, name: str, path: str, is_folder: bool) -> bool:
    if pattern.endswith("/"):
        if not is_folder:
            return False
        pattern = pattern.rstrip("/")
    if "/" in pattern:
        return fnmatchcase(path, pattern.removeprefix("/"))
    return fnmatchcase(name, pattern)


@lru_cache(maxsize=4)
def _any_of(patterns: tuple[str, ...]) -> tuple[Callable[[str], object], Callable[[str], object]]:
    """Whether a name, and whether a path, may fit any of some patterns."""
    plain = [pattern.removeprefix("!") for pattern in patterns]
    plain = [pattern.rstrip("/") if pattern.endswith("/") else pattern for pattern in plain]
    both = [[each for each in plain if ("/" in each) is of_paths] for of_paths in (False, True)]
    made = ["|".join(translate(each.removeprefix("/")) for each in part) or "(?!)" for part in both]
    return re.compile(made[0]).match, re.compile(made[1]).match


def _is_repository(folder: Path) -> bool:
    """Whether git keeps something here. What it goes by to ignore files is noted."""
    place, home = folder / ".git", Path.home()
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "git")
    files = [home / ".gitconfig", settings / "ignore", settings / "config"]
    note(place, folder / ".gitignore", *(place / name for name in ("index", "config", "info/exclude")), *files)
    if place.is_file():
        text = place.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
        note(*(folder / text / name for name in ("index", "info/exclude", "../../info/exclude")))  # Or of a work tree
    return place.exists()


def ignored(folder: Path) -> frozenset[str]:
    """List untracked paths that git ignores, folders with ``/`` at the end. Empty without git, and if a repository
    around it ignores the folder itself.
    """
    from subprocess import DEVNULL, PIPE, run

    if not any(_is_repository(each) for each in (folder.resolve(), *folder.resolve().parents)):
        return frozenset()
    asked = "ls-files --others --ignored --exclude-standard --directory -z", "config --path core.excludesFile"
    try:
        done, own = (run(["git", *to.split()], cwd=folder, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL) for to in asked)
    except OSError:
        return frozenset()
    found = frozenset(os.fsdecode(done.stdout).split("\0")) - {""} if not done.returncode else frozenset()
    # The user's own file, and those that ignore themselves
    note(
        folder / (os.fsdecode(own.stdout).strip() or ".gitignore"),
        *(folder / name for name in found if name.endswith(".gitignore")),
    )
    return frozenset() if "./" in found else found


def is_left_out(path: str, is_folder: bool, patterns: Sequence[str], left_out: bool = False) -> bool:
    """Whether patterns exclude a path; the last match decides. A pattern without ``/`` matches at any depth, others
    from the top; ``/`` at the end: folders only; ``!`` in front takes a match back. ``left_out``: the result without a
    match.
    """
    name = path.rpartition("/")[2]
    # Thousands of files fit none.
    names, paths = _any_of(tuple(patterns))
    if not names(name) and not paths(path):
        return left_out
    for pattern in patterns:
        plain = pattern.removeprefix("!")
        if _matches(plain, name, path, is_folder):
            left_out = plain is pattern
    return left_out


@dataclass
class _Walk:
    patterns: Sequence[str]
    avoided: frozenset[Path]
    ignored: frozenset[str] | None
    files: dict[str, Path] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def folder(self, place: Path, below: str, above: tuple[Path, ...]) -> None:
        names = sorted(os.listdir(searched(place)))  # noqa: PTH208 - no path is made of what is left out
        if below and self.ignored is not None and ".git" in names:
            # git does not tell what a repository within another ignores.
            self.ignored |= {f"{below}/{each}" for each in ignored(place)}
        for name in names:
            path = f"{below}/{name}" if below else name
            self._entry(place / name, path, above)

    def _out(self, path: str, is_folder: bool) -> bool:
        return is_left_out(path, is_folder, self.patterns, (f"{path}/" if is_folder else path) in (self.ignored or ()))

    def _entry(self, place: Path, path: str, above: tuple[Path, ...]) -> None:
        try:
            # Links are followed: in another place a relative one would lead elsewhere, or into the user's own tree.
            kind = place.stat().st_mode
        except OSError:
            if not self._out(path, False):
                note(place)
                self.notes.append(f"{path} is a link that leads nowhere: left out")
            return
        if stat.S_ISDIR(kind):
            if self._out(path, True):
                return
            real = place.resolve()
            if real in self.avoided:
                return
            if real in above:
                self.notes.append(f"{path} is a link to a folder that it is in: left out")
                return
            self.folders.append(path)
            self.folder(place, path, (*above, real))
        elif stat.S_ISREG(kind):
            if not self._out(path, False):
                self.files[path] = place
        elif not self._out(path, False):
            self.notes.append(f"{path} is neither a file nor a folder: left out")


def scan(
    folder: Path,
    exclude: Sequence[str] = (),
    avoid: Sequence[Path] = (),
    where: str = "",
    unwanted: frozenset[str] | None = None,
) -> Tree:
    """Look through a folder; the order is that of the names, on every machine.

    ``exclude``: patterns behind the usual ones (:data:`USUAL`); ``avoid``: folders that are no part of it although they
    may lie in it: where we build; ``where``: who names it; ``unwanted``: paths that are left out unless a pattern takes
    them back (:func:`ignored`); None: git is not asked. NeuralArtError: no folder, or a part of it cannot be read.
    """
    if not folder.is_dir():
        what = "is a file, it must be a folder" if folder.exists() else "no such folder"
        raise NeuralArtError(f"{folder}: {what}", where=where, hint="paths are relative to the project file")
    walk = _Walk((*USUAL, *exclude), frozenset(path.resolve() for path in avoid), unwanted)
    try:
        walk.folder(folder, "", (folder.resolve(),))
    except OSError as error:
        raise NeuralArtError(f"cannot read: {error.strerror}", where=str(error.filename or folder)) from error
    return Tree(walk.files, tuple(walk.folders), tuple(walk.notes))


# What a network's folder may hold besides what an application copies.
_COPIED = re.compile(r".*\.(?:c|h|raw|bin|s|S)")


@dataclass(frozen=True)
class Generated:
    """A file that a build made for an application."""

    network: str  # name of its network; empty: for all networks together
    path: Path  # the file
    c_stem: str = ""  # name of the network's C without suffix; empty: the network's name
    # where it goes in the tree; empty: where the tree has the one file of its name; None, and else: as rules say
    place: str | None = None

    @property
    def name(self) -> str:
        """File name."""
        return self.path.name

    @property
    def stem(self) -> str:
        """File name of the network's C without suffix, with which its other files begin."""
        return self.c_stem or self.network

    @property
    def blobs(self) -> bool:
        """Whether it is the header with epoch-controller programs, which the network's C includes by name."""
        return bool(self.network) and self.name.endswith("_ecblobs.h")


@dataclass(frozen=True)
class Staged:
    """The places of files in the copy."""

    files: dict[str, Path] = field(repr=False)  # path in the tree -> the file
    superseded: tuple[str, ...] = ()  # paths in the user's tree that belong to another generation of a staged network
    # (name of a network, path in the tree of its C and of its epoch-controller programs)
    networks: tuple[tuple[str, str], ...] = ()


def is_copied(name: str) -> bool:
    """Whether applications get this file of a compile: C, headers and constants, no reports."""
    return _COPIED.fullmatch(name) is not None


def _taken(item: Generated, tree: Sequence[str]) -> Generated:
    """A file that takes the place of the one file of its name in the tree, if there is one, with that place."""
    if item.place != "":
        return item
    same = [path for path in tree if path.rpartition("/")[2] == item.name]
    return replace(item, place=same[0] if len(same) == 1 else None)


def _place(item: Generated, stage: StageConfig) -> tuple[str, StageRule | None]:
    """Where a file goes (empty: nowhere), and the rule that says so."""
    if item.place:
        return item.place, None
    rule = next((rule for rule in stage.rules if fnmatchcase(item.name, rule.pattern)), None)
    if rule is None:
        return "/".join(filter(None, (stage.folder if stage.folder != "." else "", item.network, item.name))), None
    inside = rule.destination.endswith("/")
    return (f"{rule.destination}{item.name}".removeprefix("./") if inside else rule.destination), rule


def _check_rules(files: Sequence[Generated], stage: StageConfig) -> None:
    names = [item.name for item in files if not item.place]
    for rule in stage.rules:
        if rule.literal and rule.pattern not in names:
            hint = f"{nearest(rule.pattern, names)}; a pattern (*_ecblobs.h) may fit nothing"
            raise NeuralArtError(f"stage: no file {rule.pattern} is generated", where=rule.where, hint=hint)


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
            what = f"stage: {path} differs from the tree's {other} only in upper and lower case"
            raise NeuralArtError(what, where=str(source))
        if path in folders or any(each.startswith(f"{path}/") for each in known.values()):
            raise NeuralArtError(f"stage: {path} is a folder", where=str(source), hint=f"{path}/ puts the file into it")
    for folder in folders:
        if folder.casefold() in known:
            raise NeuralArtError(f"stage: {folder} is a file in the user's tree, not a folder", where=folder)


def _refuse_renamed(files: Sequence[Generated], config: StageConfig) -> None:
    """Refuse another name for what the network's C includes."""
    for item in files:
        place, rule = _place(item, config)
        folder, _, name = place.rpartition("/")
        if item.blobs and name not in ("", item.name):
            what = f"stage: {item.name} cannot become {place}: {item.stem}.c includes it by its name"
            hint = f"{folder or '.'}/ puts it there under its own name"
            raise NeuralArtError(what, where=rule.where if rule else str(item.path), hint=hint)


def stage(files: Sequence[Generated], config: StageConfig, tree: Iterable[str] = ()) -> Staged:
    """Give generated files their places; a file of the user's tree at such a place is replaced. NeuralArtError: two
    files want one place, a rule names a file that there is not, or a place is impossible.
    """
    listed = tuple(tree)
    files = [_taken(item, listed) for item in files]
    _check_rules(files, config)
    made: dict[str, Path] = {}
    owners: dict[str, str] = {}
    networks = []
    for item in files:
        place, rule = _place(item, config)
        if not place:
            continue
        other = owners.get(place.casefold())
        if other is not None:
            what = f"stage: {other} and {item.path} would both become {place}"
            raise NeuralArtError(what, where=rule.where if rule else str(item.path))
        owners[place.casefold()] = str(item.path)
        made[place] = item.path
        if item.network and (item.name == f"{item.stem}.c" or item.blobs):
            networks.append((item.network, place))
    _refuse_collisions(made, listed)
    _refuse_renamed(files, config)
    old = [path for _, place in networks if place.endswith(".c") for path in _superseded(place, made, listed)]
    # What was written, and a rule does not copy, is no other generation.
    old = [path for path in old if path.rpartition("/")[2] not in {item.name for item in files}]
    return Staged(made, tuple(dict.fromkeys(old)), tuple(networks))
