"""Reads and writes sizes: ``4096``, ``0x1000``, ``72K``, ``1024KB``, ``8B``, value and magnitude. K is 1024."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import lazy_regex

if TYPE_CHECKING:
    from neuralart.text.json_values import JsonValue

MAGNITUDES = {"BYTES": 1, "KBYTES": 1 << 10, "MBYTES": 1 << 20, "GBYTES": 1 << 30}
LARGEST = 1 << 32
_UNITS = {"": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "G": 1 << 30, "GB": 1 << 30}
_ALL = _UNITS | MAGNITUDES
_SIZE = lazy_regex(r"\s*(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})\s*([A-Za-z]*)\s*")


def parse(text: str, where: str, what: str = "the size") -> int:
    """Read ``1024KB``, ``8B``, ``72K`` or ``0x1000``; ``what``: for messages. NeuralArtError: none, or over 4 GiB."""
    match = _SIZE.fullmatch(text)
    factor = _ALL.get(match[2].upper()) if match else None
    if match is None or factor is None:
        hint = "such as 4096, 0x1000, 72K, 1024KB, 1M; units: B, KB, MB, GB; K is 1024"
        raise NeuralArtError(f"{what} is '{text[:40]}', not a size", where=where, hint=hint)
    size = _number(match[1]) * factor
    if size > LARGEST:
        raise NeuralArtError(f"{what} is {size} bytes, possible are 0 to {LARGEST}", where=where)
    return size


def amount(value: JsonValue) -> int:
    """Bytes of ``131072``, ``"128KB"`` or ``{"value": "128", "magnitude": "KBYTES"}``. Raises NeuralArtError: not such
    a size, or more than 4 GiB; ``where`` is ``file:line:column``.
    """
    if value.is_mapping:
        size, named = with_magnitude(value), value.need("value")
    elif type(value.value) is int:
        size, named = value.value, value
    elif type(value.value) is str:
        return parse(value.value, str(value.where), value.key)
    else:
        hint = 'such as "128KB"'
        raise value.fault(f"{value.key} must be a number, a text or value and magnitude, not {value.described}", hint)
    if not 0 <= size <= LARGEST:
        raise named.fault(f"{value.key} is {size} bytes, possible are 0 to {LARGEST}")
    return size


def with_magnitude(value: JsonValue, units: Mapping[str, int] = MAGNITUDES, *, exact: bool = False) -> int:
    """Bytes of ``{"value": "0x34000000", "magnitude": "BYTES"}``. ``units``: magnitudes to name in messages, all that
    are known where ``exact``: then the magnitude must be there, in upper case. Raises NeuralArtError: it is no such
    size, or is negative.
    """
    number = value.need("value")
    unit = value.need("magnitude", "units: " + ", ".join(units)) if exact else value.get("magnitude")
    word = "BYTES" if unit is None else unit.value
    known = units if exact else _ALL
    factor = known.get(word if exact else word.upper()) if isinstance(word, str) else None
    if unit is not None and factor is None:
        shown = f"'{word}'" if isinstance(word, str) else unit.described
        raise unit.fault(f"{unit.key} is {shown}", nearest(str(word), list(units)))
    plain = number.value
    if type(plain) is int and plain >= 0:
        return plain * (factor or 1)
    if type(plain) not in (int, str):
        raise number.fault(f"{value.key} must be a number or a text, not {number.described}")
    text = str(plain).strip()
    if text.startswith("-"):
        raise number.fault(f"{value.key} is negative: {text}")
    found = _SIZE.fullmatch(text)
    if found is None or found[2]:
        raise number.fault(f"{value.key} is '{plain}'", 'a decimal or hexadecimal number: "448", "0x70000"')
    return _number(found[1]) * (factor or 1)


def _number(text: str) -> int:
    return int(text, 16 if text[:2] in ("0x", "0X") else 10)


def word(text: str) -> int:
    """Read a 32-bit address or offset, decimal or with ``0x`` (a ``type`` of argparse)."""
    with contextlib.suppress(ValueError):
        if 0 <= (value := int(text, 0)) < 1 << 32:
            return value
    import argparse

    raise argparse.ArgumentTypeError(f"'{text}' is not a 32-bit address or offset, for example 0x71000000")


def number_that(fits: Callable[[float], bool], what: str) -> Callable[[str], float]:
    """Make a ``type`` of argparse for numbers that fit; messages say ``what`` other texts are not."""

    def parsed(text: str) -> float:
        value = math.nan
        with contextlib.suppress(ValueError):
            value = float(text)
        if fits(value):
            return value
        import argparse

        raise argparse.ArgumentTypeError(f"'{text}' {what}")

    return parsed


def text(size: int) -> str:
    """Write a size exactly, with K or M if it is a multiple."""
    for factor, suffix in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= factor and size % factor == 0:
            return f"{size} ({size // factor}{suffix})"
    return str(size)


def size_text(size: int) -> str:
    """Write a size as board files do: ``448K``, ``1M``, or plain bytes."""
    for suffix, unit in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size and size % unit == 0:
            return f"{size // unit}{suffix}"
    return str(size)


def size(count: int) -> str:
    """Write a size for people: exact below 10 KiB, else with one decimal."""
    if count < 10 * 1024:
        return f"{count} B"
    return f"{count / 1024:.1f} KiB" if count < 10 << 20 else f"{count / (1 << 20):.1f} MiB"
