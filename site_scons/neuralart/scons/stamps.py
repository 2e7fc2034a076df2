"""Stamps of what a good build has read and written (:mod:`neuralart.intact`): intact variants are not declared again.

What SCons knows as nodes counts for the variants that it belongs to. What Python opens, or lists, while the SConstruct
is read counts for the variant that is being declared, or for all.
"""
# Thousands of paths, as text:
# ruff: noqa: PTH100, PTH109, PTH118, PTH120

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import SCons.Node
import SCons.Node.FS
import SCons.Script
import SCons.Script.Main

from neuralart import fingerprint, intact, jsontext, plugins
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.resources import PACKAGE
from neuralart.scons import registry
from neuralart.scons.cache import edited
from neuralart.scons.lock import OWNER
from neuralart.scons.paths import COMPILER_CACHE, TOOLCHAIN_CACHE, build_dir

_PROGRAMS = ("subprocess.Popen", "os.system", "os.posix_spawn", "socket.connect")  # Others are asked
# Clocks of file systems go in steps of some milliseconds: a file that changes within one looks as it did.
_STEP = 20_000_000
_SECOND = 1_000_000_000


class _Watch:
    """What Python opens or lists while a SConstruct is read."""

    def __init__(self) -> None:
        self.since = time.time_ns() - _STEP
        self.environ = intact.environment(os.environ)  # Scripts may change it
        self.there = {os.path.abspath(name) for name in intact.names_in(".") or ()}  # Logs are written each time
        self.files: dict[str, set[str]] = {}
        self.folders: dict[str, set[str]] = {}
        self.unknown = False  # If a script has asked what no stamp can know
        sys.addaudithook(self._see)

    def _see(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in ("open", "os.listdir", "os.scandir", *_PROGRAMS):
            return
        variant = registry.declared[-1]
        if not SCons.Script.sconscript_reading or variant is None:
            return
        if event in _PROGRAMS:
            self.unknown = self.unknown or _of_script()
        elif isinstance(args[0], (str, os.PathLike)):
            if event != "open":
                self.folders.setdefault(variant, set()).add(os.path.abspath(args[0]))
            elif not (isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)):
                self.files.setdefault(variant, set()).add(os.path.abspath(args[0]))


def _of_script() -> bool:
    """If code of the user's asks: neither this package nor a tool of SCons, which look for compilers."""
    scons = os.path.dirname(SCons.__file__) + os.sep
    ours, plain = (str(PACKAGE) + os.sep, f"{scons}Tool{os.sep}"), (os.path.dirname(os.__file__) + os.sep, scons, "<")
    names = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(sys._getframe(2)))
    first = next((name for name in names if name.startswith(ours) or not name.startswith(plain)), "")
    return not first.startswith(ours)


_watches: list[_Watch] = []


def watch() -> None:
    """Begin to look, as early as possible. An audit hook stays until the process ends."""
    if not _watches:
        _watches.append(_Watch())


class _Numbered:
    """Rows that stamps refer to by number, each once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}

    def number(self, row: Sequence[Any]) -> int:
        key = tuple(tuple(each) if isinstance(each, list) else each for each in row)
        return self._numbers.setdefault(key, len(self._numbers))

    def moved(self, rows: Sequence[Sequence[Any]], numbers: Iterable[int], known: dict[int, int]) -> list[int]:
        """Numbers in this table of rows that another one has. ``known``: those that were asked for, by theirs."""
        for each in numbers:
            if each not in known:
                known[each] = self.number(rows[each])
        return [known[each] for each in numbers]

    def rows(self) -> list[Any]:
        return list(self._numbers)


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


def keep_together(alias: Any, prerequisites: dict[Any, list[Any]]) -> None:
    """Note which nodes a step makes together, of those that an alias is made of: executors know it until they run."""
    for node in list(_nodes(alias, prerequisites)):
        executor = getattr(node, "executor", None)
        made = executor.get_all_targets() if executor is not None else ()
        if len(made) > 1:
            prerequisites.setdefault(node, []).extend(each for each in made if each is not node)


class Recorder:
    """Knows which variants are intact, and writes the stamps of those that were built. ``env``: the environment of the
    project; ``default``: what is built when nothing is named; ``aliases``: all that may be named and is no file;
    ``prerequisites``: what must be there before a node, though it is not made of it.
    """

    def __init__(
        self, env: Any, default: Sequence[str], aliases: Sequence[str], prerequisites: Mapping[Any, Sequence[Any]]
    ) -> None:
        self._env, self._default, self._aliases, self._prerequisites = env, list(default), aliases, prerequisites
        self._top, self._build = env.Dir("#").abspath, build_dir(env)
        self._inside = os.path.join(self._top, self._build) + os.sep
        self._path = Path(self._inside, intact.NAME)
        # Brought up to date at the end of each build, though no variant is made of it.
        self._database = os.path.join(self._top, "compile_commands.json")
        # Stamps name files as commands do, from the top folder.
        self._here = os.getcwd() == self._top
        self._read: set[str] = set()  # Files whose contents SCons knows

    def intact(self, names: Sequence[str]) -> frozenset[str]:
        """Those of some variants that need not be declared."""
        asked = intact.shows_nodes(sys.argv[1:]) or any(self._env.GetOption(name) for name in ("clean", "help"))
        if not self._here or asked:
            return frozenset()
        try:
            data = intact.load(str(self._path)) or {}
            checker = intact.Checker(data, self._words(), _watches[0].environ)
            self._remember({tuple(data["files"][number]) for number in data["read"]})
            with registry.declaring(None):
                if not checker.of_world(0):
                    fingerprint.known.update((tuple(rooms), text) for *rooms, text in data["code"])
                return frozenset(name for name in names if checker.intact(name))
        except intact.DAMAGED:
            return frozenset()

    def _remember(self, rows: set[tuple[Any, ...]]) -> None:
        """Let SCons, which reads what is younger than two days, believe what it knows of a file with such a row."""
        plain = SCons.Node.FS.File.get_max_drift_csig

        def get_max_drift_csig(node: Any) -> Any:
            path = node.get_abspath()
            if (self._name(path), *intact.state(path)) in rows:
                stored = node.get_stored_info().ninfo
                if getattr(stored, "timestamp", None) == node.get_timestamp() and stored.size == node.get_size():
                    return getattr(stored, "csig", "")
            return plain(node)

        SCons.Node.FS.File.get_max_drift_csig = get_max_drift_csig

    def at_exit(self, variants: Callable[[], Mapping[str, Any]]) -> None:
        """Write them when the build has ended well. ``variants``: gives the nodes of aliases, by name."""

        def write() -> None:
            script = SCons.Script
            quiet = any(script.GetOption(name) for name in ("no_exec", "question", "clean", "help"))
            named, asked = {*map(str, script.COMMAND_LINE_TARGETS)}, {*map(str, script.BUILD_TARGETS)}
            # Of what is built beside variants, stamps know nothing.
            beside = asked != (named or {*map(str, script.DEFAULT_TARGETS)}) or not named <= {*self._aliases}
            failed = script.Main.exit_status or list(script.GetBuildFailures())
            if not self._here or quiet or beside or failed or _watches[0].unknown:
                return
            done = (SCons.Node.executed, SCons.Node.up_to_date)
            made = {name: alias for name, alias in variants().items() if alias.get_state() in done}
            if made:
                self._write(made)

        atexit.register(write)

    def _words(self) -> list[str]:
        return intact.words_of(sys.argv[1:], self._aliases)

    def _write(self, made: Mapping[str, Any]) -> None:
        opened = _watches[0].files
        found = {name: self._of_variant(name, alias) for name, alias in made.items()}
        known = {path for files, _ in found.values() for path in files}
        # Read for a variant, but no node of any: the next one may have got it from memory.
        read = {path for paths in opened.values() for path in paths if self._counts(path)}
        whole = self._of_all() | (read - known)
        states = {path: tuple(intact.state(path)) for path in known | whole}
        now = time.time_ns()
        if fresh := [path for path, row in states.items() if len(row) > 1 and int(row[2] or 0) >= now - _STEP]:
            # From now on a change has another time.
            time.sleep(_STEP / _SECOND)
            if any(states[path] != tuple(intact.state(path)) for path in fresh):
                return
        doubtful = {path for path, row in states.items() if self._doubtful(path, row, now, path in read)}
        if whole & doubtful or self._grown("", whole, states):
            return
        self._read -= doubtful
        sure = {name: files for name, (files, sure) in found.items() if sure and not files & doubtful}
        good = {name: sorted(files - whole) for name, files in sure.items() if not self._grown(name, files, states)}
        self._merge(good, sorted(whole), states)

    def _doubtful(self, path: str, row: tuple[Any, ...], now: int, opened: bool) -> bool:
        """If a file may have changed, or gone, since it was read. ``opened``: while scripts were read."""
        if row[0] is None:
            return path in self._read
        coarse = row[2] % _SECOND == 0 and now - row[2] < 2 * _SECOND
        ours = (path.startswith(self._inside) and not opened) or path == self._database
        return coarse or (not ours and max(row[1], row[2]) >= self._since())

    def _grown(self, name: str, files: Iterable[str], states: Mapping[str, Any]) -> bool:
        """If a file that this build neither knows nor makes has come into a folder since it was looked at."""
        since, there = self._since(), _watches[0].there
        folders = (path for path in self._near(name, files, states) if (intact.folder_time(path) or 0) >= since)
        paths = {os.path.join(path, each) for path in folders for each in intact.names_in(path, self._build) or ()}
        # Python writes bytecode into the folders of the package.
        own = {os.path.dirname(path) for path in states if path.startswith(str(PACKAGE))}
        new = (path for path in paths - states.keys() - there - own if (intact.folder_time(path) or 0) >= since)
        return any(not self._env.fs.Entry(path).is_derived() for path in new)

    @cache  # noqa: B019 - there is one, until the process ends
    def _since(self) -> int:
        """When this build began, by the clock of the file system too: that of a server may be another."""
        began = intact.state(self._inside + OWNER)
        return min([_watches[0].since, *(int(time or 0) - _STEP for time in began[2:3])])

    def _counts(self, path: str) -> bool:
        """If what Python opened may decide anything. Installed packages are told by the names in their folder."""
        others = (str(PACKAGE) + os.sep, os.path.dirname(os.__file__) + os.sep, "/proc/", "/sys/", self._inside + ".")
        parts = (f"{os.sep}__pycache__{os.sep}", f"{os.sep}site-packages{os.sep}", f"{os.sep}.sconsign")
        return not path.startswith(others) and not any(part in path for part in parts)

    def _of_all(self) -> set[str]:
        """What all variants depend on: this package, modules of the user's, files that were read for no variant."""
        walk = ((folder, names) for folder, _, names in os.walk(PACKAGE) if not folder.endswith("__pycache__"))
        found = {os.path.join(folder, name) for folder, names in walk for name in names}
        modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        read = [*(os.path.abspath(path) for path in modules if path), *_watches[0].files.get("", ())]
        found |= {path for path in read if self._counts(path)}
        added = (each for kind in plugins.kinds() for each in plugins.known(kind) if each.source is not plugins.OWN)
        found |= {str(path) for each in added for _, path in each.source.files(each.file)}
        # Scripts may have been read before :func:`watch`.
        scripts = {each for node in SCons.Node.SConscriptNodes for each in (node.rfile(), node.srcnode().rfile())}
        names = (each.get_abspath() for each in scripts)
        return found | {os.path.join(self._top, "SConstruct"), *names, *self._tools()}

    def _tools(self) -> Iterator[str]:
        """Compilers that were asked for their version, which counts instead of them."""
        for name in (TOOLCHAIN_CACHE, COMPILER_CACHE):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                for key in jsontext.loads(Path(self._inside, name).read_bytes()):
                    yield key.split("|")[0]

    def _of_variant(self, name: str, alias: Any) -> tuple[set[str], bool]:
        """Its files, and if they are all that counts."""
        files, sure = {path for path in _watches[0].files.get(name, ()) if self._counts(path)}, True
        for node in _nodes(alias, self._prerequisites):
            if isinstance(node, SCons.Node.FS.File):
                files.add(node.get_abspath())
                if hasattr(node.ninfo, "csig"):
                    self._read.add(node.get_abspath())
                if not node.get_abspath().startswith(self._inside):
                    files |= {node.srcnode().get_abspath(), node.rfile().get_abspath()}
            # Of a tree with a build of its own, also what was not read again.
            files.update(map(os.path.abspath, getattr(node.attributes, "neuralart_files", ())))
            # Of a folder, whatever is in it counts. A clock that is set back hides a change, but not from SCons.
            sure = sure and not (node.always_build or isinstance(node, SCons.Node.FS.Dir) or edited(node))
        return files | {self._database}, sure

    def _near(self, name: str, files: Iterable[str], states: Mapping[str, Any]) -> set[str]:
        """Folders in which a file that comes may count: those of sources that stay, and those that were listed."""
        found = {os.path.dirname(path) for path in files if states[path][0] is not None}
        found |= _watches[0].folders.get(name, set())
        # Where SCons has looked for headers, and found none.
        nodes = (node for root in self._env.fs.Root.values() for node in root._lookupDict.values() if not name)
        found |= {node.get_abspath() for node in nodes if hasattr(node, "on_disk_entries")}
        found = {path + os.sep for path in found if not path.endswith("__pycache__")}
        found = {path for path in found if self._counts(path) or path.startswith(str(PACKAGE))}
        return {path[:-1] for path in found if not path.startswith(self._inside)}

    def _far(self) -> set[str]:
        """Folders, and programs, that tell which compilers, libraries, plugins and vendor tools there are."""
        from neuralart import toolchain
        from neuralart.compilers.stedgeai.install import places, usual_roots

        found = {*os.environ.get("PATH", "").split(os.pathsep), *(path for path in sys.path if "site-packages" in path)}
        found.update(map(str, usual_roots(os.environ, sys.platform)))
        found.update(str(path) for place in places(os.environ, sys.platform) for path in place.programs)
        found.update(root for root, _ in toolchain.VENDOR_ROOTS)
        return (found | {os.path.join(self._top, "site_scons", "neuralart_plugins")}) - {""}

    def _name(self, path: str) -> str:
        """Relative to the top folder where that is possible."""
        return path[len(self._top) + 1 :].replace(os.sep, "/") if path.startswith(self._top + os.sep) else path

    def _folder(self, path: str, *, names: bool) -> tuple[Any, ...]:
        name = "." if path == self._top else self._name(path)
        return name, intact.folder_time(path), intact.names_in(path, self._build) if names else None

    def _merge(self, made: Mapping[str, Sequence[str]], whole: Sequence[str], states: Mapping[str, Any]) -> None:
        """Put variants into the stamps; those of others stay."""
        files, folders = _Numbered(), _Numbered()

        def entry(paths: Sequence[str], near: Iterable[str], far: Iterable[str] = ()) -> dict[str, Any]:
            rows = [self._folder(path, names=True) for path in sorted(near)]
            rows += [self._folder(path, names=False) for path in sorted(far)]
            return {
                "files": [files.number((self._name(path), *states[path])) for path in paths],
                "folders": [folders.number(row) for row in rows],
            }

        said = {"words": self._words(), "environ": _watches[0].environ}
        # Where a script adds targets of its own, SCons knows what is built when nothing is named.
        default = self._default if {*map(str, SCons.Script.DEFAULT_TARGETS)} == {*self._default} else []
        worlds = [{**said, "default": default, **entry(whole, self._near("", whole, states), self._far())}]
        at = time.time_ns() // _SECOND
        variants = {
            n: {"world": 0, "at": at, **entry(paths, self._near(n, paths, states))} for n, paths in made.items()
        }
        read = {files.number((self._name(path), *states[path])) for path in self._read & states.keys()}
        old = intact.load(str(self._path))
        if old is not None:
            with contextlib.suppress(*intact.DAMAGED):
                read |= self._keep(old, files, folders, worlds, variants)
        data = {"format": intact.FORMAT, "build": self._build, "worlds": worlds}
        data |= {"variants": variants, "files": files.rows(), "folders": folders.rows()}
        data |= {"read": sorted(read), "code": sorted([*rooms, text] for rooms, text in fingerprint.known.items())}
        with contextlib.suppress(NeuralArtError):  # without stamps SCons looks for itself
            write_text(self._path, json.dumps(data, separators=(",", ":")))

    def _keep(self, old: Any, files: _Numbered, folders: _Numbered, worlds: list[Any], variants: Any) -> set[int]:
        """Move the variants of an old table that were not built now into a new one.
        Returns the numbers there of files whose contents SCons knows.
        """
        places: dict[int, int] = {}
        known: tuple[dict[int, int], dict[int, int]] = ({}, {})

        def moved(row: dict[str, Any]) -> dict[str, Any]:
            own = {"files": files.moved(old["files"], row["files"], known[0])}
            return {**row, **own, "folders": folders.moved(old["folders"], row["folders"], known[1])}

        for name, row in old["variants"].items():
            if name in variants or name not in self._aliases:
                continue
            if row["world"] not in places:
                world = moved(old["worlds"][row["world"]])
                if world not in worlds:
                    worlds.append(world)
                places[row["world"]] = worlds.index(world)
            variants[name] = {**moved(row), "world": places[row["world"]]}
        return {known[0][number] for number in old["read"] if number in known[0]}
