"""JSON values that know where they stand, read at the speed of the standard library.

The standard library reads the text; it forgets where a value stood. The careful reader
(:mod:`~neuralart.text.json_grammar`) reads a second time, and only when a message needs a place or the text is no plain
JSON: memory-pool files are strict JSON (RFC 8259), profile files may also hold ``//`` comments and strings continued
with a backslash at the end of the line, and what tools write has ``NaN`` and ``Infinity`` in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.quick import lazy_regex
from neuralart.text.values import JSON_DEPTH, QUOTES, Location, Value

if TYPE_CHECKING:
    from neuralart.text.json_grammar import Place, Reader

__all__ = ["JsonValue", "document", "kind_of", "parse", "parse_tolerant", "parse_tool", "shaped"]

_BOM = b"\xef\xbb\xbf"
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
# What the standard library reads and a strict file must not have: half surrogate pairs, numbers beyond all measure.
_ODD = lazy_regex(r"\\u[dD][89a-fA-F]|[0-9.eE+-]{41}|[eE]\+?[0-9]{3}")
_NOT_ASCII = lazy_regex(f"[^\x00-\x7f{''.join(QUOTES)}]")


def kind_of(value: object) -> str:
    return _KINDS.get(type(value), "null")


def _careful(text: str, file: str, **how: bool) -> Reader:
    """Of most files no place is needed, and its reader is not loaded."""
    from neuralart.text.json_grammar import Reader

    return Reader(text, file, **how)


class _Document:
    """A text, what was read from it, and the places once they are needed."""

    def __init__(self, text: str, file: str, synonyms: Mapping[str, Sequence[str]] | None = None, **how: bool) -> None:
        self.file, self.tool = file, how.get("tool", False)
        self.synonyms = synonyms or {}
        self._text, self._how = text, how
        self._places: Place | None = None
        try:
            if not self.tool and _ODD.search(text):
                raise ValueError("for the careful reader")
            self.value: Any = jsontext.loads(text, constants=self.tool)
            if _deep(self.value):
                raise ValueError("nested deeper than the careful reader allows")
        except ValueError:
            # The careful reader says it better, and with a place.
            self.value, self._places = self._reader.document()

    @cached_property
    def _reader(self) -> Reader:
        return _careful(self._text, self.file, **self._how)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._reader.notes)

    def place(self, path: list[str | int]) -> Location:
        if self._places is None:
            self._places = self._reader.document()[1]
        place: Any = self._places
        for step in path:
            place = place[1][step]
        return Location(self.file, *self._reader.place(place if isinstance(place, int) else place[0]))


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(JSON_DEPTH + 1):
        nested = (outer.values() if type(outer) is dict else outer for outer in level if type(outer) in (dict, list))
        level = [inner for members in nested for inner in members]
    return bool(level)


class JsonValue(Value):
    """A value of a JSON file; ``value``: as the standard library reads it."""

    __slots__ = ("_above", "_document", "_label", "_step", "value")

    def __init__(self, value: Any, document: _Document, above: Self | None = None, step: str | int = "") -> None:
        self.value, self._document = value, document
        self._above, self._step, self._label = above, step, ""

    def called(self, label: str) -> Self:
        """The same value with a name in messages; its members are ``key of label``."""
        self._label = label
        return self

    @property
    def file(self) -> str:
        """Name of the file in messages."""
        return self._document.file

    @property
    def key(self) -> str:
        """Its path, such as ``buffers[3].size``; below a named value ``size of pool A``."""
        if self._label or self._above is None:
            return self._label
        above = self._above.key
        if isinstance(self._step, int):
            return f"{above}[{self._step}]"
        if self._above._labeled:
            return f"{self._step} of {above}"
        return f"{above}.{self._step}" if above else self._step

    @property
    def _labeled(self) -> bool:
        return bool(self._label) or (self._above is not None and self._above._labeled)

    @property
    def where(self) -> Location:
        path: list[str | int] = []
        here: JsonValue = self
        while here._above is not None:
            path.append(here._step)
            here = here._above
        return self._document.place(path[::-1])

    @property
    def kind(self) -> str:
        return "mapping" if type(self.value) is dict else "list" if type(self.value) is list else "scalar"

    @property
    def described(self) -> str:
        return kind_of(self.value)

    def wrong(self, wanted: str, hint: str = "") -> NeuralArtError:
        return self.fault(f"{self.name} must be {wanted}, not {self.described}", hint)

    def _inner(self, step: str | int, value: Any) -> Self:
        return type(self)(value, self._document, self, step)

    def mapping(self) -> dict[str, Self]:
        if type(self.value) is not dict:
            raise self.wrong("an object { }")
        return {key: self._inner(key, value) for key, value in self.value.items()}

    def get(self, key: str) -> Self | None:
        """A member; None if it is absent, or ``null`` in a file that a tool wrote. NeuralArtError: not an object."""
        if type(self.value) is not dict:
            raise self.wrong("an object { }")
        others = self._document.synonyms.get(key, ())
        if others and self.value.get(key) is None:
            key = next((other for other in others if other in self.value), key)
        value = self.value.get(key)
        return None if value is None and (self._document.tool or key not in self.value) else self._inner(key, value)

    def strange(self, known: Iterable[str]) -> tuple[str, ...]:
        """Keys of an object that are not ``known``, sorted."""
        others = (other for key in known for other in self._document.synonyms.get(key, ()))
        return tuple(sorted(set(self.value) - {*known, *others}))

    def items(self) -> list[Self]:
        if type(self.value) is not list:
            raise self.wrong("a list [ ]")
        return [self._inner(number, value) for number, value in enumerate(self.value)]

    def string(self) -> str:
        """The text; half a surrogate pair, which cannot be printed, is replaced. Raises NeuralArtError: not a text."""
        if type(self.value) is not str:
            raise self.wrong("a text")
        text = str(self.value)
        return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

    def _truth(self) -> bool:
        if type(self.value) is not bool:
            raise self.wrong("true or false")
        return bool(self.value)

    def _whole(self) -> tuple[int, str]:
        if type(self.value) is not int and not (type(self.value) is float and self.value.is_integer()):
            raise self.wrong("a whole number")
        return int(self.value), str(self.value)

    def _decimal(self) -> tuple[float, str]:
        if type(self.value) not in (int, float):
            raise self.wrong("a number")
        try:
            return float(self.value), str(self.value)
        except OverflowError:
            raise self.fault(f"{self.name} is too large") from None

    def count_at(self, key: str) -> int:
        """A member that is a number of at least 0, rounded; 0 if it is absent."""
        found = self.real_at(key)
        if found is None:
            return 0
        if not 0 <= found < 1e18:
            self.need(key).fail(f"{self.need(key).name} is {found:g}")
        return round(found)

    def plain(self, *types: type, wanted: str) -> tuple[Any, ...]:
        """The values of a list, of some types. NeuralArtError: no list, or another type is in it."""
        if type(self.value) is not list:
            raise self.wrong("a list [ ]")
        for number, value in enumerate(self.value):
            if type(value) not in types:
                raise self._inner(number, value).wrong(wanted)
        return tuple(self.value)

    def list_of(self, key: str, *types: type, wanted: str) -> tuple[Any, ...]:
        """The values of a member that is such a list; empty if it is absent."""
        found = self.get(key)
        return () if found is None else found.plain(*types, wanted=wanted)

    def integers_at(self, key: str) -> tuple[int, ...]:
        """A member that is a list of whole numbers; none if it is absent."""
        return self.list_of(key, int, wanted="a whole number")

    def reals_at(self, key: str) -> tuple[float, ...]:
        """A member that is a list of numbers; none if it is absent."""
        return self.list_of(key, int, float, wanted="a number")


def _decode(data: bytes, file: str, *, ascii_only: bool) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NeuralArtError("UTF-16 text", where=f"{file}:1:1", hint="save it as UTF-8 without BOM")
    if data.startswith(_BOM):
        hint = "save it as UTF-8 without BOM"
        raise NeuralArtError("the file starts with a byte-order mark (BOM)", where=f"{file}:1:1", hint=hint)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        _careful(before, file).fail(f"byte 0x{data[error.start]:02x} is not UTF-8", "save it as UTF-8", at=len(before))
    strange = _NOT_ASCII.search(text) if ascii_only else None
    if strange:
        what = f"character U+{ord(strange.group()):04X}: this format is ASCII only"
        _careful(text, file).fail(what, "replace it", at=strange.start())
    return text


def parse(data: bytes, file: str, *, relaxed: bool = False, ascii_only: bool = False) -> JsonValue:
    """Read JSON. ``relaxed``: ``//`` comments outside texts and texts continued by a backslash before the line end are
    allowed. ``ascii_only``: other characters are errors. Raises NeuralArtError: it is not such a document; ``where`` is
    ``file:line:column``.
    """
    document = _Document(_decode(data, file, ascii_only=ascii_only), file, relaxed=relaxed)
    return JsonValue(document.value, document)


def parse_tolerant(data: bytes, file: str, *, relaxed: bool = False) -> tuple[JsonValue, tuple[str, ...]]:
    """Read JSON as people write it: comments of both kinds, trailing commas, a byte-order mark. Returns the document,
    and one note ``line:column: what`` for each sort of thing that the format (as ``relaxed`` of :func:`parse` has it)
    does not allow. Raises as :func:`parse`.
    """
    text = _decode(data.removeprefix(_BOM), file, ascii_only=False)
    document = _Document(text, file, relaxed=relaxed, tolerant=True)
    marks = ("1:1: a byte-order mark, which the compiler's own reader refuses",) if data.startswith(_BOM) else ()
    return JsonValue(document.value, document), (*marks, *document.notes)


def parse_tool(data: bytes, file: str, synonyms: Mapping[str, Sequence[str]] | None = None) -> JsonValue:
    """Read JSON that a program wrote: ``NaN``, ``Infinity`` and a byte-order mark are taken, ``null`` is absent.
    ``synonyms``: other names of keys; who asks for the key gets what stands under one of them. Raises NeuralArtError:
    it is not JSON, or an object has the same key twice; ``where`` is ``file:line:column``.
    """
    text = _decode(data.removeprefix(_BOM), file, ascii_only=False)
    document = _Document(text, file, synonyms, tool=True)
    return JsonValue(document.value, document)


def shaped(value: Any, shape: Any, where: str, name: str = "") -> Any:
    """The members of a JSON value that a shape names; others are of a later version, and left out. A shape is a type,
    several, a list of one shape, or members and their shapes (``...``: any names). ``where`` and ``name``: the file and
    the value in it. NeuralArtError: a member is missing, or of another type.
    """
    place = f"{where}: {name}" if name else where
    if isinstance(shape, dict) and isinstance(value, dict):
        if ... in shape:
            return {key: shaped(each, shape[...], where, f"{name}.{key}") for key, each in value.items()}
        missing = next((key for key in shape if key not in value), None)
        if missing is not None:
            raise NeuralArtError(f"'{missing}' is missing", where=place, hint="build it again")
        return {key: shaped(value[key], each, where, f"{name}.{key}" if name else key) for key, each in shape.items()}
    if isinstance(shape, list) and isinstance(value, list):
        return [shaped(each, shape[0], where, f"{name}[{number}]") for number, each in enumerate(value)]
    kinds = shape if isinstance(shape, tuple) else (type(shape) if isinstance(shape, dict | list) else shape,)
    # A truth value is no number.
    if type(value) not in kinds:
        wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise NeuralArtError(f"{value!r} is no {wanted}", where=place, hint="build it again")
    return value


def document(path: Path, schema: int) -> dict[str, Any]:
    try:
        data = jsontext.loads(read_bytes(path))
    except ValueError as error:
        raise NeuralArtError(f"no JSON: {error}", where=str(path), hint="build it again") from error
    found = shaped(data, {"schema": int}, str(path))["schema"]
    if found != schema:
        raise NeuralArtError(f"schema {found}, this version reads {schema}", where=str(path), hint="build it again")
    return dict(data)
