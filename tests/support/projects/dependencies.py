"""Dependency files: whether a compiler read an original where a copy was meant."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

_DEPENDENCY = re.compile(r"(?:\\\r?\n|\\.|\$\$|[^\s\\])+")


def bypasses(dependencies: str, root: Path, folders: Sequence[str], base: Path) -> list[str]:
    """Originals of mirrored folders that a compiler read.

    Args:
        dependencies: Text of a dependency file (``gcc -MD``).
        root: The application's root.
        folders: Mirrored folders, from the root.
        base: Folder that the compiler ran in.

    Returns:
        Their paths from the root, sorted; empty if every one of them was the copy.
    """
    real = Path(os.path.realpath(root))
    found = set()
    for word in _DEPENDENCY.findall(dependencies):
        text = re.sub(r"\\(.)", r"\1", word.replace("\\\r\n", "").replace("\\\n", "")).replace("$$", "$")
        if not text or text.endswith(":"):
            continue
        try:
            inner = PurePosixPath(Path(os.path.realpath(base / text)).relative_to(real).as_posix())
        except ValueError:
            continue
        if any(PurePosixPath(folder) in inner.parents for folder in folders):
            found.add(inner.as_posix())
    return sorted(found)
