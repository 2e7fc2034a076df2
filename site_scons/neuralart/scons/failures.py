"""Expected failures become one line of SCons's own kind, never a traceback."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import SCons.Errors

from neuralart.errors import NeuralArtError

P = ParamSpec("P")
R = TypeVar("R")


def at_read_time(method: Callable[P, R]) -> Callable[P, R]:
    """Wrap a method that a user's SConstruct calls."""

    @functools.wraps(method)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except NeuralArtError as error:
            raise SCons.Errors.UserError(str(error)) from None

    return wrapped


def in_action(function: Callable[..., None], target: list[Any], env: Any, *args: Any) -> None:
    """Run the body of a function action.

    Raises:
        SCons.Errors.BuildError: With the text of the failure.
    """
    try:
        function(*args)
    except NeuralArtError as error:
        raise SCons.Errors.BuildError(node=target, errstr=str(error), status=2, exitstatus=2) from None
