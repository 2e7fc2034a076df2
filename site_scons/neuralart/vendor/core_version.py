"""The version of ST Edge AI Core as its files give it: ``4.0.1-20581 7ed50de05``."""

from __future__ import annotations

import re
from dataclasses import dataclass

# 2.0 gave no commit; pre-releases have a name instead of a build number.
_CORE = re.compile(r"(?:ST Edge AI Core\s+)?v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-([\w.]+))?(?:\s+([0-9a-f]{7,40}))?\s*")


@dataclass(frozen=True)
class CoreVersion:
    """A version."""

    text: str  # As written, without the words in front: ``2.2.0-20266 2adc00962``
    numbers: tuple[int, int, int]  # Major, minor, patch
    build: str = ""  # Build number or name; empty if none is given
    commit: str = ""  # Empty if none is given


def parse_core(text: str) -> CoreVersion | None:
    """Understand a version; None if it is none.

    Args:
        text: With or without ``ST Edge AI Core v`` in front.
    """
    found = _CORE.fullmatch(text.strip())
    if found is None:
        return None
    major, minor, patch, build, commit = found.groups(default="")
    written = f"{major}.{minor}.{patch}" + (f"-{build}" if build else "") + (f" {commit}" if commit else "")
    return CoreVersion(written, (int(major), int(minor), int(patch)), build, commit)
