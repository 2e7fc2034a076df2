"""The reference compiler, registered as compilers of others are."""

from __future__ import annotations

from pathlib import Path

from neuralart.compilers.command_line import REFERENCE
from neuralart.compilers.protocol import FileSet, Job, roles
from neuralart.network.facts import NEURALART
from neuralart.network.targets import CPU, flow_of
from neuralart.plugins import register


class Reference:
    """The compiler of this package: everything on the CPU."""

    runtime = NEURALART

    def identity(self, job: Job) -> str:
        """Its code is all that it depends on."""
        return REFERENCE

    def files(self, job: Job) -> FileSet:
        """The same names for every network."""
        if flow_of(job.target) != CPU:
            return FileSet(roles(job.name), job.initializers)
        ends = ("_config.h", "_data.c", "_data.h", "_data_params.c", "_data_params.h")
        return FileSet(roles(job.name) | {f"{job.name}{end}": f"{job.name}{end}" for end in ends}, {})

    def compile(self, job: Job, output: Path) -> str:
        from neuralart_reference.cli import run

        return run(job.args, output)


register("compilers", REFERENCE, Reference(), protocol=1)
