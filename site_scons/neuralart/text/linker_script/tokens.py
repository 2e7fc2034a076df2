"""Words of a GNU linker script."""

from __future__ import annotations

import re
from dataclasses import dataclass

from neuralart.errors import NeuralArtError

_WORDS = re.compile(
    r"""
      (?P<blank>\s+)
    | (?P<comment>/\*.*?\*/ | \#[^\n]* | //[^\n]*)
    | (?P<open>/\*)
    | "(?P<string>[^"\n]*)"
    | (?P<sign><<= | >>= | << | >> | [<>=!+\-*/&|]= | && | \|\| | [{}();:,=<>?!&|+~^])
    | (?P<word>(?:[A-Za-z0-9_.$*/\\\[\]%@-])+)
    """,
    re.DOTALL | re.VERBOSE,
)
_NOT_NEWLINE = re.compile(r"[^\n]")


@dataclass(frozen=True)
class Word:
    """A word or a sign."""

    text: str  # As written; of a quoted name what is between the quotes
    start: int  # Offset
    stop: int  # Offset behind it
    quoted: bool = False  # It is a name, never a sign


class Script:
    """A linker script as words without comments; in its ``text`` comments are blank."""

    def __init__(self, name: str, data: bytes) -> None:
        """Split it. Raises NeuralArtError: it holds what no linker script holds."""
        self.name = name
        self.text = data.decode("latin-1")
        self.words: list[Word] = []
        at = 0
        while at < len(self.text):
            match = _WORDS.match(self.text, at)
            if match is None or match.lastgroup == "open":
                what = "a comment that does not end" if match else f"'{self.text[at]!r:.8}' has no meaning here"
                raise NeuralArtError(f"not a linker script: {what}", where=self.where(at))
            if match.lastgroup == "comment":
                blank = _NOT_NEWLINE.sub(" ", match.group())
                self.text = self.text[:at] + blank + self.text[match.end() :]
            elif match.lastgroup != "blank":
                quoted = match.lastgroup == "string"
                self.words.append(Word(match.group(match.lastgroup or 0), match.start(), match.end(), quoted))
            at = match.end()

    def where(self, offset: int) -> str:
        """``file:line``."""
        return f"{self.name}:{self.text.count(chr(10), 0, offset) + 1}"

    def error(self, what: str, index: int, hint: str = "") -> NeuralArtError:
        """An error at a word."""
        offset = self.words[index].start if index < len(self.words) else len(self.text)
        return NeuralArtError(what, where=self.where(offset), hint=hint)

    def is_sign(self, index: int, sign: str) -> bool:
        """Is the word at ``index`` this sign?"""
        return index < len(self.words) and not self.words[index].quoted and self.words[index].text == sign

    def closing(self, index: int) -> int:
        """Index of the bracket that closes the one at ``index``. Raises NeuralArtError: none does."""
        close = {"{": "}", "(": ")"}
        stack: list[str] = []
        for at in range(index, len(self.words)):
            word = self.words[at]
            if word.quoted:
                continue
            if word.text in close:
                stack.append(close[word.text])
            elif word.text in ("}", ")"):
                if not stack or stack.pop() != word.text:
                    raise self.error(f"'{word.text}' closes nothing", at)
                if not stack:
                    return at
        raise self.error(f"'{self.words[index].text}' is not closed", index)

    def index_at(self, offset: int, first: int) -> int:
        """Index of the first word from ``first`` on that does not begin before an offset."""
        while first < len(self.words) and self.words[first].start < offset:
            first += 1
        return first
