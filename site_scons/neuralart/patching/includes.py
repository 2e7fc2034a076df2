"""Include paths that reach the patched copies, and the proof that nothing reached an original."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

OUTPUT, APPLICATION, ELSEWHERE = "output", "application", "elsewhere"


@dataclass(frozen=True)
class IncludeDir:
    """A folder for the compiler to look in."""

    base: str  # ``output`` (a patched copy), ``application`` (below the root), or ``elsewhere``
    path: str  # from there with ``/``; as given if elsewhere

    def resolve(self, root: Path, output: Path) -> Path:
        """The folder itself."""
        return {OUTPUT: output, APPLICATION: root}.get(self.base, Path()) / self.path


def include_path(root: Path, folders: Sequence[str], given: Sequence[str]) -> tuple[IncludeDir, ...]:
    """An include path without the originals of mirrored folders.

    Args:
        root: The application's root.
        folders: Mirrored folders, from the root.
        given: The application's include path: from the root, or absolute.

    Returns:
        In the same order. A mirrored folder (or one within it) is its copy; in front of a folder that contains a
        mirrored one stands that folder's place in the copy, so that ``#include "CM7/main.h"`` finds it there first.
    """
    real = Path(os.path.realpath(root))
    found: list[IncludeDir] = []
    for text in given:
        try:
            inner = PurePosixPath(Path(os.path.realpath(root / text)).relative_to(real).as_posix())
        except ValueError:
            found.append(IncludeDir(ELSEWHERE, text))
            continue
        if any(PurePosixPath(folder) in (inner, *inner.parents) for folder in folders):
            found.append(IncludeDir(OUTPUT, inner.as_posix()))
            continue
        if any(inner in PurePosixPath(folder).parents for folder in folders):
            found.append(IncludeDir(OUTPUT, inner.as_posix()))
        found.append(IncludeDir(APPLICATION, inner.as_posix()))
    return tuple(dict.fromkeys(found))
