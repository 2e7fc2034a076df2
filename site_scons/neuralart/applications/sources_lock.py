"""Do the parts of a program that SCons compiles belong together? Asked as for a build of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from neuralart.applications import lock_facts, version_lock
from neuralart.applications.runtime import VendorRuntime
from neuralart.applications.sources import SourceSet
from neuralart.applications.staging import Generated


def parts(chosen: SourceSet, vendor: VendorRuntime | None) -> list[Path]:
    """Headers and libraries that are compiled and linked and say something of their versions.

    Args:
        chosen: The user's sources.
        vendor: The vendor's runtime; None: that of this project.
    """
    found = [*chosen.archives]
    folders = [*chosen.include_dirs, *(vendor.include_dirs if vendor is not None else ())]
    for folder in folders:
        found += [path for path in sorted(folder.iterdir()) if path.suffix == ".h" and lock_facts.is_read(path.name)]
    found += [vendor.archive] if vendor is not None and vendor.archive is not None else []
    return found


def check_sources(
    chosen: SourceSet,
    vendor: VendorRuntime | None,
    files: Sequence[Generated],
    *,
    libc: str = "",
    libc_where: str = "",
    core: str = "",
    shown: Callable[[Path], str] = Path.as_posix,
) -> tuple[version_lock.Conflict, ...]:
    """Refuse parts that do not belong together.

    Args:
        chosen: The user's sources.
        vendor: The vendor's runtime; None: that of this project.
        files: The networks' files.
        libc: ``picolibc``, ``newlib`` or ``newlib-nano``.
        libc_where: Who says so.
        core: ``CM55``, ``CM7``.
        shown: How messages name a part.

    Returns:
        What may be meant.

    Raises:
        NeuralArtError: The first mismatch, or a part cannot be read.
    """
    looked_at = {shown(path): path for path in parts(chosen, vendor)}
    facts = lock_facts.gather(files, looked_at, libc=libc, libc_where=libc_where, core=core)
    return version_lock.check(facts)
