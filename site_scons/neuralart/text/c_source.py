"""C sources: searched by what the compiler sees, edited by what is written. Comments are those of a compiler: not
inside texts, continued by a backslash at the end of the line, up to the end of the file if they are not closed. What is
blanked keeps its length, so offsets hold for all forms of a text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.quick import lazy_regex

_SPLICE_RULE = r"\\[ \t]*\r?\n"
_COMMENT_RULE = rf"/\*.*?(?:\*/|\Z)|//(?:{_SPLICE_RULE}|[^\n])*"
_TOKENS = lazy_regex(
    rf"""
      (?P<comment>   {_COMMENT_RULE} )
    | (?P<text>      "(?:{_SPLICE_RULE}|\\.|[^"\\\n])*"? | '(?:{_SPLICE_RULE}|\\.|[^'\\\n])*'? )
    | (?P<splice>    {_SPLICE_RULE} )
    """,
    re.DOTALL | re.VERBOSE,
)
_COMMENT = lazy_regex(_COMMENT_RULE, re.DOTALL)
# Only then do quotes matter to where comments are.
_QUOTES_MATTER = lazy_regex(r"""["'][^"\n]*/[/*]|'\\?"'""")
_SPLICE = lazy_regex(_SPLICE_RULE)
_DIRECTIVE_LINE = lazy_regex(rf"^[ \t]*#(?:{_SPLICE_RULE}|[^\n])*", re.MULTILINE)
_DIRECTIVE = lazy_regex(r"\s*#\s*([a-z]+)\b")
_CONDITION = lazy_regex(r"^[ \t]*\#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b([^\n]*)", re.MULTILINE)
_NOT_NEWLINE = lazy_regex(r"[^\n]")
NAME = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def decode(data: bytes) -> str:
    """Decode a file, with LF line ends."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def blanked(text: str, *, texts: bool = False, directives: bool = False) -> str:
    """Replace comments by blanks; with ``texts`` also what is in quotes, with ``directives`` lines of the preprocessor.
    Offsets and line ends stay.
    """
    if texts or "\\\n" in text or _QUOTES_MATTER.search(text) is not None:
        text = _TOKENS.sub(lambda match: _blank(match) if _goes(match.lastgroup, texts) else match.group(), text)
    else:
        # Nearly always, and a third of the time.
        text = _COMMENT.sub(_blank, text)
    return _DIRECTIVE_LINE.sub(_blank, text) if directives and "#" in text else text


def _goes(kind: str | None, texts: bool) -> bool:
    return kind == "comment" or (texts and kind == "text")


def _blank(match: re.Match[str]) -> str:
    found = match.group()
    return _NOT_NEWLINE.sub(" ", found) if "\n" in found else " " * len(found)


class Lines:
    """Finds the lines of offsets; rising offsets are cheapest."""

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


class LogicalLine(NamedTuple):
    """A line joined with its continuations."""

    number: int  # Of its first physical line, from 1
    directive: str  # ``define``, ``if``, ``include``...; empty for code
    # What follows the directive's name, or the code: without comments, and without what stands in quotes except behind
    # ``include``. One blank between words.
    text: str


def logical_lines(text: str) -> Iterator[LogicalLine]:
    """List the non-empty logical lines of a C file, in order. Conditions are not evaluated."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    code, with_texts = _joined(text, texts=True), _joined(text)
    lines, start = Lines(text), 0
    for piece in code.split("\n"):
        found = _DIRECTIVE.match(piece)
        shown = with_texts[start : start + len(piece)] if found and found[1] == "include" else piece
        words = shown[found.end() if found else 0 :].removesuffix("\\").split()
        if words or found:
            first = start + len(piece) - len(piece.lstrip())
            yield LogicalLine(lines.of(first), found[1] if found else "", " ".join(words))
        start += len(piece) + 1


def _joined(text: str, *, texts: bool = False, comments: list[tuple[int, int]] | None = None) -> str:
    """Blanks for comments, for line ends in them and for continued line ends; all on one line that is one for C."""

    def mask(match: re.Match[str]) -> str:
        if match.lastgroup == "comment" and comments is not None:
            comments.append(match.span())
        if _goes(match.lastgroup, texts):
            return " " * len(match.group())
        return _SPLICE.sub(lambda found: " " * len(found.group()), match.group())

    return _TOKENS.sub(mask, text)


class Line(NamedTuple):
    number: int  # From 1
    start: int  # Offset of its first character
    stop: int  # Offset behind its last character, before the line end
    end: int  # Offset behind its line end


class Edit(NamedTuple):
    """Replace the characters ``[start, stop)`` by ``new``."""

    start: int
    stop: int
    new: str


class CSource:
    """A C source; ``text``: as written, one character per byte."""

    def __init__(self, name: str, data: bytes) -> None:
        """Take the bytes. Raises NeuralArtError: it is no text that a C compiler reads."""
        self.name = name
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise NeuralArtError("UTF-16 text", where=name, hint="C compilers read UTF-8: save it so")
        if b"\0" in data:
            raise NeuralArtError(f"a zero byte at offset {data.index(0)}: not a C source", where=name)
        self.text = data.decode("latin-1")

    @classmethod
    def of_text(cls, name: str, text: str) -> CSource:
        """A source of characters U+0000 to U+00FF."""
        return cls(name, text.encode("latin-1"))

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Physical lines; a CR alone does not end one."""
        found, start = [], 0
        for number, piece in enumerate(self.text.split("\n"), 1):
            stop = start + len(piece)
            if stop == len(self.text):
                if piece:
                    found.append(Line(number, start, stop, stop))
                break
            found.append(Line(number, start, stop - piece.endswith("\r"), stop + 1))
            start = stop + 1
        return tuple(found)

    @cached_property
    def _starts(self) -> list[int]:
        return [line.start for line in self.lines]

    def line_of(self, offset: int) -> int:
        """Number of the line of an offset."""
        return max(bisect_right(self._starts, offset), 1)

    def where(self, offset: int) -> str:
        """``file:line`` of an offset."""
        return f"{self.name}:{self.line_of(offset)}"

    @cached_property
    def _masked(self) -> tuple[str, tuple[tuple[int, int], ...]]:
        comments: list[tuple[int, int]] = []
        return _joined(self.text, comments=comments), tuple(comments)

    @property
    def code(self) -> str:
        """The text with blanks for comments, for line ends in them, and for continued line ends."""
        return self._masked[0]

    @property
    def comments(self) -> tuple[tuple[int, int], ...]:
        return self._masked[1]

    @cached_property
    def dead(self) -> tuple[tuple[int, int], ...]:
        """Ranges that ``#if 0`` (or the other branch of ``#if 1``) removes; other conditions are not evaluated."""
        spans: list[tuple[int, int]] = []
        stack: list[int | None] = []  # of each open condition: where a dead branch began
        taken: list[bool] = []  # "#if 1" was seen: what follows is dead
        for match in _CONDITION.finditer(self.code):
            word, rest = match.group(1), match.group(2).strip()
            if word.startswith("if"):
                stack.append(match.end() if word == "if" and rest == "0" else None)
                taken.append(word == "if" and rest == "1")
                continue
            if not stack:
                continue
            began = stack.pop()
            if began is not None:
                spans.append((began, match.start()))
            if word == "endif":
                taken.pop()
            else:
                stack.append(match.end() if taken[-1] or (word == "elif" and rest == "0") else None)
        spans.extend((began, len(self.text)) for began in stack if began is not None)
        return tuple(spans)

    def alive(self, offset: int) -> bool:
        """Whether the compiler sees this place."""
        return not any(start <= offset < stop for start, stop in self.dead)

    def eol(self, line: Line) -> str:
        """The line end of a line, else that of the first line."""
        return self.text[line.stop : line.end] or (self.eol(self.lines[0]) if line.number > 1 else "\n")

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Apply edits; returns the bytes. NeuralArtError: two edits overlap."""
        parts, at = [], 0
        for edit in sorted(edits, key=lambda each: (each.start, each.stop)):
            if edit.start < at:
                raise NeuralArtError("two operations of the patch list change this place", where=self.where(edit.start))
            parts += [self.text[at : edit.start], edit.new]
            at = edit.stop
        return "".join([*parts, self.text[at:]]).encode("latin-1")
