"""Texts and numbers as C writes them: the same input gives the same bytes on every machine."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

from neuralart.errors import NeuralArtError

# No question mark: two of them begin a trigraph. No quote, no backslash.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:;,+-=()[]@#$%&|^~<>!'`{} ")
_SMALLEST = 2.0**-126  # of the normal float32; smaller ones are flushed to zero on some cores

_FIRST_PLAIN, _LAST_PLAIN = -5, 8  # exponents of numbers that are written without one


def cstring(text: str) -> str:
    """A C string literal of any text, UTF-8, ASCII only.

    Octal escapes have three digits always, so a digit behind one stays itself.
    """
    parts = []
    for byte in str(text).encode("utf-8", "backslashreplace"):
        char = chr(byte)
        parts.append(char if byte < 0x80 and char in _PLAIN else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'


def ccomment(text: str) -> str:
    """Text that cannot end the comment it stands in."""
    shown = "".join(char if " " <= char <= "~" else "?" for char in str(text))
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/")


def cint(value: int) -> str:
    """A whole number in parentheses, as the macros of the applications are written.

    Raises:
        NeuralArtError: It does not fit into 32 bits.
    """
    number = int(value)
    if not -(1 << 31) < number < 1 << 32:
        raise NeuralArtError(f"{number} does not fit into 32 bits")
    return f"({number})"


def _single(value: float) -> float:
    """The nearest float32; infinite where there is none."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def cfloat(value: float) -> str:
    """A float32 as a C constant: the fewest digits that give the same float32.

    Raises:
        NeuralArtError: Not a number, or outside of what a float32 holds.
    """
    number = float(value)
    if not math.isfinite(number):
        raise NeuralArtError(f"{number} is not a number that C can write")
    rounded = _single(number)
    if not math.isfinite(rounded):
        raise NeuralArtError(f"{number:g} is too large for a float32")
    if number and abs(rounded) < _SMALLEST:
        raise NeuralArtError(f"{number:g} is too small for a float32")
    if not rounded:
        return "0.0f"
    text = next(text for text in (f"{rounded:.{n}e}" for n in range(9)) if _single(float(text)) == rounded)
    if _FIRST_PLAIN <= int(text.partition("e")[2]) <= _LAST_PLAIN:
        text = format(Decimal(text), "f")
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
