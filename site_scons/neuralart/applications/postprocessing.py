"""The application's post-processing: which wrapper it has, and whether what is configured exists in it.

The wrapper's header names its kinds, ``POSTPROCESS_OD_YOLO_V8_UI`` and so on; releases of it have other ones and other
numbers. ``app_config.h`` chooses one: ``POSTPROCESS_TYPE``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from neuralart.text.c_source import Lines

CHOICE = "POSTPROCESS_TYPE"
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(POSTPROCESS_\w+)[ \t]+(.*?)[ \t]*(?://.*)?$", re.M)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_NUMBER = re.compile(r"\(?\s*(\d{1,9})\s*\)?")
_NAME = re.compile(r"\(?\s*(POSTPROCESS_\w+)\s*\)?")
# A configuration may repeat a few of the wrapper's lines; the wrapper itself has more of them.
_LEAST = 4


@dataclass(frozen=True)
class Kinds:
    """Post-processings that a header names."""

    file: str  # the header
    values: Mapping[str, tuple[int, str]] = field(repr=False)  # name -> (number, ``file:line``)

    @property
    def release(self) -> str:
        """Which release of the wrapper, by its numbers; empty if they are of none that is known."""
        number = min((value for value, _ in self.values.values()), default=-1)
        if 10 <= number < 100:
            return "1.0"
        return "later than 1.0" if number >= 100 else ""


@dataclass(frozen=True)
class Choice:
    """``POSTPROCESS_TYPE`` of a configuration."""

    name: str  # what it is; empty where it is a number
    number: int | None  # the number; None where it is a name
    where: str  # ``file:line``


def _defines(text: str, file: str) -> list[tuple[str, str, str]]:
    text = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    lines = Lines(text)
    return [(match[1], match[2], f"{file}:{lines.of(match.start(1))}") for match in _DEFINE.finditer(text)]


def kinds(text: str, file: str) -> Kinds | None:
    """The kinds of post-processing that a header names; None if it names none."""
    found: dict[str, tuple[int, str]] = {}
    for name, value, where in _defines(text, file):
        number = _NUMBER.fullmatch(value)
        if name != CHOICE and number is not None:
            found.setdefault(name, (int(number[1]), where))
    return Kinds(file, found) if found else None


def is_wrapper(found: Kinds) -> bool:
    """Whether a header is the wrapper's own, and does not only repeat a few of its lines."""
    return len(found.values) >= _LEAST


def choices(text: str, file: str) -> list[Choice]:
    """What a configuration chooses; more than one under conditions."""
    found = []
    for name, value, where in _defines(text, file):
        if name != CHOICE:
            continue
        other, number = _NAME.fullmatch(value), _NUMBER.fullmatch(value)
        if other is not None:
            found.append(Choice(other[1], None, where))
        elif number is not None:
            found.append(Choice("", int(number[1]), where))
    return found
