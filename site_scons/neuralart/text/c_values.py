"""Values as C text."""

from __future__ import annotations

# No question mark: two of them begin a trigraph. No quote, no backslash.
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:;,+-=()[]@#$%&|^~<>!'`{} ")


EXTERN_C = ("#ifdef __cplusplus", 'extern "C" {', "#endif")
"""Lines in front of the functions of a header: C++ programs link what C compilers made."""
EXTERN_C_END = ("#ifdef __cplusplus", "}", "#endif")
"""Lines behind them."""


def string(text: str) -> str:
    """A C string literal of UTF-8 text in ASCII. Octal escapes have three digits: a digit behind one stays itself."""
    data = str(text).encode("utf-8", "backslashreplace")
    return '"' + "".join(chr(byte) if chr(byte) in PLAIN else f"\\{byte:03o}" for byte in data) + '"'


def single(value: float) -> str:
    """A float32 as a C constant, to the bit (nine digits)."""
    text = f"{value:.9g}"
    return f"{text}f" if any(char in text for char in ".e") else f"{text}.0f"
