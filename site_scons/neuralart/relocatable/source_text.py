"""Reading generated C without a compiler: comments out, strings as they are, initialisers by their braces."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|[{}]')
_FIELD = re.compile(r'\.(\w+)(?:\.\w+)?\s*=\s*(\{[^{}]*\}|"(?:\\.|[^"\\\n])*"|[^,{}]*)')


def without_comments(text: str) -> str:
    """The same text with blanks for comments; line numbers and offsets stay."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)

    return _COMMENT.sub(blank, text)


def line_of(text: str, offset: int) -> int:
    """Line number of an offset, from 1."""
    return text.count("\n", 0, offset) + 1


def closing(text: str, opening: int) -> int:
    """Offset of the brace that closes the one at ``opening``; -1 if none does."""
    depth = 0
    for match in _TOKEN.finditer(text, opening):
        if match.group() == "{":
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if not depth:
                return match.start()
    return -1


def rows(text: str, opening: int, end: int) -> Iterator[tuple[int, dict[str, str]]]:
    """The elements of an array of structs: (offset, member -> its text).

    Args:
        text: Without comments.
        opening: Offset of the array's opening brace.
        end: Offset of its closing brace.
    """
    at = text.find("{", opening + 1)
    while 0 <= at < end:
        stop = closing(text, at)
        if stop < 0:
            return
        body = text[at + 1 : stop]
        yield at, {name: value.strip() for name, value in _FIELD.findall(body)}
        at = text.find("{", stop + 1)
