"""Find an ST Edge AI Core of a wanted version, or say where it was looked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neuralart.compilers.stedgeai.asking import default_cache, version_of
from neuralart.compilers.stedgeai.places import CORE_DIR, Place, places, root_of
from neuralart.compilers.stedgeai.version import OLDEST, build, check_pin, fits
from neuralart.errors import NeuralArtError
from neuralart.vendor.core_version import CoreVersion

_DOC = "docs/reference/stedgeai.md"


@dataclass(frozen=True)
class Install:
    """An installation."""

    program: Path  # The program ``stedgeai``
    # The folder that holds ``Utilities`` and ``Middlewares``; None where the program lies like no installation
    root: Path | None
    version: CoreVersion  # Its version
    found: str  # Where it was found, in words

    @property
    def identity(self) -> str:
        """What results depend on: the same on machines that have the same version in other folders."""
        return f"ST Edge AI Core {self.version.text}"


def _look(place: Place, pin: str, environ: Mapping[str, str], cache: Path | None) -> tuple[Install | None, str]:
    """The installation at a place if it is a wanted one, else why not."""
    program = place.program
    if program is None:
        return None, f"{place.said}: none"
    program = program.absolute()
    root = place.root.absolute() if place.root is not None else root_of(program)
    try:
        version = version_of(program, root, environ, cache)
    except NeuralArtError as error:
        if place.said.startswith(CORE_DIR):
            raise
        return None, f"{place.said}: {error.what}"
    if version.numbers[:2] < OLDEST:
        return None, f"{place.said}: {build(version)}, which has no Neural-ART compiler"
    if not fits(version, pin):
        return None, f"{place.said}: {build(version)}"
    return Install(program, root, version, place.said), ""


def find(
    pin: str,
    environ: Mapping[str, str],
    *,
    where: str = "",
    cache: Path | None = None,
    system: str = sys.platform,
) -> Install:
    """Find the installation to use.

    ``STEDGEAI_CORE_DIR`` comes first, then PATH, then the folders installers use (newest version first), then the packs
    of STM32CubeMX. Without a pin the first one is taken; with one the first that fits.

    Args:
        pin: Wanted version, as :func:`~neuralart.compilers.stedgeai.version.fits` reads it; empty: any.
        environ: Of the process.
        where: Who asks, for messages.
        cache: File that remembers versions; None: the user's own.
        system: As ``sys.platform``.

    Raises:
        NeuralArtError: None fits; the message says where was looked and what was there.
    """
    if pin:
        check_pin(pin, where)
    cache = cache if cache is not None else default_cache(environ, system)
    trail: list[str] = [] if environ.get(CORE_DIR) else [f"{CORE_DIR}: not set"]
    seen: set[Path] = set()
    for place in places(environ, system):
        program = place.program
        if place.said.startswith(CORE_DIR) and program is None:
            raise NeuralArtError(
                f"no ST Edge AI Core in it: there is no {' or '.join(path.as_posix() for path in place.programs)}",
                where=place.said,
                hint="it must be the folder that holds Utilities and Middlewares; unset it to search the usual places",
            )
        if program is not None:
            if program.resolve() in seen:
                continue
            seen.add(program.resolve())
        found, why = _look(place, pin, environ, cache)
        if found is not None:
            return found
        trail.append(why)
    wanted = f"ST Edge AI Core {pin}" if pin else "ST Edge AI Core"
    raise NeuralArtError(
        f"no {wanted} found; looked at {'; '.join(trail)}",
        where=where,
        hint=f"install it, or set {CORE_DIR} to the folder that holds Utilities and Middlewares ({_DOC})",
    )


def choose(pin: str, environ: Mapping[str, str], *, cache: Path | None = None, system: str = sys.platform) -> str:
    """What ``auto`` means on this machine: ``stedgeai`` where a fitting one is installed, else ``reference``.

    Raises:
        NeuralArtError: The pin is none, or what ``STEDGEAI_CORE_DIR`` names is none.
    """
    if pin:
        check_pin(pin, "")
    try:
        find(pin, environ, cache=cache, system=system)
    except NeuralArtError:
        if environ.get(CORE_DIR):
            raise
        return "reference"
    return "stedgeai"
