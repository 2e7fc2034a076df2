"""Targets that do something instead of making a file: they run each time they are named, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import SCons.Action

from neuralart.boards.types import Board, Machine
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.flashing.runners import Runner, Virtual
from neuralart.scons import messages
from neuralart.scons.builders import flash, plans
from neuralart.scons.builders.flash import FlashingPlan
from neuralart.scons.builders.variables import carried
from neuralart.scons.compiled import Compiled
from neuralart.scons.export import make_export
from neuralart.scons.failures import in_action
from neuralart.scons.firmware import FirmwareNodes
from neuralart.scons.images import FlashNodes, ModelNodes
from neuralart.scons.initializers import Image, InitializerNodes
from neuralart.scons.order import keep_order
from neuralart.scons.paths import anchored, build_dir, word
from neuralart.scons.refusals import RUNS, reason
from neuralart.scons.registry import Registry

__all__ = ["VERBS", "Program", "keep_order", "make_effects", "run_alias"]

# Verb and what it does, for ``scons -h``.
VERBS = {
    "run": "write a fresh virtual flash, boot from it and compare with the golden vectors",
    "flash": "write the variant's own virtual flash, which stays",
    "flash-application": "write the application only",
    "flash-model": "write constants and identity descriptor only",
    "load": "load the relocatable model in each mode and on each machine, compare with the golden vectors",
    "boot": "boot the virtual flash as it is and compare with the golden vectors",
    "export": "write sources, images and CMake and make files for a build of your own",
    "verify": "compare the virtual flash with what the build would write",
}
_PART = {"flash": "", "flash-application": "application", "flash-model": "model"}


@dataclass(frozen=True)
class Program:
    """What the effects of a variant work with.

    Attributes:
        variant: The variant.
        board: Where it runs.
        machine: On what.
        networks: What is in it.
        initializers: What must be loaded beside the image; None: everything is in the image.
        firmware: The image; None: somebody else builds it.
        flash: What goes into external flash; None: nothing does.
        model: The relocatable model that the firmware loads.
    """

    variant: VariantConfig
    board: Board
    machine: Machine
    networks: Sequence[Compiled]
    initializers: InitializerNodes | None
    firmware: FirmwareNodes | None
    flash: FlashNodes | None
    model: ModelNodes | None = None

    @property
    def external(self) -> list[Image]:
        """What somebody else loads into RAM while the program waits for it."""
        return self.initializers.external if self.initializers is not None else []


def _raise(target: list[Any], source: list[Any], env: Any) -> None:
    def work() -> None:
        raise plans.of(target, NeuralArtError, "NeuralArtVariant")

    in_action(work, target, env)


# What is refused stays with the target: SCons hashes an action when it is made.
_REFUSE = SCons.Action.Action(_raise, None)


def _words(base: Any, option: str, node: Any, suffix: str = "") -> list[Any]:
    path = Path(node.get_abspath())
    return [option, *word(base, path.with_name(path.name + suffix))]


def _external(image: Image) -> str:
    return f"@0x{image.address:08x}"


def _run_words(base: Any, program: Program) -> tuple[list[Any], list[Any]]:
    """What ``run`` and ``boot`` have in common: options and sources."""
    board, machine = program.board, program.machine
    assert program.firmware is not None  # else there is a reason not to come here
    words: list[Any] = ["--board", board.name, "--machine", machine.kind]
    words += _words(base, "--elf", program.firmware.elf)
    sources = [program.firmware.elf, program.firmware.check]
    if machine.kind == "unicorn":
        words += ["--dead-bank", program.variant.dead_bank]
        for image in program.external:
            words += _words(base, "--external", image.binary, _external(image))
            sources.append(image.binary)
    for name, address in program.variant.slots:
        if name in board.slots:
            words += ["--slot", f"{name}@0x{address:08x}"]
    if program.model is not None:
        words += _words(base, "--model", program.model.image)
        if program.model.params is not None:
            words += _words(base, "--model-params", program.model.params)
        sources += program.model.binaries
    for network in program.networks:
        vectors = base.fs.Dir(anchored(network.vectors))
        words += _words(base, "--network", network.facts) + _words(base, "--vectors", vectors)
        if any(each.config.check for each in program.networks):
            words += ["--check", ",".join(f"{name}={value!r}" for name, value in network.config.check) or "exact"]
        sources.append(network.facts)
    return words, sources


def _run_command(base: Any, verb: str, program: Program, nor: Any, mode: str) -> tuple[list[Any], list[Any]]:
    """Words behind ``neuralart`` and sources of what runs a program.

    Args:
        base: The base environment.
        verb: Of :data:`RUNS`.
        program: What it is about.
        nor: The variant's virtual flash.
        mode: How a relocatable model is loaded; empty: as the first flash plan says.
    """
    plan = program.flash.plans.get(mode, program.flash.plan) if program.flash is not None else None
    words, sources = _run_words(base, program)
    if verb == "boot":
        words += _words(base, "--nor", nor)
    elif plan is not None and "base" in program.board.flash:
        words += _words(base, "--plan", plan)
        sources.append(plan)
    registry: Registry = base["NEURALART_REGISTRY"]
    for file in registry.board_files:
        words += _words(base, "--board-file", file)
    return ["run", *words], sources


def _steps(verb: str, programs: Sequence[Program]) -> list[tuple[Program, str]]:
    """What an effect runs, one after the other: a program, and how it loads its model."""
    if verb != "load":
        return [(programs[0], "")]
    return [(program, mode) for program in programs if program.flash is not None for mode in program.flash.plans]


def _shown(verb: str, variant: str, program: Program, mode: str) -> str:
    text = f"{verb.partition('-')[0].upper():<8} {variant} on {program.board.name}"
    text += f" ({program.machine.kind})" if verb in RUNS else ""
    return text + (f", {mode}" if mode else "") + (f", {_PART[verb]} only" if _PART.get(verb) else "")


def run_alias(base: Any, name: str, verb: str, programs: Sequence[Program], nor: Any = None) -> Any:
    """The alias of what runs a program: what it needs, then its steps.

    Args:
        base: The base environment.
        name: Of the alias.
        verb: Of :data:`RUNS`.
        programs: The program; of a model that is loaded on several boards, each of them.
        nor: The virtual flash that ``boot`` boots.
    """
    variant = programs[0].variant.name
    actions, sources = [], []
    variables: dict[str, Any] = {}
    for number, (program, mode) in enumerate(_steps(verb, programs)):
        words, needed = _run_command(base, verb, program, nor, mode)
        line = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", *words]
        action, literals = messages.command(base, line, _shown(verb, variant, program, mode), f"{number}_")
        actions.append(action)
        variables |= literals
        sources += [node for node in needed if node not in sources]
    (alias,) = base.Alias(name, sources, actions, **variables)
    return alias


def _flash(env: Any, verb: str, program: Program, runner: Runner, probe: str) -> Any:
    """The alias of what writes a device, or compares it."""
    assert program.flash is not None  # else there is a reason not to come here
    variant = program.variant.name
    registry: Registry = env["NEURALART_REGISTRY"]
    plan = FlashingPlan(
        "verify" if verb == "verify" else "write",
        runner,
        probe,
        _PART.get(verb, ""),
        _shown(verb, variant, program, ""),
        tuple(registry.board_files),
    )
    own = carried(env, registry.base, flash.VARIABLES)
    (alias,) = registry.base.NeuralArtFlash(f"{verb}-{variant}", program.flash.plan, **own, **{plans.GIVEN: plan})
    return alias


def make_effects(env: Any, programs: Sequence[Program]) -> dict[str, Any]:
    """Declare ``run-<variant>`` and the like.

    Args:
        env: Any environment of the tool.
        programs: The program of the variant; those that load the same model on other boards follow.

    Returns:
        Alias (a list with one node) by verb (:data:`VERBS`).
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    variant = programs[0].variant.name
    runner, probe = flash.runner_of(env)
    folder = base.fs.Dir(f"#{build_dir(env)}/{variant}")
    record = flash.record_of(folder, runner, probe)
    # What virtual boards boot, whoever writes the device.
    virtual, serial = (runner, probe) if isinstance(runner, Virtual) else (Virtual(), "")
    nor = flash.record_of(folder, virtual, serial)
    aliases = {}
    for verb in VERBS:
        name = f"{verb}-{variant}"
        found = (reason(verb, program, runner) for program, _ in _steps(verb, programs) or [(programs[0], "")])
        why, hint = next((each for each in found if each[0]), ("", ""))
        if why:
            (alias,) = base.Alias(name, [], _REFUSE)
            plans.remember(alias, NeuralArtError(why, where=name, hint=hint))
        elif verb == "export":
            alias = make_export(env, programs[0])
        elif verb in RUNS:
            alias = run_alias(base, name, verb, programs, nor)
            if verb == "boot":
                flash.hold(base, virtual, serial, nor, alias)
                flash.clean(base, alias, nor)
        else:
            alias = _flash(env, verb, programs[0], runner, probe)
        registry.effects[name] = variant
        aliases[verb] = base.AlwaysBuild(alias)
    flash.clean(base, base.Alias(variant), record)
    return aliases
