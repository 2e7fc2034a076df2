"""Macro definitions in a C source, found as the preprocessor finds them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError, nearest
from neuralart.text.c_source import CSource

_DEFINE = re.compile(r"^[ \t]*\#[ \t]*define[ \t]+([A-Za-z_]\w*)(\(?)([^\n]*)", re.MULTILINE)
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*")

Span = tuple[int, int]


@dataclass(frozen=True)
class Definition:
    """A ``#define``.

    Attributes:
        name: Of the macro.
        start: Offset of the directive.
        value: Offsets of its replacement list, without comments and blanks round it.
        function_like: It has parameters.
    """

    name: str
    start: int
    value: Span
    function_like: bool


def definitions(source: CSource, outside: Sequence[Span] = ()) -> list[Definition]:
    """All that the compiler may see, in the order of the file.

    Args:
        source: The source.
        outside: Places that do not count.
    """
    found = []
    for match in _DEFINE.finditer(source.code):
        if not source.alive(match.start()) or any(start <= match.start() < stop for start, stop in outside):
            continue
        rest = match.group(3)
        body = rest.strip()
        start = match.start(3) + (len(rest) - len(rest.lstrip()) if body else 0)
        found.append(Definition(match.group(1), match.start(), (start, start + len(body)), bool(match.group(2))))
    return found


def find(source: CSource, name: str, outside: Sequence[Span] = ()) -> Definition | None:
    """The one definition of a macro; None if there is none.

    Raises:
        NeuralArtError: There are several, or it has parameters.
    """
    found = [each for each in definitions(source, outside) if each.name == name]
    if len(found) > 1:
        listed = ", ".join(str(source.line_of(each.start)) for each in found)
        raise NeuralArtError(
            f"{name} is defined {len(found)} times, in lines {listed}: which one counts?",
            where=source.name,
            hint="keep one definition (what stands under #if 0 or in comments does not count)",
        )
    if found and found[0].function_like:
        raise NeuralArtError(
            f"{name} has parameters, a plain macro is to be patched", where=source.where(found[0].start)
        )
    return found[0] if found else None


def require(source: CSource, name: str, outside: Sequence[Span] = ()) -> Definition:
    """The one definition of a macro.

    Raises:
        NeuralArtError: There is none, or several, or it has parameters.
    """
    found = find(source, name, outside)
    if found is None:
        known = tuple(sorted({each.name for each in definitions(source, outside)}))
        hint = nearest(name, known).partition("? known")[0]
        raise NeuralArtError(
            f"no #define {name} found", where=source.name, hint=f"{hint}?" if hint.startswith("did") else ""
        )
    return found


def value_text(source: CSource, definition: Definition) -> str:
    """The replacement list in one line, comments as blanks."""
    return " ".join(source.code[slice(*definition.value)].split())


def integer(source: CSource, definition: Definition) -> int:
    """The value of a macro that is a plain number, possibly in parentheses.

    Raises:
        NeuralArtError: It is something else.
    """
    text = value_text(source, definition).replace(" ", "")
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    match = _INTEGER.fullmatch(text)
    octal = match is not None and len(match.group(1)) > 1 and match.group(1).isdigit() and text.startswith("0")
    if match is None or octal:
        raise NeuralArtError(
            f"{definition.name} is '{value_text(source, definition)}', a plain decimal or hexadecimal number is read",
            where=source.where(definition.start),
        )
    return int(match.group(1), 0)
