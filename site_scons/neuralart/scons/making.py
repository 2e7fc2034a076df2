"""What is made is written down where it is made (:mod:`neuralart.products`), and what is no longer that is made again.

Two things are compared with the contents of a file before SCons decides about it: the list of its folder, which the
step wrote that made the file, and what SCons itself remembers (``.sconsign.dblite``). A build folder that was restored
alone agrees with its own lists, but not with SCons; a ``.sconsign.dblite`` that was restored alone does not agree with
the files.
"""
# Paths of SCons, as text:
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import SCons.Action
import SCons.Errors
import SCons.Executor
import SCons.Node
import SCons.Node.FS
import SCons.SConsign
import SCons.Script
from SCons.Util import hash_signature

from neuralart import products
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import fact, registry_of

_UNDECIDED = (SCons.Node.no_state, SCons.Node.pending)
_DONE = (SCons.Node.up_to_date, SCons.Node.executed)
# What ``Command`` makes is an entry until SCons looks for it.
_FILES = (SCons.Node.FS.File, SCons.Node.FS.Entry)


class _Contents(NamedTuple):
    state: int  # Hash of the file's state when it was read
    csig: str  # As SCons hashes
    sha256: str


_lock = threading.RLock()
_contents: dict[str, _Contents] = {}
_lists: dict[str, tuple[tuple[int, ...] | None, dict[str, str] | None]] = {}
_unlisted: set[str] = set()  # Folders that had no list, and were named
_left = deque[tuple[Any, list[Any]]]()  # Variants that are not released, in the order of their making; files of each
_FEW = 8  # So many are never released: it would save nothing


def _state(path: str) -> tuple[int, ...] | None:
    """What changes with a file, the time of its change among them, which no program can set; None: it is not there."""
    try:
        now = os.lstat(path)
    except OSError:
        return None
    return now.st_mode, now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino


def _read(path: str) -> _Contents:
    """The hashes of a file. It is read once as long as it is not touched. NeuralArtError: it cannot be read."""
    state, known = hash(_state(path)), _contents.get(path)
    if known is None or known.state != state:
        data = read_bytes(Path(path))
        csig = sys.intern(hash_signature(data))
        known = _contents[sys.intern(path)] = _Contents(state, csig, hashlib.sha256(data).hexdigest())
    return known


def is_touched(path: str) -> bool:
    """Whether a file has changed or was written again since a step made or used it."""
    return path in _contents and _contents[path].state != hash(_state(path))


def _listed(folder: str) -> dict[str, str] | None:
    state = _state(os.path.join(folder, products.LIST))
    known = _lists.get(folder)
    if known is None or known[0] != state:
        known = _lists[folder] = state, products.listed(Path(folder))
    return known[1]


def record(paths: Iterable[str]) -> None:
    """Record the hashes of files that were just made. NeuralArtError: a list cannot be written."""
    made: dict[str, dict[str, str]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        made.setdefault(folder, {})[name] = _read(path).sha256
    with _lock:
        for folder, hashes in made.items():
            products.write_list(Path(folder), {**(_listed(folder) or {}), **hashes})


def _forget_missing(folders: Iterable[str]) -> None:
    """Remove the files that a failed step took away from the lists. Why the step failed is told, not that a list cannot
    be written: a line without its file does no harm.
    """
    with _lock, contextlib.suppress(NeuralArtError):
        for folder in folders:
            if hashes := _listed(folder):
                products.write_list(Path(folder), hashes)


def record_copy(node: Any, digest: str = "") -> bool:
    """Record a file from a cache; False: it does not have this SHA-256."""
    if not SCons.Action.execute_actions or not is_watched(node):
        return True
    try:
        if digest and _read(node.get_abspath()).sha256 != digest:
            return False
        record([node.get_abspath()])
    except NeuralArtError:
        return False  # the step that makes it instead says why
    return True


class RecordingExecutor(SCons.Executor.Executor):
    """Runs the actions of a step and records the hashes of its files."""

    __slots__ = ()

    def __call__(self, target: Any, **kw: Any) -> Any:
        """Run them. SCons.Errors.BuildError: One failed, or a file that is used is not what this build made."""
        targets = {node.get_abspath(): node for node in self.get_all_targets() if isinstance(node, _FILES)}
        try:
            if not SCons.Action.execute_actions:
                return super().__call__(target, **kw)
            self._refuse_changed()
            for path in filter(os.path.islink, targets):
                Path(path).unlink()  # nothing is written through it
            try:
                status = super().__call__(target, **kw)
            except BaseException:
                _forget_missing(sorted({os.path.dirname(path) for path in targets}))
                raise
            # A tool has read the files meanwhile.
            self._refuse_changed()
            record([path for path in targets if stat.S_ISREG((_state(path) or (0,))[0])])
        except NeuralArtError as error:
            raise SCons.Errors.BuildError(node=target, errstr=str(error), status=2, exitstatus=2) from None
        return status

    def get_lvars(self) -> dict[str, Any]:
        """What ``$TARGET`` and the like mean. SCons keeps it, and it keeps the executor: both would stay to the end."""
        with _lock:
            found: dict[str, Any] = super().get_lvars()
            del self.lvars
        return found

    def _refuse_changed(self) -> None:
        """NeuralArtError: A file that the step uses is no longer as it was made, or as it was found to be."""
        for node in self.get_all_children():
            path = node.get_abspath() if isinstance(node, _FILES) else ""
            if is_touched(path) and _contents[path][1:] != _read(path)[1:]:
                del _contents[path]
                what = "is not what the build made: it was changed while the build ran"
                raise NeuralArtError(what, where=str(node), hint="build again")


def reason(node: Any) -> str:
    """Say why a file is made again though no source changed; empty: it is intact, or SCons makes it anyway."""
    path = node.get_abspath()
    folder, name = os.path.split(path)
    state, stored = _state(path), node.get_stored_info()
    if state is None or stored.binfo.bactsig is None:
        return ""
    if stat.S_ISLNK(state[0]):
        return f"{node} is a link: it is made again"
    try:
        hashes, contents = _listed(folder), _read(path)
    except NeuralArtError as error:
        return f"{error}: it is made again"
    if hashes is None:
        return f"{node.dir} has no {products.LIST}: what was made in it is made again"
    if name not in hashes:
        return f"{node} is not in {products.LIST}: it is made again"
    if hashes[name] != contents.sha256:
        return f"{node} was changed after it was made: it is made again"
    if getattr(stored.ninfo, "csig", contents.csig) != contents.csig:
        return f"{node} is not what SCons made last: it is made again"
    return ""


def _changed(dependency: Any, target: Any, before: Any, repository: Any = None) -> bool:
    """The decider of :data:`_MADE`: whether a file is to be made again, whatever it depends on."""
    _keep(target)
    while len(_left) > _FEW and _left[0][0].get_state() > SCons.Node.executing:
        _release(_left.popleft()[1])
    if target.get_state() not in _UNDECIDED:
        return False
    why, path = reason(target), target.get_abspath()
    folder = os.path.dirname(path)
    if why and folder not in _unlisted:
        print(f"neuralart: {why}")
        if not os.path.lexists(os.path.join(folder, products.LIST)):
            _unlisted.add(folder)
    elif not why and path in _contents:
        # SCons need not read it as well.
        target.get_ninfo().csig = _contents[path].csig
    return bool(why)


_MADE = fact("is as it was", "what was made")
_MADE.Decider(_changed)


def _keep(node: Any) -> None:
    """What makes a file writes it down."""
    executor = node.get_executor()
    if type(executor) is SCons.Executor.Executor:
        executor.__class__ = RecordingExecutor


@cache
def _list_of(folder: Any) -> Any:
    """The node of a list. SCons does not find it in its folder: nothing is made of it."""
    return SCons.Node.FS.File(products.LIST, folder, folder.fs)


def is_watched(node: Any) -> bool:
    """Whether a file is compared with its record."""
    return _MADE in (node.depends or ())


def watch(env: Any, nodes: Sequence[Any]) -> None:
    """Compare a step's files with their records, and record new ones. Their builder may be set later."""
    cleans = SCons.Script.GetOption("clean")
    for node in nodes:
        if isinstance(node, _FILES) and not is_watched(node):
            node.add_dependency([_MADE])
            if node.has_builder():
                _keep(node)
            if cleans:
                env.Clean(nodes[0], _list_of(node.dir))  # SCons asks for the first one of a step


def watch_all(env: Any, top: Any, known: set[Any]) -> None:
    """Watch all files below the build folder that a node is made of. ``known``: nodes that are watched."""
    inside, todo, own = f"{build_dir(env)}/", [top], list[Any]()
    _left.append((top, own))
    while todo:
        node = todo.pop()
        if node in known:
            continue
        known.add(node)
        todo += [*(node.sources or ()), *(node.depends or ()), *(node.prerequisites or ())]
        if isinstance(node, _FILES) and node.has_builder():
            own.append(node)
            made = node.get_executor().get_all_targets()
            if len(made) > 1:  # For stamps: executors know it until they run
                registry_of(env).prerequisites.setdefault(node, []).extend(made)
            watch(env, [each for each in made if each.get_internal_path().replace(os.sep, "/").startswith(inside)])


def _release(nodes: Iterable[Any]) -> None:
    """Give back what SCons remembers of files that are done; what they are made of stays. It can find all of it again.
    If it keeps it elsewhere than the versions that we know, it stays.
    """
    if SCons.Node.interactive or not SCons.Node.do_store_info:
        return  # It builds them again, or writes nothing
    done = [node for node in nodes if isinstance(node, SCons.Node.FS.File) and node.get_state() in _DONE]
    for folder in {node.dir for node in done}:
        stored: Any = getattr(folder, "_sconsign", None)
        derived = (each for each in folder.entries.values() if isinstance(each, _FILES) and each.has_builder())
        if type(stored) is SCons.SConsign.DB and all(each.get_state() > SCons.Node.executing for each in derived):
            stored.write(sync=0)  # Into the database, from where SCons reads it if it asks again
            SCons.SConsign.sig_files.remove(stored)
            folder._sconsign = None
            _lists.pop(folder.get_abspath(), None)
    for node in done:
        memo = getattr(node, "_memo", {})
        node.del_binfo()
        node.clear_memoized_values()
        # What it could tell only before it released the step.
        getattr(node, "_memo", {}).update((key, memo[key]) for key in ("changed", "get_build_env") if key in memo)
    # Of included files, what the scanner found for this variant.
    for included in {each for node in done for each in node.implicit or ()}:
        getattr(included, "_memo", {}).pop("get_found_includes", None)


def edited(node: Any) -> bool:
    """Whether a source differs from what SCons has seen."""
    if not isinstance(node, SCons.Node.FS.File) or node.is_derived():
        return False
    try:
        seen, now = node.stat(), Path(node.get_abspath()).stat()
    except OSError:
        return True
    if seen is None or (seen.st_ino, seen.st_size) != (now.st_ino, now.st_size):
        return True
    return (seen.st_mtime_ns, seen.st_ctime_ns) != (now.st_mtime_ns, now.st_ctime_ns)
