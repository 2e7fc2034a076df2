"""Targets that do something instead of making a file: they run each time they are named, and only then."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import SCons.Action

from neuralart.boards.types import Board, Machine
from neuralart.config.application_types import REFERENCE
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.scons import messages
from neuralart.scons.compiled import NEURALART, Compiled
from neuralart.scons.export import make_export
from neuralart.scons.failures import in_action
from neuralart.scons.firmware import FirmwareNodes
from neuralart.scons.images import FlashNodes, ModelNodes
from neuralart.scons.initializers import Image, InitializerNodes
from neuralart.scons.paths import anchored, build_dir, word
from neuralart.scons.registry import Registry

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


def nor_file(env: Any, variant: str) -> str:
    """The virtual flash of a variant, relative to the top folder."""
    return f"{build_dir(env)}/{variant}/flash.nor"


def _refuse(text: str, where: str, hint: str) -> Any:
    def action(target: list[Any], source: list[Any], env: Any) -> None:
        def work() -> None:
            raise NeuralArtError(text, where=where, hint=hint)

        in_action(work, target, env)

    return SCons.Action.Action(action, None)


def _foreign(program: Program) -> tuple[str, str] | None:
    """Why a virtual board cannot run the program, if it is not ours."""
    for network in program.networks:
        if network.runtime != NEURALART:
            return (
                f"network {network.name} is made for runtime {network.runtime}: virtual boards run {NEURALART} only",
                "a variant with compiler: reference runs here",
            )
    if program.variant.application.kind != REFERENCE:
        return "its application is your own, and nothing here can talk to it", "flash- writes it"
    return None


def _no_export(program: Program) -> tuple[str, str]:
    """Why there is nothing to export; empty if there is."""
    if program.model is not None:
        return "its model is a file that a firmware loads: nothing is linked", "build/VARIANT/network_rel.bin is it"
    if program.initializers is None:
        return "its network runs on the core and is C alone", "env.Network(...).sources are what to compile"
    return "", ""


def _nothing_to_flash(verb: str, program: Program) -> tuple[str, str]:
    """Why there is nothing in flash that this could be done with; empty if there is."""
    if program.flash is None or program.initializers is None:
        if verb != "run":
            return "nothing of this variant is kept in external flash", "run- loads its image in place"
        return "", ""
    if verb == "flash-application" and program.flash.application is None:
        return f"board {program.board.name} has no boot chain", "its image is loaded in place: run- and boot- do that"
    if verb not in ("run", "load") and not program.initializers.images and program.model is None:
        if program.flash.application is None:
            return "nothing of this variant is kept in flash", "run- loads its image in place"
        if verb == "flash-model":
            return (
                "no constants of this variant are kept in flash",
                "flash-application writes the image that holds them",
            )
    return "", ""


def _reason(verb: str, program: Program) -> tuple[str, str]:
    """Why this variant cannot do that, and what to do; empty if it can."""
    if verb == "export":
        return _no_export(program)
    foreign = _foreign(program)
    if foreign and verb in ("run", "boot", "load"):
        return foreign
    verbs = "run" if verb in ("run", "boot", "load") else "write"
    if program.firmware is None:
        return "its image is built by the application's own project", "this variant makes what goes into it"
    if verb == "load" and program.model is None:
        return "its networks are linked into the firmware", "'relocatable: true' in the variant makes a model to load"
    if program.machine.kind == "silicon":
        return f"nothing here can {verbs} on silicon yet", "choose machine: unicorn or qemu where the board has one"
    if verbs == "run" and program.machine.kind == "qemu" and program.external:
        pool = program.external[0].pool
        return f"pool {pool} has strategy external-loader, and machine qemu has none", "strategy boot-copy or link"
    if verb not in ("run", "load") and "base" not in program.board.flash:
        return f"board {program.board.name} has no flash", "'flash:' in the board's file says what"
    reason = _nothing_to_flash(verb, program)
    if reason[0]:
        return reason
    without = [network.name for network in program.networks if not network.vectors]
    if verbs == "run" and without:
        return f"network {without[0]} has no 'vectors:' to compare with", "add 'vectors: FOLDER' to the network"
    return "", ""


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


def _command(base: Any, verb: str, program: Program, nor: Any, mode: str = "") -> tuple[list[Any], list[Any]]:
    """Words behind ``neuralart`` and sources of an effect.

    Args:
        base: The base environment.
        verb: Of :data:`VERBS`.
        program: What it is about.
        nor: The variant's virtual flash.
        mode: How a relocatable model is loaded; empty: as the first flash plan says.
    """
    runs = verb in ("run", "boot", "load")
    words: list[Any] = ["run" if runs else verb.partition("-")[0]]
    sources: list[Any] = []
    plan = program.flash.plans.get(mode, program.flash.plan) if program.flash is not None else None
    if runs:
        words, sources = [*words, *(found := _run_words(base, program))[0]], found[1]
    if verb == "boot":
        words += _words(base, "--nor", nor)
    elif not runs:
        words += [*_words(base, "--plan", plan), *_words(base, "--nor", nor)]
        words += ["--only", _PART[verb]] if _PART.get(verb) else []
        sources = [plan]
    elif plan is not None and "base" in program.board.flash:
        words += _words(base, "--plan", plan)
        sources.append(plan)
    registry: Registry = base["NEURALART_REGISTRY"]
    for file in registry.board_files:
        words += _words(base, "--board-file", file)
    return words, sources


def _steps(verb: str, programs: Sequence[Program]) -> list[tuple[Program, str]]:
    """What an effect runs, one after the other: a program, and how it loads its model."""
    if verb != "load":
        return [(programs[0], "")]
    return [(program, mode) for program in programs if program.flash is not None for mode in program.flash.plans]


def _shown(verb: str, variant: str, program: Program, mode: str) -> str:
    text = f"{verb.partition('-')[0].upper():<8} {variant} on {program.board.name}"
    text += f" ({program.machine.kind})" if verb in ("run", "boot", "load") else ""
    return text + (f", {mode}" if mode else "") + (f", {_PART[verb]} only" if _PART.get(verb) else "")


def _effect(base: Any, verb: str, programs: Sequence[Program], nor: Any) -> Any:
    """The alias of a verb: what it needs, then its steps."""
    variant = programs[0].variant.name
    actions, sources = [], []
    variables: dict[str, Any] = {}
    for number, (program, mode) in enumerate(_steps(verb, programs)):
        words, needed = _command(base, verb, program, nor, mode)
        line = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", *words]
        action, literals = messages.command(base, line, _shown(verb, variant, program, mode), f"{number}_")
        actions.append(action)
        variables |= literals
        sources += [node for node in needed if node not in sources]
    (alias,) = base.Alias(f"{verb}-{variant}", sources, actions, **variables)
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
    try:
        nor = base.fs.File(f"#{nor_file(env, variant)}")
    except TypeError:
        raise NeuralArtError("it is a folder, not a virtual flash", where=nor_file(env, variant)) from None
    # Not the file itself: `scons .` would make it, by flashing.
    lock = base.Value(str(nor), name="virtual flash")
    aliases = {}
    for verb in VERBS:
        name = f"{verb}-{variant}"
        found = (_reason(verb, program) for program, _ in _steps(verb, programs) or [(programs[0], "")])
        reason, hint = next((each for each in found if each[0]), ("", ""))
        if reason:
            (alias,) = base.Alias(name, [], _refuse(reason, name, hint))
        elif verb == "export":
            alias = make_export(env, programs[0])
        else:
            alias = _effect(base, verb, programs, nor)
            if verb not in ("run", "load"):
                # Whoever asks for them, and however many jobs there are: one at a time has the flash.
                base.SideEffect(lock, alias)
                base.Clean(alias, [nor, f"{nor}.lock"])
        registry.effects[name] = variant
        aliases[verb] = base.AlwaysBuild(alias)
    base.Clean(base.Alias(variant), [nor, f"{nor}.lock"])
    return aliases


def keep_order(env: Any, named: Sequence[str]) -> None:
    """Effects named together run in the order of the command line, also under -j.

    With -k only those of one variant do: an effect that failed must not hold up another variant's.

    Args:
        env: Any environment of the tool.
        named: The targets of the command line.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    effects = [name for name in dict.fromkeys(named) if name in registry.effects]
    groups = [effects]
    if env.GetOption("keep_going"):
        owners = dict.fromkeys(registry.effects[name] for name in effects)
        groups = [[name for name in effects if registry.effects[name] == owner] for owner in owners]
    for group in groups:
        for before, after in itertools.pairwise(group):
            registry.base.Requires(registry.base.Alias(after), registry.base.Alias(before))
