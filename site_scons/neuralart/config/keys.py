"""A key of a network or a variant, declared once. The check of the value, the keyword of ``env.Network``, the words of
``neuralart compile`` and the row in the documentation come from the declaration. Type and default are those of the
field of the same name in :mod:`neuralart.config.types`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from neuralart import plugins
from neuralart.errors import NeuralArtError
from neuralart.quick import MISSING, dataclass, field, fields, lazy_regex, replace
from neuralart.text.values import NOWHERE, Location, Value
from neuralart.text.yaml_values import MAX_DEPTH, parse

_Made = TypeVar("_Made")
Settings = Mapping[str, tuple[Any, Location]]
# What an SConstruct may write instead of a plain value.
PATH = "path"
WORDS = "words"
SECTION = lazy_regex(r"(?!\.(?:bss|data|text)\b)[A-Za-z_.][A-Za-z0-9_.]*")
"""A section of a linker script for constants."""
_DEFINE = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*(?:=.*)?")
MACHINES = ("silicon", "unicorn", "qemu")
"""Kinds of machine whose plugins are in this distribution."""


@dataclass(frozen=True, kw_only=True)
class Located:
    """A section of a file, with the places of its keys (in whatever layer)."""

    where: Location = NOWHERE
    places: Mapping[str, Location] = field(default_factory=dict, compare=False, repr=False)

    def place(self, key: str) -> Location:
        """Where a key was written; for a default the place of the section."""
        return self.places.get(key, self.where)

    def said(self, key: str = "") -> str:
        """Where a key was written, for messages; if no file has it, the name of the section."""
        place = self.place(key)
        return str(place) if place.file else self.unsaid()

    def unsaid(self) -> str:
        """What messages call a section that no file has."""
        return ""


@dataclass(frozen=True)
class Key:
    name: str  # As it is written
    read: Callable[[Value], Any]  # Reads the value, or refuses it; of a section: its members as settings
    doc: str = ""  # What the key says, in Markdown
    without: str = ""  # What holds without it, in Markdown; empty: the default of its field
    needed: bool = False  # There is no default that a table could show: ``without`` is all there is to say
    section: bool = False  # Its members are settings by themselves: a later layer may change one
    decides: tuple[str, ...] = ()  # Fields that it sets, where that is not the one of its name
    join: Callable[[Settings], Any] | None = None  # Makes the value of its field of the settings of a section
    # What an SConstruct may write: ``path`` (text with variables, a node or a ``pathlib`` path) or ``words`` (a text
    # with blanks, or a list). Of a mapping by member; the member ``""`` is the value that is no mapping
    form: str | Mapping[str, str] = field(default_factory=dict)
    keyword: bool = True  # ``env.Network`` takes it
    option: str = ""  # Word of ``neuralart compile`` that passes it on: with its text, or alone (truth values)
    taken: tuple[str, ...] = ()  # Words of ``neuralart compile`` that the build writes itself because of this key
    shared: bool = True  # ``defaults:`` may have it

    def says(self, doc: str, without: str = "") -> Key:
        """The same with its words for the documentation."""
        return replace(self, doc=doc, without=without)

    def settings(self, value: Value) -> Settings:
        """Read the value under the key. NeuralArtError: it is wrong."""
        if self.section or self.decides:
            read: Settings = self.read(value)
            return read
        return {self.name: (self.read(value), value.where)}

    def values(self, merged: Settings) -> dict[str, Any]:
        """Make the fields of the key from merged layers. NeuralArtError: members contradict each other."""
        if self.join is not None:
            return {self.name: self.join(merged)}
        return {name: merged[name][0] for name in self.decides or (self.name,) if name in merged}


def names(keys: Iterable[Key]) -> tuple[str, ...]:
    return tuple(key.name for key in keys)


def read_settings(value: Value, keys: Sequence[Key], known: Sequence[str]) -> dict[str, tuple[Any, Location]]:
    """Read a mapping by its declared keys; the caller reads the keys in ``known``."""
    by_name = {key.name: key for key in keys}
    read: dict[str, tuple[Any, Location]] = {}
    for name, entry in value.fields(known).items():
        if name in by_name:
            read.update(by_name[name].settings(entry))
    return read


def record(owner: Callable[..., _Made], value: Value, keys: Sequence[Key]) -> _Made:
    """Read a mapping into the dataclass ``owner``, which has the defaults."""
    read = read_settings(value, keys, names(keys))
    return owner(**{name: setting for name, (setting, _) in read.items()})


def section(name: str, value: Value, keys: Sequence[Key]) -> Settings:
    """Read a section as settings named like ``budgets.max_weights``."""
    return {f"{name}.{key}": setting for key, setting in read_settings(value, keys, names(keys)).items()}


def members(merged: Settings, section: str) -> dict[str, tuple[Any, Location]]:
    """Select the settings of a section, by the names of its members."""
    start = f"{section}."
    return {name.removeprefix(start): setting for name, setting in merged.items() if name.startswith(start)}


def named(section: str, value: Value, pattern: re.Pattern[str], wrong: str, read: Callable[[Value], Any]) -> Settings:
    """Read a section with free names as keys, so that a later layer may change one of them."""
    made: dict[str, tuple[Any, Location]] = {}
    for name, entry in value.mapping().items():
        if not pattern.fullmatch(name):
            raise entry.error(wrong)
        made[f"{section}.{name}"] = (read(entry), entry.where)
    return made


def pairs(section: str) -> Callable[[Settings], tuple[tuple[str, Any], ...]]:
    """Make a function that joins the settings of such a section to (name, value) pairs."""
    return lambda merged: tuple((name, value) for name, (value, _) in members(merged, section).items())


def rooms(value: Value) -> tuple[str, ...]:
    """Read ``SECTION=BYTES``: sections of a linker script with their sizes, in order."""
    wrong = "the key must be a section of the linker script, like .ExternalFlashSection"
    read = named("", value, SECTION, wrong, lambda entry: entry.integer(1))
    return tuple(f"{name[1:]}={size}" for name, (size, _) in read.items())


def all_machines() -> tuple[str, ...]:
    """List the kinds of machine, those of plugins last. NeuralArtError: a plugin cannot be loaded."""
    return tuple(dict.fromkeys((*MACHINES, *plugins.names("machines"))))


def machine(value: Value) -> str:
    """Read a kind of machine; plugins are loaded only for a name that is not ours."""
    own = value.text(empty=True) in ("", *MACHINES)
    return value.choice(MACHINES if own else all_machines(), empty=True)


def distinct(value: Value, read: Callable[[Value], str] = Value.text) -> tuple[str, ...]:
    """Read a list without repeated items."""
    found: list[str] = []
    for item in value.items():
        text = read(item)
        if text in found:
            raise item.error(f"'{text}' is named twice")
        found.append(text)
    return tuple(found)


def text_or_none(value: Value) -> str:
    return value.text(empty=True)


def one_of(allowed: Sequence[str], *, empty: bool = False) -> Callable[[Value], str]:
    """Make a reader of one of some words."""
    return lambda value: value.choice(allowed, empty=empty)


def whole(low: int, high: int) -> Callable[[Value], int]:
    """Make a reader of whole numbers in a range."""
    return lambda value: value.integer(low, high)


def real(low: float, high: float) -> Callable[[Value], float]:
    """Make a reader of decimal numbers in a range."""
    return lambda value: value.real(low, high)


def define(value: Value) -> str:
    return value.matching(_DEFINE, "NAME or NAME=value")


def option_words(config: Any, keys: Iterable[Key]) -> list[str]:
    """Write keys as words of ``neuralart compile``; defaults need none."""
    words: list[str] = []
    for key in keys:
        value = getattr(config, key.name) if key.option else None
        if isinstance(value, bool):
            words += [key.option] if value != default_of(type(config), key.name) else []
        elif value:
            words += [key.option, ",".join(value) if isinstance(value, tuple) else str(value)]
    return words


def default_of(owner: type, name: str) -> Any:
    """Find the default of a dataclass field; ``MISSING`` if it is required."""
    found = next(each for each in fields(owner) if each.name == name)
    return found.default if found.default_factory is MISSING else found.default_factory()


def either(words: Sequence[str]) -> str:
    """Format words for a table: ```a`, `b` or `c```."""
    shown = [f"`{word}`" for word in words]
    return " or ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)


def listed(keys: Iterable[Key]) -> str:
    """Format names for a table: ```a`, `b`, `c```."""
    return ", ".join(f"`{name}`" for name in names(keys))


def value_of(given: Mapping[str, Any], where: str | Location) -> Value:
    """Turn keywords of a method into YAML values, for the same checks and messages. ``where``: who gives them; a line
    of a file becomes the place of all. NeuralArtError: other types than text, number, truth value, list and mapping are
    in them.
    """
    file, line = (where.file, where.line) if isinstance(where, Location) else (where, 1)
    for key, item in given.items():
        _check(item, key, str(where), MAX_DEPTH)
    try:
        # JSON is YAML; what stands in quotes there is text here.
        data = json.dumps(given, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise NeuralArtError("a text holds half a character", where=str(where)) from error
    except ValueError as error:
        raise NeuralArtError("a number has thousands of digits", where=str(where)) from error
    return parse(b"\n" * (line - 1) + data, file)


def _check(item: object, key: str, where: str, levels: int) -> None:
    if not levels:
        raise NeuralArtError(f"{key[:60]}: nested deeper than {MAX_DEPTH} levels", where=where)
    if isinstance(item, Mapping):
        for name, inner in item.items():
            if not isinstance(name, str):
                raise NeuralArtError(f"{key}: a key must be text, this is {name!r}", where=where)
            _check(inner, f"{key}.{name}", where, levels - 1)
    elif isinstance(item, (list, tuple)):
        for inner in item:
            _check(inner, key, where, levels - 1)
    elif not isinstance(item, (str, bool, int, float)):
        raise NeuralArtError(f"{key}: must be text, a number or a list, not {_shown_item(item)}", where=where)


def _shown_item(item: object) -> str:
    text = repr(item)
    # Most objects show their type and an address.
    return type(item).__name__ if text.startswith("<") else text


@contextmanager
def said_by(where: str) -> Iterator[None]:
    """Remove the line from errors (NeuralArtError) of such values: a method has none."""
    try:
        yield
    except NeuralArtError as error:
        if error.where != f"{where}:1":
            raise
        raise NeuralArtError(error.what, where=where, hint=error.hint) from error


NETWORK, VARIANT, PROJECT = "network", "variant", "project"


@dataclass(frozen=True)
class AddedKey:
    """A key that a plugin adds, registered under its name.

    An example: ``variant.added["deadline"]`` is its value::

        DEADLINE = AddedKey("variant", lambda value: value.integer(1, 1000), "milliseconds that a frame may take")
        register("keys", "deadline", DEADLINE, protocol=1)

    Attributes:
        of: What has it: ``network``, ``variant`` or ``project`` (the whole file).
        read: Reads the value (:class:`neuralart.text.values.Value`), or refuses it; the schema for editors asks it.
        doc: What the key says, in Markdown, for the schema.
        without: What holds without it.
        sections: Keys of mappings that it reads, by the name of their table in the documentation, and the class that
            has their defaults.
    """

    of: str
    read: Callable[[Value], Any]
    doc: str
    without: str = ""
    sections: Mapping[str, tuple[Sequence[Key], Any]] = field(default_factory=dict)


def every_key(of: str) -> Iterator[tuple[str, AddedKey]]:
    """List the keys that plugins add to networks, variants or projects."""
    for plugin in plugins.every("keys"):
        if plugin.made.of == of:
            made: AddedKey = plugin.made
            own = plugin.source is plugins.OWN
            yield plugin.name, made if own else replace(made, read=plugin.guarded("read"))


def with_added(of: str, keys: Sequence[Key], value: Value | None) -> tuple[Key, ...]:
    """Add the keys of plugins, if a mapping has keys that are not ours, so that messages name them all."""
    if value is None or not value.is_mapping or value.mapping().keys() <= set(names(keys)):
        return tuple(keys)
    added = (Key(name, key.read, key.doc, key.without, keyword=False) for name, key in every_key(of))
    return (*keys, *added)


def added_values(of: str, merged: Settings, own: Sequence[Key]) -> dict[str, Any]:
    """Read the values of plugins' keys from merged layers."""
    known = {field for key in own for field in (key.name, *key.decides)}
    unknown = (name for name in merged if name.partition(".")[0] not in known)
    return {name: merged[name][0] for name in sorted(unknown) if name in plugins.names("keys", name)}
