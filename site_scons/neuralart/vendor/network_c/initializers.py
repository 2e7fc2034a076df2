"""Reads initializers of C: arrays of structs, and numbers in them."""

from __future__ import annotations

import math
import re

from neuralart.quick import lazy_regex

# An array of structs: its brace is followed by that of its first element.
_STRUCTS = lazy_regex(r"\]\s*=\s*\{(?=\s*\{)")
# No part of these can match the same text in two ways: time stays proportional to length, whatever the text.
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_ELEMENT = lazy_regex(rf'[\s,]*\{{([^{{}}"]*(?:(?:{_STRING}|\{{[^{{}}]*\}})[^{{}}"]*)*)\}}')
_FIELD = lazy_regex(rf'\.(\w+)(?:\.\w+)?\s*=\s*([^,{{}}"]*(?:(?:\{{[^{{}}]*\}}|{_STRING})[^,{{}}"]*)*)')
_PATH = lazy_regex(rf'\.(\w+(?:\.\w+)*)\s*=\s*([^,{{}}"]*(?:(?:\{{[^{{}}]*\}}|{_STRING})[^,{{}}"]*)*)')
_BEHIND = lazy_regex(r"[\s,]*")
_LITERAL = lazy_regex(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])")
_WHOLE = lazy_regex(r"[-+]?\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_REAL = lazy_regex(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?")
_BODY = lazy_regex(r"\s*\[[^\]]{0,80}\]\s*=\s*\{([^{}]*)\}")
_LONGEST_LITERAL = 24


def structs(text: str) -> tuple[list[tuple[int, str]], list[int]]:
    """The elements of the arrays of structs in a part of a file without comments. Returns (Offset, what stands between
    the braces) of each, and where an array goes on with what is no element.
    """
    found: list[tuple[int, str]] = []
    wrong: list[int] = []
    for array in _STRUCTS.finditer(text):
        end = array.end()
        while (element := _ELEMENT.match(text, end)) is not None:
            found.append((element.start(1), element[1]))
            end = element.end()
        behind = _BEHIND.match(text, end)
        if text[behind.end() : behind.end() + 1] != "}" if behind is not None else True:
            wrong.append(end)
    return found, wrong


def members(body: str) -> dict[str, str]:
    """Read the members of a struct from the text between its braces, without comments: name -> value."""
    return {name: value.strip() for name, value in _FIELD.findall(body)}


def paths(body: str) -> dict[str, str]:
    """As :func:`members`, with the whole path as name: ``.general.input.dim.tensor_b = 1``."""
    return {path: value.strip() for path, value in _PATH.findall(body)}


def array_text(text: str, name: str, before: int | None = None) -> str | None:
    """What stands between the braces of the array of that name: the last one before an offset, else the first."""
    end = len(text) if before is None else before
    while (at := text.rfind(name, 0, end)) >= 0:
        found = _BODY.match(text, at + len(name))
        if found is not None and not re.match(r"\w", text[at - 1 : at]):
            return found[1]
        end = at
    return array_text(text[before:], name) if before is not None else None


def literal(digits: str) -> int | None:
    """The value of a C integer literal without suffix; None if it is none, or does not fit 64 bits."""
    if len(digits) > _LONGEST_LITERAL:
        return None
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        value = int(digits, 8 if octal else 0)
    except ValueError:
        return None
    return value if value < 1 << 64 else None


def integer(text: str) -> int | None:
    """The value of ``64``, ``0x40UL``, ``(64)`` or ``-64``; None if it is something else."""
    match = _WHOLE.fullmatch(text.strip("() \t\n"))
    value = literal(match[1]) if match else None
    return -value if match and value is not None and match.group().startswith("-") else value


def literals(text: str) -> list[str]:
    """All integer literals in an expression, without their suffixes."""
    return _LITERAL.findall(text)


def integers(text: str) -> tuple[int, ...] | None:
    """The values of ``1, 128, 0x80,``; None if something else is among them."""
    values = [integer(part) for part in text.split(",") if part.strip()]
    whole = tuple(value for value in values if value is not None)
    return whole if len(whole) == len(values) else None


def reals(text: str) -> tuple[float, ...] | None:
    """The values of ``0.00392156862745098, 1e-05f``; None if something else is among them."""
    parts = [part for each in text.split(",") if (part := each.strip().strip("()"))]
    if not all(_REAL.fullmatch(part) for part in parts):
        return None
    values = tuple(float(part.rstrip("fFlL")) for part in parts)
    return values if all(abs(value) < math.inf for value in values) else None
