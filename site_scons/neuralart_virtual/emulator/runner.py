"""Runs an image on a virtual machine: it compares golden vectors where there are some, or shows a program's console."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from neuralart import products
from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError, nearest
from neuralart.flashing.nor import Nor
from neuralart.memory.regions import alias_warnings
from neuralart.network import facts
from neuralart.network.facts import NETWORK_RUNTIME, NEURALART, Network
from neuralart.relocatable.format import container
from neuralart.relocatable.format.types import Image
from neuralart_virtual.emulator import Difference, LinkFailure, MachineStop, RunFailure
from neuralart_virtual.emulator import vectors as golden
from neuralart_virtual.emulator.boot_chain import Started, started_machine
from neuralart_virtual.emulator.coherency import Conditions
from neuralart_virtual.emulator.host_link import FAULT_MARK, RemoteNetwork, Session, Transport
from neuralart_virtual.emulator.image import Symbols
from neuralart_virtual.emulator.inputs.preprocessing import library
from neuralart_virtual.emulator.inputs.source import Feed, inputs_of
from neuralart_virtual.emulator.vectors import BIT_EXACT, Closeness
from neuralart_virtual.virtual_npu import NO_REFERENCE, NpuOptions, says, within

DEFAULT_TIMEOUT = 60.0
OnLine: TypeAlias = Callable[[str], None] | None


@dataclass(frozen=True)
class NetworkRun:
    """A network to run."""

    network: Path  # Path of its ``network.json``
    feed: Feed  # Where its inputs come from; outputs are compared only with those of golden vectors
    model: Path | None = None  # The relocatable model that the firmware loads; None: it is linked in
    params: Path | None = None  # The params of a split one
    closeness: Closeness = BIT_EXACT  # How close outputs must come
    npu: NpuOptions = field(default_factory=NpuOptions)  # How the virtual NPU runs it, if that does


@dataclass(frozen=True)
class NetworkResult:
    """A network that was run; outputs that are known came out as close as wanted."""

    name: str  # C name
    vectors: int  # How many inferences
    how: str = "bit-exact"  # ``bit-exact``, or the bounds; empty: nothing was compared
    outputs: tuple[bytes, ...] = ()  # What came out of each inference, if nothing was compared
    npu: tuple[str, ...] | None = None  # Notes of the virtual NPU; None: the machine alone computed it
    within: str = NO_REFERENCE  # How far the virtual NPU's outputs are from a reference

    @property
    def note(self) -> str:
        """What computed it, where that is not the machine alone; else empty."""
        return "" if self.npu is None else "; ".join((says(self.within), *self.npu))


@dataclass(frozen=True)
class RunResult:
    """A run that went well: anything else is an exception."""

    machine: str  # Kind of the machine
    note: str  # What that machine is and is not, in a few words
    networks: tuple[NetworkResult, ...]  # In the order given
    console: tuple[str, ...]  # Lines of text that the firmware printed
    notes: tuple[str, ...] = ()  # What else a user should know of this run
    ended: str = ""  # How a program of the user's own ended; else empty


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


@dataclass(frozen=True)
class _Check:
    """What is to be run: facts, vectors, and what the firmware must call it."""

    network: Network
    vectors: golden.Vectors
    name: str
    stamp: str
    loaded: bool
    closeness: Closeness = BIT_EXACT
    compile: Path | None = None  # Its folder, if the virtual NPU is to run it
    npu: NpuOptions = field(default_factory=NpuOptions)
    image: Image | None = None  # The relocatable model that the virtual NPU is to run


def refuse_vendor(image: Image, who: str) -> None:
    """NeuralArtError: a relocatable model is for the vendor's runtime; ``who`` runs ours only."""
    if image.context.version[0] != 0:
        version = ".".join(str(part) for part in (*image.context.version, image.context.extra))
        what = f"a model for runtime {version} ({image.context.description}): {who} {NEURALART} only"
        raise NeuralArtError(what, where=image.where)


def _check_of(one: NetworkRun) -> _Check:
    network = facts.load(one.network)
    if network.runtime == NETWORK_RUNTIME:
        what = f"network {network.name} is made for runtime {network.runtime}: virtual boards run {NEURALART} only"
        raise NeuralArtError(what, where=str(one.network))
    vectors = inputs_of(one.feed, network)
    if one.model is None:
        folder = one.network.parent if network.runtime != NEURALART else None
        return _Check(network, vectors, network.name, network.abi_stamp, False, one.closeness, folder, one.npu)
    params = None if one.params is None else products.read(one.params)
    image = container.parse(products.read(one.model), str(one.model), params)
    if network.runtime == NEURALART:
        refuse_vendor(image, "the loading application runs")
    theirs = (one.network.parent, one.npu, image) if network.runtime != NEURALART else ()
    return _Check(network, vectors, image.context.c_name, container.stamp_of(image), True, one.closeness, *theirs)


def _where_known(check: _Check) -> Network:
    """The network without the pools that the firmware gives a place to. The only model has its pool where the pool file
    says, if that is where the external RAM begins; several models share that memory as the firmware sees fit.
    """
    pools = tuple(pool for pool in check.network.pools if not (check.loaded and pool.mode == "USEMODE_RELATIVE"))
    return replace(check.network, pools=pools)


def _check_remote(remote: RemoteNetwork, check: _Check) -> None:
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
    session: Session, started: Started, remotes: Mapping[str, tuple[int, RemoteNetwork]], check: _Check
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


@contextlib.contextmanager
def _as_failure(check: _Check) -> Iterator[None]:
    """What the virtual NPU does not execute is how a run ends, not wrong usage."""
    try:
        yield
    except NeuralArtError as error:
        if check.compile is None or isinstance(error, RunFailure):
            raise
        raise RunFailure(error.what, where=error.where, hint=error.hint) from None


def _compare(check: _Check, number: int, outputs: bytes) -> None:
    """Demand that outputs are as close as wanted. Difference: they are not."""
    try:
        golden.compare(check.vectors, number, outputs, check.network, check.closeness)
    except Difference as difference:
        if check.compile is None or not check.closeness.exact:
            raise
        steps, real = golden.largest_difference(check.vectors, number, outputs)
        bound = "cos: 0.99" if steps is None or real is not None else f"max_lsb: {steps}"
        hint = f"the virtual NPU is a model, not the chip: 'check: {{{bound}}}' of the network says how close is enough"
        if check.vectors.oracle.startswith("virtual NPU "):
            words = shlex.join(["neuralart", "diff", check.vectors.where, check.compile.as_posix()])
            hint = f"expected by {check.vectors.oracle}; '{words}' shows which epochs differ"
        raise Difference(difference.what, where=difference.where, hint=hint) from None


def _within(vectors: golden.Vectors, apart: Sequence[tuple[int | None, float | None]]) -> str:
    """How far all outputs are from the golden vectors, in words."""
    if not apart:
        return NO_REFERENCE
    steps = max((each[0] for each in apart if each[0] is not None), default=None)
    return within(vectors.oracle, steps, max((each[1] for each in apart if each[1] is not None), default=None))


def _inferences(
    check: _Check,
    infer: Callable[[bytes], bytes],
    notes: Callable[[], Sequence[str]] | None,
    on_vector: Callable[[str, int, int], None] | None,
) -> NetworkResult:
    """Feed every input; ``notes`` are of the virtual NPU. Difference: known outputs are not as close as wanted."""
    vectors, unknown, apart = check.vectors, list[bytes](), list[tuple[int | None, float | None]]()
    for number, inputs in enumerate(vectors.input_data):
        with _as_failure(check):
            outputs = infer(inputs)
        if vectors.output_data:
            _compare(check, number, outputs)
            if notes is not None:
                apart.append(golden.largest_difference(vectors, number, outputs))
        else:
            unknown.append(outputs)
        if on_vector is not None:
            on_vector(check.name, number + 1, vectors.count)
    how = "" if unknown else str(check.closeness)
    said = tuple(notes()) if notes is not None else None
    return NetworkResult(check.name, vectors.count, how, tuple(unknown), said, _within(vectors, apart))


def run_loaded(
    board: Board, nor: Nor, runs: Sequence[NetworkRun], on_vector: Callable[[str, int, int], None] | None = None
) -> RunResult:
    """Relocatable models for the vendor's runtime, from a flash onto the memories of a board by its load table: no
    firmware runs, the virtual NPU executes the epochs. RunFailure: the flash does not hold the models, a loader would
    refuse one, or an output differs. NeuralArtError: as :func:`run`.
    """
    library("numpy", "the virtual NPU")
    from neuralart_virtual.npu.on_board import LoadedNetwork

    results, modes = list[NetworkResult](), list[str]()
    for number, one in enumerate(runs):
        check = _check_of(one)
        if check.image is None or check.compile is None:
            raise NeuralArtError(f"network {check.name} needs the firmware that it runs in", hint="give it with --elf")
        with _as_failure(check):
            network = LoadedNetwork(board, nor, number, check.image, check.compile, check.npu)
        modes.append(network.mode)
        # What the network notes, it notes while it runs.
        results.append(_inferences(check, network.infer, partial(getattr, network, "notes"), on_vector))
    return RunResult("unicorn", f"loaded in mode {' and '.join(dict.fromkeys(modes))}", tuple(results), ())


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
    checks = [_check_of(one) for one in runs]
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
                with _as_failure(check):
                    infer, notes = _infer(session, started, remotes, check)
                results.append(_inferences(check, infer, notes, on_vector))
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
