"""What a user sees of a command: a tag and the file it makes, or the whole command on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import SCons.Action


def command(env: Any, words: list[str], text: str) -> Any:
    """An action that starts a program.

    Args:
        env: Its ``NEURALART_VERBOSE`` decides what is shown.
        words: The program and its arguments; ``$`` is expanded by SCons.
        text: What is shown otherwise.
    """
    if env["NEURALART_VERBOSE"]:
        return SCons.Action.Action([words])
    return SCons.Action.Action([words], text)


def function(work: Callable[..., None], text: str, *variables: str) -> Any:
    """An action of some milliseconds that runs in SCons itself.

    Args:
        work: ``(target, source, env)``.
        text: What is shown.
        *variables: Construction variables that it reads; a change of one runs it again.
    """
    return SCons.Action.Action(work, text, varlist=list(variables))
