"""Why a target cannot be done with a variant, as data: what the program lacks, what its machine cannot do. Refusals of
flash runners are in :mod:`neuralart.flashing.runners`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neuralart.config.application import REFERENCE
from neuralart.flashing.runners import RAM, RESET, Refusal, Runner, first_refusal
from neuralart.network.targets import CPU, flow_of
from neuralart.scons.network.nodes import NEURALART

if TYPE_CHECKING:
    from neuralart.scons.flash.images import VariantProgram


RUNS = ("run", "debug", "boot", "load")
# What is done with a real board and needs no flash plan.
ON_DEVICE = ("boot", "load", "debug", "reset", "monitor")
_FROM_PLAN = ("run", "debug")
_WRITES = ("flash", "flash-application", "flash-model", "verify")


def _runnable(program: VariantProgram) -> bool:
    """Ours, or a user's ``main`` between our start-up code and our console; on a core without an NPU any program."""
    app = program.variant.application
    ours = app.kind == REFERENCE or (app.sources is not None and not app.sources.linker_script)
    return ours or flow_of(program.board.target) == CPU


def _on_virtual_npu(of: Mapping[str, Any]) -> bool:
    """Behind our start-up code; or a relocatable model, which is loaded without a firmware."""
    program = of["program"]
    known = program.model is None or (of["verb"] in ("run", "load") and of["machine"].kind == "unicorn")
    return program.variant.application.kind == REFERENCE and known


_FOREIGN = (
    Refusal(
        lambda of: of["verb"] in RUNS and of["foreign"] is not None and not _on_virtual_npu(of),
        "network {foreign.name} is made for runtime {foreign.runtime}, which is not executed here",
        "a variant of this network with machine: unicorn and without 'application' runs it on the virtual NPU",
    ),
    Refusal(
        lambda of: of["verb"] in RUNS and not _runnable(of["program"]),
        "its application starts by itself, on hardware that no virtual board has",
        "flash- writes it, machine silicon boots it; 'sources' without 'linker_script' starts with our code here, too",
    ),
    Refusal(
        lambda of: (
            of["program"].firmware is None and (of["program"].model is None or of["verb"] == "flash-application")
        ),
        "its image is built by the application's own project",
        "this variant makes what goes into it",
    ),
    Refusal(
        lambda of: of["verb"] == "load" and of["program"].model is None,
        "its networks are linked into the firmware",
        "'relocatable: true' in the variant makes a model to load",
    ),
)
_DEVICE = (
    Refusal(
        lambda of: of["verb"] in ("load", "debug") and of["program"].firmware is None,
        "its image is built by the application's own project",
        "neuralart device load --elf FILE loads it",
    ),
    Refusal(
        lambda of: of["verb"] == "load" and RAM not in of["runner"].capabilities.does,
        "runner {runner.name} loads no images",
        "RUNNER=gdb does",
    ),
    Refusal(
        lambda of: of["verb"] in ("reset", "boot") and RESET not in of["runner"].capabilities.does,
        "runner {runner.name} resets no board",
        "RUNNER=gdb does",
    ),
)
_MACHINE = (
    Refusal(
        lambda of: of["verb"] in ("reset", "monitor"),
        "machine {machine.kind} is no board with a cable",
        "run- and boot- show what it says",
    ),
    Refusal(
        lambda of: of["machine"].kind == "silicon",
        "it compares the outputs of a virtual board, not of a real one",
        "flash- and boot-, then neuralart validate --on board; or machine: unicorn or qemu",
    ),
    Refusal(
        lambda of: of["machine"].kind == "qemu" and of["external"] is not None,
        "pool {external.pool} has strategy external-loader, and machine qemu has none",
        "strategy boot-copy or link",
    ),
    Refusal(
        lambda of: of["verb"] == "boot" and "base" not in of["board"].flash,
        "board {board.name} has no flash",
        "'flash:' in the board's file says what",
    ),
)


def _in_flash(of: Mapping[str, Any]) -> bool:
    return of["program"].flash is not None


def _application(of: Mapping[str, Any]) -> bool:
    return _in_flash(of) and of["program"].flash.application is not None


def _no_constants(of: Mapping[str, Any]) -> bool:
    program = of["program"]
    held = program.initializers.images if program.initializers is not None else program.flash and program.flash.weights
    return _in_flash(of) and program.model is None and not held


_NOTHING = (
    Refusal(
        lambda of: of["verb"] not in _FROM_PLAN and not _in_flash(of),
        "nothing of this variant is kept in external flash",
        "{loads} loads its image in place",
    ),
    Refusal(
        lambda of: of["verb"] == "flash-application" and _in_flash(of) and not _application(of),
        "board {board.name} has no boot chain",
        "its image is loaded in place: run- and boot- do that",
    ),
    Refusal(
        lambda of: of["verb"] not in (*_FROM_PLAN, "load") and _no_constants(of) and not _application(of),
        "nothing of this variant is kept in flash",
        "run- loads its image in place",
    ),
    Refusal(
        lambda of: of["verb"] == "flash-model" and _no_constants(of),
        "no constants of this variant are kept in flash",
        "flash-application writes the image that holds them",
    ),
)


def reason(verb: str, program: VariantProgram, runner: Runner) -> tuple[str, str]:
    """Find the reason why a target cannot be done, and the remedy; both empty if it can."""
    networks, external = program.networks, program.external
    subjects: dict[str, Any] = {
        "verb": verb,
        "program": program,
        "board": program.board,
        "machine": program.machine,
        "foreign": next((network for network in networks if network.runtime != NEURALART), None),
        "external": external[0] if external else None,
    }
    silicon = program.machine.kind == "silicon"
    subjects |= {"runner": runner, "loads": "load-" if silicon else "run-"}
    if verb == "export":
        return "", ""
    if silicon and verb in ON_DEVICE:
        return first_refusal(_DEVICE, **subjects)
    found = first_refusal(_FOREIGN, **subjects)
    if not found[0]:
        device = runner.refusal("verify" if verb == "verify" else "write", program.board, program.machine)
        found = device if verb in _WRITES else first_refusal(_MACHINE, **subjects)
    return found if found[0] else first_refusal(_NOTHING, **subjects)
