"""JSON that a tool wrote: read fast, and located exactly when something in it is wrong.

Such files have megabytes, so the standard library reads them. It forgets where a value stood; the place is found by
reading a second time with :mod:`~neuralart.network.jsonpos`, and only when a message needs it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from neuralart.errors import NeuralArtError
from neuralart.network.jsonpos import parse

_BOM = b"\xef\xbb\xbf"
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    return _KINDS.get(type(value), "null")


class Document:
    """A JSON file of a tool.

    Attributes:
        file: Its name in messages.
        value: What the standard library makes of it. ``NaN`` and ``Infinity``, which tools write, are floats.
    """

    def __init__(self, data: bytes, file: str, synonyms: Mapping[str, Sequence[str]] | None = None) -> None:
        """Read it.

        Args:
            data: The file's bytes.
            file: Its name in messages.
            synonyms: Other names of keys: who asks for the key gets what stands under one of them.

        Raises:
            NeuralArtError: It is not JSON, or an object has the same key twice; ``where`` is ``file:line:column``.
        """
        self.file = file
        self.synonyms = synonyms or {}
        self._data = data.removeprefix(_BOM)
        try:
            self.value: Any = json.loads(self._data.decode("utf-8"), object_pairs_hook=_members)
        except (ValueError, RecursionError) as error:
            # The careful reader says it better, and with a place; what it lets pass is still refused.
            parse(self._data, file)
            at = f":{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise NeuralArtError(f"not JSON: {error}", where=f"{file}{at}") from error

    @property
    def root(self) -> Item:
        """The whole document."""
        return Item(self.value, (), self)

    def where(self, path: tuple[str | int, ...]) -> str:
        """``file:line:column`` of a value; of the nearest one around it where the careful reader cannot follow."""
        try:
            node = parse(self._data, self.file)
        except NeuralArtError:
            # NaN and Infinity are not JSON: the place is lost, the way to the value is not.
            way = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
            return f"{self.file}: {way}" if way else self.file
        for step in path:
            node = node.value[step]
        return node.where


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return members


@dataclass(frozen=True)
class Item:
    """A value, and the way to it.

    Reading a member that is absent or ``null`` gives the default; one of another type than asked for is an error.
    """

    value: Any
    path: tuple[str | int, ...]
    document: Document

    @property
    def name(self) -> str:
        """The way to it as text, for example ``buffers[3].size_bytes``."""
        way = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return way.lstrip(".") or "the document"

    def fail(self, what: str, hint: str = "") -> NoReturn:
        """Refuse the file because of this value."""
        raise NeuralArtError(what, where=self.document.where(self.path), hint=hint)

    def wrong(self, wanted: str) -> NoReturn:
        """Refuse the type of this value."""
        self.fail(f"{self.name} must be {wanted}, not {kind_of(self.value)}")

    def get(self, key: str) -> Item | None:
        """A member of an object; None if it is absent or ``null``."""
        if type(self.value) is not dict:
            self.wrong("an object { }")
        found = self.value.get(key)
        if found is None and key in self.document.synonyms:
            key = next((other for other in self.document.synonyms[key] if other in self.value), key)
            found = self.value.get(key)
        return None if found is None else Item(found, (*self.path, key), self.document)

    def need(self, key: str) -> Item:
        """A member that must be there."""
        found = self.get(key)
        if found is None:
            self.fail(f"{self.name} has no '{key}'")
        return found

    def each(self) -> list[Item]:
        """The entries of a list."""
        if type(self.value) is not list:
            self.wrong("a list [ ]")
        return [Item(value, (*self.path, number), self.document) for number, value in enumerate(self.value)]

    def entries(self, key: str) -> list[Item]:
        """The entries of a member that is a list; none if it is absent."""
        found = self.get(key)
        return [] if found is None else found.each()

    def text(self, key: str, default: str = "") -> str:
        """A member that is a text."""
        found = self.get(key)
        if found is None:
            return default
        if type(found.value) is not str:
            found.wrong("a text")
        text = str(found.value)
        # Half a surrogate pair is JSON, but no text that could be printed.
        return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

    def integer(self, key: str, default: int = 0, minimum: int | None = None) -> int:
        """A member that is a whole number, also one written as 3.0."""
        found = self.get(key)
        if found is None:
            return default
        if type(found.value) is not int and not (type(found.value) is float and found.value.is_integer()):
            found.wrong("a whole number")
        if minimum is not None and found.value < minimum:
            found.fail(f"{found.name} is {found.value}, the least is {minimum}")
        return int(found.value)

    def real(self, key: str) -> float | None:
        """A member that is a number; None if it is absent."""
        found = self.get(key)
        if found is None:
            return None
        if type(found.value) not in (int, float):
            found.wrong("a number")
        return float(found.value)

    def count(self, key: str) -> int:
        """A member that is a number not below 0, rounded; 0 if it is absent."""
        found = self.real(key)
        if found is None:
            return 0
        if not 0 <= found < 1e18:
            self.need(key).fail(f"{self.need(key).name} is {found:g}")
        return round(found)

    def flag(self, key: str, default: bool = False) -> bool:
        """A member that is true or false."""
        found = self.get(key)
        if found is None:
            return default
        if type(found.value) is not bool:
            found.wrong("true or false")
        return bool(found.value)

    def list_of(self, key: str, *types: type, wanted: str) -> tuple[Any, ...]:
        """A member that is a list of plain values of given types; empty if it is absent."""
        found = self.get(key)
        if found is None:
            return ()
        if type(found.value) is not list:
            found.wrong("a list [ ]")
        for number, value in enumerate(found.value):
            if type(value) not in types:
                Item(value, (*found.path, number), self.document).wrong(wanted)
        return tuple(found.value)

    def integers(self, key: str) -> tuple[int, ...]:
        """A member that is a list of whole numbers."""
        return self.list_of(key, int, wanted="a whole number")

    def reals(self, key: str) -> tuple[float, ...]:
        """A member that is a list of numbers."""
        return self.list_of(key, int, float, wanted="a number")

    def texts(self, key: str) -> tuple[str, ...]:
        """A member that is a list of texts."""
        return self.list_of(key, str, wanted="a text")

    def unknown(self, known: Iterable[str]) -> tuple[str, ...]:
        """Keys of an object that this reader has no use for."""
        others = (other for key in known for other in self.document.synonyms.get(key, ()))
        return tuple(sorted(set(self.value) - {*known, *others}))
