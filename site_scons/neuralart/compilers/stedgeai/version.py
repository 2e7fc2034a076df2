"""Versions of ST Edge AI Core as the tool says them, and pins such as ``4.0.*``."""

from __future__ import annotations

import re

from neuralart.errors import NeuralArtError
from neuralart.vendor import releases
from neuralart.vendor.core_version import CoreVersion, parse_core
from neuralart.vendor.releases import Release

_NAME = "ST Edge AI Core v"
_PIN = re.compile(r"(\d{1,4})(?:\.(\d{1,4}|\*)(?:\.(\d{1,4}|\*)(?:-([0-9A-Za-z]+|\*))?)?)?")
OLDEST = (2, 0)


def short(version: CoreVersion) -> str:
    """``4.0.1``."""
    return ".".join(map(str, version.numbers))


def build(version: CoreVersion) -> str:
    """``4.0.1-20581``."""
    return f"{short(version)}-{version.build}" if version.build else short(version)


def release_of(version: CoreVersion) -> Release:
    """The release whose habits a version has.

    Raises:
        NeuralArtError: It is older than the first with an NPU compiler.
    """
    release = releases.of_core(version.numbers)
    if release is None:
        raise NeuralArtError(
            f"ST Edge AI Core {build(version)} has no Neural-ART compiler", hint="2.0 is the first version that has"
        )
    return release


def parse(answer: str, where: str) -> CoreVersion:
    """Understand what ``--version`` printed; lines before and after the version do not matter.

    Raises:
        NeuralArtError: There is no version in it.
    """
    lines = [line.strip() for line in answer.replace("\r", "\n").splitlines() if line.strip()]
    for line in lines:
        found = parse_core(line) if line.startswith(_NAME) else None
        if found is not None:
            return found
    raise NeuralArtError(
        f"does not say which version it is: '{lines[0][:80] if lines else 'nothing'}'",
        where=where,
        hint="is it the stedgeai of an installation?",
    )


def check_pin(pin: str, where: str) -> None:
    """Refuse what is not the form of a pin.

    Raises:
        NeuralArtError: Neither numbers nor a star at the end.
    """
    found = _PIN.fullmatch(pin)
    parts = [part for part in (found.groups() if found else ()) if part is not None]
    if not found or "*" in parts[:-1]:
        raise NeuralArtError(
            f"'{pin}' is no version to ask for", where=where, hint='a version or its beginning: "4", "4.0.*", "4.0.1"'
        )
    if int(parts[0]) < OLDEST[0]:
        raise NeuralArtError(
            f"version '{pin}' has no Neural-ART compiler", where=where, hint="2.0 is the first that has"
        )


def fits(version: CoreVersion, pin: str) -> bool:
    """Whether a version is what a pin asks for.

    Args:
        version: Of an installation.
        pin: ``4``, ``4.0``, ``4.0.*``, ``4.0.1``, ``4.0.1-20581``; empty: any.
    """
    if not pin:
        return True
    # Imported late: networks without a pin need none of it.
    from packaging.specifiers import SpecifierSet

    numbers, _, build = pin.partition("-")
    same = SpecifierSet(f"=={numbers.removesuffix('.*')}.*").contains(short(version))
    return same and build in ("", "*", version.build)
