"""As much of C as it takes to see which macros a source defines and reads, and under which conditions.

Comments and literals are dropped, continued lines joined. Conditions are not evaluated but kept, each with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PIECES = re.compile(
    r"""//[^\n]*            # (lines are joined before)
    |/\*.*?(?:\*/|\Z)
    |"(?:\\.|[^"\\\n])*"?
    |'(?:\\.|[^'\\\n])*'?""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"\s*#\s*([a-z]+)\b(.*)", re.DOTALL)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True)
class Line:
    """A logical line.

    Attributes:
        number: Of its first physical line, from 1.
        directive: ``define``, ``if``, ``include``...; empty for code.
        text: What follows the directive's name, or the code; without comments.
    """

    number: int
    directive: str
    text: str


def lines(source: str) -> Iterator[Line]:
    """Logical lines that hold anything.

    Args:
        source: Text of a C file, any line ends.
    """
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    number = 1
    for joined, length in _joined(_blanked(text)):
        if joined.strip():
            found = _DIRECTIVE.match(joined)
            if found:
                yield Line(number, found.group(1), found.group(2).strip())
            else:
                yield Line(number, "", joined.strip())
        number += length


def _joined(text: str) -> Iterator[tuple[str, int]]:
    """Lines with their continuations, and how many lines each one was."""
    parts: list[str] = []
    for line in text.split("\n"):
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        parts.append(line)
        yield " ".join(parts), len(parts)
        parts = []
    if parts:
        yield " ".join(parts), len(parts)


def _blanked(text: str) -> str:
    """Without comments and the insides of literals; every line end stays."""

    def replace(found: re.Match[str]) -> str:
        piece = found.group()
        # The quotes of an include are wanted, the text of a string is not.
        if piece[0] == '"' and _is_include(text, found.start()):
            return piece
        return " " + "\n" * piece.count("\n")

    return _PIECES.sub(replace, text)


def _is_include(text: str, at: int) -> bool:
    start = text.rfind("\n", 0, at) + 1
    return re.fullmatch(r"\s*#\s*include\s*", text[start:at]) is not None
