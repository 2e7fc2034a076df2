"""Stamps of what a good build has read and written (:mod:`neuralart.intact`): intact variants are not declared again.

Only a SConstruct that is a description leaves them (:mod:`neuralart.scons.description`): what it depends on is known.
"""
# Thousands of paths, as text:
# ruff: noqa: PTH100, PTH112, PTH114, PTH115, PTH116, PTH118, PTH120, PTH208

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import SCons.Node
import SCons.Node.FS
import SCons.SConsign
import SCons.Script
import SCons.Script.Main

from neuralart import files, intact, plugins
from neuralart.errors import NeuralArtError
from neuralart.plugins import parts
from neuralart.resources import PACKAGE, firmware_dir
from neuralart.scons import description
from neuralart.scons.lock import OWNER
from neuralart.scons.making import edited
from neuralart.scons.paths import build_dir

# Clocks of file systems go in steps of some milliseconds: a file that changes within one looks as it did.
_STEP = 20_000_000
_SECOND = 1_000_000_000
# Options with which SCons says more. It knows what it says of what is declared.
_ASKED = ("--tree", "--debug")
Row = tuple[Any, ...]


def _nodes(alias: Any, prerequisites: Mapping[Any, Sequence[Any]]) -> Iterator[Any]:
    """All that a node is made of. SCons has let go of executors by now; what they held is in the nodes."""
    seen, todo = {alias}, [alias]
    while todo:
        node = todo.pop()
        yield node
        for group in (node.sources, node.depends, node.implicit, node.side_effects, prerequisites.get(node)):
            for each in group or ():
                if each not in seen:
                    seen.add(each)
                    todo.append(each)


def _changed_at(path: str) -> int:
    """When a file or folder was last changed, or made (ns); 0: nothing is there."""
    try:
        of = os.lstat(path)
    except OSError:
        return 0
    return max(of.st_mtime_ns, of.st_ctime_ns)


class Recorder:
    """Knows which variants are intact, and writes the stamps of those that were built. ``env``: the environment of the
    project; ``default``: what is built when nothing is named; ``aliases``: all that may be named and is no file;
    ``prerequisites``: what must be there before a node, though it is not made of it.
    """

    def __init__(
        self, env: Any, default: Sequence[str], aliases: Sequence[str], prerequisites: dict[Any, list[Any]]
    ) -> None:
        self._env, self._default, self._aliases, self._prerequisites = env, list(default), aliases, prerequisites
        self._top = env.Dir("#").abspath
        self._inside = os.path.join(self._top, build_dir(env)) + os.sep
        self._path = self._inside + intact.NAME
        self._there = set(os.listdir(self._top))  # A log of this very build may be among them
        options = (each for plugin in plugins.every("extensions") for each in plugin.made.OPTIONS if each.neutral)
        self._words = intact.words_of(sys.argv[1:], aliases, (*_ASKED, *(each.name for each in options)))
        self._asked = intact.words_of(sys.argv[1:], aliases) is None
        self._environ = intact.environment(os.environ)
        # By the clock of the file system too: that of a server may be another.
        began = [int(SCons.Script.start_time * _SECOND), _changed_at(self._inside + OWNER)]
        self._since = min(filter(None, began)) - _STEP
        old = intact.load(self._path) or {}
        # Stamps beside what other builds remember are those of an archive.
        self._old = old if old.get("remembered") == [*map(list, self._remembered())] else None

    def intact(self, names: Sequence[str]) -> frozenset[str]:
        """Those of some variants that need not be declared."""
        if self._old is None or self._words is None or self._asked:
            return frozenset()
        try:
            checker = intact.Checker(self._old, self._words, self._environ)
            return frozenset(name for name in names if checker.intact(name))
        except intact.DAMAGED:
            return frozenset()

    def keep_together(self, alias: Any) -> None:
        """Note which nodes of an alias a step makes together: executors know it until they run."""
        for node in list(_nodes(alias, self._prerequisites)):
            executor = getattr(node, "executor", None)
            made = executor.get_all_targets() if executor is not None else ()
            if len(made) > 1:
                self._prerequisites.setdefault(node, []).extend(each for each in made if each is not node)

    def at_exit(self, variants: Callable[[], Mapping[str, Any]]) -> None:
        """Write them when the build has ended well. ``variants``: gives the nodes of aliases, by name."""

        def write() -> None:
            script = SCons.Script
            if any(script.GetOption(name) for name in ("no_exec", "question", "help")):
                return
            self._read = {os.path.abspath(path): there for path, there in files.noted.items()}
            good = not (script.Main.exit_status or list(script.GetBuildFailures())) and self._words is not None
            done = (SCons.Node.executed, SCons.Node.up_to_date)
            made = {name: alias for name, alias in variants().items() if good and alias.get_state() in done}
            # A full disk, or a folder without permission: without stamps SCons looks for itself.
            with contextlib.suppress(NeuralArtError, OSError):
                if not (made and self._write(made)):
                    self._keep_valid()

        atexit.register(write)

    def _keep_valid(self) -> None:
        """What is remembered is another file now, but of builds of ours alone."""
        rows = self._remembered()
        if self._old is not None and self._old["remembered"] != [*map(list, rows)]:
            self._save({**self._old, "remembered": rows})

    def _save(self, data: dict[str, Any]) -> None:
        files.write_text(Path(self._path), json.dumps(data, separators=(",", ":")))

    def _remembered(self) -> list[Row]:
        """What builds keep in the top folder for the next one: it changes with each, whichever variant it was of."""
        names = (f"{SCons.SConsign.current_sconsign_filename()}.dblite", "compile_commands.json")
        return [self._row(os.path.join(self._top, name)) for name in names]

    def _name(self, path: str) -> str:
        """As commands name it: relative to the top folder where that is possible."""
        if path == self._top:
            return "."
        return path[len(self._top) + 1 :].replace(os.sep, "/") if path.startswith(self._top + os.sep) else path

    def _row(self, path: str) -> Row:
        return self._name(path), intact.state(path)

    def _write(self, made: Mapping[str, Any]) -> bool:
        """Write stamps; False: something happened while SCons was at work, and nothing is known for sure."""
        own = {name: self._of_variant(alias) for name, alias in made.items()}
        nodes = {node.get_abspath(): node for root in self._env.fs.Root.values() for node in root._lookupDict.values()}
        # Where SCons has looked for files. Above the tree whatever comes belongs to others.
        listed = {path for path, node in nodes.items() if hasattr(node, "on_disk_entries")}
        listed = {path for path in listed if not self._top.startswith(os.path.join(path, ""))} | {self._top}
        built = {path for path in listed if path.startswith(self._inside)}
        near = {name: {*map(os.path.dirname, paths or ())} & built for name, paths in own.items()}
        wide = listed.difference(*near.values()) | self._folders_of_all()
        known = set[str]().union(*filter(None, own.values()))
        world = self._of_all(wide) - known
        row = cache(self._row)
        # First what is compared later, then the doubts: what happens in between is seen by those who compare.
        rows = {name: self._rows(paths, near[name], row) for name, paths in own.items() if paths is not None}
        common = self._rows(world, wide, row)
        fresh = [path for path in known | world if _changed_at(path) >= time.time_ns() - _STEP]
        if fresh:
            time.sleep(_STEP / _SECOND)  # Every further change has another time
        there = wide.union(known, world, *near.values())
        doubtful = {path for path in fresh if self._row(path) != row(path)}
        doubtful |= {path for path in known | world if self._doubtful(path, nodes.get(path))}
        doubtful |= {path for path in there - known - world if self._grown(path, nodes, there)}
        ways = (os.path.join(self._top, each[0]) for each in common if each[2:] == (None,))
        doubtful |= {path for path in filter(os.path.islink, ways) if _changed_at(path) >= self._since}
        if doubtful - known - set[str]().union(*near.values()):
            return False
        sure = {name for name, paths in own.items() if not doubtful & ((paths or set()) | near[name])}
        self._merge({name: each for name, each in rows.items() if name in sure}, common)
        return True

    def _doubtful(self, path: str, node: Any) -> bool:
        """If a file that is read has changed since, or may change without another time; or if another program
        has changed what SCons made.
        """
        at = max(_changed_at(path), _changed_at(os.path.realpath(path)))
        if at % _SECOND == 0 and time.time_ns() - at < 2 * _SECOND:
            return True  # The clock goes in seconds
        if path.startswith(self._inside):
            info, now = getattr(node, "ninfo", None), os.stat(path) if at else None
            then = (getattr(info, "timestamp", None), getattr(info, "size", None))
            return None not in then and (now is None or then != (int(now.st_mtime), now.st_size))
        return at >= self._since or (not at and self._read.get(path, False))

    def _grown(self, folder: str, nodes: Mapping[str, Any], known: set[str]) -> bool:
        """If a file that this build neither knows nor makes has come into a folder since it was looked at."""
        if _changed_at(folder) < self._since or not os.path.isdir(folder):
            return False
        there = {*getattr(nodes.get(folder), "on_disk_entries", ()), *intact.OURS}
        there |= {*self._there, *(row[0] for row in self._remembered())} if folder == self._top else set()
        for name in {*os.listdir(folder)} - there:
            path = os.path.join(folder, name)
            # What is remembered of tools is hidden in the build folder.
            ours = path in known or (name.startswith(".") and folder == self._inside[: -len(os.sep)])
            made = path in nodes and (nodes[path].is_derived() or isinstance(nodes[path], SCons.Node.FS.Dir))
            if not (ours or made) and _changed_at(path) >= self._since:
                return True
        return False

    def _of_all(self, folders: set[str]) -> set[str]:
        """What all variants depend on: the script, this package, loaded modules, what was read for them, tools.
        ``folders``: those in which names count; of others with modules, their time does.
        """
        trees = (tree for part in parts() for tree in _tree(part))
        found = {os.path.join(folder, name) for folder, names in trees for name in names}
        # It names what our packages bring, where they are not installed.
        found.add(os.path.join(PACKAGE.parents[1], "pyproject.toml"))
        stdlib = os.path.dirname(os.__file__) + os.sep
        modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        paths = {os.path.abspath(path) for path in modules if path}
        found |= {path for path in paths if not path.startswith(stdlib) or "site-packages" in path}
        own = {os.path.join(self._top, row[0]) for row in self._remembered()}
        found |= {path for path in self._read.keys() - own if not path.startswith(self._inside)}
        installed = {os.path.abspath(path) for path in sys.path if os.path.isdir(path)} - folders
        return found | installed | {os.path.join(self._top, "SConstruct")}

    def _folders_of_all(self) -> set[str]:
        """Folders in which what comes may count for all variants."""
        roots = [*map(str, parts()), str(firmware_dir()), *(path for path, deep in files.noted_folders.items() if deep)]
        found = {folder for root in map(os.path.abspath, roots) for folder, _ in _tree(root)}
        found |= {*map(os.path.abspath, files.noted_folders), *description.folders(self._top)}
        return {path for path in found if not path.startswith(self._inside)}

    def _of_variant(self, alias: Any) -> set[str] | None:
        """Its files; None: they are not all that counts."""
        found: set[str] = set()
        for node in _nodes(alias, self._prerequisites):
            if node.always_build or isinstance(node, SCons.Node.FS.Dir) or edited(node):
                return None
            if isinstance(node, SCons.Node.FS.File):
                found.add(node.get_abspath())
            # Of a tree with a build of its own, also what was not read again.
            found.update(map(os.path.abspath, getattr(node.attributes, "neuralart_files", ())))
        return found

    def _ways(self, paths: Iterable[str]) -> set[str]:
        """The folders and links that lead to some paths."""
        found: set[str] = set()
        todo = list(paths)
        while todo:
            path = todo.pop()
            if os.path.islink(path):
                found.add(path)
                todo.append(os.path.abspath(os.path.join(os.path.dirname(path), os.readlink(path))))
            above = os.path.dirname(path)
            if above not in found and above not in (self._top, path):
                found.add(above)
                todo.append(above)
        return found

    def _rows(self, paths: Iterable[str], folders: Iterable[str], row: Callable[[str], Row]) -> list[Row]:
        """What is to be compared: files, folders with the names in them, and what leads there."""
        paths, folders = sorted(paths), sorted(folders)
        rows = [row(path) for path in paths] + [(*row(path), intact.names_in(path)) for path in folders]
        return rows + [(self._name(path), intact.way(path), None) for path in sorted(self._ways([*paths, *folders]))]

    def _merge(self, made: Mapping[str, Sequence[Row]], world: Sequence[Row]) -> None:
        """Put variants into the stamps; those of others stay."""
        numbers: dict[Row, int] = {}

        def numbered(rows: Iterable[Row]) -> list[int]:
            return [numbers.setdefault(tuple(row), len(numbers)) for row in rows]

        head = {"words": self._words, "environ": self._environ, "default": self._default}
        worlds = [{**head, "rows": numbered(world)}]
        at = time.time_ns() // _SECOND
        variants = {name: {"world": 0, "at": at, "rows": numbered(rows)} for name, rows in made.items()}
        moved: dict[int, int] = {}  # Numbers of worlds
        with contextlib.suppress(*intact.DAMAGED):
            old: Any = self._old or {"variants": {}}
            for name, row in old["variants"].items():
                if name in variants or name not in self._aliases:
                    continue
                if row["world"] not in moved:
                    before = old["worlds"][row["world"]]
                    before = {**before, "rows": numbered(old["rows"][number] for number in before["rows"])}
                    worlds += [before] if before not in worlds else []
                    moved[row["world"]] = worlds.index(before)
                rows = numbered(old["rows"][number] for number in row["rows"])
                variants[name] = {**row, "world": moved[row["world"]], "rows": rows}
        data = {"format": intact.FORMAT, "remembered": self._remembered(), "worlds": worlds}
        self._save({**data, "variants": variants, "rows": list(numbers)})


def _tree(top: Any) -> Iterator[tuple[str, list[str]]]:
    """All folders from one on, with the names of their files."""
    for folder, below, names in os.walk(top):
        below[:] = [name for name in below if name not in ("__pycache__", ".git")]
        yield folder, names
