"""The compilers of the core, registered as plugins are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.compilers.command_line import ADOPTED, AUTO, RECORDED, STEDGEAI
from neuralart.compilers.protocol import Compiler, FileSet, Job, roles
from neuralart.errors import NeuralArtError
from neuralart.network.facts import LL_ATON
from neuralart.plugins import find, register

if TYPE_CHECKING:
    from neuralart.vendor.releases import CoreVersion


class Stedgeai:
    """The user's installation of ST Edge AI Core."""

    runtime = LL_ATON

    def identity(self, job: Job) -> str:
        """The release and build of the tool."""
        from neuralart.compilers.stedgeai.install import find_install

        return find_install(job.args, os.environ).identity

    def files(self, job: Job) -> FileSet:
        """The files follow from release, target, profile and options."""
        from neuralart.compilers.stedgeai.install import find_install

        install = find_install(job.args, os.environ)
        return vendor_files(job, install.version, install.stock_profiles)

    def compile(self, job: Job, output: Path) -> str:
        from neuralart.compilers.stedgeai.compile import compile_by_tool

        if job.args.recording is not None:
            hint = "to make one: neuralart record"
            raise NeuralArtError("is for --compiler recorded", where="--recording", hint=hint)
        return compile_by_tool(job.args, output)


class Recorded:
    """A recorded compile of ST Edge AI Core."""

    runtime = LL_ATON

    def identity(self, job: Job) -> str:
        """The tool that it was recorded with."""
        return f"recorded {self._tool(job).text}"

    def files(self, job: Job) -> FileSet:
        return vendor_files(job, self._tool(job))

    def compile(self, job: Job, output: Path) -> str:
        """Bring back what was recorded."""
        from neuralart.compilers.recorded import replay_asked

        return replay_asked(job.args, output)

    def _tool(self, job: Job) -> CoreVersion:
        from neuralart.compilers.recorded import load

        return load(Path(job.args.recording)).tool


class AdoptedC:
    """Generated C that is there already."""

    runtime = LL_ATON

    def identity(self, job: Job) -> str:
        """Its files are all that it depends on."""
        return ADOPTED

    def files(self, job: Job) -> FileSet:
        """The names that the files have."""
        from neuralart.compilers.adopted import plan_of

        planned = plan_of(job.args)
        return FileSet(dict(planned.plain), dict(planned.raws), tuple(planned.sources))

    def compile(self, job: Job, output: Path) -> str:
        """Copy the files, and say what they are."""
        from neuralart.compilers.adopted import adopt_asked

        return adopt_asked(job.args, output)


class Auto:
    """ST Edge AI Core if it is installed, else the reference compiler."""

    runtime = ""

    def identity(self, job: Job) -> str:
        return self._chosen(job).identity(job)

    def files(self, job: Job) -> FileSet:
        return self._chosen(job).files(job)

    def compile(self, job: Job, output: Path) -> str:
        return self._chosen(job).compile(job, output)

    def _chosen(self, job: Job) -> Compiler:
        from neuralart.compilers.stedgeai.install import choose

        cache = Path(job.args.tool_cache) if job.args.tool_cache else None
        name = choose(job.args.compiler_version or "", os.environ, cache=cache)
        compiler: Compiler = find("compilers", name).made
        return compiler


def vendor_files(job: Job, version: CoreVersion, stock: Path | None = None) -> FileSet:
    """List the files that a release of ST Edge AI Core makes. NeuralArtError: an option is missing or wrong."""
    from neuralart.compilers.stedgeai.compile import plan
    from neuralart.compilers.stedgeai.request import request_of

    planned = plan(request_of(job.args, stock), version)
    raws = dict(planned.declared or {})
    rest = [file for file in planned.files if file not in raws.values()]
    known = roles(job.name)
    plain = {role: file for role, file in known.items() if file in rest}
    plain |= {file: file for file in rest if file not in known.values()}
    return FileSet(plain, raws, tuple(planned.staged.sources))


_ALL = {STEDGEAI: Stedgeai(), AUTO: Auto(), RECORDED: Recorded(), ADOPTED: AdoptedC()}
for _name, _compiler in _ALL.items():
    register("compilers", _name, _compiler, protocol=1)
