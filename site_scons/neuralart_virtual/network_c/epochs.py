"""What the functions of a network.c set up: structures, arrays and calls, in order, as a description.

Each block of the epoch table has a function that starts it, one that ends it, or both. Nothing in
them is executed: they are lists of structures that a driver would write to registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.quick import lazy_regex
from neuralart.text.c_source import Lines, blanked
from neuralart.vendor.network_c import initializers
from neuralart.vendor.network_c.types import GeneratedNetwork

_FUNCTION = lazy_regex(r"\bvoid\s+(\w+)\s*\([^(){};]{0,400}\)\s*\{")
_ITEM = lazy_regex(
    r"\b(?P<type>[A-Za-z_]\w*)[\s*]+(?P<name>[A-Za-z_]\w*)\s*(?P<array>\[[^\]\n]{0,80}\])?\s*=\s*(?=\{)"
    r"|\b(?P<call>(?:LL_|ll_)\w+)\s*(?=\()"
)
_BRACKET = lazy_regex(r"[{}()]")
_CAST = lazy_regex(r"\(\s*(?:const\s+)?(?:(?:un)?signed\s+)?\w+(?:\s+char)?\s*\*+\s*\)|\(\s*u?intptr_t\s*\)")
_NARROW = lazy_regex(r"\(\s*(?:short|int16_t)\s*\)")
_SYMBOL = lazy_regex(r"\b_mem_pool_\w+")
_TYPE = lazy_regex(r"([A-Za-z_]\w*)[\s*]+\Z")
_LONGEST_TYPE = 200
_PLAIN = lazy_regex(r"[A-Za-z_]\w*")
_WORD = 1 << 32


class Structure(NamedTuple):
    """A structure, or an array of structures, with an initializer."""

    type: str
    name: str
    elements: tuple[Mapping[str, str], ...]  # Members by their whole path, as text; one element: no array
    offset: int  # Where its initializer begins in the text

    @property
    def members(self) -> Mapping[str, str]:
        """Those of the first element; empty if there is none."""
        return self.elements[0] if self.elements else {}


class PlainValues(NamedTuple):
    name: str
    items: tuple[str, ...]  # As text
    offset: int


class SetupCall(NamedTuple):
    """A call of the runtime's, or of a software kernel."""

    function: str
    arguments: tuple[str, ...]  # As text
    offset: int


@dataclass(frozen=True)
class EpochFunction:
    name: str
    structures: Mapping[str, Structure]  # By name
    arrays: Mapping[str, PlainValues]  # By name
    calls: tuple[SetupCall, ...]  # In order
    offset: int


class Description:
    """The functions of a network, read when they are asked for."""

    def __init__(self, network: GeneratedNetwork) -> None:
        """Find the functions. Their contents are read later."""
        self._where = network.where
        self._text = blanked(network.text)
        self._masked = blanked(network.text, texts=True, directives=True)
        self._lines = Lines(network.text)
        self._spans = {m[1]: m.end() - 1 for m in _FUNCTION.finditer(self._masked)}

    def where(self, offset: int) -> str:
        """``file:line`` of a place in the text."""
        return f"{self._where}:{self._lines.of(offset)}"

    def error(self, what: str, offset: int) -> NeuralArtError:
        return NeuralArtError(what, where=self.where(offset))

    def function(self, name: str) -> EpochFunction:
        """Read a function. NeuralArtError: it is not there, or has no end."""
        if name not in self._spans:
            raise NeuralArtError(f"no function {name}: the file is cut off", where=self._where)
        start = self._spans[name]
        end = self._end(start)
        structures: dict[str, Structure] = {}
        arrays: dict[str, PlainValues] = {}
        calls = []
        at = start + 1
        while (item := _ITEM.search(self._masked, at, end)) is not None:
            at = self._end(item.end())
            if item["call"]:
                arguments = tuple(_split(self._text, self._masked, item.end() + 1, at - 1))
                calls.append(SetupCall(item["call"], arguments, item.start()))
                continue
            found = self._initializer(item, at)
            if isinstance(found, Structure):
                structures[found.name] = found
            else:
                arrays[found.name] = found
        return EpochFunction(name, structures, arrays, tuple(calls), start)

    def variable(self, function: EpochFunction, name: str) -> tuple[str, str]:
        """Type and value, as text, of a variable of a function: ``const float x = 0;``. Empty: none."""
        named = re.compile(rf"(?<=[\s*]){re.escape(name)}\s*=(?!=)")
        for found in named.finditer(self._masked, function.offset, self._end(function.offset)):
            # From behind, and not far: words and gaps of any length would be tried from each of their letters.
            kind = _TYPE.search(self._masked, max(found.start() - _LONGEST_TYPE, function.offset), found.start())
            if kind is not None:
                return kind[1], self._text[found.end() : self._masked.find(";", found.end())].strip()
        return "", ""

    def _initializer(self, item: re.Match[str], end: int) -> Structure | PlainValues:
        start = item.end() + 1
        body = self._text[start : end - 1]
        if item["array"] is None:
            return Structure(item["type"], item["name"], (initializers.paths(body),), start)
        parts = list(_split(self._text, self._masked, start, end - 1))
        if parts and all(part.startswith("{") for part in parts):
            elements = tuple(initializers.paths(part[1:-1]) or {"": part[1:-1].strip()} for part in parts)
            return Structure(item["type"], item["name"], elements, start)
        return PlainValues(item["name"], tuple(parts), start)

    def _end(self, start: int) -> int:
        """Behind the bracket that closes the one at an offset."""
        depth = 0
        for bracket in _BRACKET.finditer(self._masked, start):
            depth += 1 if bracket.group() in "{(" else -1
            if depth == 0:
                return bracket.end()
        raise self.error("a bracket is not closed: the file is cut off", start)


def _split(text: str, masked: str, start: int, end: int) -> Iterator[str]:
    """The parts between commas that stand in no brackets of their own, without blanks around them."""
    depth, first = 0, start
    for match in re.compile(r"[{}(),]").finditer(masked, start, end):
        if match.group() == ",":
            if depth == 0:
                yield text[first : match.start()].strip()
                first = match.end()
        else:
            depth += 1 if match.group() in "{(" else -1
    if text[first:end].strip():
        yield text[first:end].strip()


class Address(NamedTuple):
    """An address expression: a pool whose base is a symbol, or none, and bytes from there."""

    symbol: str
    offset: int


def place(text: str) -> Address | None:
    """The address that an expression stands for; None: it is none. ``{0}`` and NULL: the address 0."""
    bare = _CAST.sub(" ", text.replace("{", "(").replace("}", ")"))
    symbol = _SYMBOL.search(bare)
    digits = initializers.literals(bare)
    if symbol is None and not digits:
        return Address("", 0) if "NULL" in bare else None
    numbers = [initializers.literal(each) for each in digits]
    if any(number is None for number in numbers) or re.search(r"[-*/%<>|&^~]", bare.replace("&_mem", "_mem")):
        return None
    total = sum(number or 0 for number in numbers)
    return Address(symbol.group() if symbol else "", total) if total < _WORD else None


def whole(text: str) -> int | None:
    """The value of ``3``, ``-128``, ``0x80UL``, ``(short)65535`` or ``true``; None if it is no such number."""
    narrow = _NARROW.search(text)
    value = initializers.integer(_NARROW.sub("", text))
    if value is None:
        return {"true": 1, "false": 0}.get(text.strip())
    return (value + 0x8000 & 0xFFFF) - 0x8000 if narrow else value


def wholes(text: str) -> tuple[int, ...] | None:
    """The numbers of ``{16, 16, 32}``; None if something else is among them."""
    return initializers.integers(text.strip().removeprefix("{").removesuffix("}"))


def name(text: str) -> str:
    """The name that ``&x[0]``, ``x`` or ``&x`` refer to; empty if it is another expression."""
    bare = text.strip().lstrip("&( ").split("[")[0].strip(") ")
    return bare if _PLAIN.fullmatch(bare) else ""
