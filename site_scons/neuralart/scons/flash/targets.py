"""Targets of a variant besides its build (``run-<variant>`` and the like): their protocols, and what they share.

They do something instead of making a file: they run each time they are named, and only then.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import SCons.Action

from neuralart import plugins
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.flashing.runners import Runner
from neuralart.flashing.runners.virtual import Virtual
from neuralart.quick import dataclass
from neuralart.scons import commands, node_plans
from neuralart.scons.failures import in_action
from neuralart.scons.flash import flash
from neuralart.scons.flash.images import VariantProgram
from neuralart.scons.flash.refusals import RUNS
from neuralart.scons.paths import anchored, build_dir, file_words
from neuralart.scons.registry import registry_of

_PART = {"flash": "", "flash-application": "application", "flash-model": "model"}


@dataclass(frozen=True)
class DeclaredVariant:
    """A variant whose files are declared."""

    env: Any  # The construction environment that it was declared in
    programs: Sequence[VariantProgram]  # Its program; of a relocatable model also those on other boards
    index: Any  # The node of ``index.json``, made of all files of the variant

    @property
    def base(self) -> Any:
        """The environment that the tool was loaded into."""
        return registry_of(self.env).base

    @property
    def program(self) -> VariantProgram:
        """The program on the variant's own board."""
        return self.programs[0]

    @property
    def config(self) -> VariantConfig:
        """What variants.yaml says of it."""
        return self.program.variant

    @property
    def name(self) -> str:
        """Its name."""
        return self.config.name

    @property
    def files(self) -> Sequence[Any]:
        """The nodes of all its files."""
        nodes: Sequence[Any] = self.index.sources
        return nodes

    @property
    def folder(self) -> Any:
        """The node of its folder."""
        return self.base.fs.Dir(f"#{build_dir(self.env)}/{self.name}")

    @cached_property
    def writer(self) -> tuple[Runner, str]:
        """The runner of its flash, and the probe's serial number; empty: the only one."""
        return flash.runner_of(self.env, self.program.board, self.program.machine, self.config.runner)

    @cached_property
    def virtual_flash(self) -> tuple[Runner, str, Any]:
        """The flash of virtual boards: runner, serial number, node of the file."""
        runner, probe = self.writer if isinstance(self.writer[0], Virtual) else (Virtual(), "")
        return runner, probe, flash.record_of(self.folder, runner, probe)


class VariantTarget(Protocol):
    """A target of each variant: ``scons NAME-VARIANT``, where NAME is what it is registered as.

    An example, ``scons hash-VARIANT``::

        class Hash:
            help = "print the hash of each image"

            def declare(self, env, verb, variant):
                images = [node for node in variant.files if str(node).endswith(".bin")]
                alias = variant.base.Alias(f"{verb}-{variant.name}", images, print_hashes)
                return variant.base.AlwaysBuild(alias)

        register("targets", "hash", Hash(), protocol=1)

    Attributes:
        help: One line for ``scons -h``.
    """

    help: str

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare the target; it is called once for each variant of which a target is named.

        Returns:
            The alias ``VERB-VARIANT``: a list with one node.

        Raises:
            NeuralArtError: The user has said something wrong.
        """


class MachineKind(Protocol):
    """A kind of machine that images run on: ``machine:`` of variants.yaml, a key of ``machines:`` of a board file.

    An example::

        class Lab:
            def declare(self, verb, name, variant):
                command = ["lab-board", verb, "$SOURCE"]
                return variant.base.Alias(name, variant.program.firmware.elf, [command])

        register("machines", "lab", Lab(), protocol=1)
    """

    def declare(self, verb: str, name: str, variant: DeclaredVariant) -> Any:
        """Declare what runs programs. They can run there: what cannot was refused before.

        Args:
            verb: ``run``, ``load``, ``debug`` or ``boot``; of a real board also ``reset`` and ``monitor``.
            name: Name of the alias.
            variant: Whose programs.

        Returns:
            The node of the alias.
        """


@in_action
def _raise(target: list[Any], source: list[Any], env: Any) -> None:
    raise node_plans.of(target, NeuralArtError, "NeuralArtVariant")


# What is refused stays with the target: SCons hashes an action when it is made.
_REFUSE = SCons.Action.Action(_raise, None)


def refused(base: Any, name: str, why: str, hint: str) -> Any:
    """Declare the alias of something impossible, which says why when it is built."""
    (alias,) = base.Alias(name, [], _REFUSE)
    node_plans.remember(alias, NeuralArtError(why, where=name, hint=hint))
    return alias


def steps(verb: str, programs: Sequence[VariantProgram]) -> list[tuple[VariantProgram, str]]:
    """The runs of a target, in order: a program, and the mode in which it loads its model."""
    if verb != "load":
        return [(programs[0], "")]
    return [(program, mode) for program in programs if program.flash is not None for mode in program.flash.plans]


def shown(verb: str, variant: str, program: VariantProgram, mode: str) -> str:
    """The message of a step."""
    text = f"{verb.partition('-')[0].upper():<8} {variant} on {program.board.name}"
    text += f" ({program.machine.kind})" if verb in RUNS else ""
    return text + (f", {mode}" if mode else "") + (f", {_PART[verb]} only" if _PART.get(verb) else "")


def by_command(env: Any, variant: DeclaredVariant, verb: str, *more: str) -> Any:
    """Declare the alias that calls our command of the same name."""
    base, build = variant.base, build_dir(env)
    name, file = f"{verb}-{variant.name}", variant.config.where.file
    if not file:
        hint = "build/VARIANT/plan.json has the addresses" if verb == "plan" else f"neuralart {verb} works by hand"
        return refused(base, name, "its variant is in no project file", hint)
    words = [verb, variant.name, *file_words(base, "--file", base.fs.File(anchored(file)))]
    words += file_words(base, "--build", base.fs.Dir(f"#{build}"))
    action, literals = commands.command(base, [*words, *more], f"{verb.upper():<8} {variant.name}")
    (alias,) = base.Alias(name, [base.fs.File(f"#{build}/{variant.name}/index.json")], [action], **literals)
    return alias


def make_effects(env: Any, programs: Sequence[VariantProgram], index: Any) -> dict[str, Any]:
    """Declare ``run-<variant>`` and the like. ``index``: the node of ``index.json``, made of all files of the variant.
    Returns alias (a list with one node) by verb.
    """
    variant = DeclaredVariant(env, programs, index)
    aliases = {}
    for plugin in plugins.every("targets"):
        aliases[plugin.name] = plugin.call("declare", env, plugin.name, variant)
        registry_of(env).effects[f"{plugin.name}-{variant.name}"] = variant.name
    runner, probe = variant.writer
    flash.clean(variant.base, variant.base.Alias(variant.name), flash.record_of(variant.folder, runner, probe))
    return aliases
