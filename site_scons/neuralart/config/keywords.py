"""Keywords of a method as YAML, so that both are checked by the same code and refused in the same words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.text.values import Location, Value
from neuralart.text.yaml_values import MAX_DEPTH, parse


def value_of(given: Mapping[str, Any], where: str | Location) -> Value:
    """A mapping as it would come out of a YAML file.

    Args:
        given: Texts, numbers, True, False, and lists and mappings of these.
        where: Who gives it, for messages; a line of a file becomes the place of all that is in it.

    Raises:
        NeuralArtError: Something else is in it.
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
        raise NeuralArtError(f"{key}: must be text, a number or a list, not {_shown(item)}", where=where)


def _shown(item: object) -> str:
    text = repr(item)
    # Of most objects that is their type and an address.
    return type(item).__name__ if text.startswith("<") else text


@contextmanager
def said_by(where: str) -> Iterator[None]:
    """Leave out the line that errors of such a value name: a method has none.

    Args:
        where: As given to :func:`value_of`.

    Raises:
        NeuralArtError: That came out of the block.
    """
    try:
        yield
    except NeuralArtError as error:
        if error.where != f"{where}:1":
            raise
        raise NeuralArtError(error.what, where=where, hint=error.hint) from error
