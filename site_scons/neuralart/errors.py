"""The base class of errors that users see, and texts that are safe to print."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

# Characters of a message without its place. No text before a hint is longer; a hint that makes it longer than two such
# lines stands on a line of its own.
LONGEST = 160
# Of a message that a file made long (a name of 3,000 letters), and of its hint, which may list all operators.
_MOST, _MOST_OF_HINT, _END = 320, 800, 60
_LONGEST_PLACE = 480
"""No path of a file is cut that a system's tools show in one line."""


def printable(text: str) -> str:
    """Replace control characters, and what no terminal can show, by Python's escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


@functools.cache
def _steering() -> re.Pattern[str]:
    # A carriage return passes at the end of a line, or of all (SCons's Progress).
    return re.compile(
        r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n|\Z)"
        r"|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    )


def visible(text: str) -> str:
    """Escape everything that could steer a terminal or change the order of the text: controls (C0, C1), controls of
    direction, other line ends, halves of surrogate pairs. Lines and tabs stay.
    """
    return _steering().sub(_as_escape, text)


def _as_escape(found: re.Match[str]) -> str:
    # JSON knows no \x7f, and writes this character as it is; the others it writes as escapes.
    return found[0].encode("unicode_escape").decode("ascii") if found[0] != "\x7f" else "\\u007f"


def one_line(text: str) -> str:
    """Escape as :func:`visible` does, and line ends too, so that no name can look like another line."""
    return visible(text).replace("\n", "\\n").replace("\r", "\\r")


def shown(text: str, most: int = _MOST) -> str:
    """Shorten a foreign text for a terminal: one line without control characters; of a long one both ends."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - _END]} ... {line[-_END:]}"


def first_names(names: Sequence[str], most: int) -> str:
    """List the first ``most`` names, and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


class NeuralArtError(Exception):
    """An expected failure: one line without a traceback; a long hint becomes a second line. ``what`` is wrong, with its
    numbers; ``where``: ``file:line``, ``file:line:column``, ``file@0x1c`` (a byte offset) or a name; ``hint``: what to
    do about it.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what, where, hint)

    def __str__(self) -> str:
        what, hint = shown(self.what), shown(self.hint, _MOST_OF_HINT)
        where = printable(self.where) if len(self.where) <= _LONGEST_PLACE else shown(self.where)
        text = f"{where}: {what}" if where else what
        if not hint:
            return text
        # The length of a path is not ours, and must not decide the form of a message.
        return f"{text}\n  {hint}" if len(what) > LONGEST or len(what) + len(hint) > 2 * LONGEST else f"{text} ({hint})"


def of_system(error: OSError) -> NeuralArtError:
    """Say why the system cannot use a name: too long, a loop of links, a device that is gone."""
    return NeuralArtError(f"cannot use it: {error.strerror or error}", where=shown(str(error.filename or "")))


def nearest(name: str, known: list[str] | tuple[str, ...]) -> str:
    """List the known values behind the most similar one: ``did you mean 'x'? known: a, b, x``."""
    listed = "known: " + ", ".join(sorted(known)) if known else "none is known"
    return " ".join(filter(None, (similar(name, known, cutoff=0.5), listed)))


def similar(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Propose the most similar known values: ``did you mean 'x' or 'y'?``; empty if none is similar."""
    *others, last = [f"'{each}'" for each in closest(name, known, most, cutoff)] or [""]
    found = f"{', '.join(others)} or {last}" if others else last
    return f"did you mean {found}?" if last else ""


def closest(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Find the known values that are most similar, best first; upper and lower case are equal."""
    import difflib

    folded = {each.casefold(): each for each in known}
    return [folded[each] for each in difflib.get_close_matches(name.casefold(), list(folded), n=most, cutoff=cutoff)]
