"""What a linker script says about memories, sections and the stack; as much of its language as that takes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from neuralart.vendor.network_c.ctext import Lines

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_NOT_NEWLINE = re.compile(r"[^\n]")
_MEMORY = re.compile(r"\bMEMORY\s*\{([^{}]*)\}")
_ENTRY = re.compile(
    r"([A-Za-z_.$][\w.$]*)\s*(?:\(([^()]*)\))?\s*:\s*(?:ORIGIN|org|o)\s*=\s*([^,\n]+?)\s*,\s*(?:LENGTH|len|l)\s*=\s*([^,\n]+)"
)
_ASSIGN = re.compile(r"(?:^|[;{}(,\s])([A-Za-z_.$][\w.$]*)\s*=(?!=)\s*([^;{}=]{1,300});")
_PATTERN = re.compile(r"(?<![\w.*?$-])([.*][\w.*?$-]+|\.[\w$-]+)")
_TOKEN = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)([KkMm]?)|([A-Za-z_.$][\w.$]*)|(<<|>>|.))", re.S)
_DEEPEST = 50
_TOP = 1 << 32


@dataclass(frozen=True)
class Area:
    """An entry of MEMORY.

    Attributes:
        name: Of the entry.
        rights: For example ``rx``; may be empty.
        start: First address.
        size: Bytes.
        where: ``file:line``.
    """

    name: str
    rights: str
    start: int
    size: int
    where: str

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.start + self.size


@dataclass(frozen=True)
class Symbol:
    """A symbol that is given a value: name, value, ``file:line``."""

    name: str
    value: int
    where: str


@dataclass(frozen=True)
class LinkerScript:
    """A linker script.

    Attributes:
        file: Its name for messages.
        areas: Entries of MEMORY whose numbers could be worked out.
        symbols: Symbols whose value could be.
        patterns: Names and patterns of sections that it mentions.
        places_sections: It has a SECTIONS part.
    """

    file: str
    areas: tuple[Area, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    patterns: tuple[str, ...] = ()
    places_sections: bool = False

    def takes(self, section: str) -> bool:
        """Whether the script says where a section goes."""
        return any(fnmatchcase(section, pattern) for pattern in self.patterns)


@dataclass
class _Values:
    """Names with a value so far."""

    areas: dict[str, tuple[int, int]] = field(default_factory=dict)
    symbols: dict[str, int] = field(default_factory=dict)


class _Unknown(ValueError):
    """An expression that depends on something that is known at link time only."""


class _Expression:
    """Numbers with K and M, names, ORIGIN, LENGTH, + - * / and brackets."""

    def __init__(self, text: str, values: _Values) -> None:
        self._tokens = [match.groups() for match in _TOKEN.finditer(text.strip())]
        self._at = 0
        self._values = values

    def value(self) -> int:
        found = self._sum(0)
        if self._at != len(self._tokens) or not 0 <= found <= _TOP:
            raise _Unknown
        return found

    def _peek(self) -> str:
        return (self._tokens[self._at][3] or "") if self._at < len(self._tokens) else ""

    def _take(self, sign: str) -> None:
        if self._peek() != sign:
            raise _Unknown
        self._at += 1

    def _sum(self, depth: int) -> int:
        if depth > _DEEPEST:
            raise _Unknown
        total = self._product(depth)
        while (sign := self._peek()) in ("+", "-") and sign:
            self._at += 1
            other = self._product(depth)
            total = total + other if sign == "+" else total - other
        return total

    def _product(self, depth: int) -> int:
        total = self._atom(depth)
        while (sign := self._peek()) in ("*", "/") and sign:
            self._at += 1
            other = self._atom(depth)
            if sign == "/" and other == 0:
                raise _Unknown
            total = total * other if sign == "*" else total // other
            if abs(total) > _TOP * _TOP:
                raise _Unknown
        return total

    def _atom(self, depth: int) -> int:
        if self._at >= len(self._tokens):
            raise _Unknown
        digits, unit, name, sign = self._tokens[self._at]
        self._at += 1
        if digits:
            if len(digits) > 18:
                raise _Unknown
            number = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits, 8 if digits[0] == "0" else 10)
            return number << {"": 0, "K": 10, "M": 20}[unit.upper()]
        if sign == "(":
            found = self._sum(depth + 1)
            self._take(")")
            return found
        if name:
            return self._named(name)
        raise _Unknown

    def _named(self, name: str) -> int:
        if name in ("ORIGIN", "org", "o", "LENGTH", "len", "l") and self._peek() == "(":
            self._at += 1
            area = self._tokens[self._at][2] if self._at < len(self._tokens) else None
            self._at += 1
            self._take(")")
            if area not in self._values.areas:
                raise _Unknown
            return self._values.areas[area][0 if name[0] in "Oo" else 1]
        if name not in self._values.symbols:
            raise _Unknown
        return self._values.symbols[name]


def _evaluate(text: str, values: _Values) -> int | None:
    # PROVIDE(name = value): the bracket belongs to it.
    text = text.rstrip().removesuffix(")") if text.count(")") > text.count("(") else text
    try:
        return _Expression(text, values).value()
    except ValueError:
        return None


def _blank(match: re.Match[str]) -> str:
    return _NOT_NEWLINE.sub(" ", match.group())


def parse(text: str, file: str) -> LinkerScript:
    """Read a linker script.

    Args:
        text: With LF line ends.
        file: Its name for messages.
    """
    plain = _COMMENT.sub(_blank, text)
    lines = Lines(plain)
    values = _Values()
    memories = list(_MEMORY.finditer(plain))
    entries = [
        (memory.start(1) + match.start(), match, True) for memory in memories for match in _ENTRY.finditer(memory[1])
    ]
    for match in _ASSIGN.finditer(plain):
        if match[1] != "." and not any(memory.start() <= match.start(1) < memory.end() for memory in memories):
            entries.append((match.start(1), match, False))
    areas: list[Area] = []
    symbols: list[Symbol] = []
    # In the order of the script, as the linker goes: a later name is not known to an earlier expression.
    for at, match, is_area in sorted(entries, key=lambda entry: entry[0]):
        where = f"{file}:{lines.of(at)}"
        if is_area:
            start, size = _evaluate(match[3], values), _evaluate(match[4], values)
            if start is not None and size is not None:
                values.areas[match[1]] = (start, size)
                areas.append(Area(match[1], match[2] or "", start, size, where))
        else:
            value = _evaluate(match[2], values)
            if value is not None:
                values.symbols[match[1]] = value
                symbols.append(Symbol(match[1], value, where))
    sections = re.search(r"\bSECTIONS\s*\{", plain)
    patterns = _PATTERN.findall(plain, sections.end()) if sections else []
    return LinkerScript(file, tuple(areas), tuple(symbols), tuple(dict.fromkeys(patterns)), sections is not None)
