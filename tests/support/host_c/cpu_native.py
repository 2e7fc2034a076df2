"""Runs compiled CPU networks on this machine through their legacy API."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from neuralart.resources import firmware_dir
from support.host_c import native
from support.projects import compile_answers

RUNTIME = firmware_dir() / "runtime"
RUNNER = Path(__file__).with_name("cpu_runner.c")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
FLAGS = ("-std=gnu11", "-O1", "-g", "-fPIC", "-ffp-contract=off", "-fno-fast-math", *WARNINGS)
# Checks are the same without optimization, which takes five times as long with them as the rest of a compile.
SANITIZER = ("-O0", "-fsanitize=undefined,address", "-fno-sanitize-recover=all")
INCLUDE = tuple(f"-I{RUNTIME / name}" for name in ("include", "legacy/include"))


def cc(words: Sequence[str], folder: Path | None = None) -> None:
    """Compile, in a folder; every warning fails."""
    done = subprocess.run(["cc", *FLAGS, *INCLUDE, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@functools.cache
def _alone() -> tempfile.TemporaryDirectory[str]:
    """For programs that are no run of the tests."""
    return tempfile.TemporaryDirectory(prefix="cpu-native-")


def shared(*, sanitize: bool = True) -> list[str]:
    """Objects that every program with a CPU network has, compiled once for all workers of a run."""
    # Kernels without checks are those of networks for the NPU.
    kernels = (
        [] if sanitize else [path for path in native.runtime(Path(_alone().name)) if path.stem != "ll_aton_runtime"]
    )

    def make(folder: Path) -> list[Path]:
        sources = [RUNTIME / "legacy" / "legacy_network.c"]
        sources += sorted((RUNTIME / "kernels").glob("*.c")) if sanitize else []
        cc([*(SANITIZER if sanitize else ("-O2",)), "-c", *map(str, sources)], folder)
        return [folder / f"{source.stem}.o" for source in sources]

    name = f"cpu-native-{'checked' if sanitize else 'plain'}"
    return [str(path) for path in [*compile_answers.objects(name, make, Path(_alone().name) / name), *kernels]]


def build(network: Path, name: str, target: Path, *, sanitize: bool = True) -> Path:
    """A program with one network.

    Args:
        network: Folder of its files.
        name: Its C name.
        target: The program.
        sanitize: Stop at undefined behavior and at accesses beyond a buffer.
    """
    defines = [f'-DNETWORK_HEADER="{name}.h"', f'-DNETWORK_DATA_HEADER="{name}_data.h"']
    defines += [f"-DLOWER_NAME={name}", f"-DUPPER_NAME={name.upper()}"]
    own = [str(path) for path in sorted(network.glob(f"{name}*.c"))]
    extra = SANITIZER if sanitize else ()
    cc([*extra, *defines, f"-I{network}", str(RUNNER), *own, *shared(sanitize=sanitize), "-o", str(target)])
    return target


def run(program: Path, inputs: bytes, mode: str = "") -> bytes:
    """All inferences, one after the other.

    Args:
        program: As :func:`build` made it.
        inputs: Inputs of all of them.
        mode: ``o``: inputs and outputs in buffers of the application; ``p``: initialized by parameters.
    """
    done = subprocess.run([str(program), mode or "-"], input=inputs, capture_output=True, check=False)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode(errors='replace')[-3000:]}"
    return done.stdout
