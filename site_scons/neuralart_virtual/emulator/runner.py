"""Runs an image on a virtual machine: it compares golden vectors where there are some, or shows a program's console."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError, nearest
from neuralart.memory.regions import alias_warnings
from neuralart.network import facts
from neuralart.network.facts import Network
from neuralart_virtual.emulator import LinkFailure, MachineStop, RunFailure
from neuralart_virtual.emulator.boot_chain import Started, started_machine
from neuralart_virtual.emulator.coherency import Conditions
from neuralart_virtual.emulator.host_link import FAULT_MARK, RemoteNetwork, Session, Transport
from neuralart_virtual.emulator.image import Symbols
from neuralart_virtual.emulator.inferences import Check, as_failure, check_of, inferences
from neuralart_virtual.emulator.inferences import NetworkRun as NetworkRun
from neuralart_virtual.emulator.inferences import RunResult as RunResult
from neuralart_virtual.emulator.inferences import run_loaded as run_loaded
from neuralart_virtual.emulator.inputs.preprocessing import library

DEFAULT_TIMEOUT = 60.0
OnLine: TypeAlias = Callable[[str], None] | None


KINDS = ("unicorn", "qemu")


def machine_of(board: Board, kind: str) -> Machine:
    """A machine that can be run here (empty: the first virtual one). NeuralArtError: the board has no such machine."""
    where = f"board {board.name}"
    virtual = [name for name in board.machines if name in KINDS]
    if not kind:
        if not virtual:
            raise NeuralArtError("no virtual machine of this board exists", where=where)
        return board.machines[virtual[0]]
    if kind not in board.machines:
        raise NeuralArtError(f"no machine '{kind}'", where=where, hint=nearest(kind, virtual))
    if kind not in KINDS:
        raise NeuralArtError(f"machine {kind} cannot be run here", where=where, hint=nearest(kind, virtual))
    return board.machines[kind]


def describe(machine: Machine) -> str:
    """What a result on this machine means, for one line."""
    core = next((flag[6:] for flag in machine.cpu_flags if flag.startswith("-mcpu=")), "unknown core")
    return f"{core} code; {machine.note or 'no NPU, no timing'}"


def with_symbol(stop: MachineStop, symbols: Symbols) -> MachineStop:
    """The firmware reports where it faulted as a number only."""
    found = re.search(r" PC 0x([0-9a-f]{8})", stop.what) if stop.what.startswith(FAULT_MARK) else None
    name = symbols.name_at(int(found[1], 16)) if found else ""
    return MachineStop(f"{stop.what}, in {name}", where=stop.where, hint=stop.hint) if name else stop


def _where_known(check: Check) -> Network:
    """The network without the pools that the firmware gives a place to. The only model has its pool where the pool file
    says, if that is where the external RAM begins; several models share that memory as the firmware sees fit.
    """
    pools = tuple(pool for pool in check.network.pools if not (check.loaded and pool.mode == "USEMODE_RELATIVE"))
    return replace(check.network, pools=pools)


def _check_remote(remote: RemoteNetwork, check: Check) -> None:
    network = check.network
    if check.loaded and remote.abi_stamp != check.stamp:
        what = f"the firmware loaded another model: its stamp is {remote.abi_stamp}, that of the file {check.stamp}"
        raise LinkFailure(what, where=check.name, hint="was another model flashed, or is it damaged there?")
    if remote.abi_stamp != check.stamp:
        what = f"the firmware was built for abi stamp {remote.abi_stamp}, network.json has {network.abi_stamp}"
        hint = "firmware and network do not belong together: build both again"
        raise LinkFailure(what, where=network.name, hint=hint)
    inputs = tuple(port.bytes for port in network.inputs)
    outputs = tuple(port.bytes for port in network.outputs)
    if (remote.inputs, remote.outputs) != (inputs, outputs):
        what = f"the firmware has inputs of {list(remote.inputs)} and outputs of {list(remote.outputs)} bytes"
        raise LinkFailure(f"{what}, network.json says {list(inputs)} and {list(outputs)}", where=network.name)


def _infer(
    session: Session, started: Started, remotes: Mapping[str, tuple[int, RemoteNetwork]], check: Check
) -> tuple[Callable[[bytes], bytes], Callable[[], Sequence[str]] | None]:
    """What computes an inference: the firmware (with None), or the virtual NPU on its memory, and what that notes."""
    if check.compile is not None:
        if started.board is None:
            what = f"network {check.name} is made for runtime {check.network.runtime}, and this machine has no NPU"
            raise NeuralArtError(what, hint="machine unicorn has a virtual one")
        library("numpy", "the virtual NPU")
        from neuralart_virtual.npu.on_board import NetworkOnBoard

        started.board.begin_epochs()
        network = NetworkOnBoard(started.board, check.compile, check.npu)
        return network.infer, lambda: network.notes
    if check.name not in remotes:
        raise LinkFailure(f"the firmware has no network '{check.name}'", hint=nearest(check.name, list(remotes)))
    index, remote = remotes[check.name]
    _check_remote(remote, check)
    return partial(session.infer, index), None


class _Heard:
    """What a run says: it is kept, and handed on."""

    def __init__(self, on_text: OnLine, on_note: OnLine) -> None:
        self.console: list[str] = []
        self.notes: list[str] = []
        self._on_text, self._on_note = (each or (lambda line: None) for each in (on_text, on_note))

    def text(self, line: str) -> None:
        self.console.append(line)
        self._on_text(line)

    def note(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.notes.append(line)
            self._on_note(line)

    @contextlib.contextmanager
    def to_the_end(self, session: Session, started: Started) -> Iterator[None]:
        """However the session ends: the last line and the last notes are heard, and a stop says in which function."""
        try:
            yield
        except MachineStop as stop:
            raise with_symbol(stop, started.symbols) from stop
        finally:
            session.flush_text()
            if started.board is not None:
                started.board.finish()
            self.note(started.take_notes())


def run(
    board: Board,
    kind: str,
    elf: Path,
    loads: Sequence[tuple[Path, int]],
    runs: Sequence[NetworkRun],
    *,
    surroundings: Conditions | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    on_text: OnLine = None,
    on_note: OnLine = None,
    on_vector: Callable[[str, int, int], None] | None = None,
) -> RunResult:
    """Start an image, feed every input, compare the outputs as closely as wanted where they are known.

    ``kind`` is that of the machine (empty: the board's first virtual one), ``loads`` raw files and their addresses,
    ``timeout`` the seconds that the firmware may compute without a word. Called are ``on_text`` with each line of the
    console, ``on_note`` with each note, also of a run that fails, ``on_vector`` with network, vectors done, vectors in
    all. RunFailure: the run did not end well: a stop, a fault, a difference.
    """
    machine = machine_of(board, kind)
    if not runs:
        raise NeuralArtError("no network to run", hint="--network NETWORK.JSON")
    checks = [check_of(one) for one in runs]
    for check in checks:
        if check.image is not None:
            what = f"network {check.name} is a model for runtime {check.network.runtime}: no firmware here loads it"
            raise NeuralArtError(what, where=check.image.where, hint="without --elf, the virtual NPU runs it")
    networks = [check.network for check in checks]
    watched = networks if len(checks) == 1 else [_where_known(check) for check in checks]
    heard, results = _Heard(on_text, on_note), []
    for network in networks:
        heard.note(alias_warnings(board, network))
    with started_machine(board, machine, elf, loads, surroundings or Conditions(), watched) as started:
        heard.note(started.take_notes())
        session = Session(started.transport, timeout=timeout, on_text=heard.text)
        with heard.to_the_end(session, started):
            remotes = {remote.name: (index, remote) for index, remote in enumerate(session.hello())}
            for check in checks:
                with as_failure(check):
                    infer, notes = _infer(session, started, remotes, check)
                results.append(inferences(check, infer, notes, on_vector))
            session.quit()
    return RunResult(machine.kind, describe(machine), tuple(results), tuple(heard.console), tuple(heard.notes))


END_MARK = "program ended with status "
"""As firmware/program/program_end.c writes it."""


class _Watched(Session):
    """Takes all that a program says as text."""

    def __init__(self, transport: Transport, timeout: float, on_text: Callable[[str], None]) -> None:
        self.status: int | None = None
        self._blank = 0
        super().__init__(transport, timeout=timeout, on_text=on_text)

    def _say(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        if text.startswith(END_MARK) and text[len(END_MARK) :].lstrip("-").isdigit():
            self.status = int(text[len(END_MARK) :])
        elif not text:
            self._blank += 1  # the one before the mark is not the program's
        else:
            for blank in [b""] * self._blank:
                super()._say(blank)
            self._blank = 0
            super()._say(line)

    def until_end(self) -> int:
        """The status that the program ended with. MachineStop: it did not end."""
        while self.status is None:
            self._take_text(self._some("the end of main"))
        return self.status


def run_program(
    board: Board,
    kind: str,
    elf: Path,
    loads: Sequence[tuple[Path, int]],
    networks: Sequence[Path],
    *,
    surroundings: Conditions | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    on_text: OnLine = None,
    on_note: OnLine = None,
) -> RunResult:
    """Start an image, and show what it prints until its ``main`` returns, or it sleeps for good. As :func:`run`.
    ``networks``: ``network.json`` of the networks in it, whose memories are watched. RunFailure: the program ended with
    another status than 0, or did not end.
    """
    machine, heard = machine_of(board, kind), _Heard(on_text, on_note)
    watched = [facts.load(path) for path in networks]
    with started_machine(board, machine, elf, loads, surroundings or Conditions(), watched) as started:
        session = _Watched(started.transport, timeout, heard.text)
        with heard.to_the_end(session, started):
            try:
                status = session.until_end()
                ended = f"the program ended with status {status}"
                if status:
                    raise RunFailure(ended, hint="it is what main returned, or exit() was given")
            except MachineStop as stop:
                if started.board is None or not started.board.asleep or stop.what.startswith(FAULT_MARK):
                    raise
                ended = stop.what
    return RunResult(machine.kind, describe(machine), (), tuple(heard.console), tuple(heard.notes), ended)
