"""Runs a program of the user's own on a virtual machine: its console is shown until its ``main`` returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from neuralart.boards.types import Board
from neuralart.emulator import MachineStop, RunFailure
from neuralart.emulator.coherency import Conditions
from neuralart.emulator.link import FAULT_MARK, Session, Transport
from neuralart.emulator.runner import DEFAULT_TIMEOUT, RunResult, describe, machine_of, with_symbol
from neuralart.emulator.starting import started_machine
from neuralart.network import facts

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
    on_text: Callable[[str], None] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> RunResult:
    """Start an image, and show what it prints until its ``main`` returns, or it sleeps for good.

    Args:
        board: The board.
        kind: Of the machine (empty: the board's first virtual one).
        elf: The image.
        loads: Raw files and their addresses.
        networks: ``network.json`` of the networks in it, whose memories are watched.
        surroundings: What is known of the board's power-up.
        timeout: Seconds that the program may compute without a word.
        on_text: Called with each line of the console.
        on_note: Called with each note.

    Raises:
        RunFailure: The program ended with another status than 0, or did not end.
    """
    machine = machine_of(board, kind)
    console: list[str] = []
    notes: list[str] = []

    def text(line: str) -> None:
        console.append(line)
        if on_text is not None:
            on_text(line)

    def note(lines: Sequence[str]) -> None:
        notes.extend(lines)
        if on_note is not None:
            for line in lines:
                on_note(line)

    watched = [facts.load(path) for path in networks]
    ended = ""
    with started_machine(board, machine, elf, loads, surroundings or Conditions(), watched) as started:
        session = _Watched(started.transport, timeout, text)
        try:
            status = session.until_end()
            ended = f"the program ended with status {status}"
            if status:
                raise RunFailure(ended, hint="it is what main returned, or exit() was given")
        except MachineStop as stop:
            asleep = started.board is not None and started.board.asleep
            if not asleep or stop.what.startswith(FAULT_MARK):
                raise with_symbol(stop, started.symbols) from stop
            ended = stop.what
        finally:
            session.flush_text()
            if started.board is not None:
                started.board.finish()
            note(started.take_notes())
    return RunResult(machine.kind, describe(machine), (), tuple(console), tuple(notes), ended)
