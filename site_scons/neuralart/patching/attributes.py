"""Names of sections in ``__attribute__((section("...")))``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError
from neuralart.text.c_source import Source

_SECTION = re.compile(r'(?<![\w"])(?:__section__|section)\s*\(\s*"([^"\\\n]*)"\s*\)')


@dataclass(frozen=True)
class Attribute:
    """The name of a section in a source: ``source.text[start:stop] == name``."""

    name: str
    start: int
    stop: int


def attributes(source: Source, outside: Sequence[tuple[int, int]] = ()) -> list[Attribute]:
    """All that the compiler may see, in the order of the file."""
    return [
        Attribute(match.group(1), *match.span(1))
        for match in _SECTION.finditer(source.code)
        if source.alive(match.start()) and not any(start <= match.start() < stop for start, stop in outside)
    ]


def require(source: Source, family: str, outside: Sequence[tuple[int, int]] = ()) -> Attribute:
    """The one attribute whose section is called ``family`` or ``family_...``.

    Raises:
        NeuralArtError: There is none, or several.
    """
    every = attributes(source, outside)
    found = [each for each in every if each.name == family or each.name.startswith(f"{family}_")]
    if not found:
        listed = ", ".join(dict.fromkeys(each.name for each in every)) or "none"
        raise NeuralArtError(
            f"no variable has a section attribute {family}...",
            where=source.name,
            hint=f"sections that are named there: {listed}",
        )
    if len(found) > 1:
        lines = ", ".join(str(source.line_of(each.start)) for each in found)
        raise NeuralArtError(
            f"{len(found)} section attributes {family}..., in lines {lines}: which one counts?",
            where=source.name,
            hint="keep one (what stands under #if 0 or in comments does not count)",
        )
    return found[0]
