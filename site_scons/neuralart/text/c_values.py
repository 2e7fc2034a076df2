"""Writes values as C."""

from __future__ import annotations

# No question mark: two of them begin a trigraph. No quote, no backslash.
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:;,+-=()[]@#$%&|^~<>!'`{} ")


EXTERN_C = ("#ifdef __cplusplus", 'extern "C" {', "#endif")
"""Lines in front of the functions of a header: C++ programs link what C compilers made."""
EXTERN_C_END = ("#ifdef __cplusplus", "}", "#endif")
"""Lines behind them."""


def string(text: str) -> str:
    """Write a UTF-8 text as a C string literal in ASCII, with octal escapes of three digits."""
    data = str(text).encode("utf-8", "backslashreplace")
    return '"' + "".join(chr(byte) if chr(byte) in PLAIN else f"\\{byte:03o}" for byte in data) + '"'


def single(value: float) -> str:
    """Write a float32 as an exact C constant (nine digits)."""
    text = f"{value:.9g}"
    return f"{text}f" if any(char in text for char in ".e") else f"{text}.0f"
