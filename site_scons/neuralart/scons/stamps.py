"""Stamps of what a good build has read and written (:mod:`neuralart.intact`): intact variants are not declared again.

Only a SConstruct that is a description leaves them (:mod:`neuralart.scons.description`): what it depends on is known.
"""
# Thousands of paths, as text:
# ruff: noqa: PTH100, PTH112, PTH114, PTH115, PTH118, PTH119, PTH120, PTH208

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import SCons.Node
import SCons.SConsign
import SCons.Script
import SCons.Script.Main
from SCons.Node.FS import Dir, File

from neuralart import files, fingerprint, intact, plugins, products
from neuralart.errors import NeuralArtError
from neuralart.plugins import parts
from neuralart.resources import PACKAGE, firmware_dir
from neuralart.scons import description, making
from neuralart.scons.lock import OWNER
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import registry_of

# Clocks of file systems go in steps of some milliseconds: a file that changes within one looks as it did.
_STEP = 20_000_000
_SECOND = 1_000_000_000
# Options with which SCons says more. It knows what it says of what is declared.
_ASKED = ("--tree", "--debug")
# The kind of a path, the path as commands name it, and what is compared.
_Row = tuple[str, str, Any]


def nodes_of(alias: Any, prerequisites: Mapping[Any, Sequence[Any]]) -> Iterator[Any]:
    """List all nodes that a node is made of, after SCons has dropped its executors."""
    seen, todo = {alias}, [alias]
    while todo:
        node = todo.pop()
        yield node
        for group in (node.sources, node.depends, node.implicit, node.side_effects, prerequisites.get(node)):
            new = {*(group or ())} - seen
            seen |= new
            todo += new


def _forget(nodes: Iterable[Any]) -> None:
    """Give back most of what SCons, which has ended, knows of nodes: stamps take as much memory."""
    for node in nodes:
        node.sources = node.depends = node.implicit = node.ninfo = None
        node.sources_set = node.depends_set = node.waiting_parents = node.waiting_s_e = None
        getattr(node, "_memo", {}).clear()


def _changed_at(path: str, look: Callable[[str], os.stat_result] = os.lstat) -> int:
    """When a file or folder was last changed, or made (ns); 0: nothing is there."""
    try:
        of = look(path)
    except OSError:
        return 0
    return max(of.st_mtime_ns, of.st_ctime_ns)


def _places(rows: Iterable[_Row]) -> list[dict[str, Any]]:
    """Rows as they are in the stamps: by places (:func:`neuralart.intact.changed`)."""
    places: dict[str, dict[str, Any]] = {}
    for kind, path, value in sorted(rows):
        at = path if kind != "files" else os.path.dirname(path) or "."
        place = places.setdefault(at, {"at": at, "files": {}})
        if kind == "files":
            place["files"][os.path.basename(path)] = value
        else:
            place[kind] = value
    return [*places.values()]


def _kept(data: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Of stamps what belongs to some variants. Any of ``intact.DAMAGED``: they are none."""
    variants = {name: each for name, each in data["variants"].items() if name in names}
    worlds = {each["world"]: data["worlds"][each["world"]] for each in variants.values()}
    for each in (*worlds.values(), *variants.values()):
        [*map(data["groups"].__getitem__, each["groups"])]  # A group that is not there is damage
    return {**data, "variants": variants, "worlds": worlds}


class Recorder:
    """Finds intact variants, and writes the stamps of built ones. ``env``: of the project; ``default``: what a bare
    call builds; ``aliases``: all names that are no files.
    """

    def __init__(self, env: Any, default: Sequence[str], aliases: Sequence[str]) -> None:
        self._env, self._default, self._aliases = env, list(default), aliases
        self._top = env.Dir("#").abspath
        self._inside = os.path.join(self._top, build_dir(env), "")
        self._path = Path(self._inside, intact.NAME)
        options = (each for plugin in plugins.every("extensions") for each in plugin.made.OPTIONS if each.neutral)
        self._words = intact.words_of(sys.argv[1:], aliases, (*_ASKED, *(each.name for each in options)))
        self._environ = intact.environment(os.environ)
        # By the clock of the file system too: that of a server may be another.
        began = [int(SCons.Script.start_time * _SECOND), _changed_at(self._inside + OWNER)]
        self._since = min(filter(None, began)) - _STEP
        # Rows of an intact variant and its world. If one changes while this build runs, those who compare see it.
        self._sure: dict[tuple[str, str], Any] = {}
        self._of_world: set[tuple[str, str]] = set()  # Rows of that world, which stay
        self._near: set[str] = set()  # Folders of this variant
        self._keys: dict[str, list[int]] = {"variants": [], "worlds": []}  # Groups of these that are used again
        remembered, old = self._remembered(), intact.load(str(self._path)) or {}
        # A log of this very build may be among them.
        self._there = {*os.listdir(self._top), *intact.paths_in(remembered)}
        self._old: dict[str, Any] = {"variants": {}, "worlds": {}, "groups": []}
        # Stamps beside what other builds remember are those of an archive.
        if old.get("remembered") == remembered:
            with contextlib.suppress(*intact.DAMAGED):
                self._old = _kept(old, aliases)

    def intact(self, names: Sequence[str]) -> frozenset[str]:
        """Select the variants that are intact, and so need not be declared."""
        if self._words is None or intact.words_of(sys.argv[1:], self._aliases) is None:
            return frozenset()
        try:
            checker = intact.Checker(self._old, self._words, self._environ)
            good = frozenset(name for name in names if not checker.broken(name))
            registry_of(self._env).intact_files = self._shared({*names} - good, good, checker)
            return good
        except intact.DAMAGED:
            return frozenset()

    def _shared(self, others: set[str], good: Collection[str], checker: Any) -> set[str]:
        """List the files that an intact variant and all ``others`` had in equal states. What these are made of belongs
        to the intact one, and so is intact, too.
        """
        variants, groups = self._old["variants"], self._old["groups"]
        known = good or variants.keys() - others
        if not others or not known or not others <= variants.keys():
            return set()
        common = set.intersection(*({*variants[name]["groups"]} for name in others))
        like = max(sorted(known), key=lambda name: len(common.intersection(variants[name]["groups"])))
        if checker.broken(like):
            return set()
        own, world = variants[like]["groups"], self._old["worlds"][variants[like]["world"]]
        self._sure = {row[:2]: row[2] for row in self._rows([*own, *world["groups"]])}
        self._of_world = {row[:2] for row in self._rows(world["groups"])}
        self._near = {self._place(name) for kind, name, _ in self._rows(own) if kind == "folder"}
        self._keys = {"variants": sorted(common.intersection(own)), "worlds": world["groups"]}
        fingerprint.known.update(world["code"])
        return {name for key in self._keys["variants"] for name in intact.paths_in(groups[key])}

    def _rows(self, keys: Iterable[int]) -> set[_Row]:
        groups = [self._old["groups"][key] for key in keys]
        rows: set[_Row] = {("files", *row) for group in groups for row in intact.paths_in(group).items()}
        for place in (place for group in groups for place in group):
            if "folder" in place:
                rows.add(("folder", place["at"], tuple(place["folder"])))
            if "way" in place:
                rows.add(("way", place["at"], place["way"]))
        return rows

    def at_exit(self, variants: Callable[[], Mapping[str, Any]]) -> None:
        """Write the stamps after a successful build. ``variants``: nodes of aliases, by name."""

        def write() -> None:
            script = SCons.Script
            if any(script.GetOption(name) for name in ("no_exec", "question", "help")):
                return
            good = not (script.Main.exit_status or list(script.GetBuildFailures())) and self._words is not None
            done = (SCons.Node.executed, SCons.Node.up_to_date)
            made = {name: alias for name, alias in variants().items() if good and alias.get_state() in done}
            # A full disk, or a folder without permission: without stamps SCons looks for itself.
            with contextlib.suppress(NeuralArtError, OSError):
                try:
                    self._write(made)
                except intact.DAMAGED:  # So are the old ones
                    self._path.unlink()

        atexit.register(write)

    def _remembered(self) -> list[dict[str, Any]]:
        """What builds keep in the top folder for the next one: it changes with each, whichever variant it was of."""
        names = (f"{SCons.SConsign.current_sconsign_filename()}.dblite", "compile_commands.json")
        return _places(self._row("files", os.path.join(self._top, name)) for name in names)

    def _place(self, name: str) -> str:
        return self._top if name == "." else os.path.join(self._top, name)

    def _row(self, kind: str, path: str) -> _Row:
        below = path.startswith(self._top + os.sep)
        name = path[len(self._top) + 1 :].replace(os.sep, "/") if below else "." if path == self._top else path
        if (kind, name) in self._sure:
            return kind, name, self._sure[kind, name]
        if kind == "folder":
            return kind, name, (intact.state(path), intact.way(path), intact.names_in(path))
        return kind, name, (intact.state if kind == "files" else intact.way)(path)

    def _write(self, made: Mapping[str, Any]) -> None:
        """Write the stamps of variants whose aliases are given, beside those of others. What changes while SCons is at
        work leaves none: which of its states was read is not known.
        """
        own: dict[str, tuple[str, ...]] = {}
        for name, alias in made.items():
            if paths := self._of_variant(alias):  # What intact files are made of was not declared
                known = (each for each in intact.files_of(self._old, name) if ("files", each) in self._sure)
                own[name] = tuple(paths.union(map(self._place, known)))
        every = (node for root in self._env.fs.Root.values() for node in root._lookupDict.values())
        nodes = {sys.intern(node.get_abspath()): node for node in every}
        # Where SCons has looked for files. Above the tree whatever comes belongs to others.
        listed = {path for path, node in nodes.items() if hasattr(node, "on_disk_entries")}
        listed = {path for path in listed if not self._top.startswith(os.path.join(path, ""))} | {self._top}
        near = {name: (listed | self._near).intersection(map(os.path.dirname, paths)) for name, paths in own.items()}
        if own:  # Else it has failed, and others at the end tell which step
            _forget(nodes.values())
        mine = set[str]().union(*own.values(), *near.values())
        noted = {sys.intern(os.path.abspath(path)): there for path, there in files.noted.items()}
        # Any variant may depend on them, even if one has them in its graph: several may have read a file that was
        # noted once, or looked for a header in a folder of another one.
        common, searched = self._of_all(noted)
        folders = searched | {path for path in listed if path not in mine or not path.startswith(self._inside)}
        common -= folders
        time.sleep(_STEP / _SECOND)  # From here on every change has another time than those before
        row = cache(self._row)

        def new(kind: str, paths: Iterable[str], known: Collection[tuple[str, str]] = self._sure) -> set[str]:
            return {path for path in paths if row(kind, path)[:2] not in known}

        def rows_of(files: Collection[str], folders: set[str]) -> list[_Row]:
            kinds = {"files": files, "folder": folders, "way": _ways((*files, *folders), self._top) - folders}
            return [row(kind, path) for kind, paths in kinds.items() for path in paths]

        # First what is compared later, then the doubts: what happens in between is seen by those who compare.
        rows, there = {name: rows_of(own[name], near[name]) for name in own}, common | mine
        there |= {path for path in folders if not self._moved(path)}
        common, folders = new("files", common, self._of_world), new("folder", folders, self._of_world)
        world, read = rows_of(common, folders), common.union(new("files", set[str]().union(*own.values())))
        looked = new("folder", folders.union(*near.values()))
        links = filter(os.path.islink, new("way", _ways(read | looked, self._top)))
        doubtful = {path for path in read.union(links) if self._doubtful(path, was_there=noted.get(path, False))}
        doubtful |= {path for path in looked - read if self._grown(path, searched, nodes, there)}
        if doubtful - (mine - common - folders):
            rows = {}
        self._save({name: rows[name] for name in rows if doubtful.isdisjoint((*own[name], *near[name]))}, world)

    def _doubtful(self, path: str, *, was_there: bool) -> bool:
        """If a file or link may have changed since it was read, or may change without another time; or if another
        program has changed what a step made.
        """
        at = max(_changed_at(path), _changed_at(path, os.stat))
        if at % _SECOND == 0 and time.time_ns() - at < 2 * _SECOND:
            return True  # The clock goes in seconds
        if path.startswith(self._inside):
            return making.is_touched(path)
        return at >= self._since or (not at and was_there)

    def _moved(self, folder: str) -> bool:
        """If a folder has come with all that is in it."""
        of = os.lstat(folder) if os.path.isdir(folder) else None
        return of is not None and of.st_mtime_ns < self._since <= of.st_ctime_ns

    def _grown(self, folder: str, searched: set[str], nodes: Mapping[str, Any], known: set[str]) -> bool:
        """If a file that this build neither knows nor makes has come into a folder since it was looked at. In a folder
        that was searched before the build, SCons itself may have looked later.
        """
        if _changed_at(folder) < self._since or not os.path.isdir(folder):
            return False
        listed = () if folder in searched else getattr(nodes.get(folder), "on_disk_entries", ())
        names = {*os.listdir(folder)} - {*listed, *intact.OURS}
        if os.path.join(folder, "") == self._inside:
            names = {name for name in names if name[0] != "."}  # What is remembered of tools
        new = {os.path.join(folder, name) for name in (names - self._there if folder == self._top else names)} - known
        made = {path for path in new & nodes.keys() if nodes[path].is_derived() or isinstance(nodes[path], Dir)}
        return any(_changed_at(path) >= self._since for path in new - made)

    def _of_all(self, noted: Iterable[str]) -> tuple[set[str], set[str]]:
        """Files, and folders whose names count, that all variants depend on: the script, loaded modules, code of the
        steps, what was read for them, tools. Of further folders with modules, their time counts.
        """
        trees = [] if self._sure else [os.path.abspath(part) for part in (*parts(), firmware_dir())]
        deep = [*trees, *(path for path, deep in files.noted_folders.items() if deep)]
        below = (os.path.abspath(folder) for root in deep for folder in _tree(root))
        folders = {*below, *map(os.path.abspath, files.noted_folders), *description.folders(self._top)}
        folders = {path for path in folders if not path.startswith(self._inside)}
        # pyproject.toml names what our packages bring, where they are not installed.
        found = {os.path.join(PACKAGE.parents[1], "pyproject.toml"), os.path.join(self._top, "SConstruct")}
        found.update(map(os.path.abspath, fingerprint.looked))
        modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        paths, stdlib = map(os.path.abspath, filter(None, modules)), os.path.dirname(os.__file__) + os.sep
        found |= {path for path in paths if not path.startswith(stdlib) or "site-packages" in path}
        found |= {os.path.abspath(path) for path in sys.path if path}  # One that is not there may come
        own = {os.path.join(self._top, name) for name in intact.paths_in(self._remembered())}
        return found | {path for path in {*noted} - own if not path.startswith(self._inside)}, folders

    def _of_variant(self, alias: Any) -> set[str]:
        """Its files; none: they are not all that counts."""
        found: set[str] = set()
        for node in nodes_of(alias, registry_of(self._env).prerequisites):
            if node.always_build or isinstance(node, Dir) or making.edited(node):
                return set()
            if isinstance(node, File):
                found.add(sys.intern(node.get_abspath()))
            if making.is_watched(node):  # Without its line there, it is not what it was
                found.add(sys.intern(os.path.join(node.dir.get_abspath(), products.LIST)))
            # Of a tree with a build of its own, also what was not read again.
            found.update(map(os.path.abspath, getattr(node.attributes, "neuralart_files", ())))
        return found

    def _save(self, made: Mapping[str, Iterable[_Row]], world: Iterable[_Row]) -> None:
        """Put variants into the stamps; those of others stay."""
        remembered, old = self._remembered(), self._old
        if not made and (not old["variants"] or old["remembered"] == remembered):
            return
        places = dict[tuple[Any, ...], tuple[int, dict[str, Any]]]()

        def number(place: dict[str, Any]) -> int:
            what = place["at"], *place["files"].items(), *place.get("folder", ()), place.get("way")
            return places.setdefault(what, (len(places), place))[0]

        before = [[*map(number, group)] for group in old["groups"]]

        def used(keys: Iterable[int], rows: Iterable[_Row] = ()) -> dict[str, Any]:
            return {"groups": sorted({each for key in keys for each in before[key]}.union(map(number, _places(rows))))}

        now = {"words": self._words, "environ": self._environ, "default": self._default, "code": fingerprint.known}
        of_all = used(self._keys["worlds"], world)
        inside = set(of_all["groups"])  # Of the places in them: their numbers are of this call only
        what = [now, sorted(json.dumps(each) for each, (at, _) in places.items() if at in inside)]
        key = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
        variants = {name: each | used(each["groups"]) for name, each in old["variants"].items() if name not in made}
        for name, rows in made.items():
            kept = [each for each in self._keys["variants"] if each in old["variants"][name]["groups"]]
            of_world = {"world": key, "at": time.time_ns() // _SECOND}
            variants[name] = of_world | used(kept, {*rows} - self._rows(kept))
        worlds = {name: each | used(each["groups"]) for name, each in old["worlds"].items()}
        worlds[key] = now | of_all
        worlds = {each["world"]: worlds[each["world"]] for each in variants.values()}
        groups = _group([place for _, place in places.values()], [*variants.values(), *worlds.values()])
        head = {"format": intact.FORMAT, "remembered": remembered}
        text = _text({**head, "groups": groups, "worlds": worlds, "variants": variants})
        files.write_text(self._path, intact.with_checksum(text))


def _group(places: Sequence[dict[str, Any]], users: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Put places that the same variants and worlds use into a group, which takes their place in all ``groups``."""
    using: dict[int, list[int]] = {}
    for user, each in enumerate(users):
        for place in each["groups"]:
            using.setdefault(place, []).append(user)
        each["groups"] = []
    groups: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for place, who in using.items():
        groups.setdefault(tuple(who), []).append(places[place])
    for key, those in enumerate(groups):
        for user in those:
            users[user]["groups"].append(key)
    return [*groups.values()]


def _text(data: Any, depth: int = 2) -> str:
    """JSON, made in parts: of all that it makes at once, an encoder keeps each word."""
    if depth and isinstance(data, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_text(each, depth - 1)}" for key, each in data.items()) + "}"
    if depth and isinstance(data, list):
        return "[" + ",".join(_text(each, depth - 1) for each in data) + "]"
    return json.dumps(data, separators=(",", ":"))


def _ways(paths: Iterable[str], top: str) -> set[str]:
    """The folders and links that lead to some paths, from ``top`` on for those below it."""
    found, todo = set[str](), [*paths]
    while todo:
        path = todo.pop()
        above = os.path.dirname(path)
        if path not in found and os.path.islink(path):
            found.add(path)
            todo.append(os.path.abspath(os.path.join(above, os.readlink(path))))
        if above not in found and above not in (top, path):
            found.add(above)
            todo.append(above)
    return found


def _tree(top: Any) -> Iterator[str]:
    """All folders from one on."""
    for folder, below, _ in os.walk(top):
        below[:] = [name for name in below if name not in ("__pycache__", ".git")]
        yield folder
