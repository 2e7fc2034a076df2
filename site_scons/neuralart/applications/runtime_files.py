"""The files of our runtime that go into a program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuralart.resources import firmware_dir

_KERNELS, _OTHER_KERNELS = "kernels/", "kernels_"


# Code of relocatable models, and of networks for a core without an NPU.
_OF_OTHER_PROGRAMS = ("relocatable/", "legacy/")


_OF_CORES = (_KERNELS, "include/", "legacy/")


# What other runtimes have themselves; the start-up code of the memories is ours with any of them.
_MEMORY = ("memory/", "include/npu_memory.h")


_CODE = (".c", ".h")


@dataclass(frozen=True)
class RuntimePart:
    """A file of our runtime."""

    name: str  # Below the folder ``runtime``, with ``/``
    path: Path  # The file


def runtime_parts(
    ours: bool, kernels: str = "c", root: Path | None = None, *, cpu: bool = False
) -> tuple[RuntimePart, ...]:
    """Sources and headers of our runtime. ``kernels``: ``c``, or others that stand for the plain ones of the same name;
    empty: none. ``cpu``: that of networks for a core without an NPU.
    """
    root = root or firmware_dir() / "runtime"
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.suffix in _CODE}
    plain = {name: path for name, path in found.items() if not name.startswith(_OTHER_KERNELS)}
    if not kernels:
        plain = {name: path for name, path in plain.items() if not name.startswith(_KERNELS)}
    others = f"kernels_{kernels}/"
    for name in [name for name in found if name.startswith(others)]:
        plain.pop(f"{_KERNELS}{name.removeprefix(others)}", None)
        plain[name] = found[name]
    if cpu:
        chosen = [name for name in plain if name.startswith((*_OF_CORES, others))]
    else:
        chosen = [name for name in plain if not name.startswith(_OF_OTHER_PROGRAMS)]
    return tuple(RuntimePart(name, plain[name]) for name in sorted(chosen) if ours or name.startswith(_MEMORY))
