"""Reads the header with the version of the vendor's runtime."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from neuralart.quick import dataclass

RUNTIME_HEADER = "ll_aton_version.h"


_PART = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+LL_ATON_VERSION_(MAJOR|MINOR|MICRO|DEV)(?:_NUM)?[ \t]+\(?[ \t]*(\d{1,9})", re.M
)


_PARTS = ("MAJOR", "MINOR", "MICRO", "DEV")


_SKIPPED = ("build", "node_modules", "__pycache__")


_MOST = 20_000


@dataclass(frozen=True)
class RuntimeHeader:
    version: tuple[int, int, int, int]  # Four numbers
    where: str  # ``file:line`` of the first of them

    @property
    def text(self) -> str:
        """``1.1.3.262``."""
        return ".".join(map(str, self.version))

    @property
    def ours(self) -> bool:
        """Whether it is this project's runtime, which alone has major number 0."""
        return self.version[0] == 0


def parse_runtime(text: str, where: str) -> RuntimeHeader | None:
    """Read the text of a header; None if it does not define all four numbers."""
    found: dict[str, int] = {}
    line = 0
    for match in _PART.finditer(text):
        line = line or text.count("\n", 0, match.start()) + 1
        found.setdefault(match[1], int(match[2]))
    if len(found) < len(_PARTS):
        return None
    major, minor, micro, dev = (found[part] for part in _PARTS)
    return RuntimeHeader((major, minor, micro, dev), f"{where}:{line}")


def runtime_headers(folder: Path) -> Iterator[Path]:
    """Find such headers in a folder and below, in a fixed order. Hidden folders and build folders are left out; a very
    large tree is not searched completely.
    """
    seen = 0
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        seen += len(names) + 1
        if RUNTIME_HEADER in names:
            yield Path(here) / RUNTIME_HEADER
        if seen > _MOST:
            return
