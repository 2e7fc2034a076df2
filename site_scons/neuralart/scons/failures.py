"""Expected failures become one line of SCons's own kind, never a traceback."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import SCons.Errors

from neuralart.errors import NeuralArtError
from neuralart.resources import PACKAGE
from neuralart.scons.paths import named
from neuralart.text.values import Location

P = ParamSpec("P")
R = TypeVar("R")


def at_read_time(method: Callable[P, R]) -> Callable[P, R]:
    """Wrap a method that a user's SConstruct calls."""
    # SCons names the deepest frame outside a folder called SCons as the place of an error. Seen as part of SCons, this
    # wrapper leaves that to the line of the user's SConstruct.
    place = f"{os.sep}SCons{os.sep}neuralart"

    @functools.wraps(method)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (NeuralArtError, SCons.Errors.UserError) as error:
            raise SCons.Errors.UserError(str(error)) from None

    wrapped.__code__ = wrapped.__code__.replace(co_filename=place)  # type: ignore[attr-defined]
    return wrapped


def in_action(function: Callable[..., object], target: list[Any], env: Any, *args: Any) -> None:
    """Run the body of a function action.

    Raises:
        SCons.Errors.BuildError: With the text of the failure.
    """
    try:
        function(*args)
    except NeuralArtError as error:
        raise SCons.Errors.BuildError(node=target, errstr=str(error), status=2, exitstatus=2) from None


def caller(env: Any) -> Location:
    """The line of the user's SConstruct that called a method of ours: what it says has this place in messages.

    Args:
        env: Any environment.
    """
    ours = (str(PACKAGE), str(Path(SCons.Errors.__file__).parent))
    frame = sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        if not name.startswith(ours) and f"{os.sep}SCons{os.sep}" not in name:
            return Location(named(env, Path(name)), frame.f_lineno)
        frame = frame.f_back
    return Location("", 0)
