"""Commands of builders: construction variables, declared once with default, type and meaning, and actions made of them.
One action for each builder of an environment, whatever is built: SCons hashes what an action is made of once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import SCons.Action
import SCons.Scanner
from SCons.Subst import Literal

from neuralart.quick import dataclass
from neuralart.scons import paths
from neuralart.scons.paths import LiteralWord
from neuralart.scons.registry import child_environment


@dataclass(frozen=True)
class Variable:
    """A construction variable."""

    name: str  # Its name
    kind: str  # What it holds, for the reference: ``text``, ``list``, ``path``, ``command``
    default: Any  # Its value unless the user sets one
    doc: str  # What it means, one sentence or two
    shown: str = ""  # How the reference writes the default; empty: as Python does
    make: Callable[[], Any] | None = None  # Makes the default instead, anew for each environment

    def value(self) -> Any:
        """Make the default for one environment."""
        return self.make() if self.make is not None else self.default


def declare(env: Any, variables: Iterable[Variable]) -> None:
    """Set the defaults of variables that an environment lacks."""
    for variable in variables:
        if variable.name not in env:
            env[variable.name] = variable.value()


def carried(env: Any, base: Any, variables: Iterable[Variable]) -> dict[str, Any]:
    """Commands, messages and emitters that an environment has changed."""
    names = [each.name for each in variables if each.name.endswith(("COM", "COMSTR", "EMITTER"))]
    return {name: env[name] for name in names if env[name] != base[name]}


def words(name: str, tag: str, command: Any, emitter: Callable[..., Any], shown: str = "") -> tuple[Variable, ...]:
    """The three variables that every builder has: its command, its message and its emitters.
    ``name``: what the names begin with: ``NEURALART_IMAGE`` makes ``NEURALART_IMAGECOM``, ``NEURALART_IMAGECOMSTR`` and
    ``NEURALART_IMAGEEMITTER``. ``tag``: first word of the message, in capitals, with what follows it: ``IMAGE
    $TARGET``.
    """
    emitters = "NEURALART_NETWORKEMITTER" if name == "NEURALART" else f"{name}EMITTER"
    return (
        Variable(f"{name}COM", "command", command, "What runs: a command line, an action, or a list of them.", shown),
        Variable(f"{name}COMSTR", "text", tag, "What is shown instead of the command; empty: the command itself."),
        Variable(
            emitters,
            "list",
            None,
            "Emitters, the builder's own first: append yours, `(target, source, env)`.",
            "`[the builder's own]`",
            lambda: [emitter],
        ),
    )


SWITCHES = {"VERBOSE": "0", "WAIT": "1"}
"""What every command line may set to 0 or 1, and its value unless it does."""


def _switched(name: str) -> bool:
    from SCons.Script import ARGUMENTS

    return str(ARGUMENTS.get(name, SWITCHES[name])) not in ("", "0")


COMMON = (
    Variable(
        "NEURALART_PYTHON",
        "list",
        None,
        "Interpreter of our commands; it does not count in their signatures.",
        "`[the running Python]`",
        # Whatever stands in its path, it stays one word.
        lambda: [LiteralWord(sys.executable)],
    ),
    Variable("NEURALART_BUILD_DIR", "path", "build", "Folder of what the methods make, below the top folder."),
    Variable(
        "NEURALART_WAIT",
        "bool",
        None,
        "Wait for another SCons that works in the same build folder; false: fail. It must be set before `Tool`.",
        "`WAIT` of the command line, else `True`",
        partial(_switched, "WAIT"),
    ),
    Variable("NEURALART_BOARD", "text", "", "Name of the board that a builder works for."),
    Variable("NEURALART_BOARD_FILES", "list", None, "Your own board descriptions.", make=list),
    Variable(
        "NEURALART_VERBOSE",
        "bool",
        None,
        "Show whole commands, whatever the messages say.",
        "`VERBOSE` of the command line, else `False`",
        partial(_switched, "VERBOSE"),
    ),
    Variable(
        "NEURALART_GDB",
        "text",
        None,
        "Where `debug-<variant>` waits for gdb: `:3333`; `:0` takes a free port. Set in the process environment, too.",
        "`:0`",
        lambda: os.environ.get("NEURALART_GDB") or ":0",
    ),
    Variable("NEURALART_EXPORT_FORCE", "bool", False, "`export-<variant>` overwrites files that were edited."),
)


def command(env: Any, words: Sequence[Any], text: str, name: str = "") -> tuple[Any, dict[str, Any]]:
    """An action that runs a command of ours, and the construction variables that it needs.
    ``words``: what stands behind ``neuralart``. ``$`` is expanded by SCons in plain text; a ``Literal`` (a path)
    reaches the command as it is, whatever it holds.
    """
    # A literal keeps its meaning through SCons's expansion and the shell only as the value of a variable.
    literals = {f"NEURALART_WORD{name}{n}": item for n, item in enumerate(words) if isinstance(item, Literal)}
    line = [f"$NEURALART_WORD{name}{n}" if isinstance(item, Literal) else item for n, item in enumerate(words)]
    line[:0] = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart"]
    return SCons.Action.Action([line], *([] if env["NEURALART_VERBOSE"] else [text])), literals


@cache
def function(work: Callable[..., None], text: str | Callable[..., str], *variables: str) -> Any:
    """An action of some milliseconds that runs in SCons itself; one object for equal arguments. SCons hashes the code
    of an action when it is made: a text with ``$TARGET`` in it serves all variants. ``work``: ``(target, source,
    env)``.
    """
    return SCons.Action.Action(work, text, varlist=list(variables))


# For commands that take C as it is. SCons would make what the C includes a dependency of theirs, and forget it
# again while what the C is made from is out of date.
NO_INCLUDES = SCons.Scanner.ScannerBase(function=lambda *_: [], name="neuralart-no-includes")


FARM: list[Any] = []
"""What runs commands on other machines, at most one. Its ``spawn`` takes SCons's own ``SPAWN``, the targets of a
command, their environment, and what SCons calls ``SPAWN`` with; it returns the exit code.
"""


def on_farm(env: Any, targets: Any, plain: Any = None) -> dict[str, Any]:
    """Settings with which the command of some targets runs on the farm; empty: there is no farm."""
    return {"SPAWN": partial(FARM[0].spawn, plain or env["SPAWN"], targets, env)} if FARM else {}


class Process(SCons.Action.LazyAction):
    """An action: ``$NAMECOM`` with our commands' environment, shown as ``$NAMECOMSTR``."""

    def __init__(self, name: str, tools: Callable[[Any], str] | None = None, *, farm: bool = False) -> None:
        """Take the command from an environment's variables.
        ``name``: ``NEURALART`` for ``$NEURALARTCOM`` and ``$NEURALARTCOMSTR``. ``farm``: a farm may do it.
        """
        super().__init__(f"{name}COM", {"cmdstr": f"${name}COMSTR"})
        self._message = f"{name}COMSTR"
        self._tools, self._farm = tools, farm

    def __call__(self, target: Any, source: Any, env: Any, *args: Any, **kw: Any) -> Any:
        """Run it, in the environment of its target."""
        own, executor = dict(env["ENV"]), kw.get("executor")
        targets = executor.get_all_targets() if executor is not None else target
        if self._tools is not None:
            folder = self._tools(targets)
            own["PATH"] = os.pathsep.join(part for part in (folder, own.get("PATH", "")) if part)
        changed: dict[str, Any] = {"ENV": child_environment(own)}
        if os.name == "posix":
            changed["ESCAPE"] = paths.quote
            if (spawn := paths.direct(env["SPAWN"])) is not env["SPAWN"]:
                from neuralart.scons import fork_server

                changed["SPAWN"] = partial(fork_server.spawn, spawn)
            changed |= on_farm(env, targets, changed.get("SPAWN")) if self._farm else {}
        if env["NEURALART_VERBOSE"]:
            changed[self._message] = ""
        return super().__call__(target, source, env.Override(changed), *args, **kw)

    def get_presig(self, target: Any, source: Any, env: Any, executor: Any = None) -> Any:
        """What counts. With the executor, whose lists of nodes are made once; SCons's own leaves it out."""
        return self.get_parent_class(env).get_presig(self, target, source, env, executor)

    def get_implicit_deps(self, target: Any, source: Any, env: Any, executor: Any = None) -> list[Any]:
        """Nothing: Python itself is not what decides a result, and the code that runs in it is a dependency."""
        return []


def lazily(name: str) -> Any:
    """Make the action of a builder whose default ``...COM`` is a function (:func:`function`)."""
    return SCons.Action.Action(f"${name}COM", f"${name}COMSTR")
