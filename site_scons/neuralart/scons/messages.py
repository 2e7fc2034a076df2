"""What a user sees of a command: a tag and the file it makes, or the whole command on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import SCons.Action
from SCons.Subst import Literal


def command(env: Any, words: Sequence[Any], text: str, name: str = "") -> tuple[Any, dict[str, Any]]:
    """An action that starts a program.

    Args:
        env: Its ``NEURALART_VERBOSE`` decides what is shown.
        words: The program and its arguments. ``$`` is expanded by SCons in plain text; a ``Literal`` (a path) reaches
            the program as it is, whatever it holds.
        text: What is shown otherwise.
        name: Tells its variables from those of other commands of the same target.

    Returns:
        The action, and the construction variables that it needs.
    """
    # A literal keeps its meaning through SCons's expansion and the shell only as the value of a variable.
    literals = {f"NEURALART_WORD{name}{n}": item for n, item in enumerate(words) if isinstance(item, Literal)}
    line = [f"$NEURALART_WORD{name}{n}" if isinstance(item, Literal) else item for n, item in enumerate(words)]
    if env["NEURALART_VERBOSE"]:
        return SCons.Action.Action([line]), literals
    return SCons.Action.Action([line], text), literals


@cache
def function(work: Callable[..., None], text: str, *variables: str) -> Any:
    """An action of some milliseconds that runs in SCons itself; one object for equal arguments.

    SCons hashes the code of an action when it is made: a text with ``$TARGET`` in it serves all variants.

    Args:
        work: ``(target, source, env)``.
        text: What is shown.
        *variables: Construction variables that it reads; a change of one runs it again.
    """
    return SCons.Action.Action(work, text, varlist=list(variables))
