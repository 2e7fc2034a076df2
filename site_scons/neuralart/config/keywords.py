"""Keywords of a method as YAML, so that both are checked by the same code and refused in the same words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.text.values import Value
from neuralart.text.yaml_values import parse


def value_of(given: Mapping[str, Any], where: str) -> Value:
    """A mapping as it would come out of a YAML file.

    Args:
        given: Texts, numbers, True, False, and lists and mappings of these.
        where: Who gives it, for messages.

    Raises:
        NeuralArtError: Something else is in it.
    """
    for key, item in given.items():
        _check(item, key, where)
    try:
        # JSON is YAML; what stands in quotes there is text here.
        data = json.dumps(given, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise NeuralArtError("a text holds half a character", where=where) from error
    return parse(data, where)


def _check(item: object, key: str, where: str) -> None:
    if isinstance(item, Mapping):
        for name, inner in item.items():
            if not isinstance(name, str):
                raise NeuralArtError(f"{key}: a key must be text, this is {name!r}", where=where)
            _check(inner, f"{key}.{name}", where)
    elif isinstance(item, (list, tuple)):
        for inner in item:
            _check(inner, key, where)
    elif not isinstance(item, (str, bool, int, float)):
        raise NeuralArtError(f"{key}: must be text, a number or a list, not {item!r}", where=where)


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
