"""The C of the runtime that a program with a network needs, under a folder of the build."""

from __future__ import annotations

from functools import cache
from typing import Any

from neuralart.resources import firmware_dir

# Kernels that stand for others of the same name, code that becomes a part of relocatable models, that of CPU networks.
_OF_OTHER_PROGRAMS = ("kernels_mve/", "relocatable/", "legacy/")


def cpu_runtime_files() -> list[str]:
    """C of the runtime for networks that run on the core, relative to the runtime's folder."""
    origin = firmware_dir() / "runtime"
    return sorted(
        path.relative_to(origin).as_posix() for part in ("kernels", "legacy") for path in (origin / part).glob("*.c")
    )


def cpu_runtime_includes() -> list[str]:
    """Folders of the headers of that runtime."""
    runtime = firmware_dir() / "runtime"
    return [str(runtime / "include"), str(runtime / "legacy" / "include")]


@cache
def _npu_runtime_files() -> tuple[str, ...]:
    origin = firmware_dir() / "runtime"
    relative = sorted(path.relative_to(origin).as_posix() for path in origin.rglob("*.c"))
    return tuple(name for name in relative if not name.startswith(_OF_OTHER_PROGRAMS))


def runtime_nodes(env: Any, folder: str, *, cpu: bool) -> tuple[list[Any], list[Any]]:
    """Sources and include folders of the runtime, so that objects never land beside the package.

    Args:
        env: Any environment.
        folder: Where objects go, relative to the top folder.
        cpu: For networks that run on the core, with the legacy API.
    """
    origin = firmware_dir() / "runtime"
    local = f"#{folder}/runtime"
    env.VariantDir(local, env.fs.Dir(str(origin)), duplicate=0)
    names = cpu_runtime_files() if cpu else _npu_runtime_files()
    includes = cpu_runtime_includes() if cpu else [str(origin / "include")]
    return [env.fs.File(f"{local}/{name}") for name in names], [env.fs.Dir(text) for text in includes]
