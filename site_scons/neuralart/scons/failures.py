"""Turns expected failures into one line of SCons's own kind, without a traceback."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

import SCons.Errors

from neuralart import plugins
from neuralart.errors import NeuralArtError, nearest, of_system
from neuralart.quick import lazy_regex
from neuralart.resources import IMPORTED, PACKAGE
from neuralart.scons.paths import named
from neuralart.text.values import Location

P = ParamSpec("P")
R = TypeVar("R")
# SCons looks when it gets to know a file: what is on disk under its name may be a folder.
_OTHER_KIND = lazy_regex(r"(Directory|File) (.+) found where (file|directory) expected\.")
# It knows a name as one kind, and it is named as another one now.
_TWO_KINDS = lazy_regex(r"Tried to lookup (\w+) '(.+)' as a (\w+)\.")
_KINDS = {"Dir": "folder", "RootDir": "folder", "File": "file"}
_OURS = (str(PACKAGE), str(IMPORTED), str(Path(SCons.Errors.__file__).parent))


def _known(error: BaseException) -> Exception | None:
    if isinstance(error, TypeError) and (found := _OTHER_KIND.fullmatch(str(error))):
        there, path, wanted = found.groups()
        what = f"is a {there.lower()}, where a {wanted} is needed"
        return NeuralArtError(what, where=os.path.relpath(path), hint="delete or rename it")
    if isinstance(error, TypeError) and (found := _TWO_KINDS.fullmatch(str(error))):
        known, path, wanted = found.groups()
        kinds = [_KINDS.get(kind, kind.lower()) for kind in (known, wanted)]
        what = f"is used as a {kinds[0]} and named as a {kinds[1]}"
        return NeuralArtError(what, where=path, hint="correct one of the two paths")
    return plugins.blamed(error) or (of_system(error) if isinstance(error, OSError) else None)


def at_read_time(method: Callable[P, R]) -> Callable[P, R]:
    """Wrap a method or emitter that runs while an SConstruct is read: errors get a traceback that ends in the user's
    line, which SCons shows as their place.
    """

    @functools.wraps(method)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (Exception, SystemExit) as error:
            expected = isinstance(error, (NeuralArtError, SCons.Errors.UserError))
            known = error if expected else _known(error)
            if known is None:
                raise
            frame = _users_frame()
            place = TracebackType(None, frame, frame.f_lasti, frame.f_lineno) if frame is not None else None
            raise SCons.Errors.UserError(str(known)).with_traceback(place) from None

    return wrapped


def in_action(work: Callable[[list[Any], list[Any], Any], object]) -> Callable[[list[Any], list[Any], Any], None]:
    """Wrap a function action. SCons.Errors.BuildError: has the text of an expected failure."""

    @functools.wraps(work)
    def wrapped(target: list[Any], source: list[Any], env: Any) -> None:
        try:
            work(target, source, env)
        except (Exception, SystemExit) as error:
            known = error if isinstance(error, NeuralArtError) else _known(error)
            if known is None:
                raise
            raise SCons.Errors.BuildError(node=target, errstr=str(known), status=2, exitstatus=2) from None

    return wrapped


def refuse_unknown(options: Iterable[str], known: Sequence[str], where: str) -> None:
    """Check the keywords of a method. NeuralArtError: one is unknown."""
    for keyword in options:
        if keyword not in known:
            raise NeuralArtError(f"unknown option '{keyword}'", where=where, hint=nearest(keyword, list(known)))


def _users_frame() -> FrameType | None:
    """The innermost frame that is neither ours nor SCons's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OURS) and f"{os.sep}SCons{os.sep}" not in name:
            return frame
        frame = frame.f_back
    return None


def caller(env: Any) -> Location:
    """The line of the user's SConstruct that called our method, for messages."""
    frame = _users_frame()
    if frame is None:
        return Location("", 0)
    return Location(named(env, Path(frame.f_code.co_filename)), frame.f_lineno)
