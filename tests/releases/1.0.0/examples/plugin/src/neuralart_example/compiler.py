"""A compiler: the package's own, and a header with the SHA-256 of each file of constants.

The application compares them with what its bootloader has measured.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from neuralart.compilers.protocol import NEURALART, FileSet, Job, roles
from neuralart.plugins import register
from neuralart_reference.compile import compile_network, write


def hashes_h(name: str, files: dict[str, bytes]) -> str:
    """Text of the header.

    Args:
        name: C name of the network.
        files: Pool -> constants.
    """
    lines = [f"/* SHA-256 of the constants of network {name}. Generated. */", "#pragma once", ""]
    for pool, data in sorted(files.items()):
        lines.append(f'#define {name.upper()}_{pool.upper()}_SHA256 "{hashlib.sha256(data).hexdigest()}"')
    return "\n".join([*lines, ""])


class Hashed:
    """Implements ``neuralart.compilers.protocol.Compiler``."""

    runtime = NEURALART

    def identity(self, job: Job) -> str:
        """No tool outside of Python takes part: the code says all, and that is looked at anyway."""
        return "1"

    def files(self, job: Job) -> FileSet:
        """The files of the package's own compiler, and the header."""
        header = f"{job.name}_hashes.h"
        return FileSet({**roles(job.name), header: header}, job.initializers)

    def compile(self, job: Job, output: Path) -> str:
        """Compile; nothing is written before everything is there."""
        result = compile_network(job.request)
        text = hashes_h(job.name, {pool: result.files[file] for pool, file in job.initializers.items()})
        write(replace(result, files={**result.files, f"{job.name}_hashes.h": text.encode()}), output)
        return f"network {job.name}: {len(job.initializers)} files of constants hashed"


register("compilers", "hashed", Hashed(), protocol=1)
