"""Reads JSON whose lines do not matter; every fault is a ValueError. :mod:`neuralart.text.json_values` reads files
whose values are named with their lines in messages.
"""

from __future__ import annotations

import json
from typing import Any


def loads(text: str | bytes, *, duplicates: bool = False, constants: bool = True) -> Any:
    """Read a JSON text; bytes are UTF-8, UTF-16 or UTF-32. ``duplicates``: an object may repeat a key, the last one
    counts. ``constants``: ``NaN`` and ``Infinity`` are numbers. ValueError: it is no JSON, is nested too deeply, or
    repeats a key.
    """
    try:
        constant = float if constants else _refused
        return json.loads(text, object_pairs_hook=None if duplicates else _members, parse_constant=constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refused(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise ValueError(f"the key '{twice}' stands twice in one object")
    return made
