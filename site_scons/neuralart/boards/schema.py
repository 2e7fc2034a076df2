"""JSON Schema of board files, for editors: made from their readers."""

from __future__ import annotations

from neuralart.boards import fields, loading
from neuralart.text import shapes
from neuralart.text.shapes import Schema, closed
from neuralart.text.values import Value


def board() -> Schema:
    """The schema. No key is needed: a family or another board may have it."""
    readers = {
        "schema": lambda value: value.integer(loading.SCHEMA, loading.SCHEMA),
        **fields.BOARD,
        "family": Value.text,
        "base": Value.text,
    }
    keys = {key: shapes.found(readers[key]).schema({}) for key in loading.KEYS}
    return {**shapes.HEAD, "title": "board of scons-neuralart", **closed(keys)}
