"""``CacheDir`` with checked entries (``CACHEDIR_CLASS`` of our environments). Behind it is the cache of an extension
(:data:`BEHIND`), also without a folder.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any, Protocol

import SCons.Action
import SCons.CacheDir

from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.scons import making
from neuralart.text.console import say


class StepCache(Protocol):
    """A cache of whole steps, for example on another machine."""

    def retrieve(self, node: Any) -> bool:
        """Whether the cache has put a target in place. Called for each target of a step, in order."""

    def push(self, node: Any) -> None:
        """Store all targets of the step that has built a node."""


BEHIND: list[StepCache] = []
"""Caches behind the folder, in the order in which they are asked."""


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _beside(entry: Path) -> Path:
    return entry.with_name(f"{entry.name}.sha256")


def _sound(entry: Path) -> str:
    """The hash of an entry, if that was written beside it. An entry without one counts as damaged."""
    try:
        digest = _digest(entry)
        return digest if _beside(entry).read_text("ascii").strip() == digest else ""
    except (OSError, UnicodeDecodeError):
        return ""


class CheckedCache(SCons.CacheDir.CacheDir):
    """Keeps the SHA-256 of each entry beside it; a damaged entry is deleted, and its target built. This finds damage,
    not an attacker, who can write the hash as well.
    """

    def _entry(self, node: Any) -> Path | None:
        """The file in the cache; None: it is not there, or a link, which SCons copies as a link."""
        _, path = self.cachepath(node)
        entry = Path(path) if path else None
        return entry if entry and entry.is_file() and not entry.is_symlink() else None

    def retrieve(self, node: Any) -> bool:
        """Copy a file out of the cache; False: it is missing or damaged."""
        entry = self._entry(node)
        digest = _sound(entry) if entry else ""
        if entry and not digest:
            if SCons.Action.execute_actions:
                say(f"scons: {node}: the cache holds a damaged file for it, which is not used")
                for path in () if self.is_readonly() else (entry, _beside(entry)):
                    with contextlib.suppress(OSError):
                        path.unlink()
        elif super().retrieve(node) and making.record_copy(node, digest):
            return True
        if SCons.CacheDir.cache_enabled and any(steps.retrieve(node) for steps in BEHIND):
            return making.record_copy(node)
        return False

    def push(self, node: Any) -> None:
        """Put a file that was built into the cache."""
        super().push(node)
        for steps in () if self.is_readonly() else BEHIND:
            steps.push(node)
        entry, own = self._entry(node), Path(node.get_internal_path())
        if entry and not self.is_readonly() and not own.is_symlink() and not _beside(entry).exists():
            # The hash of what was built, not of the copy: so a wrong copy is detected.
            with contextlib.suppress(NeuralArtError, OSError):
                write_text(_beside(entry), _digest(own) + "\n")
