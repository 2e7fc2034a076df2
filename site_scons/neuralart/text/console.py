"""Text for people on a terminal: colors, and writing that does not run into a progress bar. Nothing of this is used
where the output is no terminal: programs read the same text as ever.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from neuralart.patterns import later

RED, YELLOW, GREEN = "31", "33", "32"
# What the lines of compilers, linkers, SCons and this package begin with, behind a place. Never a line with colors.
_LINES = (
    (RED, later(r"^(?:scons: \*\*\*|(?:[^\x1b\n]*?[: ])?(?:fatal )?error: )[^\x1b\n]*", re.M)),
    (YELLOW, later(r"^(?:[^\x1b\n]*?[: ])?(?:warning|note): [^\x1b\n]*", re.M)),
    (GREEN, later(r"^scons: `[^\x1b\n]*' is up to date\.", re.M)),
)


def in_color(stream: TextIO, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a stream gets colors: it is a terminal, unless ``NO_COLOR`` or ``CLICOLOR_FORCE`` is set."""
    own = os.environ if environ is None else environ
    if own.get("NO_COLOR"):
        return False
    if own.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return stream.isatty() and own.get("TERM") != "dumb"


def _in(color: str, text: str) -> str:
    return f"\x1b[{color}m{text}\x1b[0m"


def green(text: str, stream: TextIO) -> str:
    """A result, which is green where the stream gets colors."""
    return _in(GREEN, text) if in_color(stream) else text


def painted(text: str) -> str:
    """Errors red, warnings and notes yellow, results of SCons green: whole lines of the text."""
    for color, line in _LINES:
        text = line.sub(lambda found, color=color: _in(color, found[0]), text)  # type: ignore[misc]
    return text


class TerminalStream:
    """A stream that takes away what is in the way of a text, and paints it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.before: Callable[[], None] = lambda: None  # Called before each text, with :data:`WRITING` held
        self._paint = in_color(stream)

    def write(self, text: str) -> int:
        """Write text; what is not a whole line is not painted."""
        with WRITING:
            self.before()
            self.stream.write(painted(text) if self._paint else text)
            self.stream.flush()
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


WRITING = threading.RLock()
"""Held by who writes to the terminal."""


def on_terminals() -> list[TerminalStream]:
    """Replace ``sys.stdout`` and ``sys.stderr`` where they are terminals, or get colors. Returns those in use."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, TerminalStream) and (stream.isatty() or in_color(stream)):
            setattr(sys, name, TerminalStream(stream))
    return [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, TerminalStream)]
