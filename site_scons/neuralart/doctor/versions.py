"""Comparing versions with what is wanted: ``>=2.21``, ``4.0.*``, ``!=1.1.3.8``, several of them with commas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_NUMBERS = re.compile(r"\d{1,18}(?:\.\d{1,18})*", re.ASCII)
ANY = "*"


def _specifiers(wanted: str, where: str) -> SpecifierSet:
    # Imported late: every command line of ours would pay for it.
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    found = SpecifierSet()
    for part in (part.strip() for part in wanted.split(",")):
        # A number without a sign means itself and everything that begins with it.
        bare = _NUMBERS.fullmatch(part.removesuffix(".*"))
        try:
            if not part:
                raise InvalidSpecifier(part)
            found &= SpecifierSet("" if part == ANY else f"=={bare[0]}.*" if bare else part)
        except InvalidSpecifier:
            raise NeuralArtError(
                f"'{part}' is no range of versions", where=where, hint='">=2.21", "4.0.*", "!=1.1", "*"'
            ) from None
    return found


def check_range(text: str, where: str) -> None:
    """Refuse what is no range. Raises NeuralArtError: one of its parts is none."""
    _specifiers(text, where)


def fits(version: str, wanted: str) -> bool:
    """Whether a version is in a range. The numbers that the version begins with count (``7.2.22`` of ``7.2.22
    (Debian)``). Ranges are those of pip (PEP 440), separated by commas, and all must hold; a number without a sign
    means itself and everything that begins with it, ``*`` any version. Raises NeuralArtError: the range is none.
    """
    found = _NUMBERS.match(version.strip())
    return found is not None and _specifiers(wanted, "").contains(found[0])
