"""Keys of variants.yaml that plugins add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuralart import plugins
from neuralart.config.keys import Key, Settings, names
from neuralart.text.values import Value

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
    """All keys that plugins add to networks, to variants or to projects."""
    for plugin in plugins.every("keys"):
        if plugin.made.of == of:
            yield plugin.name, plugin.made


def with_added(of: str, keys: Sequence[Key], value: Value | None) -> tuple[Key, ...]:
    """Keys, and those of plugins where a mapping has other ones: a message about a wrong one names them all."""
    if value is None or not value.is_mapping or value.mapping().keys() <= set(names(keys)):
        return tuple(keys)
    added = (Key(name, key.read, key.doc, key.without, keyword=False) for name, key in every_key(of))
    return (*keys, *added)


def added_values(of: str, merged: Settings, own: Sequence[Key]) -> dict[str, Any]:
    """The values of keys of plugins, from merged layers."""
    known = {field for key in own for field in (key.name, *key.decides)}
    unknown = (name for name in merged if name.partition(".")[0] not in known)
    return {name: merged[name][0] for name in sorted(unknown) if name in plugins.names("keys", name)}
