"""Reading generated C without a compiler: comments out, strings as they are, initializers by their braces."""

from __future__ import annotations

import math
import re

# A comment that is not closed goes on to the end, as for a compiler; and is looked for only once.
_BLANKED = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?(?:\*/|\Z)|//[^\n]*|^[ \t]*#[^\n]*', re.S | re.M)
_COMMENT_IN_STRING = re.compile(r'"[^"\n]*(?:/[/*]|#)')
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_LINE_COMMENT = re.compile(r"//[^\n]*")
_DIRECTIVE = re.compile(r"\n[ \t]*#[^\n]*")
_NOT_NEWLINE = re.compile(r"[^\n]")
# An array of structs: its brace is followed by that of its first element.
_STRUCTS = re.compile(r"\]\s*=\s*\{(?=\s*\{)")
# No part of these can match the same text in two ways: time stays proportional to length, whatever the text.
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_ELEMENT = re.compile(rf'[\s,]*\{{([^{{}}"]*(?:(?:{_STRING}|\{{[^{{}}]*\}})[^{{}}"]*)*)\}}')
_FIELD = re.compile(rf'\.(\w+)(?:\.\w+)?\s*=\s*([^,{{}}"]*(?:(?:\{{[^{{}}]*\}}|{_STRING})[^,{{}}"]*)*)')
_BEHIND = re.compile(r"[\s,]*")
_LITERAL = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])")
_WHOLE = re.compile(r"[-+]?\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_REAL = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?")
_LONGEST_LITERAL = 24


def decode(data: bytes) -> str:
    """The text of a file, with LF line ends whatever system wrote it."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def blanked(text: str) -> str:
    """The same text with blanks for comments and lines of the preprocessor; line numbers and offsets stay."""
    if _COMMENT_IN_STRING.search(text) is not None:
        return _BLANKED.sub(_blank, text)
    # Nearly always: three searches for fixed characters take a third of the time of one for all of them.
    text = _COMMENT.sub(_blank, text)
    if "//" in text:
        text = _LINE_COMMENT.sub(_blank, text)
    return _DIRECTIVE.sub(_blank, text) if "#" in text else text


def _blank(match: re.Match[str]) -> str:
    found = match.group()
    if found.startswith('"'):
        return found
    return _NOT_NEWLINE.sub(" ", found) if "\n" in found else " " * len(found)


class Lines:
    """Line numbers of offsets; cheapest in rising order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset, self._line = 0, 1

    def of(self, offset: int) -> int:
        """The line of an offset, from 1."""
        if offset < self._offset:
            self._offset, self._line = 0, 1
        self._line += self._text.count("\n", self._offset, offset)
        self._offset = max(self._offset, offset)
        return self._line


def structs(text: str) -> tuple[list[tuple[int, str]], list[int]]:
    """The elements of the arrays of structs in a text.

    Args:
        text: A part of a file as :func:`blanked` returns it.

    Returns:
        (Offset, what stands between the braces) of each, and where an array goes on with what is no element.
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
    """The members of a struct: name -> what it is set to.

    Args:
        body: What stands between its braces, without comments.
    """
    return {name: value.strip() for name, value in _FIELD.findall(body)}


def array_text(text: str, name: str, before: int | None = None) -> str | None:
    """What stands between the braces of the array of that name: the last one before an offset, else the first.

    Args:
        text: With or without comments.
        name: An identifier.
        before: Offset; None: the end of the text.
    """
    pattern = re.compile(rf"{re.escape(name)}\s*\[[^\]]{{0,80}}\]\s*=\s*\{{([^{{}}]*)\}}")
    end = len(text) if before is None else before
    while (at := text.rfind(name, 0, end)) >= 0:
        found = pattern.match(text, at)
        if found is not None and not _word(text, at - 1):
            return found[1]
        end = at
    return array_text(text[before:], name) if before is not None else None


def _word(text: str, at: int) -> bool:
    return at >= 0 and (text[at].isalnum() or text[at] == "_")


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
    parts = [part.strip().strip("()") for part in text.split(",")]
    parts = [part for part in parts if part]
    if not all(_REAL.fullmatch(part) for part in parts):
        return None
    values = tuple(float(part.rstrip("fFlL")) for part in parts)
    return values if all(abs(value) < math.inf for value in values) else None
