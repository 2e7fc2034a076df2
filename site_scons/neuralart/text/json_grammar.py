"""The parser behind :mod:`~neuralart.text.json_values`, with a method for each rule of the grammar. It is much slower
than the standard library's, but knows the place of each value and says what is wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, NoReturn

from neuralart.errors import NeuralArtError
from neuralart.quick import lazy_regex
from neuralart.text.values import JSON_DEPTH, QUOTES

_NUMBER = lazy_regex(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN = lazy_regex(r'[^"\\\x00-\x1f]+')
_BLANKS = lazy_regex(r"[ \t\n\r]*")
_WORD = lazy_regex(r"[A-Za-z0-9_.+-]+")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None}
_TOOL_LITERALS = _LITERALS | {word: float(word) for word in ("NaN", "Infinity", "-Infinity")}
_LONGEST_NUMBER, _LONGEST_OF_TOOL = 40, 4000
Place = int | tuple[int, list[Any]] | tuple[int, dict[str, Any]]
"""Where a value begins in the text; for a list or an object with the places of its members."""


class Reader:
    """Reads one text. Allowed are, where it is ``relaxed``, comments and continued texts; ``tolerant``: comments of
    both kinds and trailing commas, each with a note; of a ``tool``: what programs write and the standard library reads,
    such as NaN, Infinity and half surrogate pairs.
    """

    def __init__(
        self, text: str, file: str, *, relaxed: bool = False, tolerant: bool = False, tool: bool = False
    ) -> None:
        self.text, self.file = text, file
        self.relaxed, self.tolerant, self.tool = relaxed, tolerant, tool
        self.notes: list[str] = []
        self.at = 0
        self.starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]

    def place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.starts, at)
        return line, at - self.starts[line - 1] + 1

    def fail(self, what: str, hint: str = "", at: int | None = None) -> NoReturn:
        line, column = self.place(self.at if at is None else at)
        raise NeuralArtError(what, where=f"{self.file}:{line}:{column}", hint=hint)

    def note(self, what: str, at: int) -> None:
        """Note what the format does not allow, once for each kind."""
        line, column = self.place(at)
        if not any(note.endswith(f": {what}") for note in self.notes):
            self.notes.append(f"{line}:{column}: {what}")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def blanks(self) -> None:
        while True:
            blank = _BLANKS.match(self.text, self.at)
            self.at = blank.end() if blank else self.at
            two = self.text[self.at : self.at + 2]
            if two == "/*" and self.tolerant:
                end = self.text.find("*/", self.at + 2)
                if end < 0:
                    self.fail("this comment is not closed")
                self.note("a comment, which the compiler's own reader refuses", self.at)
                self.at = end + 2
                continue
            if two == "//" and (self.relaxed or self.tolerant):
                if not self.relaxed:
                    self.note("a comment, which the compiler's own reader refuses", self.at)
                while self.peek() not in ("", "\n", "\r"):
                    self.at += 1
                continue
            if two in ("//", "/*"):
                hint = "only // to the end of the line is" if self.relaxed else "this format has no comments: remove it"
                self.fail("a comment is not allowed here", hint)
            if two[:1] == "#":
                self.fail("'#' starts no comment in JSON", "remove it")
            return

    def found(self) -> str:
        """Describe what is at this place, for messages."""
        char = self.peek()
        if not char:
            return "the end of the file"
        if char in "\r\n":
            return "the end of the line"
        word = _WORD.match(self.text, self.at)
        return f"'{word.group()[:24] if word else char}'"

    def document(self) -> tuple[Any, Place]:
        self.blanks()
        if not self.peek():
            self.fail("the file is empty")
        read = self.value(0)
        self.blanks()
        if self.peek():
            self.fail(f"{self.found()} after the end of the document", "one bracket too many, or one closed too early?")
        return read

    def value(self, depth: int) -> tuple[Any, Place]:
        if depth > JSON_DEPTH:
            self.fail(f"nested deeper than {JSON_DEPTH} levels")
        start, char = self.at, self.peek()
        if char == "{":
            return self.object(depth)
        if char == "[":
            return self.array(depth)
        if char == '"':
            return self.string(), start
        if char in QUOTES and char:
            self.fail(f"{QUOTES[char]} where a value should start", 'texts stand in "double quotes"')
        number = _NUMBER.match(self.text, self.at)
        word = _WORD.match(self.text, self.at)
        if word and word.group() in (_TOOL_LITERALS if self.tool else _LITERALS):
            self.at = word.end()
            return _TOOL_LITERALS[word.group()], start
        if number and word and number.group() == word.group():
            self.at = number.end()
            return self.number(number), start
        if word:
            self.wrong_word(word.group())
        self.fail(f"a value is missing: found {self.found()}")

    def wrong_word(self, word: str) -> NoReturn:
        if word[0].isdigit() or word[0] in "+-.":
            hint = "leave out leading zeros and '+'"
            if word.lower().startswith("0x"):
                hint = f'JSON has no hexadecimal numbers: write it as a text, "{word}"'
            self.fail(f"'{word[:40]}' is not a JSON number", hint)
        low = word.lower()
        hint = f"write {low}" if low in _LITERALS else f'is a quote missing? "{word[:24]}"'
        self.fail(f"'{word[:40]}' is not a JSON value", hint)

    def number(self, match: re.Match[str]) -> int | float:
        text = match.group()
        if len(text) > (_LONGEST_OF_TOOL if self.tool else _LONGEST_NUMBER):
            self.fail(f"a number of {len(text)} characters", at=match.start())
        if not match.group(1) and not match.group(2):
            return int(text)
        value = float(text)
        if value in (float("inf"), float("-inf")) and not self.tool:
            self.fail(f"{text} is too large", at=match.start())
        return value

    def string(self) -> str:
        start = self.at
        self.at += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                parts.append(plain.group())
                self.at = plain.end()
            char = self.peek()
            self.at += 1
            if char == '"':
                return "".join(parts)
            if not char or char in "\r\n":
                self.fail("this text is not closed on its line", "a closing quote is missing", at=start)
            if char == "\\":
                parts.append(self.escape())
            elif self.relaxed and char == "\t":
                parts.append(char)
            else:
                self.fail(f"control character 0x{ord(char):02x} in a text", "write it as \\u escape", at=self.at - 1)

    def escape(self) -> str:
        char = self.peek()
        start = self.at - 1
        self.at += 1
        if char in _ESCAPES and char:
            return _ESCAPES[char]
        if char == "u":
            return self.unicode(start)
        if char and char in "\r\n":
            if not self.relaxed:
                self.fail("a text cannot be continued on the next line in this format", at=start)
            if char == "\r" and self.peek() == "\n":
                self.at += 1
            return ""
        self.fail(f"unknown escape '\\{char}'", "a backslash itself is written \\\\; in paths use /", at=start)

    def unicode(self, start: int) -> str:
        def unit() -> int:
            digits = self.text[self.at : self.at + 4]
            if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                self.fail("\\u needs four hexadecimal digits", at=start)
            self.at += 4
            return int(digits, 16)

        code = unit()
        if 0xD800 <= code < 0xDC00 and self.text[self.at : self.at + 2] == "\\u":
            before = self.at
            self.at += 2
            low = unit()
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
            self.at = before
        if 0xD800 <= code < 0xE000 and not self.tool:
            self.fail("half of a \\u surrogate pair", at=start)
        return chr(code)

    def array(self, depth: int) -> tuple[list[Any], Place]:
        start = self.at
        self.at += 1
        items: list[Any] = []
        places: list[Any] = []
        self.blanks()
        if self.peek() == "]":
            self.at += 1
            return items, (start, places)
        while True:
            value, place = self.value(depth + 1)
            items.append(value)
            places.append(place)
            if not self.more("]", start):
                return items, (start, places)

    def object(self, depth: int) -> tuple[dict[str, Any], Place]:
        start = self.at
        self.at += 1
        members: dict[str, Any] = {}
        places: dict[str, Any] = {}
        keys: dict[str, int] = {}
        self.blanks()
        if self.peek() == "}":
            self.at += 1
            return members, (start, places)
        while True:
            at = self.at
            key = self.key()
            if key in members:
                line, column = self.place(keys[key])
                self.fail(f"the key '{key}' stands here a second time", f"first at {line}:{column}: keep one", at=at)
            keys[key] = at
            self.blanks()
            if self.peek() != ":":
                self.fail(f"':' is missing after the key '{key}': found {self.found()}", "is a quote missing before?")
            self.at += 1
            self.blanks()
            members[key], places[key] = self.value(depth + 1)
            if not self.more("}", start):
                return members, (start, places)

    def key(self) -> str:
        char = self.peek()
        if char == '"':
            return self.string()
        if char in QUOTES and char:
            self.fail(f"{QUOTES[char]} where a key should start", 'keys stand in "double quotes"')
        self.fail(f"a key in double quotes is missing: found {self.found()}", "is a quote missing?")

    def more(self, close: str, start: int) -> bool:
        """After a value: whether another one follows, or the end of its list or object."""
        self.blanks()
        char, comma = self.peek(), self.at
        if char == close:
            self.at += 1
            return False
        if char == ",":
            self.at += 1
            self.blanks()
            if self.peek() == close and self.tolerant:
                self.note("a trailing comma, which the compiler's own reader refuses", comma)
                self.at += 1
                return False
            if self.peek() == close:
                self.fail(f"a comma before '{close}'", "remove the trailing comma", at=comma)
            if self.peek() == ",":
                self.fail("two commas", "remove one")
            return True
        line, column = self.place(start)
        opener = "[" if close == "]" else "{"
        if not char:
            self.fail(f"the file ends, but '{opener}' of {line}:{column} is not closed", "is it complete?")
        hint = "is a comma missing before it, or a quote?"
        if char in "]}":
            hint = f"'{opener}' of {line}:{column} is closed by another kind of bracket"
        self.fail(f"',' or '{close}' is missing: found {self.found()}", hint)
