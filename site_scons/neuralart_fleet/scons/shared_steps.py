"""Steps whose results the cache on another machine has. Its keys are made of SCons's build signatures: contents of what
a step is made of, its words, names of its targets in the tree.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import SCons.Action
import SCons.Script

from neuralart.scons.making import edited
from neuralart_fleet.remote.client import SharedCache


class SharedSteps:
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
