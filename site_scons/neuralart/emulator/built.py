"""Runs what the last build of a variant made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from neuralart.boards.types import Board, Machine
from neuralart.emulator import starting
from neuralart.emulator.coherency import Conditions
from neuralart.emulator.runner import NetworkRun, RunResult, run
from neuralart.memory.plan.last_build import top_folder

MODEL, PARAMS = "network_rel.bin", "network_rel_params.bin"


def run_built(
    board: Board,
    machine: Machine,
    folder: Path,
    one: NetworkRun,
    *,
    dead_bank: str = "fault",
    on_vector: Callable[[str, int, int], None] | None = None,
    calls: Mapping[str, Callable[[Callable[[int, int], bytes]], None]] | None = None,
) -> RunResult:
    """Run one network of a variant from a fresh virtual flash, as ``run-<variant>`` does.

    ``folder`` is that of the variant in the build folder; a relocatable model in it is loaded. ``calls`` are those of
    :class:`~neuralart.emulator.coherency.Conditions`. RunFailure: the run did not end well. NeuralArtError: a file of
    the build is gone or wrong.
    """
    if one.model is None and (folder / MODEL).is_file():
        params = folder / PARAMS
        one = replace(one, model=folder / MODEL, params=params if params.is_file() else None)
    media, plan = starting.Media(), folder / "flash_plan.json"
    if plan.is_file():
        media = starting.of_plan(plan, board, machine, top_folder(folder / "index.json"))
    fault = dead_bank if machine.kind == "unicorn" else "fault"
    given = Conditions(media.nor, fault, calls=calls or {})
    elf = folder / "firmware.elf"
    return run(board, machine.kind, elf, media.loads, [one], surroundings=given, on_vector=on_vector)
