"""Paths in commands: relative where that is possible, so that equal trees give equal command texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def top(env: Any) -> Path:
    """Folder of the top SConstruct: where commands run."""
    return Path(env.Dir("#").abspath)


def named(env: Any, path: Path) -> str:
    """A path as commands and messages name it: below the top folder relative, with slashes."""
    try:
        return path.resolve().relative_to(top(env).resolve()).as_posix()
    except ValueError:
        return str(path)


def word(env: Any, path: Path, prefix: str = "") -> list[str]:
    """A path as words of a command; one outside the tree does not count in the command's signature.

    Args:
        env: Any environment.
        path: The file or folder; what is in it must be a dependency of its own.
        prefix: Put before the path in the same word, for example ``default@``.
    """
    text = named(env, path)
    escaped = (prefix + text).replace("$", "$$")
    return ["$(", escaped, "$)"] if Path(text).is_absolute() else [escaped]
