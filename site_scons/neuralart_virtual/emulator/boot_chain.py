"""Starts the machine that a run wants, with everything in place, and the flash of a plan, a file, or raw files."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError, nearest
from neuralart.flashing.nor import Nor, chip_of, program_plan
from neuralart.flashing.plan import contents, read
from neuralart.network.facts import Network
from neuralart_virtual.emulator.coherency import DEAD_BANKS, Conditions, watched_ranges
from neuralart_virtual.emulator.host_link import Transport
from neuralart_virtual.emulator.image import Firmware, Symbols, check_disjoint, read_elf, read_raw
from neuralart_virtual.emulator.instructions import QemuCounter
from neuralart_virtual.emulator.qemu import PATIENCE, QemuMachine
from neuralart_virtual.emulator.unicorn_board import UnicornBoard


@dataclass(frozen=True)
class Started:
    """A machine that runs, with the symbols of what runs on it."""

    transport: Transport
    symbols: Symbols
    board: UnicornBoard | None = None

    def take_notes(self) -> list[str]:
        """What came about since the last call."""
        if self.board is None:
            return []
        notes, self.board.notes = self.board.notes, []
        return notes


@contextlib.contextmanager
def _qemu(
    board: Board, machine: Machine, firmware: Firmware, elf: Path, loads: Sequence[tuple[Path, int]], given: Conditions
) -> Iterator[Started]:
    if given.external or given.xspi_unmapped or given.mapped or given.dead_bank != "fault":
        what = "machine qemu has no banks that can be off, no xSPI and no external loader"
        raise NeuralArtError(what, where=f"board {board.name}", hint="these are for machine unicorn")
    with as_files(given.nor) as files:
        raws = [read_raw(path, address) for path, address in (*loads, *files)]
        check_disjoint([*firmware.loads, *raws])
        for load in (*firmware.loads, *raws):
            if load.data and (board.region_at(load.address) is None or board.region_at(load.end - 1) is None):
                what = f"{load.name} is loaded to 0x{load.address:08x}..0x{load.end:08x}, where no memory is"
                raise NeuralArtError(what, where=f"board {board.name}")
        port = None if given.gdb is None else given.gdb.hand_over()
        if given.counts is None:
            with QemuMachine(board, machine, elf, (*loads, *files), port) as transport:
                yield Started(transport, firmware.symbols)
            return
        counter = QemuCounter(machine, firmware.symbols, given.counts)
        counter.start()
        with QemuMachine(board, machine, elf, (*loads, *files), words=counter.words) as transport:
            yield Started(transport, firmware.symbols)
        counter.join(PATIENCE)


def _check_mapped(board: Board, given: Conditions) -> None:
    windows = [window.region for window in board.windows]
    for name in given.mapped:
        if name not in windows:
            hint = nearest(name, windows)
            raise NeuralArtError(f"no memory '{name}' that a boot chain maps", where=f"board {board.name}", hint=hint)
    if given.mapped and given.xspi_unmapped:
        raise NeuralArtError("a boot chain that maps nothing does not map " + ", ".join(given.mapped))


@contextlib.contextmanager
def started_machine(
    board: Board,
    machine: Machine,
    elf: Path,
    loads: Sequence[tuple[Path, int]],
    given: Conditions,
    networks: Sequence[Network],
) -> Iterator[Started]:
    """Start an image, and end the machine afterwards. MachineStop: the flash or the image starts nothing."""
    firmware = read_elf(elf)
    if machine.kind == "qemu":
        with _qemu(board, machine, firmware, elf, loads, given) as started:
            yield started
        return
    if given.dead_bank not in DEAD_BANKS:
        raise NeuralArtError(f"dead bank '{given.dead_bank}'", hint=nearest(given.dead_bank, DEAD_BANKS))
    _check_mapped(board, given)
    if given.nor is not None and loads:
        hint = "put it into the flash plan, or load everything in place"
        raise NeuralArtError(f"{loads[0][0].name} is to be loaded into a board that boots from its flash", hint=hint)
    raws = [read_raw(path, address) for path, address in loads]
    if given.nor is None:
        check_disjoint([*firmware.loads, *raws])
    check_disjoint(given.external)
    filled = tuple(load for load in given.external if load.data)
    conditions = replace(given, external=filled, watched=watched_ranges(board, networks))
    power_up = UnicornBoard if given.gdb is None else given.gdb.power_up
    virtual = power_up(board, machine, firmware, raws, conditions)
    yield Started(virtual, virtual.symbols, virtual)


@dataclass(frozen=True)
class Media:
    """What is in the memories of a board before it starts."""

    nor: Nor | None = None  # The flash; None: there is none, and the image is loaded in place
    loads: tuple[tuple[Path, int], ...] = ()  # Raw files and their addresses
    notes: tuple[str, ...] = ()  # What a user should know


def of_plan(path: Path, board: Board, machine: Machine, top: Path) -> Media:
    """A fresh flash, written by a plan. QEMU has neither flash nor boot chain: initializers and descriptor are put into
    its memory, and the ELF stands in for the application. NeuralArtError: the plan is wrong, is for another board, or a
    file of it has changed.
    """
    plan = read(path)
    if plan.board != board.name:
        raise NeuralArtError(f"a plan for board {plan.board}, not for {board.name}", where=plan.where)
    if machine.kind == "qemu":
        contents(plan, plan.writes, top)
        skipped = [write.name for write in plan.writes if write.kind == "application"]
        loads = tuple((top / write.file, write.address) for write in plan.writes if write.kind != "application")
        return Media(None, loads, tuple(f"machine qemu has no boot chain: '{name}' is not written" for name in skipped))
    nor = Nor(chip_of(board))
    program_plan(plan, nor, top=top)
    return Media(nor)


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
