"""Words of a GNU linker script, and the few expressions that say where memories are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from neuralart.errors import NeuralArtError

_WORDS = re.compile(
    r"""
      (?P<blank>/\*.*?\*/ | \s+)
    | (?P<open>/\*)
    | "(?P<string>[^"\n]*)"
    | (?P<sign><<= | >>= | << | >> | [<>=!+\-*/&|]= | && | \|\| | [{}();:,=<>?!&|+~^])
    | (?P<word>(?:[A-Za-z0-9_.$*/\\\[\]%@-])+)
    """,
    re.DOTALL | re.VERBOSE,
)
# In expressions - * / are signs, in names of files and sections they are letters.
_PARTS = re.compile(r"0[xX][0-9a-fA-F]+[KkMm]?|[0-9]+[KkMm]?|[A-Za-z_.][\w.]*|<<|>>|[-+*/()&|,]|\S")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([KkMm]?)")


@dataclass(frozen=True)
class Word:
    """A word or a sign.

    Attributes:
        text: As written; of a quoted name what is between the quotes.
        start: Offset.
        stop: Offset behind it.
        quoted: It is a name, never a sign.
    """

    text: str
    start: int
    stop: int
    quoted: bool = False


class Script:
    """A linker script as words.

    Attributes:
        name: For messages.
        text: As written.
        words: Without comments.
    """

    def __init__(self, name: str, data: bytes) -> None:
        """Split it.

        Raises:
            NeuralArtError: It holds what no linker script holds.
        """
        self.name = name
        self.text = data.decode("latin-1")
        self.words: list[Word] = []
        at = 0
        while at < len(self.text):
            match = _WORDS.match(self.text, at)
            if match is None or match.lastgroup == "open":
                what = "a comment that does not end" if match else f"'{self.text[at]!r:.8}' has no meaning here"
                raise NeuralArtError(f"not a linker script: {what}", where=self.where(at))
            if match.lastgroup != "blank":
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
        """Index of the bracket that closes the one at ``index``.

        Raises:
            NeuralArtError: None does.
        """
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

    def raw(self, first: int, stop: int) -> str:
        """The text of words ``[first, stop)``, comments as blanks."""
        return " ".join(word.text for word in self.words[first:stop])


class _Expression:
    """Recursive descent over a short text; None stands for what cannot be known before the link."""

    def __init__(self, text: str, symbols: Mapping[str, int | None], call: Callable[[str, str], int | None]) -> None:
        self.parts = _PARTS.findall(text)
        self.at = 0
        self.symbols = symbols
        self.call = call

    def peek(self) -> str:
        return self.parts[self.at] if self.at < len(self.parts) else ""

    def take(self) -> str:
        self.at += 1
        return self.parts[self.at - 1] if self.at <= len(self.parts) else ""

    def value(self) -> int | None:
        result = self.sum()
        while self.peek() in ("<<", ">>", "&", "|"):
            result = self.apply(self.take(), result, self.sum())
        return result

    def sum(self) -> int | None:
        result = self.product()
        while self.peek() in ("+", "-"):
            result = self.apply(self.take(), result, self.product())
        return result

    def product(self) -> int | None:
        result = self.atom()
        while self.peek() in ("*", "/"):
            result = self.apply(self.take(), result, self.atom())
        return result

    def atom(self) -> int | None:
        part = self.take()
        if part == "-":
            inner = self.atom()
            return None if inner is None else -inner
        if part == "(":
            result = self.value()
            if self.take() != ")":
                raise ValueError("a bracket is not closed")
            return result
        number = _NUMBER.fullmatch(part)
        if number:
            base = 16 if part[:2] in ("0x", "0X") else 10
            return int(number.group(1), base) << {"": 0, "K": 10, "M": 20}[number.group(2).upper()]
        if re.fullmatch(r"[A-Za-z_.][\w.]*", part):
            if self.peek() == "(":
                self.take()
                words: list[str] = []
                while self.peek() not in (")", ""):
                    words.append(self.take())
                if self.take() != ")":
                    raise ValueError("a bracket is not closed")
                return self.call(part, " ".join(words))
            return self.symbols.get(part)
        raise ValueError(f"'{part}'" if part else "it ends too early")

    def apply(self, sign: str, left: int | None, right: int | None) -> int | None:
        if left is None or right is None or (sign == "/" and right == 0) or (sign in ("<<", ">>") and right > 64):
            return None
        return {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left // right,
            "<<": lambda: left << right if right >= 0 else 0,
            ">>": lambda: left >> right if right >= 0 else 0,
            "&": lambda: left & right,
            "|": lambda: left | right,
        }[sign]()


def evaluate(
    text: str, symbols: Mapping[str, int | None], call: Callable[[str, str], int | None] = lambda _name, _of: None
) -> int | None:
    """The value of an expression; None if only the linker can know it.

    Args:
        text: The expression.
        symbols: Values known so far.
        call: What functions such as ``ORIGIN(x)`` give.

    Raises:
        ValueError: It is no expression that is read here.
    """
    try:
        expression = _Expression(text, symbols, call)
        result = expression.value()
    except RecursionError:
        raise ValueError("nested too deep") from None
    if expression.peek():
        raise ValueError(f"'{expression.peek()}'")
    return result
