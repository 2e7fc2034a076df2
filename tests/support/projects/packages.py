"""The packages of this distribution, for tests that look at all of their code."""

from __future__ import annotations

from pathlib import Path

from neuralart.plugins import parts
from neuralart.resources import PACKAGE

MODULES = sorted(path for part in parts() for path in part.rglob("*.py"))


def name_of(path: Path) -> str:
    """A file of the core below the core; of another package with the package's name."""
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else PACKAGE.parent).as_posix()


def dotted(path: Path) -> str:
    """Its name for an import statement; a package's ``__init__`` has the name of the package."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
