"""The code behind ``npu_memory_init.c`` for programs whose runtime is not ours, and so does not bring it along."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from neuralart.resources import firmware_dir
from neuralart.scons.compiled import NEURALART

FOLDER = "memory"
_HEADER = "npu_memory.h"


def memory_runtime_files(runtimes: Iterable[str]) -> list[tuple[str, Path]]:
    """Copies of that code, in a folder that holds no header of the same name as one of the vendor's.

    Args:
        runtimes: Those of the networks of a program.

    Returns:
        Name of the copy and its original; nothing where our runtime is a part of the program.
    """
    if NEURALART in runtimes:
        return []
    origin = firmware_dir() / "runtime"
    files = (origin / "include" / _HEADER, *sorted((origin / "memory").iterdir()))
    return [(f"{FOLDER}/{path.name}", path) for path in files if path.suffix in (".c", ".h")]
