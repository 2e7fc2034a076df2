"""The code behind ``npu_memory_init.c`` for programs whose runtime is not ours, and so does not bring it along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuralart.resources import firmware_dir
from neuralart.scons import initializer_actions as actions
from neuralart.scons import messages
from neuralart.scons.compiled import NEURALART, NetworkNodes

_FOLDER = "memory"
_HEADER = "npu_memory.h"


def memory_runtime(base: Any, networks: Sequence[NetworkNodes], folder: str) -> tuple[list[Any], list[Any]]:
    """Copies of that code, in a folder that holds no header of the same name as one of the vendor's.

    Args:
        base: The base environment.
        networks: Of the program.
        folder: Of the program, relative to the top folder.

    Returns:
        C and headers; nothing where our runtime is a part of the program.
    """
    if any(network.runtime == NEURALART for network in networks):
        return [], []
    origin = firmware_dir() / "runtime"
    sources: list[Any] = []
    headers: list[Any] = []
    for path in (origin / "include" / _HEADER, *sorted((origin / "memory").iterdir())):
        if path.suffix not in (".c", ".h"):
            continue
        action = messages.function(actions.copy, "MEMORY   $TARGET")
        (node,) = base.Command(f"#{folder}/{_FOLDER}/{path.name}", base.fs.File(str(path)), action)
        (sources if path.suffix == ".c" else headers).append(node)
    return sources, headers
