"""Targets that do something instead of making a file: they run each time they are named, and only then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import SCons.Action
import SCons.Scanner

from neuralart.boards.types import Board, Machine
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.flashing.runners import Runner, Virtual
from neuralart.network import facts
from neuralart.scons import commands, plans
from neuralart.scons.failures import in_action
from neuralart.scons.firmware.firmware import FirmwareNodes
from neuralart.scons.firmware.initializers import InitializerNodes
from neuralart.scons.firmware.memory_builder import LoadedImage
from neuralart.scons.flash import flash
from neuralart.scons.flash.flash import FlashingPlan
from neuralart.scons.flash.images import FlashNodes, ModelNodes
from neuralart.scons.flash.refusals import RUNS, reason
from neuralart.scons.network.nodes import Compiled, NetworkNodes
from neuralart.scons.paths import LiteralWord, anchored, build_dir, word
from neuralart.scons.registry import code_value, registry_of

# Verb and what it does, for ``scons -h``.
VERBS = {
    "run": "write a fresh virtual flash, boot from it and compare with golden vectors, or show outputs",
    "flash": "write the variant's own virtual flash, which stays",
    "flash-application": "write the application only",
    "flash-model": "write constants and identity descriptor only",
    "load": "load the relocatable model in each mode and on each machine, and compare or show outputs",
    "debug": "like run, but wait for gdb before the first instruction",
    "boot": "boot the virtual flash as it is and compare with golden vectors, or show outputs",
    "plan": "build, and show who has which addresses",
    "sbom": "write a bill of materials (CycloneDX): models, weights, tools, sources and images with their hashes",
    "export": "write sources, images and CMake and make files for a build of your own",
    "verify": "compare the virtual flash with what the build would write",
}
_PART = {"flash": "", "flash-application": "application", "flash-model": "model"}


@dataclass(frozen=True)
class VariantProgram:
    """What the effects of a variant work with."""

    variant: VariantConfig  # The variant
    board: Board  # Where it runs
    machine: Machine  # On what
    networks: Sequence[Compiled]  # What is in it
    initializers: InitializerNodes | None  # What must be loaded beside the image; None: everything is in the image
    firmware: FirmwareNodes | None  # The image; None: it is built elsewhere
    flash: FlashNodes | None  # What goes into external flash; None: nothing does
    model: ModelNodes | None = None  # The relocatable model that the firmware loads

    @property
    def external(self) -> list[LoadedImage]:
        """What another program (a debugger) loads into RAM while this one waits."""
        return self.initializers.external if self.initializers is not None else []


@in_action
def _raise(target: list[Any], source: list[Any], env: Any) -> None:
    raise plans.of(target, NeuralArtError, "NeuralArtVariant")


# What is refused stays with the target: SCons hashes an action when it is made.
_REFUSE = SCons.Action.Action(_raise, None)


def _words(base: Any, option: str, node: Any, suffix: str = "") -> list[Any]:
    path = Path(node.get_abspath())
    return [option, *word(base, path.with_name(path.name + suffix))]


def _feed_words(base: Any, network: Compiled) -> list[Any]:
    """What a network is fed with."""
    if network.vectors:
        return _words(base, "--vectors", base.fs.Dir(anchored(network.vectors)))
    return _words(base, "--input", base.fs.Entry(anchored(network.input))) if network.input else ["--random", "1"]


def _label_words(base: Any, network: Compiled) -> list[Any]:
    """Names of its classes: its own, or those of an application's header."""
    config = network.config.app_config
    file = network.labels or (config.class_names_file if config is not None else "")
    if file:
        return _words(base, "--labels", base.fs.File(anchored(file)))
    names = config.class_names if config is not None else ()
    return ["--labels", LiteralWord(json.dumps(names))]


def _run_command(base: Any, verb: str, program: VariantProgram, nor: Any, mode: str) -> tuple[list[Any], list[Any]]:
    """Words behind ``neuralart`` and sources of what runs a program."""
    board, machine, flashed = program.board, program.machine, program.flash
    assert program.firmware is not None  # else there is a reason not to come here
    words: list[Any] = [
        "run",
        "--board",
        board.name,
        "--machine",
        machine.kind,
        "--name",
        program.variant.name.partition("/")[0],
    ]
    words += _words(base, "--elf", program.firmware.elf)
    sources = [program.firmware.elf, program.firmware.check]
    if machine.kind == "unicorn":
        words += ["--dead-bank", program.variant.dead_bank]
        for image in program.external:
            words += _words(base, "--external", image.binary, f"@0x{image.address:08x}")
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
        words += _words(base, "--network", network.facts) + _feed_words(base, network)
        if any(each.config.check for each in program.networks):
            words += ["--check", ",".join(f"{name}={value!r}" for name, value in network.config.check) or "exact"]
        if not all(each.vectors for each in program.networks):
            words += _label_words(base, network)
        sources.append(network.facts)
    if verb == "boot":
        words += _words(base, "--nor", nor)
    elif flashed is not None and "base" in board.flash:
        plan = flashed.plans.get(mode, flashed.plan)
        words += _words(base, "--plan", plan)
        sources.append(plan)
    for file in registry_of(base).board_files:
        words += _words(base, "--board-file", file)
    if verb == "debug":
        words += ["--gdb", "$NEURALART_GDB"]
    return words, sources


def _steps(verb: str, programs: Sequence[VariantProgram]) -> list[tuple[VariantProgram, str]]:
    """What an effect runs, one after the other: a program, and how it loads its model."""
    if verb != "load":
        return [(programs[0], "")]
    return [(program, mode) for program in programs if program.flash is not None for mode in program.flash.plans]


def _shown(verb: str, variant: str, program: VariantProgram, mode: str) -> str:
    text = f"{verb.partition('-')[0].upper():<8} {variant} on {program.board.name}"
    text += f" ({program.machine.kind})" if verb in RUNS else ""
    return text + (f", {mode}" if mode else "") + (f", {_PART[verb]} only" if _PART.get(verb) else "")


def run_alias(base: Any, name: str, verb: str, programs: Sequence[VariantProgram], nor: Any = None) -> Any:
    """The alias of what runs a program: what it needs, then its steps.
    ``nor``: the virtual flash that ``boot`` boots.
    """
    variant = programs[0].variant.name
    actions, sources = [], []
    variables: dict[str, Any] = {}
    for number, (program, mode) in enumerate(_steps(verb, programs)):
        words, needed = _run_command(base, verb, program, nor, mode)
        line = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", *words]
        action, literals = commands.command(base, line, _shown(verb, variant, program, mode), f"{number}_")
        actions.append(action)
        variables |= literals
        sources += [node for node in needed if node not in sources]
    (alias,) = base.Alias(name, sources, actions, **variables)
    return alias


def _flash(env: Any, verb: str, program: VariantProgram, runner: Runner, probe: str) -> Any:
    """The alias of what writes a device, or compares it."""
    assert program.flash is not None  # else there is a reason not to come here
    variant = program.variant.name
    done, shown = "verify" if verb == "verify" else "write", _shown(verb, variant, program, "")
    plan = FlashingPlan(done, runner, probe, _PART.get(verb, ""), shown, tuple(registry_of(env).board_files))
    return plans.make(env, flash.NAME, flash.VARIABLES, plan, f"{verb}-{variant}", program.flash.plan)[0]


class _Bill(NamedTuple):
    env: Any
    programs: Sequence[VariantProgram]
    made: Sequence[Any]

    def bill(self) -> Any:
        # A build that writes none loads nothing of it.
        from neuralart.scons.sbom import VariantBill

        name = self.programs[0].variant.name
        return registry_of(self.env).once("bill", name, lambda: VariantBill(*self))


def _bill_needs(node: Any, env: Any, path: Any) -> list[Any]:
    found: list[Any] = plans.of([node], _Bill, "NeuralArtVariant").bill().nodes()
    return found


@in_action
def _write_bill(target: list[Any], source: list[Any], env: Any) -> None:
    write_text(Path(str(target[0])), plans.of(target, _Bill, "NeuralArtVariant").bill().text())


# Not only files: the code that writes it counts, too.
_NEEDS = SCons.Scanner.ScannerBase(function=_bill_needs, name="neuralart-bill", node_class=None)


def make_bill(env: Any, programs: Sequence[VariantProgram], made: Sequence[Any]) -> Any:
    """Declare the file of the alias ``sbom-<variant>``. ``made``: all files of the variant."""
    base, name = registry_of(env).base, programs[0].variant.name
    action = commands.function(_write_bill, "SBOM     $TARGET")
    nodes = base.Command(f"#{build_dir(env)}/{name}/sbom.cdx.json", [], action, target_scanner=_NEEDS)
    plans.remember(nodes[0], _Bill(base, programs, made))
    base.Clean(made, nodes)
    return base.Alias(f"sbom-{name}", nodes)


def _refused(base: Any, name: str, why: str, hint: str) -> Any:
    (alias,) = base.Alias(name, [], _REFUSE)
    plans.remember(alias, NeuralArtError(why, where=name, hint=hint))
    return alias


def _show_plan(base: Any, variant: VariantConfig, build: str) -> Any:
    """The alias that shows the address plan of what was built."""
    name, file = f"plan-{variant.name}", variant.where.file
    if not file:
        return _refused(base, name, "its variant is in no project file", "build/VARIANT/plan.json has its addresses")
    words = ["plan", variant.name, *_words(base, "--file", base.fs.File(anchored(file)))]
    words += _words(base, "--build", base.fs.Dir(f"#{build}"))
    line = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", *words]
    action, literals = commands.command(base, line, f"PLAN     {variant.name}")
    (alias,) = base.Alias(name, [base.fs.File(f"#{build}/{variant.name}/index.json")], [action], **literals)
    return alias


def make_effects(env: Any, programs: Sequence[VariantProgram], made: Sequence[Any]) -> dict[str, Any]:
    """Declare ``run-<variant>`` and the like. ``made``: all files of the variant.
    Returns alias (a list with one node) by verb (:data:`VERBS`).
    """
    registry = registry_of(env)
    base = registry.base
    variant = programs[0].variant.name
    runner, probe = flash.runner_of(env)
    folder = base.fs.Dir(f"#{build_dir(env)}/{variant}")
    record = flash.record_of(folder, runner, probe)
    # What virtual boards boot, with every runner.
    virtual, serial = (runner, probe) if isinstance(runner, Virtual) else (Virtual(), "")
    nor = flash.record_of(folder, virtual, serial)
    aliases = {}
    for verb in VERBS:
        name = f"{verb}-{variant}"
        if verb == "sbom":
            aliases[verb] = make_bill(env, programs, made)  # a file like others: made when something in it changed
            continue
        if verb == "plan":
            aliases[verb] = base.AlwaysBuild(_show_plan(base, programs[0].variant, build_dir(env)))
            continue
        found = (reason(verb, program, runner) for program, _ in _steps(verb, programs) or [(programs[0], "")])
        why, hint = next((each for each in found if each[0]), ("", ""))
        if why:
            alias = _refused(base, name, why, hint)
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


class _Export(NamedTuple):
    program: VariantProgram
    initializers: InitializerNodes
    folder: str


@in_action
def _write(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.export.collect import BuiltNetwork, collect
    from neuralart.export.folder import write

    program, initializers, folder = plans.of(target, _Export, "NeuralArtVariant")
    networks = [
        BuiltNetwork(facts.load(Path(str(network.facts))), Path(network.folder), dict(network.pool_address))
        for network in program.networks
        if isinstance(network, NetworkNodes)
    ]
    flags = program.machine.cpu_flags
    inputs = collect(program.variant, program.board, initializers.layout, networks, Path(folder).parent, flags)
    done = write(Path(folder), inputs, force=bool(env["NEURALART_EXPORT_FORCE"]))
    print(f"{folder}: {len(done.written)} written, {len(done.removed)} removed, {len(done.kept)} as they were")


def _export_shown(target: list[Any], source: list[Any], env: Any) -> str:
    return f"EXPORT   {plans.of(target, _Export, 'NeuralArtVariant').folder}"


# What is exported stays with the target: SCons hashes an action, and all that it holds, when it is made.
_ACTION = SCons.Action.Action(_write, _export_shown)


def make_export(env: Any, program: VariantProgram) -> Any:
    """Declare the alias ``export-<variant>``."""
    base = registry_of(env).base
    name = program.variant.name
    folder = f"{build_dir(env)}/{name}/export"
    initializers = program.initializers
    assert initializers is not None, "a network of the core has nothing to export"
    sources = [initializers.header, initializers.io_header, *initializers.sources, *initializers.files]
    for network in program.networks:
        sources += network.files
    (alias,) = base.Alias(f"export-{name}", sources, _ACTION)
    plans.remember(alias, _Export(program, initializers, folder))
    base.Depends(alias, code_value(base, "exporter", "export"))
    base.Clean([alias, *base.Alias(name)], base.fs.Dir(f"#{folder}"))
    return alias
