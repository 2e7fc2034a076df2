"""Where a run gets what the flash holds: a plan, a virtual flash, or raw files."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError
from neuralart.flashing.nor import Nor, chip_of, load_for
from neuralart.flashing.plan import FlashPlan, contents, read
from neuralart.flashing.program import program


@dataclass(frozen=True)
class Media:
    """What is in the memories of a board before it starts."""

    nor: Nor | None = None  # The flash; None: there is none, and the image is loaded in place
    loads: tuple[tuple[Path, int], ...] = ()  # Raw files and their addresses
    notes: tuple[str, ...] = ()  # What a user should know


def _plan(path: Path, board: Board) -> FlashPlan:
    plan = read(path)
    if plan.board != board.name:
        raise NeuralArtError(f"a plan for board {plan.board}, not for {board.name}", where=plan.where)
    return plan


def of_plan(path: Path, board: Board, machine: Machine, top: Path) -> Media:
    """A fresh flash, written by a plan.

    QEMU has neither flash nor boot chain: initializers and descriptor are put into its memory, and the ELF stands in
    for the application. NeuralArtError: the plan is wrong, is for another board, or a file of it has changed.
    """
    plan = _plan(path, board)
    if machine.kind == "qemu":
        contents(plan, plan.writes, top)
        skipped = [write.name for write in plan.writes if write.kind == "application"]
        loads = tuple((top / write.file, write.address) for write in plan.writes if write.kind != "application")
        return Media(None, loads, tuple(f"machine qemu has no boot chain: '{name}' is not written" for name in skipped))
    nor = Nor(chip_of(board))
    program(plan, nor, top=top)
    return Media(nor)


def of_nor(path: Path, board: Board) -> Media:
    """A virtual flash as it is. NeuralArtError: it is missing, damaged, or of another board."""
    return Media(load_for(path, board))


@contextlib.contextmanager
def as_files(nor: Nor | None) -> Iterator[Sequence[tuple[Path, int]]]:
    """What a flash holds as raw files and their addresses, while they are needed."""
    if nor is None:
        yield ()
        return
    with tempfile.TemporaryDirectory(prefix="neuralart-") as folder:
        files = []
        for offset, data in nor.runs():
            path = Path(folder) / f"flash-{offset:08x}.bin"
            path.write_bytes(data)
            files.append((path, nor.chip.base + offset))
        yield files
