"""Targets that do something instead of making a file: they run each time they are named, and only then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import SCons.Action
import SCons.Scanner

from neuralart.config.application import REFERENCE
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.flashing.runners import Runner
from neuralart.flashing.runners.virtual import Virtual
from neuralart.network import facts
from neuralart.scons import commands, plans
from neuralart.scons.failures import in_action
from neuralart.scons.flash import flash
from neuralart.scons.flash.flash import FlashingPlan
from neuralart.scons.flash.images import VariantProgram
from neuralart.scons.flash.refusals import ON_DEVICE, RUNS, reason
from neuralart.scons.network.nodes import Compiled
from neuralart.scons.paths import LiteralWord, anchored, build_dir, file_words, word
from neuralart.scons.registry import code_value, registry_of
from neuralart.text.console import say

# Verbs that show something of what was built, and words of their command.
_SHOWN = {"plan": (), "profile": ("--check",)}
_PART = {"flash": "", "flash-application": "application", "flash-model": "model"}


@in_action
def _raise(target: list[Any], source: list[Any], env: Any) -> None:
    raise plans.of(target, NeuralArtError, "NeuralArtVariant")


# What is refused stays with the target: SCons hashes an action when it is made.
_REFUSE = SCons.Action.Action(_raise, None)


def _feed_words(base: Any, network: Compiled) -> list[Any]:
    """What a network is fed with."""
    if network.vectors:
        return file_words(base, "--vectors", base.fs.Dir(anchored(network.vectors)))
    return file_words(base, "--input", base.fs.Entry(anchored(network.input))) if network.input else ["--random", "1"]


def _label_words(base: Any, network: Compiled) -> list[Any]:
    """Names of its classes: its own, or those of an application's header."""
    config = network.config.app_config
    file = network.labels or (config.class_names_file if config is not None else "")
    if file:
        return file_words(base, "--labels", base.fs.File(anchored(file)))
    return ["--labels", LiteralWord(json.dumps(config.class_names if config is not None else ()))]


def _run_command(base: Any, verb: str, program: VariantProgram, nor: Any, mode: str) -> tuple[list[Any], list[Any]]:
    """Words behind ``neuralart`` and sources of what runs a program."""
    board, machine, flashed = program.board, program.machine, program.flash
    assert program.firmware is not None  # else there is a reason not to come here
    name = program.variant.name.partition("/")[0]
    words: list[Any] = ["run", "--board", board.name, "--machine", machine.kind, "--name", name]
    words += file_words(base, "--elf", program.firmware.elf)
    sources = [program.firmware.elf, program.firmware.check]
    if machine.kind == "unicorn":
        words += ["--dead-bank", program.variant.dead_bank]
        for image in program.external:
            words += file_words(base, "--external", image.binary, f"@0x{image.address:08x}")
            sources.append(image.binary)
    for name, address in program.variant.slots:
        if name in board.slots:
            words += ["--slot", f"{name}@0x{address:08x}"]
    own = program.variant.application.kind != REFERENCE
    if program.model is not None and not own:
        words += file_words(base, "--model", program.model.image)
        if program.model.params is not None:
            words += file_words(base, "--model-params", program.model.params)
        sources += program.model.binaries
    words += ["--program"] if own else []
    for network in program.networks:
        sources.append(network.facts)
        words += file_words(base, "--network", network.facts)
        if own:
            continue
        words += _feed_words(base, network)
        if any(each.config.check for each in program.networks):
            words += ["--check", ",".join(f"{name}={value!r}" for name, value in network.config.check) or "exact"]
        if not all(each.vectors for each in program.networks):
            words += _label_words(base, network)
    if verb == "boot":
        words += file_words(base, "--nor", nor)
    elif flashed is not None and flashed.plan is not None and "base" in board.flash:
        plan = flashed.plans.get(mode, flashed.plan)
        words += file_words(base, "--plan", plan)
        sources.append(plan)
    for file in registry_of(base).board_files:
        words += file_words(base, "--board-file", file)
    if verb == "debug":
        words += ["--gdb", "$NEURALART_GDB"]
    return words, sources


def _report_words(base: Any, target: str) -> list[Any]:
    """Words that make a command of a target write a report of its own, if one is asked for."""
    reports = registry_of(base).reports
    if reports is None:
        return []
    known = reports.setdefault(target, [])
    known.append(Path(base.Dir("#").abspath, build_dir(base), f".junit-{target}-{len(known)}.xml"))
    known[-1].unlink(missing_ok=True)
    return ["--junit", *word(base, known[-1])]


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
    """The alias of what runs a program: what it needs, then its steps. ``nor``: the virtual flash for ``boot``."""
    variant = programs[0].variant.name
    actions, sources = [], []
    variables: dict[str, Any] = {}
    for number, (program, mode) in enumerate(_steps(verb, programs)):
        words, needed = _run_command(base, verb, program, nor, mode)
        words += _report_words(base, name)
        action, literals = commands.command(base, words, _shown(verb, variant, program, mode), f"{number}_")
        actions.append(action)
        variables |= literals
        sources += [node for node in needed if node not in sources]
    variables |= commands.on_farm(base, base.Alias(name)) if verb in ("run", "load") else {}
    (alias,) = base.Alias(name, sources, actions, **variables)
    return alias


def _device(env: Any, verb: str, program: VariantProgram, runner: Runner, probe: str) -> Any:
    """The alias of what is done with a real board besides writing its flash."""
    base, variant, sources = registry_of(env).base, program.variant.name, []
    words: list[Any] = ["device", verb, "--board", program.board.name]
    words += ["--probe", LiteralWord(probe)] if probe else []
    if verb in ("load", "debug"):
        assert program.firmware is not None  # else there is a reason not to come here
        words += file_words(base, "--elf", program.firmware.elf)
        sources = [program.firmware.elf, program.firmware.check]
    server, port = flash.argument(env, "SERVER"), flash.argument(env, "PORT")
    if verb == "monitor":
        words += ["--port", LiteralWord(port)] if port else []
    else:
        words += ["--server", LiteralWord(server)] if server else []
    words += ["--runner", runner.name] if verb not in ("debug", "monitor") else []
    for file in registry_of(base).board_files:
        words += file_words(base, "--board-file", file)
    action, literals = commands.command(base, words, _shown(verb, variant, program, ""))
    (alias,) = base.Alias(f"{verb}-{variant}", sources, [action], **literals)
    flash.hold(base, runner, probe, base.fs.File(f"#{build_dir(env)}/{variant}/device"), alias)
    return alias


def _flash(env: Any, verb: str, program: VariantProgram, runner: Runner, probe: str) -> Any:
    """The alias of what writes a device, or compares it."""
    assert program.flash is not None  # else there is a reason not to come here
    variant = program.variant.name
    done, shown = "verify" if verb == "verify" else "write", _shown(verb, variant, program, "")
    files, options = tuple(registry_of(env).board_files), flash.options_of(env)
    plan = FlashingPlan(done, runner, probe, _PART.get(verb, ""), shown, files, options)
    return plans.make(env, flash.NAME, flash.VARIABLES, plan, f"{verb}-{variant}", program.flash.plan)[0]


def _refused(base: Any, name: str, why: str, hint: str) -> Any:
    (alias,) = base.Alias(name, [], _REFUSE)
    plans.remember(alias, NeuralArtError(why, where=name, hint=hint))
    return alias


def _show(base: Any, variant: VariantConfig, build: str, verb: str, *more: str) -> Any:
    """The alias that calls our command of the same name for what was built."""
    name, file = f"{verb}-{variant.name}", variant.where.file
    if not file:
        hint = "build/VARIANT/plan.json has the addresses" if verb == "plan" else f"neuralart {verb} works by hand"
        return _refused(base, name, "its variant is in no project file", hint)
    words = [verb, variant.name, *file_words(base, "--file", base.fs.File(anchored(file)))]
    words += file_words(base, "--build", base.fs.Dir(f"#{build}"))
    action, literals = commands.command(base, [*words, *more], f"{verb.upper():<8} {variant.name}")
    (alias,) = base.Alias(name, [base.fs.File(f"#{build}/{variant.name}/index.json")], [action], **literals)
    return alias


def make_effects(env: Any, programs: Sequence[VariantProgram], index: Any) -> dict[str, Any]:
    """Declare ``run-<variant>`` and the like. ``index``: the node of ``index.json``, made of all files of the variant.
    Returns alias (a list with one node) by verb (:data:`~neuralart.scons.flash.flash.EFFECTS`).
    """
    from neuralart.scons.report import make_bill, make_page

    registry, made = registry_of(env), index.sources
    base = registry.base
    variant = programs[0].variant.name
    program = programs[0]
    runner, probe = flash.runner_of(env, program.board, program.machine, program.variant.runner)
    folder = base.fs.Dir(f"#{build_dir(env)}/{variant}")
    record = flash.record_of(folder, runner, probe)
    # What virtual boards boot, with every runner.
    virtual, serial = (runner, probe) if isinstance(runner, Virtual) else (Virtual(), "")
    nor = flash.record_of(folder, virtual, serial)
    aliases = {}
    for verb in flash.EFFECTS:
        name = f"{verb}-{variant}"
        if verb == "sbom":
            aliases[verb] = make_bill(env, programs, made)  # a file like others: made when something in it changed
            continue
        if verb == "report":
            aliases[verb] = make_page(env, programs[0], index, made)  # likewise
            continue
        if verb in _SHOWN:
            aliases[verb] = base.AlwaysBuild(_show(base, programs[0].variant, build_dir(env), verb, *_SHOWN[verb]))
            continue
        found = (reason(verb, program, runner) for program, _ in _steps(verb, programs) or [(programs[0], "")])
        why, hint = next((each for each in found if each[0]), ("", ""))
        if flash.is_dry(env) and program.machine.kind == "silicon" and verb in (*ON_DEVICE, "verify"):
            why, hint = "DRY=1 shows the commands of flash- only", "leave it out: the board is touched then"
        if why:
            alias = _refused(base, name, why, hint)
        elif verb == "export":
            alias = make_export(env, programs[0])
        elif verb in ON_DEVICE and program.machine.kind == "silicon":
            alias = _device(env, verb, program, runner, probe)
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
    folder: str


@in_action
def _write(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.export.collect import BuiltNetwork, collect
    from neuralart.export.folder import write

    program, folder = plans.of(target, _Export, "NeuralArtVariant")
    networks = [
        BuiltNetwork(facts.load(Path(str(network.facts))), Path(network.folder), getattr(network, "pool_address", {}))
        for network in program.networks
    ]
    flags = program.machine.cpu_flags
    layout = program.initializers.layout if program.initializers is not None else None
    inputs = collect(program.variant, program.board, layout, networks, Path(folder).parent, flags)
    done = write(Path(folder), inputs, force=bool(env["NEURALART_EXPORT_FORCE"]))
    say(f"{folder}: {len(done.written)} written, {len(done.removed)} removed, {len(done.kept)} as they were")


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
    sources = []
    if initializers is not None:
        sources = [initializers.header, initializers.io_header, *initializers.sources, *initializers.files]
    if program.model is not None and program.flash is not None:
        sources += [*program.model.files, *program.flash.tables.values()]
    for network in program.networks:
        sources += network.files
    (alias,) = base.Alias(f"export-{name}", sources, _ACTION)
    plans.remember(alias, _Export(program, folder))
    base.Depends(alias, code_value(base, "exporter", "export"))
    base.Clean([alias, *base.Alias(name)], base.fs.Dir(f"#{folder}"))
    return alias
