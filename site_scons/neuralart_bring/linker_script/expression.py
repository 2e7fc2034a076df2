"""Words of a GNU linker script, and its expressions with the numbers, signs and rounding that GNU ld has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
# GNU ld takes the longest of these three; of two equally long ones the first. So "bad" is a number in base 10.
_WITH_BASE = re.compile(r"[0-9A-Fa-f]+[HhXxBbOoDd]")
_NUMBER = re.compile(r"(?:\$|0[xX])[0-9A-Fa-f]+[KkMm]?|[0-9]+[KkMm]?")
_NAME = re.compile(r"[A-Za-z_.\\$][\w.\\$~/]*", re.ASCII)
_QUOTED = re.compile(r'"([^"\n]*)"')
_SIGN = re.compile(r"<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|<>!~?:(),]")
_BLANK = re.compile(r"\s*")
_BASES = {"H": 16, "X": 16, "O": 8, "B": 2, "D": 10}
# Signs between two operands, weakest first.
_LEVELS = tuple(signs.split() for signs in ("||", "&&", "|", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"))
_DEEPEST = 60
_WORD = (1 << 64) - 1
_UNARY: Mapping[str, Callable[[int], int]] = {
    **{"-": lambda a: -a, "+": lambda a: a, "!": lambda a: int(not a), "~": lambda a: ~a},
    **{"ABSOLUTE": lambda a: a, "LOG2CEIL": lambda a: max(a - 1, 0).bit_length()},
}
_MEMORY = {"ORIGIN": "ORIGIN", "org": "ORIGIN", "o": "ORIGIN", "LENGTH": "LENGTH", "len": "LENGTH", "l": "LENGTH"}


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


Tree = tuple[Any, ...]
"""``("number", 4)``, ``("name", "x")``, ``("call", "MAX", (tree, tree))``, ``(sign, tree...)``."""


@dataclass
class Scope:
    """What an expression may ask for."""

    # Values so far; None is one that only the link can tell
    symbols: dict[str, int | None] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)  # Names that were assigned so far
    # ``(function, memory)`` -> value of ``ORIGIN`` or ``LENGTH``, None if there is no such memory
    memory: Callable[[str, str], int | None] = lambda _function, _name: None


class Expression:
    """Reads one expression out of a text (the script, comments blank) between two offsets."""

    def __init__(self, text: str, at: int, stop: int) -> None:
        self.text, self.at, self.stop = text, at, stop

    def parse(self) -> tuple[Tree, int]:
        """The expression, and the offset behind it. Raises ValueError: it is none."""
        return self.choice(0), self.at

    def peek(self) -> str:
        blank = _BLANK.match(self.text, self.at, self.stop)
        self.at = blank.end() if blank else self.at
        found = _SIGN.match(self.text, self.at, self.stop)
        return found.group() if found else ""

    def take(self, sign: str) -> bool:
        if self.peek() != sign:
            return False
        self.at += len(sign)
        return True

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise ValueError(f"'{sign}' is missing")

    def choice(self, depth: int) -> Tree:
        if depth > _DEEPEST:
            raise ValueError("nested too deep")
        tree = self.level(0, depth)
        if not self.take("?"):
            return tree
        left = self.choice(depth + 1)
        self.need(":")
        return ("?", tree, left, self.choice(depth + 1))

    def level(self, number: int, depth: int) -> Tree:
        if number == len(_LEVELS):
            return self.unary(depth)
        tree = self.level(number + 1, depth)
        while (sign := self.peek()) in _LEVELS[number]:
            self.at += len(sign)
            tree = (sign, tree, self.level(number + 1, depth))
        return tree

    def unary(self, depth: int) -> Tree:
        signs: list[str] = []
        while (sign := self.peek()) in ("-", "+", "!", "~") and sign:
            self.at += 1
            signs.append(sign)
        tree = self.atom(depth)
        for sign in reversed(signs):
            tree = (sign, tree)
        return tree

    def atom(self, depth: int) -> Tree:
        if self.take("("):
            tree = self.choice(depth + 1)
            self.need(")")
            return tree
        quoted = _QUOTED.match(self.text, self.at, self.stop)
        if quoted:
            self.at = quoted.end()
            return ("name", quoted[1])
        based, number, name = (rule.match(self.text, self.at, self.stop) for rule in (_WITH_BASE, _NUMBER, _NAME))
        found = max((match for match in (based, number, name) if match), key=lambda m: m.end(), default=None)
        if found is None:
            rest = self.text[self.at : self.stop].split(maxsplit=1)
            raise ValueError(f"'{rest[0][:20]}'" if rest else "it ends too early")
        self.at = found.end()
        word = found.group()
        if found is based:
            return ("number", _scan(word[:-1], _BASES[word[-1].upper()]))
        if found is number:
            factor = {"K": 1 << 10, "M": 1 << 20}.get(word[-1].upper(), 1)
            digits = word.rstrip("KkMm")
            return ("number", _scan(digits[1:], 16) * factor if digits[0] == "$" else _scan(digits, 0) * factor)
        if not self.take("("):
            return ("name", word)
        arguments: list[Tree] = []
        while not self.take(")"):
            if arguments:
                self.need(",")
            arguments.append(self.choice(depth + 1))
        return ("call", word, tuple(arguments))


def _scan(digits: str, base: int) -> int:
    """As ``strtoull``: a leading 0 is octal where no base is given, and the first wrong digit ends the number."""
    if base in (0, 16) and digits[:2] in ("0x", "0X"):
        digits, base = digits[2:], 16
    base = base or (8 if digits.startswith("0") else 10)
    value = 0
    for digit in digits:
        number = int(digit, 16)
        if number >= base:
            break
        value = value * base + number
    return min(value, _WORD)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _divided(left: int, right: int) -> int:
    quotient = abs(_signed(left)) // abs(_signed(right))
    return quotient if (_signed(left) < 0) == (_signed(right) < 0) else -quotient


_BINARY: Mapping[str, Callable[[int, int], int | None]] = {
    "||": lambda a, b: int(bool(a) or bool(b)),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "|": lambda a, b: a | b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << b if b < 64 else None,
    ">>": lambda a, b: a >> b if b < 64 else None,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: _divided(a, b) if b else None,
    "%": lambda a, b: _signed(a) - _signed(b) * _divided(a, b) if b else None,
    "MAX": max,
    "MIN": min,
    "ALIGN": lambda a, b: (a + b - 1) // b * b if b > 1 else a,
}


def value_of(tree: Tree, scope: Scope) -> int | None:
    """The value, modulo 2**64 as in GNU ld; None if only the link can tell."""
    value = _value(tree, scope)
    return None if value is None else value & _WORD


def _value(tree: Tree, scope: Scope) -> int | None:
    kind = tree[0]
    if kind == "number":
        return int(tree[1])
    if kind == "name":
        return scope.symbols.get(tree[1])
    if kind == "?":
        chosen = value_of(tree[1], scope)
        return None if chosen is None else value_of(tree[2] if chosen else tree[3], scope)
    operation, operands = kind, tree[1:]
    if kind == "call":
        operation, operands = tree[1], tree[2]
        named = operands[0][1] if len(operands) == 1 and operands[0][0] == "name" else None
        if operation in _MEMORY and named is not None:
            return scope.memory(_MEMORY[operation], named)
        if operation == "DEFINED" and named is not None:
            return int(named in scope.defined)
        if operation == "SEGMENT_START" and len(operands) == 2:
            return value_of(operands[1], scope)
    values = [value_of(operand, scope) for operand in operands]
    known = [value for value in values if value is not None]
    if len(known) != len(values):
        return None
    if len(known) == 1 and operation in _UNARY:
        return _UNARY[operation](known[0])
    if len(known) == 2 and operation in _BINARY:
        return _BINARY[operation](known[0], known[1])
    return None
