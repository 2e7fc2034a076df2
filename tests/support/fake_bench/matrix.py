"""What becomes of each fault with each runner: run once, flash again once it is repaired, said in a word."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from neuralart.errors import NeuralArtError
from neuralart.flashing import plan as plans
from neuralart.flashing import runners
from neuralart.flashing.runners import FlashJob
from neuralart_board.runners import gdb, openocd, process, session
from neuralart_board.runners.process import Answer, ServerEnded
from neuralart_board.runners.session import ConnectedProbe
from support.fake_bench.bench import FAULTS, SERIALS, Bench, Failure
from support.fake_bench.tools import answer

N6, H7 = "stm32n6570-dk", "stm32h747i-disco"
BOARDS = {"cubeprogrammer": N6, "gdb": N6, "openocd": H7, "pyocd": H7}
ADDRESSES = {
    N6: {"application": 0x70100000, "weights": 0x70380000, "descriptor": 0x70500000},
    H7: {"application": 0x08000000, "weights": 0x08100000, "descriptor": 0x081C0000},
}
LOAD = "`neuralart load`"  # By cubeprogrammer, then gdb
# Why a runner does not meet a fault.
NOT_MET = {
    ("gdb", "sn ignored"): "-",
    ("openocd", "sn ignored"): "-",
    ("pyocd", "sn ignored"): "-",
    ("gdb", "other mode"): "-",
    ("openocd", "other mode"): "-",
    ("pyocd", "other mode"): "-",
    ("openocd", "no FSBL"): "-",
    ("pyocd", "no FSBL"): "-",
}
REFUSED, FAILED, HALF, WRITTEN = "refused first", "failed, nothing written", "failed half way", "written"


@dataclass(frozen=True)
class Outcome:
    """What one flash did."""

    word: str  # REFUSED, FAILED, HALF or WRITTEN
    said: str  # The line, of one that did not write


def patch(monkeypatch: pytest.MonkeyPatch, bench: Bench, folder: Path) -> None:
    """Let all runners see a bench instead of this machine, and have their locks in a folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def call(words: Any, folder: Path, seconds: float) -> Answer:
        return answer(bench, list(words), folder, seconds)

    @contextlib.contextmanager
    def served(words: list[str], folder: Path, port: int, seconds: float) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(bench.server(list(words), port))
            except Failure as failure:
                raise ServerEnded(failure.text) from None
            yield

    def usb() -> list[ConnectedProbe]:
        gone = bench.fault in ("no probe", "pulled")
        return [] if gone else [ConnectedProbe(each.serial, "STLINK-V3") for each in bench.plugged]

    monkeypatch.setattr(process, "call", call)
    monkeypatch.setattr(process, "find", lambda names, places: Path("/made-up") / names[0])
    monkeypatch.setattr(gdb, "served", served)
    for module in (gdb, openocd, session):
        monkeypatch.setattr(module, "usb_probes", usb)


def job_of(name: str, folder: Path, probe: str = "", **more: Any) -> FlashJob:
    """A plan of three files, on a board."""
    board = BOARDS[name]
    rows = []
    for number, (each, kind) in enumerate(
        (("application", "application"), ("weights", "model"), ("descriptor", "descriptor"))
    ):
        path = folder / f"{each}.bin"
        path.write_bytes(bytes((number * 7 + index * 31) % 255 for index in range(3001 + number)))
        rows.append(plans.write_of(each, kind, path, ADDRESSES[board][each], path.name))
    from neuralart import boards

    plan = plans.parse(plans.make(board, rows), "flash_plan.json")
    return FlashJob(plan, boards.load(board), folder / "record.json", probe, top=folder, **more)


def holds(bench: Bench, job: FlashJob) -> bool:
    """Whether the board that is meant has every byte of the plan."""
    return all(
        bench.right.get(write.address, write.bytes) == (job.top / write.file).read_bytes() for write in job.plan.writes
    )


def outcome(name: str, fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """Flash with a fault; AssertionError: a success that is none, or a message that does not help."""
    bench = Bench.of(BOARDS[name], fault)
    patch(monkeypatch, bench, folder)
    probe = SERIALS[1] if fault in ("sn ignored", "old version") else ""
    job = job_of(name, folder, probe)
    runner = runners.find(name)
    before = [board.writes for board in bench.plugged]
    try:
        runner.flash(job)
    except NeuralArtError as error:
        said = str(error)
        touched = [board.writes for board in bench.plugged] != before
        assert error.hint and error.where, said
        assert said.count("\n") == 0, said
        assert not job.record.exists() or not touched, "a record of what is not there"
        word = HALF if touched else FAILED if bench.steps else REFUSED
        return Outcome(word, _repaired(runner, bench, job) or said)
    assert holds(bench, job), f"{name} with {fault}: a success that is none"
    assert job.record.exists()
    return Outcome(WRITTEN, "")


def _repaired(runner: Any, bench: Bench, job: FlashJob) -> str:
    """The same once more, when the fault is gone. Returns an empty text."""
    bench.repair()
    again = FlashJob(job.plan, job.board, job.record, bench.right.serial, top=job.top)
    runner.flash(again)
    assert holds(bench, job) and job.record.exists()
    return ""


def table(found: dict[tuple[str, str], Outcome]) -> str:
    """The matrix as Markdown."""
    names = (*BOARDS, LOAD)
    lines = [f"| fault | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for fault in FAULTS:
        words = (NOT_MET.get((name, fault)) or found[name, fault].word for name in names)
        lines.append(f"| {fault} | {' | '.join(words)} |")
    return "\n".join(lines) + "\n"
