"""A C source that can be searched by what the compiler sees and edited by what is written.

The bytes survive: text is decoded byte by byte (Latin-1), line ends stay what they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from neuralart.errors import NeuralArtError

_TOKENS = re.compile(
    r"""
      (?P<comment> /\*.*?(?:\*/|\Z) | //(?:\\[ \t]*\r?\n|[^\n])* )
    | (?P<string>  "(?:\\[ \t]*\r?\n|\\.|[^"\\\n])*"? )
    | (?P<char>    '(?:\\[ \t]*\r?\n|\\.|[^'\\\n])*'? )
    | (?P<splice>  \\[ \t]*\r?\n )
    """,
    re.DOTALL | re.VERBOSE,
)
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_CONDITION = re.compile(r"^[ \t]*\#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b([^\n]*)", re.MULTILINE)


@dataclass(frozen=True)
class Line:
    """A physical line.

    Attributes:
        number: From 1.
        start: Offset of its first character.
        stop: Offset behind its last character, before the line end.
        end: Offset behind its line end.
    """

    number: int
    start: int
    stop: int
    end: int


@dataclass(frozen=True)
class Edit:
    """Replace the characters ``[start, stop)`` by ``new``."""

    start: int
    stop: int
    new: str


class Source:
    """A C source.

    Attributes:
        name: For messages.
        text: As written, one character per byte.
    """

    def __init__(self, name: str, data: bytes) -> None:
        """Take the bytes.

        Raises:
            NeuralArtError: It is no text that a C compiler reads.
        """
        self.name = name
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise NeuralArtError("UTF-16 text", where=name, hint="C compilers read UTF-8: save it so")
        if b"\0" in data:
            raise NeuralArtError(f"a zero byte at offset {data.index(0)}: not a C source", where=name)
        self.text = data.decode("latin-1")

    @classmethod
    def of_text(cls, name: str, text: str) -> Source:
        """A source of characters U+0000 to U+00FF."""
        return cls(name, text.encode("latin-1"))

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Physical lines; a CR alone ends none."""
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
        parts, comments, at = [], [], 0
        for match in _TOKENS.finditer(self.text):
            parts.append(self.text[at : match.start()])
            if match.lastgroup == "comment":
                parts.append(" " * (match.end() - match.start()))
            else:
                parts.append(_SPLICE.sub(lambda found: " " * len(found.group()), match.group()))
            if match.lastgroup == "comment":
                comments.append(match.span())
            at = match.end()
        parts.append(self.text[at:])
        return "".join(parts), tuple(comments)

    @property
    def code(self) -> str:
        """The text with blanks in place of comments and of line ends behind a backslash; offsets are the same."""
        return self._masked[0]

    @property
    def comments(self) -> tuple[tuple[int, int], ...]:
        """Where comments are."""
        return self._masked[1]

    @cached_property
    def dead(self) -> tuple[tuple[int, int], ...]:
        """What ``#if 0`` (or the other branch of ``#if 1``) removes; other conditions are not judged."""
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
        """Can the compiler see this place?"""
        return not any(start <= offset < stop for start, stop in self.dead)

    def eol(self, line: Line) -> str:
        """The line end of a line; of the first line if it has none."""
        return self.text[line.stop : line.end] or (self.eol(self.lines[0]) if line.number > 1 else "\n")

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The bytes after some edits.

        Raises:
            NeuralArtError: Two of them touch the same characters.
        """
        parts, at = [], 0
        for edit in sorted(edits, key=lambda each: (each.start, each.stop)):
            if edit.start < at:
                raise NeuralArtError("two operations of the patch list change this place", where=self.where(edit.start))
            parts += [self.text[at : edit.start], edit.new]
            at = edit.stop
        return "".join([*parts, self.text[at:]]).encode("latin-1")
