"""What a compiler is to the rest of the package: the protocol that plugins and our own compilers satisfy.

Nothing here needs SCons. The SCons layer asks :meth:`Compiler.identity` and :meth:`Compiler.files` while the SConstruct
is read; :meth:`Compiler.compile` runs in ``neuralart compile --compiler NAME``, which is the command of the network.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from neuralart.compilers.command_line import parsed, split_words
from neuralart.errors import NeuralArtError
from neuralart.network.facts import LL_ATON as LL_ATON
from neuralart.network.facts import NEURALART as NEURALART
from neuralart.network.pools import default_initializers, initializer_name
from neuralart.plugins import OWN, find
from neuralart.quick import dataclass

if TYPE_CHECKING:
    from neuralart.compilers.request import CompileRequest
    from neuralart.network.pools import PoolFile
    from neuralart.plugins import Plugin

# What every network has.
NEEDED = ("c", "facts", "manifest")


@dataclass(frozen=True)
class FileSet:
    """Files of a compile, as names in the folder of the network."""

    # By role: ``c``, ``header``, ``facts``, ``manifest``, ``c_info``, ``report``, ``provenance``; the rest by their own
    # names. ``c``, ``facts`` and ``manifest`` are always there; names of roles are those of :func:`roles`.
    plain: dict[str, str]
    initializers: dict[str, str]  # File of each declared pool (fname)
    sources: tuple[Path, ...] = ()  # Further files that the compile reads

    @property
    def names(self) -> tuple[str, ...]:
        """Every file that the compile makes."""
        return (*self.plain.values(), *self.initializers.values())


def roles(name: str) -> dict[str, str]:
    """Files that the package's own compilers make of a network with that C name, by role."""
    return {
        "c": f"{name}.c",
        "header": f"{name}.h",
        "facts": "network.json",
        "manifest": "manifest.json",
        "c_info": f"{name}_c_info.json",
        "report": f"{name}_generate_report.txt",
        "provenance": "provenance.txt",
    }


@dataclass(frozen=True)
class Job:
    """What a compiler is asked for."""

    # The words behind ``neuralart compile``, parsed: an attribute for each option. ``args.extra_options`` are the
    # user's words for this compiler alone.
    args: argparse.Namespace
    where: str = ""  # Who says so, for messages

    @property
    def name(self) -> str:
        """C name of the network."""
        return self.args.name or "network"

    @property
    def target(self) -> str:
        """The chip, as ``--target`` has it."""
        return self.args.target or ""

    @property
    def model(self) -> Path:
        """The model. While an SConstruct is read it need not be there yet."""
        return Path(self.args.model)

    @property
    def extra(self) -> tuple[str, ...]:
        """Words of ``extra_options``, which mean something to this compiler alone."""
        return split_words(self.args.extra_options)

    @cached_property
    def request(self) -> CompileRequest:
        """The job with types, as the reference compiler takes it: pool file, options of the profile, data types.

        NeuralArtError if an option is missing, refused or contradicts another.
        """
        from neuralart.compilers.request import request_of

        return request_of(self.args)

    @cached_property
    def pools(self) -> PoolFile:
        """The memory pools to compile for; NeuralArtError if the pool file cannot be read."""
        from neuralart.vendor import mpool

        return mpool.read(self.request.mpool, self.request.mpool_display)

    @cached_property
    def initializers(self) -> dict[str, str]:
        """Declared pools (fname) and the names that the package's own compilers give their files."""
        asked = self.request.initializers
        wanted = default_initializers(self.pools) if asked is None else asked
        return {pool: initializer_name(self.name, self.pools.prefix, pool) for pool in wanted}


def job_from_words(words: Sequence[str], where: str = "") -> Job:
    """The job that words ask for, as of :func:`~neuralart.compilers.command_line.parsed`."""
    return Job(parsed(words, where), where)


class Compiler(Protocol):
    """A compiler. ``identity`` and ``files`` are pure: they write nothing and start no program.

    Attributes:
        runtime: What its C needs: ``neuralart`` (the runtime of this package) or ``ll_aton`` (the vendor's).
    """

    runtime: str

    def identity(self, job: Job) -> str:
        """What results depend on besides the words, the inputs and this code: a tool and its version.

        The same on every machine on which results are the same.
        """

    def files(self, job: Job) -> FileSet:
        """The files that :meth:`compile` will make, all of them.

        Raises:
            NeuralArtError: The compiler refuses what is asked.
        """

    def compile(self, job: Job, output: Path) -> str:
        """Compile into a folder; on a failure nothing new is left there.

        Returns:
            What a person wants to know, in lines; empty: nothing.

        Raises:
            NeuralArtError: The input is wrong, or the tool failed.
        """


def checked_files(plugin: Plugin, job: Job) -> FileSet:
    """What a plugin's compiler says that it will make; NeuralArtError if it refuses, or it is no set of files."""
    found = plugin.call("files", job)
    if not isinstance(found, FileSet):
        raise plugin.error(f"files() returned {type(found).__name__}, not a FileSet")
    known = roles(job.name)
    for role in NEEDED:
        if role not in found.plain:
            raise plugin.error(f"files() has no '{role}'", f"a network has {known[role]}")
    for role, name in found.plain.items():
        if role in known and name != known[role]:
            raise plugin.error(f"files() calls '{role}' {name}", f"its name is {known[role]}")
    if missing := [pool for pool in job.initializers if pool not in found.initializers]:
        raise plugin.error(f"files() has no initializer of pool {missing[0]}", "job.initializers names all of them")
    for name in found.names:
        if Path(name).name != name or found.names.count(name) > 1:
            raise plugin.error(f"files() has '{name}'", "names of different files, without folders")
    return found


def refuse_foreign(name: str, job: Job, output: Path) -> None:
    """Look at the places of a compile's files before it begins. NeuralArtError: one has what no compile made,
    without ``--force``.
    """
    from neuralart.compilers import fileset

    if not job.args.force and output.is_dir():
        plugin = find("compilers", name, "--compiler")
        made = plugin.made.files(job) if plugin.source is OWN else checked_files(plugin, job)
        fileset.refuse_foreign(output, job.name, made.names)


def compile_job(name: str, job: Job, output: Path) -> str:
    """Compile by the compiler of a name; NeuralArtError also if a file that it declared is missing."""
    plugin = find("compilers", name, "--compiler")
    if plugin.source is OWN:
        # Ours look at their results themselves.
        compiler: Compiler = plugin.made
        return compiler.compile(job, output)
    declared = checked_files(plugin, job)
    said = str(plugin.call("compile", job, output) or "")
    missing = [file for file in declared.names if not (output / file).is_file()]
    if missing:
        what = f"compiler '{name}' declared {', '.join(missing)} and made none"
        hint = "this is a mistake in the compiler's plugin: files() and compile() do not agree"
        raise NeuralArtError(what, where=str(output), hint=hint)
    return said
