"""What all runners of real devices share: which probe, is it the right device, what differs, write, read back. A runner
of this kind starts programs of others. None of them is believed: a write counts when the bytes that are read back have
the hash of the plan. What a program says and how it ends only decides what the user is told.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from neuralart.boards.types import Board, DebugAccess
from neuralart.errors import NeuralArtError
from neuralart.files import alone_with
from neuralart.flashing.nor import Mismatch, Nor, Written, apply, changes, check_plan, chips_of, mismatch_of, sectors_of
from neuralart.flashing.plan import FlashPlan, Write, contents, held_after, read_record, remove_record, save_record
from neuralart.flashing.runners import EXTERNAL, INTERNAL, JOURNAL, FlashJob, Refusal, Runner
from neuralart.text.console import say
from neuralart_board.runners import process
from neuralart_board.runners.process import Answer
from neuralart_board.runners.session import ConnectedProbe, Identity, ProbeSession, image_parts


@contextlib.contextmanager
def journal(record: Path, device: str, steps: int) -> Iterator[Callable[[str, int, bytes], None]]:
    """What was written before a cable fell out, in ``flash-<runner>-<serial>.json.journal`` beside the record.

    JSON, a line for each step, on the disk before the next one begins. The first line says how many steps there are;
    the last one of a write that came to its end is ``{"ended": true}``. Nothing is skipped because of it: the device
    itself is compared. Yields what notes a step (name, address, bytes). NeuralArtError: it cannot be written.
    """
    path = record.with_name(record.name + JOURNAL)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as stream:

            def line(row: dict[str, Any]) -> None:
                stream.write(json.dumps(row) + "\n")
                stream.flush()
                os.fsync(stream.fileno())

            def wrote(name: str, address: int, data: bytes) -> None:
                digest = hashlib.sha256(data).hexdigest()
                line({"write": name, "address": address, "bytes": len(data), "sha256": digest})

            line({"device": device, "steps": steps})
            yield wrote
            line({"ended": True})
    except OSError as error:
        raise NeuralArtError(f"cannot write: {error.strerror}", where=str(path)) from error


# Weights, then what says that they are there, then who uses them: a cable that falls out leaves no new application on
# old weights.
_ORDER = {"fsbl": -1, "model": 0, "descriptor": 1, "application": 2}
_FSBL = "fsbl"
_SIGNED = b"STM2"
SILICON = frozenset({"silicon"})


def _in_debug(board: Board) -> DebugAccess:
    if board.debug is None:
        raise NeuralArtError(f"board {board.name} does not say how probes reach it", where=board.where)
    return board.debug


class Programmer(Runner):
    """A runner that starts programs of others."""

    programs: ClassVar[tuple[str, ...]]  # File names of the program that it starts, by preference
    places: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # Where installers put it: globs, by system
    get: ClassVar[str]  # How to get it

    # ---- what each of them does its own way

    @abstractmethod
    def probes(self, program: Path, folder: Path, board: Board | None = None) -> list[ConnectedProbe]:
        """List the probes that it sees. NeuralArtError: it cannot be asked, or is another version than it must be."""

    @abstractmethod
    def read(self, session: ProbeSession, parts: Sequence[tuple[str, int, int]]) -> Answer:
        """Read memory: name of the file that it goes to, address and count of each part. The files say what worked."""

    @abstractmethod
    def program(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """Erase the sectors of a range and write them."""

    @abstractmethod
    def restart(self, session: ProbeSession) -> Answer:
        """Reset the device, so that it starts."""

    @abstractmethod
    def put(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """Write RAM."""

    @abstractmethod
    def run_from(self, session: ProbeSession, stack: int, entry: int) -> Answer:
        """Let the core run, with this stack pointer and program counter."""

    def identify(self, session: ProbeSession) -> Identity:
        """What the device says of itself, while nothing of it is changed. NeuralArtError: it does not answer."""
        register = _in_debug(session.job.board).idcode
        if register is None:
            return Identity(None)
        (said,) = self.bytes_of(session, [(register, 4)], "cannot connect")
        return Identity(int.from_bytes(said, "little") & 0xFFF)

    # ---- what they have in common

    def found(self) -> Path | None:
        """Its program."""
        return process.find(self.programs, self.places)

    def needed(self) -> Path:
        """Its program. NeuralArtError: it is not here."""
        program = self.found()
        if program is None:
            what = f"no {self.programs[0]}: neither on PATH nor in the usual folders"
            raise NeuralArtError(what, where=f"runner {self.name}", hint=self.get)
        return program

    @contextlib.contextmanager
    def session(self, job: FlashJob) -> Iterator[ProbeSession]:
        """Have a probe alone. NeuralArtError: no program, no probe or several, or another process of ours has it."""
        program = self.needed()
        with tempfile.TemporaryDirectory(prefix="neuralart-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            self._serial(job.probe)
            serial = self._chosen(job, self.probes(program, folder, job.board))
            self._serial(serial)  # it becomes a part of commands
            lock = re.sub(r"[^\w.]", "-", f"neuralart-probe-{job.server or serial or self.name}")
            alone = alone_with(Path(tempfile.gettempdir()) / lock, patience=2.0)
            with alone, self.opened(ProbeSession(job, program, serial, folder)) as session:
                yield session

    @contextlib.contextmanager
    def opened(self, session: ProbeSession) -> Iterator[ProbeSession]:
        """What has to run beside it meanwhile: nothing, unless a runner has a server."""
        yield session

    def _chosen(self, job: FlashJob, probes: Sequence[ConnectedProbe]) -> str:
        known = [probe.serial for probe in probes]
        listed = ", ".join(f"{probe.serial} ({probe.board or 'unknown board'})" for probe in probes)
        if job.probe and known and job.probe not in known:
            raise NeuralArtError(f"no probe {job.probe} is connected", where=self.name, hint=f"connected: {listed}")
        if not job.probe and len(known) > 1:
            hint = "say which: SERIAL=... or --probe"
            raise NeuralArtError(f"{len(known)} probes are connected: {listed}", where=self.name, hint=hint)
        return job.probe or (known[0] if known else "")

    def place(self, session: ProbeSession) -> str:
        """The device, for messages."""
        return self.device(str(session.job.record), session.serial)

    def call(self, session: ProbeSession, words: Sequence[str], count: int = 0) -> Answer:
        """Run a command. NeuralArtError: it cannot be started, or is not done in time."""
        answer = process.call([str(session.program), *words], session.folder, process.patience(count))
        session.answers.append(answer)
        if answer.late:
            what, hint = process.reason(answer.text, session.job.board)
            asks = what if "question" in what else "it does not come to an end"
            raise self.failed(session, asks, hint or "unplug the board and plug it in, then again")
        return answer

    def failed(self, session: ProbeSession, what: str, hint: str) -> NeuralArtError:
        """An error of this device."""
        return NeuralArtError(what, where=self.place(session), hint=hint)

    def complaint(self, session: ProbeSession, doing: str, answer: Answer) -> NeuralArtError:
        """An error in the words of a program."""
        what, hint = process.reason(answer.text, session.job.board)
        return self.failed(session, f"{doing}: {what}", hint or "DRY=1 shows the command, to type it by hand")

    def bytes_of(self, session: ProbeSession, ranges: Sequence[tuple[int, int]], doing: str = "") -> list[bytes]:
        """Memory of the device; ``doing``: what cannot be done without. NeuralArtError: it cannot be read."""
        parts = [(session.file(".bin").name, address, count) for address, count in ranges]
        answer = self.read(session, parts)
        found = []
        for name, address, count in parts:
            path = session.folder / name
            found.append(path.read_bytes() if path.is_file() else b"")
            path.unlink(missing_ok=True)
            if len(found[-1]) != count:
                raise self.complaint(session, doing or f"cannot read {count} bytes at 0x{address:08x}", answer)
        return found

    # ---- what is refused before anything is touched

    def check_device(self, session: ProbeSession) -> Identity:
        """Is it the device of the board? NeuralArtError: it is not, or its switches or voltage are wrong."""
        board, said = session.job.board, self.identify(session)
        debug = _in_debug(board)
        if said.device_id is not None and said.device_id != debug.device_id:
            what = f"device id 0x{said.device_id:03x}: this is no {board.device} (0x{debug.device_id:03x})"
            raise self.failed(session, what, f"is it the board {board.name}? SERIAL= chooses among several")
        inside = sum(region.size for region in board.memory if region.sector)
        if said.flash_size is not None and inside and said.flash_size != inside:
            what = f"the device has {said.flash_size >> 10} KiB of flash, board {board.name} has {inside >> 10}"
            raise self.failed(session, what, "another part number: describe it in a board file of your own")
        return said

    def _check_boot_loader(self, session: ProbeSession, writes: Sequence[Write]) -> None:
        """An application in flash starts only behind a first-stage boot loader."""
        board = session.job.board
        at = board.slots.get(_FSBL)
        if board.boot is None or at is None or all(write.kind != "application" for write in writes):
            return
        if any(write.address == at for write in session.job.plan.writes):
            return
        (found,) = self.bytes_of(session, [(at, 4)])
        if found != _SIGNED:
            what = f"no first-stage boot loader at 0x{at:08x} (found {found.hex(' ')}): the application would not start"
            hint = "'fsbl: FILE' in the variant writes it, or write that of the vendor's package by hand"
            raise self.failed(session, what, hint)

    # ---- writing and comparing

    def in_order(self, job: FlashJob) -> tuple[Write, ...]:
        """What is written, the application last."""
        return tuple(sorted(job.plan.chosen(job.only), key=lambda write: _ORDER[write.kind]))

    def _mirror(self, session: ProbeSession, writes: Sequence[Write]) -> dict[str, Nor]:
        """What the device holds where writes go, by write. NeuralArtError: no flash of the board is there."""
        chips = {chip: Nor(chip) for chip in chips_of(session.job.board)}
        found: dict[str, Nor] = {}
        for write in session.job.plan.writes:
            nor = next((nor for chip, nor in chips.items() if chip.base <= write.address < chip.base + chip.size), None)
            if nor is None:
                what = f"'{write.name}' goes to 0x{write.address:08x}: no flash of {session.job.board.name} is there"
                raise NeuralArtError(what, where=session.job.plan.where)
            ability = EXTERNAL if nor.chip.base == session.job.board.flash.get("base") else INTERNAL
            if ability not in self.capabilities.does:
                what = f"'{write.name}' goes to 0x{write.address:08x}: runner {self.name} cannot {ability}"
                raise NeuralArtError(what, where=session.job.plan.where, hint="RUNNER= names another one")
            found[write.name] = nor
        for nor in chips.values():
            here = tuple(write for write in session.job.plan.writes if found[write.name] is nor)
            check_plan(FlashPlan(session.job.plan.board, here, session.job.plan.where), nor)
        return {write.name: found[write.name] for write in writes}

    def _read_sectors(self, session: ProbeSession, nors: Mapping[str, Nor], writes: Sequence[Write]) -> None:
        spans = []
        for write in writes:
            chip = nors[write.name].chip
            numbers = sectors_of(write, chip)
            spans.append((numbers.start * chip.sector, len(numbers) * chip.sector))
        ranges = [(nors[write.name].chip.base + at, count) for write, (at, count) in zip(writes, spans, strict=True)]
        for write, (at, count), data in zip(writes, spans, self.bytes_of(session, ranges), strict=True):
            nors[write.name].erase(at, count)
            nors[write.name].program(at, data)

    def flash(self, job: FlashJob) -> tuple[Written, ...]:
        """Compare, write what differs, read back, start the device. NeuralArtError: it is not as planned then."""
        writes = self.in_order(job)
        files = dict(zip((write.name for write in writes), contents(job.plan, writes, job.top), strict=True))
        with self.session(job) as session:
            nors = self._mirror(session, writes)
            if self.check_device(session).device_id is not None:  # a virtual board behind a server has no boot ROM
                self._check_boot_loader(session, writes)
            self._read_sectors(session, nors, writes)
            steps = [
                (write, address, data)
                for write in writes
                for address, data in changes(write, files[write.name], nors[write.name], force=job.force)
            ]
            held = read_record(job.record) if job.record.exists() else ()
            done = tuple(apply(write, files[write.name], nors[write.name], force=job.force) for write in writes)
            if steps:
                remove_record(job.record)
                self._write(session, steps)
                self._check_hashes(session, writes)
                self._start(session)
            save_record(job.record, self.name, session.serial, job.plan.board, held_after(held, writes))
        return done

    def write(self, job: FlashJob) -> tuple[Written, ...]:
        """As :meth:`flash`, which keeps the record."""
        return self.flash(job)

    def _write(self, session: ProbeSession, steps: Sequence[tuple[Write, int, bytes]]) -> None:
        with journal(session.job.record, self.place(session), len(steps)) as wrote:
            for number, (write, address, data) in enumerate(steps):
                answer = self.program(session, address, data)
                # A bad end of a good write is none; one that wrote nothing must not be followed by others.
                if (answer.status or process.complains(answer.text)) and not self._holds(session, address, data):
                    doing = f"'{write.name}' is not written ({number} of {len(steps)} steps are): flash again"
                    raise self.complaint(session, doing, answer)
                wrote(write.name, address, data)

    def _holds(self, session: ProbeSession, address: int, data: bytes) -> bool:
        try:
            return self.bytes_of(session, [(address, len(data))]) == [data]
        except NeuralArtError:
            return False

    def _check_hashes(self, session: ProbeSession, writes: Sequence[Write]) -> None:
        held = self.bytes_of(session, [(write.address, write.bytes) for write in writes])
        for write, data in zip(writes, held, strict=True):
            if hashlib.sha256(data).hexdigest() != write.sha256:
                said = [process.reason(answer.text, session.job.board) for answer in session.answers]
                what, hint = next((each for each in reversed(said) if each[1]), ("whatever the programmer says", ""))
                hint = hint or "flash again; if that does not help: FORCE=1, another cable, the board file's 'flash:'"
                raise self.failed(session, f"'{write.name}' reads back differently: {what}", hint)

    def _start(self, session: ProbeSession) -> None:
        answer = self.restart(session)
        if answer.status:
            what, hint = process.reason(answer.text, session.job.board)
            say(f"{self.place(session)}: written, but not reset: {what} ({hint or 'press the reset button'})")

    def reset(self, job: FlashJob) -> None:
        """Start the device anew."""
        with self.session(job) as session:
            self.check_device(session)
            answer = self.restart(session)
            if answer.status or process.complains(answer.text):
                raise self.complaint(session, "not reset", answer)

    def load(self, job: FlashJob, elf: Path) -> int:
        """Put an image where it is linked, compare all of it, and let it run. Returns its entry. NeuralArtError: it is
        no image, goes to memory that the board has not, or does not arrive.
        """
        parts, stack, entry = image_parts(elf, job.board)
        with self.session(job) as session:
            self.check_device(session)
            flashes = chips_of(job.board)
            for address, data in parts:
                in_flash = any(chip.base <= address < chip.base + chip.size for chip in flashes)
                answer = (self.program if in_flash else self.put)(session, address, data)
                if not self._holds(session, address, data):
                    raise self.complaint(session, f"{len(data)} bytes at 0x{address:08x} do not arrive", answer)
            answer = self.run_from(session, stack, entry)
            if answer.status:
                raise self.complaint(session, "loaded, but it does not run", answer)
        return entry

    def verify(self, job: FlashJob) -> Mismatch | None:
        """Compare the device with the plan; nothing of it is changed."""
        writes = job.plan.chosen(job.only)
        files = contents(job.plan, writes, job.top)
        with self.session(job) as session:
            self._mirror(session, writes)
            self.check_device(session)
            found = self.bytes_of(session, [(write.address, write.bytes) for write in writes])
            for write, data, held in zip(writes, files, found, strict=True):
                if mismatch := mismatch_of(write, data, held):
                    return mismatch
        return None


def needs_debug(knows: str) -> Refusal:
    """A runner whose program must know the device: the board's ``debug`` names it under a key."""
    what = "runner {runner.name} does not know board {board.name}"
    hint = f"'debug: {knows}' in the board's file says how"
    return Refusal(lambda of: of["board"].debug is None or not getattr(of["board"].debug, knows, True), what, hint)
