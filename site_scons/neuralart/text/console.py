"""Output of commands and builds: control characters of files, names and other programs never reach a terminal or a
pipe; colors on terminals, beside a progress bar.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from neuralart import intact
from neuralart.errors import one_line, visible
from neuralart.quick import lazy_regex

RED, YELLOW, GREEN = "31", "33", "32"
_COLORS = lazy_regex(r"(\x1b\[[0-9;]*[mK])")  # and "erase to the end of the line", which gcc prints with them
# What the lines of compilers, linkers, SCons and this package begin with, behind a place. Never a line with colors.
_LINES = (
    (RED, lazy_regex(r"^(?:scons: \*\*\*|(?:[^\x1b\n]*?[: ])?(?:fatal )?error: )[^\x1b\n]*", re.M)),
    (YELLOW, lazy_regex(r"^(?:[^\x1b\n]*?[: ])?(?:warning|note): [^\x1b\n]*", re.M)),
    (GREEN, lazy_regex(r"^scons: `[^\x1b\n]*' is up to date\.", re.M)),
)


def in_color(stream: TextIO, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a stream gets colors: it is a terminal, unless ``NO_COLOR`` or ``CLICOLOR_FORCE`` decides it."""
    return intact.in_color(os.environ if environ is None else environ, stream.isatty())


def _in(color: str, text: str) -> str:
    return f"\x1b[{color}m{text}\x1b[0m"


def painted(text: str) -> str:
    """Color whole lines: errors red, warnings and notes yellow, results of SCons green."""
    for color, line in _LINES:
        text = line.sub(lambda found, color=color: _in(color, found[0]), text)  # type: ignore[misc]
    return text


class OutputStream:
    """A stream that escapes control characters, hides the progress bar for a text, and colors it on a terminal.
    ``colored``: colors of others pass (of a user's SConstruct, or of gcc).
    """

    def __init__(self, stream: TextIO, *, colored: bool = False) -> None:
        self.stream = stream
        self.before: Callable[[], None] = lambda: None  # Called before each text, with :data:`WRITING` held
        self._colored = colored

    def write(self, text: str, color: str = "") -> int:
        """Write text, all in one color; without a color only whole lines are colored."""
        # Every second piece is a color, or "erase to the end of the line".
        pieces = _COLORS.split(text) if self._colored and "\x1b" in text else [text]
        shown = "".join(visible(piece) if number % 2 == 0 else piece for number, piece in enumerate(pieces))
        paint = in_color(self.stream)  # An option of SCons may have changed it
        if paint:
            shown = _in(color, shown) if color else painted(shown)
        with WRITING:
            self.before()
            try:
                self.stream.write(shown)
            except UnicodeEncodeError as error:  # The terminal lacks some of the characters
                self.stream.write(shown.encode(error.encoding, "backslashreplace").decode(error.encoding))
            if paint or self.stream.isatty():
                self.stream.flush()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


WRITING = threading.RLock()
"""Held by who writes to the terminal."""


def output_streams(*, colored: bool = False) -> list[OutputStream]:
    """Send all output through an :class:`OutputStream`. Returns those in use."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, OutputStream):
            setattr(sys, name, OutputStream(stream, colored=colored))
    return [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, OutputStream)]


def say(*lines: str, file: Any = None, flush: bool = False) -> None:
    """Print lines that may hold names from anywhere: a name cannot look like another line."""
    for line in lines:
        print(one_line(line), file=file or sys.stdout, flush=flush)


def say_result(text: str) -> None:
    """Print a result, green where standard output gets colors."""
    if isinstance(sys.stdout, OutputStream):
        sys.stdout.write(text, GREEN)
        print()
    else:
        print(text)
