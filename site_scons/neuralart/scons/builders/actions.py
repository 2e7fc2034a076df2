"""Actions of builders: what they run and what they show are construction variables of the environment.

One object for each builder of an environment, whatever is built: SCons hashes what an action is made of once.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

import SCons.Action

from neuralart.scons.registry import child_environment


class Process(SCons.Action.LazyAction):
    """``$NAMECOM``, shown as ``$NAMECOMSTR``: run with the process environment that our commands need."""

    def __init__(self, name: str, tools: Callable[[Any], str] | None = None) -> None:
        """Take the command from an environment's variables.

        Args:
            name: ``NEURALART`` for ``$NEURALARTCOM`` and ``$NEURALARTCOMSTR``.
            tools: Gives the folder whose programs the command starts, from its targets: first in its PATH.
        """
        super().__init__(f"{name}COM", {"cmdstr": f"${name}COMSTR"})
        self._message = f"{name}COMSTR"
        self._tools = tools

    def __call__(self, target: Any, source: Any, env: Any, *args: Any, **kw: Any) -> Any:
        """Run it, in the environment of its target."""
        own = dict(env["ENV"])
        if self._tools is not None:
            executor = kw.get("executor")
            folder = self._tools(executor.get_all_targets() if executor is not None else target)
            own["PATH"] = os.pathsep.join(part for part in (folder, own.get("PATH", "")) if part)
        changed: dict[str, Any] = {"ENV": child_environment(own)}
        if os.name == "posix":
            # SCons's own leaves ` to the shell.
            changed["ESCAPE"] = shlex.quote
        if env["NEURALART_VERBOSE"]:
            changed[self._message] = ""
        return super().__call__(target, source, env.Override(changed), *args, **kw)

    def get_presig(self, target: Any, source: Any, env: Any, executor: Any = None) -> Any:
        """What counts. With the executor, whose lists of nodes are made once; SCons's own leaves it out."""
        return self.get_parent_class(env).get_presig(self, target, source, env, executor)

    def get_implicit_deps(self, target: Any, source: Any, env: Any, executor: Any = None) -> list[Any]:
        """Nothing: Python itself is not what decides a result, and the code that runs in it is a dependency."""
        return []


def process(name: str, tools: Callable[[Any], str] | None = None) -> Any:
    """The action of a builder that starts a program.

    Args:
        name: What its variables begin with.
        tools: Gives the folder whose programs the command starts, from its targets.
    """
    return Process(name, tools)


def lazily(name: str) -> Any:
    """The action of a builder whose default ``...COM`` is a function of ours (:func:`function`).

    Args:
        name: What its variables begin with.
    """
    return SCons.Action.Action(f"${name}COM", f"${name}COMSTR")


def function(name: str, work: Callable[..., None], *variables: str) -> Any:
    """The default of a ``...COM`` whose work takes some milliseconds and runs in SCons itself.

    Args:
        name: What the builder's variables begin with.
        work: ``(target, source, env)``.
        *variables: Construction variables that it reads; a change of one runs it again.
    """
    return SCons.Action.Action(work, f"${name}COMSTR", varlist=list(variables))
