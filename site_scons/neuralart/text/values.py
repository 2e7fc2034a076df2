"""Values of YAML and JSON files that know their place and refuse wrong contents. The syntaxes differ in scalars
(:mod:`~neuralart.text.yaml_values`, :mod:`~neuralart.text.json_values`); ranges, lists of words, unknown keys and
messages are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import NoReturn, Self, TypeVar

from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import dataclass, lazy_regex

_CONTROL = lazy_regex("[\x00-\x1f\x7f\ud800-\udfff]")  # through escapes: "\0" would reach file names
_Made = TypeVar("_Made")
JSON_DEPTH = 64  # Lists and objects in one another, at most
QUOTES = {"'": "a single quote", **dict.fromkeys("\u2018\u2019\u201c\u201d", "a typographic quote")}


@dataclass(frozen=True)
class Location:
    """A place in a user's file."""

    file: str  # Its name in messages
    line: int  # From 1
    column: int = 0  # From 1, in characters; 0 where only the line is told

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


NOWHERE = Location("", 0)
"""Where no file says something."""


class Value:
    """A value of a file."""

    __slots__ = ()

    @property
    def file(self) -> str:
        """Name of the file in messages."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """Its path, such as ``networks.digits.compiler`` or ``buffers[3]``; empty at the top."""
        raise NotImplementedError

    # What a syntax must tell -------------------------------------------------------------------------------------

    @property
    def where(self) -> Location:
        """Its place: ``file:line``, in JSON with the column."""
        raise NotImplementedError

    @property
    def kind(self) -> str:
        """``mapping``, ``list``, or ``scalar``."""
        raise NotImplementedError

    @property
    def described(self) -> str:
        """A description for messages."""
        raise NotImplementedError

    def wrong(self, wanted: str, hint: str = "") -> NeuralArtError:
        """Make an error: this is not what is ``wanted``."""
        raise NotImplementedError

    def mapping(self) -> dict[str, Self]:
        """Keys and values, in the order of the file. Raises NeuralArtError: not a mapping."""
        raise NotImplementedError

    def items(self) -> list[Self]:
        """Members of a list. Raises NeuralArtError: not a list."""
        raise NotImplementedError

    def string(self) -> str:
        """The text, whatever it contains. NeuralArtError: not a text."""
        raise NotImplementedError

    def _truth(self) -> bool:
        raise NotImplementedError

    def _whole(self) -> tuple[int, str]:
        """The whole number, and how it was written."""
        raise NotImplementedError

    def _decimal(self) -> tuple[float, str]:
        """The decimal number, and how it was written."""
        raise NotImplementedError

    # Messages ----------------------------------------------------------------------------------------------------

    def error(self, what: str, hint: str = "") -> NeuralArtError:
        """Make an error at this place that names the key."""
        return self.fault(f"{self.key}: {what}" if self.key else what, hint)

    def fault(self, what: str, hint: str = "") -> NeuralArtError:
        """Make an error at this place in the caller's words."""
        return NeuralArtError(what, where=str(self.where), hint=hint)

    def fail(self, what: str, hint: str = "") -> NoReturn:
        """Raise :meth:`fault`."""
        raise self.fault(what, hint)

    def note(self, what: str) -> str:
        """Make a note ``line:column: what``."""
        place = self.where
        return f"{place.line}:{place.column}: {what}"

    def unknown(self, known: Collection[str], what: str = "") -> list[str]:
        """Make a note for each unknown key, except remarks, which begin with an underscore."""
        if not self.is_mapping:
            return []
        inside = f" in {what}" if what else ""
        strange = [key for key in self.mapping() if key not in known and not key.startswith("_")]
        return [self.mapping()[key].note(f"unknown key '{key}'{inside}") for key in strange]

    # Collections -------------------------------------------------------------------------------------------------

    @property
    def is_mapping(self) -> bool:
        """Whether it has keys and values."""
        return self.kind == "mapping"

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return self.kind == "list"

    def fields(self, known: Sequence[str]) -> dict[str, Self]:
        """Keys and values; only known keys. Raises NeuralArtError: as :meth:`mapping`, or an unknown key."""
        entries = self.mapping()
        for name, value in entries.items():
            if name not in known:
                inside = f" in {self.key}" if self.key else ""
                raise value.fault(f"unknown key '{name}'{inside}", nearest(name, tuple(known)))
        return entries

    def get(self, key: str) -> Self | None:
        """A member; None if it is absent. Raises NeuralArtError: not a mapping."""
        return self.mapping().get(key)

    def need(self, key: str, hint: str = "") -> Self:
        """A member that must be there. Raises NeuralArtError: it is not, or this is not a mapping."""
        found = self.get(key)
        if found is None:
            known = ", ".join(self.mapping()) or "nothing"
            raise self.fault(f"{self.name} has no '{key}'", hint or f"it has: {known}")
        return found

    @property
    def name(self) -> str:
        """The key, or a name for the top."""
        return self.key or "the document"

    def texts(self) -> tuple[str, ...]:
        """A list of texts. Raises NeuralArtError: not a list, or not all of them are text."""
        return tuple(item.text() for item in self.items())

    def reals(self, low: float, high: float) -> tuple[float, ...]:
        """A list of decimal numbers. Raises NeuralArtError: not a list, or as :meth:`real`."""
        return tuple(item.real(low, high) for item in self.items())

    # Scalars -----------------------------------------------------------------------------------------------------

    def text(self, *, empty: bool = False) -> str:
        """One line of text (``""`` where ``empty``); NeuralArtError: no text, several lines, or nothing but blanks."""
        text = self.string()
        if "\n" in text or "\r" in text:
            raise self.error("must be one line of text")
        if _CONTROL.search(text):
            raise self.error("has a control character in it")
        if not text.strip() and not (empty and not text):
            raise self.error("is empty", "give it a value, or leave the key out")
        return text

    def choice(self, allowed: Sequence[str], *, empty: bool = False) -> str:
        """One of some words. Raises NeuralArtError: none of them; names the nearest."""
        text = self.text(empty=empty)
        if text not in allowed and not (empty and not text):
            raise self.error(f"'{text}' is not allowed", nearest(text, tuple(allowed)))
        return text

    def matching(self, pattern: re.Pattern[str], wanted: str, *, empty: bool = False) -> str:
        """Text of some form, ``wanted`` in words; ``empty``: ``""`` is allowed. Raises NeuralArtError: another form."""
        text = self.text(empty=empty)
        if text and not pattern.fullmatch(text):
            raise self.error(f"'{text}' is not {wanted}")
        return text

    def boolean(self) -> bool:
        """True or false. Raises NeuralArtError: anything else; in YAML also its old spellings yes, no, on, off."""
        return self._truth()

    def integer(self, low: int = 0, high: int = 0xFFFFFFFF) -> int:
        """A whole number. Raises NeuralArtError: not a number, or out of range."""
        number, written = self._whole()
        if not low <= number <= high:
            limits = f"{low:#x} to {high:#x}" if high > 0xFFFF else f"{low} to {high}"
            raise self.error(f"{written} is out of range, allowed: {limits}")
        return number

    def real(self, low: float, high: float) -> float:
        """A decimal number from low to high. Raises NeuralArtError: not a decimal number, or out of range."""
        number, written = self._decimal()
        if not low <= number <= high:
            raise self.error(f"{written} is out of range, allowed: {low:g} to {high:g}")
        return number

    # Members with a default --------------------------------------------------------------------------------------

    def _member(self, key: str, default: _Made, read: Callable[[Self], _Made]) -> _Made:
        found = self.get(key)
        return default if found is None else read(found)

    def items_at(self, key: str) -> list[Self]:
        """The entries of a member that is a list; none if it is absent."""
        return self._member(key, [], lambda found: found.items())

    def string_at(self, key: str, default: str = "") -> str:
        """A member that is a text, whatever is in it."""
        return self._member(key, default, lambda found: found.string())

    def strings_at(self, key: str) -> tuple[str, ...]:
        """A member that is a list of texts; none if it is absent."""
        return tuple(item.string() for item in self.items_at(key))

    def boolean_at(self, key: str) -> bool:
        """A member that is true or false; false if it is absent."""
        return self._member(key, False, lambda found: found.boolean())

    def integer_at(self, key: str, default: int = 0, minimum: int | None = None) -> int:
        """A member that is a whole number, not below ``minimum``."""
        found = self.get(key)
        if found is None:
            return default
        number, written = found._whole()
        if minimum is not None and number < minimum:
            raise found.fault(f"{found.name} is {written}, the least is {minimum}")
        return number

    def real_at(self, key: str) -> float | None:
        """A member that is a number; None if it is absent."""
        found = self.get(key)
        return None if found is None else found._decimal()[0]
