"""The registry of kinds of files: how one is recognized and which module reads it.

A kind is data. Its module is imported only when a file of the kind is looked at, so the list costs nothing to load; it
offers two functions:

``record(path: Path) -> dict[str, Any]``
    What the file says, as plain mappings, lists, texts, numbers, truth values and None, ready for JSON; addresses and
    sizes are integers. A key that begins with ``_`` is for ``text`` alone. A file that cannot be read or is damaged
    raises :class:`~neuralart.errors.NeuralArtError` in one line; ``where`` is ``str(path)``, with the line if there is
    one.
``text(record: dict[str, Any]) -> str``
    The same for people; lines that end with a line end. It reads nothing but the record.

The names, keys and their meaning are documented in docs/reference/inspect.md and only ever added to.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from neuralart import plugins
from neuralart.vendor.tables import page


@dataclass(frozen=True)
class FileKind:
    """A kind of file.

    Attributes:
        name: Value of ``kind`` in the record.
        title: What it is in a sentence, for example ``a generated network.c``.
        module: Dotted name of the module with ``record`` and ``text``; ``module:NAME`` for a ``View`` of them in it.
        sniff: ``sniff(data, name)``: is it one? ``data`` are the file's bytes (all of them: look at a part), ``name``
            the file's name without its folder. It is quick and never raises, whatever the bytes are; contents decide
            before names.
    """

    name: str
    title: str
    module: str
    sniff: Callable[[bytes, str], bool]


@dataclass(frozen=True)
class View:
    """How a kind is read and shown."""

    record: Callable[[Path], dict[str, Any]]  # What the file says
    text: Callable[[dict[str, Any]], str]  # The same for people


Lines = Callable[[dict[str, Any]], Iterable[str]]


def view(record: Callable[[Path], dict[str, Any]], lines: Lines) -> View:
    """A view whose text is some lines about the record, and then its contradictions and notes."""
    return View(record, lambda made: page(made, lines(made)))


def kinds() -> tuple[FileKind, ...]:
    """All kinds, in the order they are asked: those that contents decide before those that a name decides. Those of
    plugins come last: they take what no built-in kind takes. NeuralArtError where a plugin cannot be loaded.
    """
    return tuple(plugin.made for plugin in plugins.every("inspect"))


def detect(data: bytes, name: str) -> FileKind | None:
    """The first kind that takes the file as one of its own; ``name``: the file's, without its folder."""
    for ask in (plugins.own, plugins.added):
        for plugin in ask("inspect"):
            if plugin.call("sniff", data, name):
                return cast(FileKind, plugin.made)
    return None


def reader(kind: FileKind) -> View:
    """The module of a kind, or its view in a module."""
    module, _, name = kind.module.partition(":")
    plugin = plugins.find("inspect", kind.name)
    found = plugin.run("import", importlib.import_module, module)
    shown = getattr(found, name) if name else found
    return View(
        lambda path: plugin.run("record", lambda: shown.record(path)),
        lambda record: plugin.run("text", lambda: shown.text(record)),
    )
