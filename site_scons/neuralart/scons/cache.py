"""``CacheDir`` with entries that are checked when they come back (``CACHEDIR_CLASS`` of our environments). Behind its
folder stands the cache on another machine, if one is named; then also where there is no folder. Its keys are made of
SCons's build signatures: contents of what a step is made of, its words, names of its targets in the tree.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Action
import SCons.CacheDir
import SCons.Node.FS
import SCons.Script

from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.scons import commands, making
from neuralart.text.console import say

if TYPE_CHECKING:
    from neuralart_fleet.config import CacheConfig, FarmConfig
    from neuralart_fleet.remote.client import SharedCache

_remote: list[RemoteSteps] = []  # Of the process; at most one


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _beside(entry: Path) -> Path:
    return entry.with_name(f"{entry.name}.sha256")


def _sound(entry: Path) -> str:
    """The hash of an entry, if that was written beside it. An entry without one counts as damaged."""
    try:
        digest = _digest(entry)
        return digest if _beside(entry).read_text("ascii").strip() == digest else ""
    except (OSError, UnicodeDecodeError):
        return ""


class CheckedCache(SCons.CacheDir.CacheDir):
    """Keeps the SHA-256 of each entry beside it. An entry that no longer has it is thrown away, its target is built.
    This finds damage (a full disk, a broken copy, an edit), not an attacker, who can write the hash as well.
    """

    def _entry(self, node: Any) -> Path | None:
        """The file in the cache; None: it is not there, or a link, which SCons copies as a link."""
        _, path = self.cachepath(node)
        entry = Path(path) if path else None
        return entry if entry and entry.is_file() and not entry.is_symlink() else None

    def retrieve(self, node: Any) -> bool:
        """Take a file out of the cache; False: it is not there, or damaged."""
        entry = self._entry(node)
        digest = _sound(entry) if entry else ""
        if entry and not digest:
            if SCons.Action.execute_actions:
                say(f"scons: {node}: the cache holds a damaged file for it, which is not used")
                for path in () if self.is_readonly() else (entry, _beside(entry)):
                    with contextlib.suppress(OSError):
                        path.unlink()
        elif super().retrieve(node) and making.record_copy(node, digest):
            return True
        if SCons.CacheDir.cache_enabled and any(steps.retrieve(node) for steps in _remote):
            return making.record_copy(node)
        return False

    def push(self, node: Any) -> None:
        """Put a file that was built into the cache."""
        super().push(node)
        for steps in () if self.is_readonly() else _remote:
            steps.push(node)
        entry, own = self._entry(node), Path(node.get_internal_path())
        if entry and not self.is_readonly() and not own.is_symlink() and not _beside(entry).exists():
            # The hash of what was built, not of the copy: so a wrong copy is detected.
            with contextlib.suppress(NeuralArtError, OSError):
                write_text(_beside(entry), _digest(own) + "\n")


class RemoteSteps:
    """Asks the cache on another machine, once for each step: SCons calls for each target, in order."""

    def __init__(self, cache: SharedCache) -> None:
        self._cache = cache
        atexit.register(report, cache)
        # By executor, which stands for a step.
        self._asked: dict[Any, tuple[str, float]] = {}  # Key, and when it was answered
        self._found: set[Any] = set()

    def retrieve(self, node: Any) -> bool:
        """Whether a target is there now, as the cache has it."""
        executor = node.get_executor()
        targets, env = executor.get_all_targets(), executor.get_build_env()
        wanted = SCons.Action.execute_actions and (self._cache.reads or self._cache.writes)
        if node is targets[0]:
            self._found.discard(executor)  # of an earlier build of this process
        if node is targets[0] and wanted and _shared(targets, executor.get_action_list(), env):
            # Not every plugin and program makes the same everywhere.
            words = [sysconfig.get_platform(), *(target.get_cachedir_bsig() for target in targets)]
            key = hashlib.sha256("\n".join(words).encode()).hexdigest()
            if self._cache.reads and self._cache.retrieve(key, *_files(targets, env)):
                self._found.add(executor)
                _SHOWN(node, [], env, execute=0)
            else:
                self._asked[executor] = key, time.monotonic()
        return executor in self._found

    def push(self, node: Any) -> None:
        """Put all targets of a step into the cache, of which this is the first."""
        executor = node.get_executor()
        targets = executor.get_all_targets()
        key, began = self._asked.pop(executor, ("", 0.0))
        # If a source was edited meanwhile, the step may have read either state of it.
        if key and self._cache.writes and not any(edited(each) for target in targets for each in target.children()):
            self._cache.keep(key, *_files(targets, executor.get_build_env()), time.monotonic() - began)


def report(cache: SharedCache) -> None:
    """End it, and say what it was good for."""
    if (said := cache.ended()) and not SCons.Script.GetOption("silent"):
        print(said)


def _files(targets: Sequence[Any], env: Any) -> tuple[list[str], Path]:
    """Names, as they are on every machine, and the folder that they start from."""
    return [node.get_internal_path().replace(os.sep, "/") for node in targets], Path(env.Dir("#").abspath)


def edited(node: Any) -> bool:
    """Whether a source is not what SCons has seen of it."""
    if not isinstance(node, SCons.Node.FS.File) or node.is_derived():
        return False
    try:
        seen, now = node.stat(), Path(node.get_abspath()).stat()
    except OSError:
        return True
    return seen is None or (seen.st_mtime_ns, seen.st_size) != (now.st_mtime_ns, now.st_size)


def _shared(targets: Sequence[Any], actions: Sequence[Any], env: Any) -> bool:
    """Whether a step is worth a question: it starts a program. What SCons does itself takes less time."""
    allowed = not any(node.nocache or node.always_build for node in targets)
    return allowed and any(_starts_program(action, env) for action in actions)


def _starts_program(action: Any, env: Any) -> bool:
    if isinstance(action, SCons.Action.LazyAction):
        said = env.get(action.var, "")
        return isinstance(said, str) or _starts_program(SCons.Action.Action(said), env)
    if isinstance(action, SCons.Action.ListAction):
        return any(_starts_program(each, env) for each in action.list)
    return not isinstance(action, SCons.Action.FunctionAction)


# Shown instead of the work that the cache saves.
_SHOWN = SCons.Action.Action(lambda target, source, env: None, "CACHED   $TARGET")


def share(said: CacheConfig | None = None, execute: FarmConfig | None = None) -> None:
    """Use the cache and the farm on other machines that variants.yaml or the process environment names.
    NeuralArtError: One cannot be used as it is named.
    """
    if execute or (os.environ.get("NEURALART_EXECUTE") and not commands.FARM):
        from neuralart.scons import farm

        for each in farm.use(execute):
            atexit.register(report, each)
    if said or (os.environ.get("NEURALART_CACHE") and not _remote):
        from neuralart_fleet.config import chosen
        from neuralart_fleet.remote.client import SharedCache

        config = chosen(said, os.environ)
        _remote[:] = [RemoteSteps(SharedCache(config, os.environ))] if config else []
