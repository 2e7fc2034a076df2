"""What a reader of values accepts, as JSON Schema (draft 2020-12).

The reader is asked: it reads values that stand for any value, again and again, and they note what it takes them for. So
a key has no second declaration for editors. What a reader refuses for a reason of its own, such as a number that is not
a power of two, is not in the schema: it accepts more than the reader, never less.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.text.values import NOWHERE, Location, Value

Schema = dict[str, Any]
Docs = Mapping[frozenset[str], Mapping[str, str]]
"""Names of a mapping's keys -> what each key says."""
HEAD = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
_SIZE = {"type": "string", "pattern": "^[0-9][0-9_]*[KMG]$"}
_TEXT, _EMPTY = {"type": "string", "minLength": 1}, {"enum": [""]}
_NAME = "x"
# Readings behind the one after which nothing is open, and at most.
_MORE, _MOST = 24, 1000


class Shape:
    """What was seen of the values at one place."""

    def __init__(self) -> None:
        self.notes: list[Schema] = []  # Scalars, in the order seen
        self.parts: dict[str, Shape] = {}  # Members by name, those with free names under {}, items of a list under []
        self.tried: dict[tuple[Any, ...], set[Any]] = {}  # What may be answered -> what was

    def complete(self) -> bool:
        """A reader looked at everything, and got each answer."""
        tried = all(len(answers) == len(choices) for choices, answers in self.tried.items())
        return tried and bool(self.notes or self.parts) and all(part.complete() for part in self.parts.values())

    def schema(self, docs: Docs) -> Schema:
        """As JSON Schema; nothing is known of what no reader looked at."""
        kinds, parts = list(self.notes), {name: part.schema(docs) for name, part in self.parts.items()}
        if _EMPTY in kinds and (_TEXT in kinds or not self.complete()):
            kinds = [*(note for note in kinds if note not in (_TEXT, _EMPTY)), {"type": "string"}]
        if "[]" in parts:
            kinds.append({"type": "array", "items": parts.pop("[]")})
        if "{}" in parts:
            kinds.append({"type": "object", "additionalProperties": parts.pop("{}")})
        if parts:
            said = docs.get(frozenset(parts), {})
            kinds.append(closed({name: described(part, said.get(name, "")) for name, part in parts.items()}))
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}


def closed(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    """A mapping with these keys and no others."""
    more = {"required": list(required)} if required else {}
    return {"type": "object", "properties": dict(properties), **more, "additionalProperties": False}


def described(schema: Schema, text: str) -> Schema:
    """A schema with what it is for, in Markdown, of which links are left out."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return {"description": plain, **schema} if plain else schema


def found(read: Callable[[Value], object]) -> Shape:
    """Ask a reader. Equal readers give equal shapes."""
    top, dice, settled = Shape(), random.Random(0), 0
    for _ in range(_MOST):
        values: list[_AnyValue] = []
        # What it took the values for until it refused something is true.
        with contextlib.suppress(NeuralArtError):
            read(_AnyValue(top, dice, values))
        for value in values:
            value.shape.notes += [note for note in value.notes if note not in value.shape.notes]
        settled = settled + 1 if top.complete() else 0
        if settled > _MORE:
            break
    return top


class _AnyValue(Value):
    """Stands for any value, until it is asked for something."""

    __slots__ = ("_all", "_dice", "_kind", "_members", "_word", "notes", "shape")
    file = key = described = ""
    where: Location = NOWHERE

    def __init__(self, shape: Shape, dice: random.Random, values: list[_AnyValue]) -> None:
        self.shape, self._dice, self._all = shape, dice, values
        self.notes: tuple[Schema, ...] = ()  # What it was taken for at last: a reader that looks twice knows more then
        self._kind = self._word = ""
        self._members: dict[str, _AnyValue] | None = None
        values.append(self)

    def _part(self, name: str) -> _AnyValue:
        return _AnyValue(self.shape.parts.setdefault(name, Shape()), self._dice, self._all)

    def _one_of(self, *choices: Any) -> Any:
        """An answer that was not given so far, or any."""
        tried = self.shape.tried.setdefault(choices, set())
        left = [each for each in choices if each not in tried] or choices
        answer = left[int(self._dice.random() * len(left))]
        tried.add(answer)
        return answer

    @property
    def kind(self) -> str:
        self._kind = self._kind or self._one_of("mapping", "list", "scalar")
        return self._kind

    def wrong(self, wanted: str, hint: str = "") -> NeuralArtError:
        return NeuralArtError(wanted, where=self.key, hint=hint)

    def _is(self, kind: str) -> None:
        self._kind = self._kind or kind
        if self._kind != kind:
            raise self.wrong(kind)

    def mapping(self) -> dict[str, _AnyValue]:
        self._is("mapping")
        if self._members is None:
            self._members = {_NAME: self._part("{}")}
        return self._members

    def fields(self, known: Sequence[str]) -> dict[str, _AnyValue]:
        self._is("mapping")
        self._members = {name: self._part(name) for name in known}
        # Sometimes one alone, where one excludes another or is behind what fails.
        open_ = [name for name in known if not self.shape.parts[name].complete()]
        if open_ and self._dice.random() < 1 / 3:
            name = open_[int(self._dice.random() * len(open_))]
            self._members = {name: self._members[name]}
        return self._members

    def items(self) -> list[_AnyValue]:
        self._is("list")
        return [self._part("[]")]

    def _scalar(self, *notes: Schema) -> None:
        self._is("scalar")
        self.notes = notes

    # What Value reads scalars from, and what readers call instead: the latter tells more.

    def string(self) -> str:
        self._scalar(_TEXT)
        return _NAME

    def _truth(self) -> bool:
        self._scalar({"type": "boolean"})
        return bool(self._one_of(False, True))

    def _whole(self) -> tuple[int, str]:
        self._scalar({"type": "integer"}, _SIZE)
        return 0, "0"

    def _decimal(self) -> tuple[float, str]:
        self._scalar({"type": "number"})
        return 0.0, "0"

    def text(self, *, empty: bool = False) -> str:
        if self._word:  # One of some words, whatever it is asked for later
            return self._word
        text = str(self._one_of("", _NAME)) if empty else _NAME
        self._scalar(_TEXT if text else _EMPTY)
        return text

    def choice(self, allowed: Sequence[str], *, empty: bool = False) -> str:
        words = [*allowed, *([""] if empty else [])]
        self._scalar({"enum": words})
        self._word = str(self._one_of(*words))
        return self._word

    def matching(self, pattern: re.Pattern[str], wanted: str, *, empty: bool = False) -> str:
        self._scalar({"type": "string", "pattern": f"^(?:{pattern.pattern}){'?' if empty else ''}$"})
        return "" if empty else _NAME

    def integer(self, low: int = 0, high: int = 0xFFFFFFFF) -> int:
        self._scalar({"type": "integer", "minimum": low, "maximum": high}, _SIZE)
        return low

    def real(self, low: float, high: float) -> float:
        self._scalar({"type": "number", "minimum": low, "maximum": high})
        return low
