"""Virtual boards (``machine: unicorn``) and QEMU as kinds of machine: ``run-``, ``load-``, ``debug-``, ``boot-``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart.config.application import REFERENCE
from neuralart.plugins import register
from neuralart.scons import commands
from neuralart.scons.flash import flash
from neuralart.scons.flash.images import VariantProgram
from neuralart.scons.flash.targets import DeclaredVariant, shown, steps
from neuralart.scons.network.nodes import Compiled
from neuralart.scons.paths import LiteralWord, anchored, build_dir, file_words, word
from neuralart.scons.registry import registry_of


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
    name = program.variant.name.partition("/")[0]
    words: list[Any] = ["run", "--board", board.name, "--machine", machine.kind, "--name", name]
    sources = []
    # A model for the vendor's runtime has none: the virtual NPU runs it from flash.
    if program.firmware is not None:
        words += file_words(base, "--elf", program.firmware.elf)
        sources += [program.firmware.elf, program.firmware.check]
    if program.firmware is not None and machine.kind == "unicorn":
        words += ["--dead-bank", program.variant.dead_bank]
        for image in program.external:
            words += file_words(base, "--external", image.binary, f"@0x{image.address:08x}")
            sources.append(image.binary)
    for key in ("assume", "ties"):
        for said in program.variant.added.get(key, ()):
            words += [f"--{key}", said]
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


def run_alias(base: Any, name: str, verb: str, programs: Sequence[VariantProgram], nor: Any = None) -> Any:
    """The alias of what runs a program: what it needs, then its steps. ``nor``: the virtual flash for ``boot``."""
    variant = programs[0].variant.name
    actions, sources = [], []
    variables: dict[str, Any] = {}
    for number, (program, mode) in enumerate(steps(verb, programs)):
        words, needed = _run_command(base, verb, program, nor, mode)
        words += _report_words(base, name)
        action, literals = commands.command(base, words, shown(verb, variant, program, mode), f"{number}_")
        actions.append(action)
        variables |= literals
        sources += [node for node in needed if node not in sources]
    variables |= commands.on_farm(base, base.Alias(name)) if verb in ("run", "load") else {}
    (alias,) = base.Alias(name, sources, actions, **variables)
    return alias


class VirtualMachine:
    """A machine whose core is emulated."""

    def declare(self, verb: str, name: str, variant: DeclaredVariant) -> Any:
        """Declare what runs the programs of a variant; ``boot`` works on the virtual flash as it is."""
        if verb != "boot":
            return run_alias(variant.base, name, verb, variant.programs)
        runner, probe, nor = variant.virtual_flash
        alias = run_alias(variant.base, name, verb, variant.programs, nor)
        flash.hold(variant.base, runner, probe, nor, alias)
        flash.clean(variant.base, alias, nor)
        return alias


for _kind in ("unicorn", "qemu"):
    register("machines", _kind, VirtualMachine(), protocol=1)
