"""The flash runner openocd with the real OpenOCD: its dummy adapter, its test target, and a flash that it makes up."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import boards
from neuralart.errors import NeuralArtError
from neuralart.flashing.plan import FlashPlan
from neuralart.flashing.runners import FlashJob
from neuralart_board.runners import openocd
from neuralart_board.runners.openocd import OpenOcd
from neuralart_board.runners.session import ConnectedProbe, ProbeSession
from support.fake_bench import matrix

pytestmark = pytest.mark.skipif(not shutil.which("openocd"), reason="openocd is not installed")
BOARD = boards.load("stm32h747i-disco")
# An adapter that is not there, a target without memory, a flash in the memory of OpenOCD.
DUMMY = """
adapter driver dummy
transport select jtag
adapter speed 100
jtag newtap chip cpu -irlen 4 -expected-id 0
target create chip.cpu testee -chain-position chip.cpu
flash bank made_up faux 0x08000000 0x100000 0 0 chip.cpu
gdb_port disabled
tcl_port disabled
telnet_port disabled
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ProbeSession]:
    config = tmp_path / "a board {.cfg"
    config.write_text(DUMMY, "utf-8")
    assert BOARD.debug is not None
    board = replace(BOARD, debug=replace(BOARD.debug, openocd=str(config)))
    job = FlashJob(FlashPlan(board.name, ()), board, tmp_path / "record.json")
    program = OpenOcd().needed()
    yield ProbeSession(job, program, "", tmp_path)


def test_it_takes_our_words(session: ProbeSession) -> None:
    answer = OpenOcd().program(session, 0x08000000, b"weights" * 100)
    assert answer.status == 0 and "wrote" in answer.text, answer.text
    assert OpenOcd().restart(session).status == 0


def test_what_it_says_when_memory_cannot_be_read(session: ProbeSession) -> None:
    """It wrote, and says so; it is not believed."""
    runner = OpenOcd()
    assert runner.program(session, 0x08000000, b"weights").status == 0
    with pytest.raises(
        NeuralArtError, match=r"^openocd device: cannot read 7 bytes at 0x08000000: the device does not"
    ):
        runner.bytes_of(session, [(0x08000000, 7)])


def test_an_address_without_flash(session: ProbeSession) -> None:
    answer = OpenOcd().program(session, 0x70000000, b"weights")
    assert "no flash bank found for address 0x70000000" in answer.text
    assert str(OpenOcd().complaint(session, "x", answer)).startswith("openocd device: x: it says: ")


@pytest.mark.parametrize("serial", ["", "003A00333234510A33353533"])
def test_our_configuration_without_a_probe(serial: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads the file, and finds no ST-LINK."""
    listed = [ConnectedProbe(serial)] if serial else []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(openocd, "usb_probes", lambda: listed)
    job = matrix.job_of("openocd", tmp_path)
    with pytest.raises(NeuralArtError, match=r"cannot connect: no probe answers \(plug in"):
        OpenOcd().flash(job)
    assert not job.record.exists()


def test_a_configuration_that_is_damaged(session: ProbeSession) -> None:
    debug = session.job.board.debug
    assert debug is not None
    Path(debug.openocd).write_text("flsh bank\n", "utf-8")
    answer = OpenOcd().restart(session)
    assert answer.status != 0
    assert 'invalid command name "flsh"' in str(OpenOcd().complaint(session, "not reset", answer))
