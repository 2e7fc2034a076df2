"""Comparing versions with what is wanted: ``>=2.21``, ``4.0.*``, ``!=1.1.3.8``, several of them with commas."""

from __future__ import annotations

import re

from neuralart.errors import NeuralArtError

_NUMBERS = re.compile(r"\d+(?:\.\d+)*", re.ASCII)
_RANGE = re.compile(r"(>=|<=|==|!=|>|<)?\s*(\d+(?:\.\d+)*)(\.\*)?", re.ASCII)
ANY = "*"


def numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with (``7.2.22`` of ``7.2.22 (Debian)``); empty if it begins with none."""
    found = _NUMBERS.match(text.strip())
    return tuple(int(part[:18]) for part in found[0].split(".")) if found else ()


def check_range(text: str, where: str) -> None:
    """Refuse what is no range.

    Raises:
        NeuralArtError: One of its parts is none.
    """
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        if part.strip() != ANY and (not found or (found[3] and found[1] not in (None, "==", "!="))):
            raise NeuralArtError(
                f"'{part.strip()}' is no range of versions", where=where, hint='">=2.21", "4.0.*", "!=1.1", "*"'
            )


def fits(version: str, wanted: str) -> bool:
    """Whether a version is in a range.

    Args:
        version: As a tool gives it.
        wanted: All of its parts must hold. A number without a sign means itself and everything that begins with it.
    """
    have = numbers(version)
    return bool(have) and all(_fits(have, part.strip()) for part in wanted.split(","))


def _fits(have: tuple[int, ...], part: str) -> bool:
    if part == ANY:
        return True
    found = _RANGE.fullmatch(part)
    if found is None:
        return False
    sign, want = found[1] or "", numbers(found[2])
    begins = (have + (0,) * len(want))[: len(want)] == want
    if sign in ("", "=="):
        return begins
    if sign == "!=":
        return not begins
    size = max(len(have), len(want))
    one, other = have + (0,) * (size - len(have)), want + (0,) * (size - len(want))
    return {">=": one >= other, "<=": one <= other, ">": one > other, "<": one < other}[sign]
