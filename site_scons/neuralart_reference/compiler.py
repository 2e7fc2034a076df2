"""The reference compiler, registered as compilers of others are."""

from __future__ import annotations

from pathlib import Path

from neuralart.compilers.command_line import REFERENCE
from neuralart.compilers.protocol import FileSet, Job, roles
from neuralart.network.facts import NEURALART
from neuralart.plugins import register


class Reference:
    """The compiler of this package: everything on the CPU."""

    runtime = NEURALART

    def identity(self, job: Job) -> str:
        """Its code is all that it depends on."""
        return REFERENCE

    def files(self, job: Job) -> FileSet:
        """The same names for every network."""
        return FileSet(roles(job.name), job.initializers)

    def compile(self, job: Job, output: Path) -> str:
        from neuralart_reference.cli import run

        return run(job.args, output)


register("compilers", REFERENCE, Reference(), protocol=1)
