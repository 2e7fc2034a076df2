"""Real numbers in a user's YAML file."""

from __future__ import annotations

import re

from neuralart.config.yamlmarks import Value

_REAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST = 40


def real(value: Value, low: float, high: float) -> float:
    """A decimal number, read from what is written (YAML 1.1 takes ``1e-3`` for text and ``1_0.5`` for 10.5).

    Args:
        value: The value.
        low: Smallest number allowed.
        high: Largest number allowed.

    Raises:
        NeuralArtError: Not a decimal number, or out of range.
    """
    text = value._scalar("a number")
    if not _REAL.fullmatch(text) or len(text) > _LONGEST:
        raise value.error(f"must be a number, this is {value._described()}", "decimal, for example 0.4 or 1e-3")
    number = float(text)
    if not low <= number <= high:
        raise value.error(f"{text} is out of range, allowed: {low:g} to {high:g}")
    return number


def reals(value: Value, low: float, high: float) -> tuple[float, ...]:
    """A list of decimal numbers.

    Raises:
        NeuralArtError: Not a list, or as :func:`real`.
    """
    return tuple(real(item, low, high) for item in value.items())
