"""Construction variables: declared once, with default, type and meaning; the reference page is made from this."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Variable:
    """One construction variable.

    Attributes:
        name: Its name.
        kind: What it holds, for the reference: ``text``, ``list``, ``path``, ``command``...
        default: Its value unless the user sets one.
        doc: What it means, one sentence or two.
        shown: How the reference writes the default; empty: as Python does.
        make: Makes the default instead, anew for each environment.
    """

    name: str
    kind: str
    default: Any
    doc: str
    shown: str = ""
    make: Callable[[], Any] | None = None

    def value(self) -> Any:
        """The default, for one environment alone."""
        return self.make() if self.make is not None else self.default


def declare(env: Any, variables: Iterable[Variable]) -> None:
    """Give an environment the defaults of what it does not have yet.

    Args:
        env: The construction environment; a value that the user has set stays.
        variables: Of a builder.
    """
    for variable in variables:
        if variable.name not in env:
            env[variable.name] = variable.value()


def carried(env: Any, base: Any, variables: Iterable[Variable]) -> dict[str, Any]:
    """Commands, messages and emitters that an environment has of its own.

    Args:
        env: In which a method is called.
        base: The environment that all variants share.
        variables: Of the builder that the method calls.
    """
    names = [each.name for each in variables if each.name.endswith(("COM", "COMSTR", "EMITTER"))]
    return {name: env[name] for name in names if env[name] != base[name]}


def words(name: str, tag: str, command: Any, emitter: Callable[..., Any], shown: str = "") -> tuple[Variable, ...]:
    """The three variables that every builder has: its command, its message and its emitters.

    Args:
        name: What the names begin with: ``NEURALART_IMAGE`` makes ``NEURALART_IMAGECOM``, ``NEURALART_IMAGECOMSTR`` and
            ``NEURALART_IMAGEEMITTER``.
        tag: First word of the message, in capitals, with what follows it: ``IMAGE    $TARGET``.
        command: Default of the command: a text that SCons expands, or an action.
        emitter: The builder's own, first in the list.
        shown: How the reference writes the command, if it is no text.
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


COMMON = (
    Variable(
        "NEURALART_PYTHON",
        "list",
        None,
        "Interpreter of our commands; it does not count in their signatures.",
        "`[the running Python]`",
        # A list, so that a path with spaces stays one word.
        lambda: [sys.executable],
    ),
    Variable("NEURALART_BUILD_DIR", "path", "build", "Folder of what the methods make, below the top folder."),
    Variable("NEURALART_BOARD", "text", "", "Name of the board that a builder works for."),
    Variable("NEURALART_BOARD_FILES", "list", None, "Your own board descriptions.", make=list),
    Variable("NEURALART_VERBOSE", "bool", False, "Show whole commands, whatever the messages say."),
    Variable("NEURALART_EXPORT_FORCE", "bool", False, "`export-<variant>` overwrites what somebody edited."),
)
