"""JSON Schema of board files, for editors: made from their readers."""

from __future__ import annotations

from pathlib import Path

from neuralart.boards import loading
from neuralart.text import shapes
from neuralart.text.shapes import Schema
from neuralart.text.values import Value


def board() -> Schema:
    """The schema. No key is needed: a family or another board may have it."""
    return {**shapes.HEAD, "title": "board of scons-neuralart", **shapes.found(_read).schema({})}


def _read(value: Value) -> None:
    entries = value.fields(loading.KEYS)
    if "schema" in entries:
        entries["schema"].integer(loading.SCHEMA, loading.SCHEMA)
    for key in entries.keys() & {"family", "base"}:
        entries[key].text()
    loading.made("", value, [Path()])
