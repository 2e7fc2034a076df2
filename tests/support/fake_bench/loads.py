"""`neuralart load` at a made-up bench: what runs on its board answers over the serial port, by what its flash holds."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.relocatable.format import container, load_table
from neuralart_virtual.emulator.host_link import Decoder, Frame, encode
from neuralart_virtual.loading import deployment
from support.boards.images import Sect, elf
from support.fake_bench import matrix
from support.fake_bench.bench import SERIALS, Bench
from support.relocatable.rel_images import Recipe, build

RAM, TABLE = 0x34000400, 0x70FF0000
RUNS = "runs"
MODEL = build(Recipe(version=(0, 1, 0, 0))).data


def files(folder: Path) -> list[str]:
    """Words that name a model and an application."""
    vectors = struct.pack("<2I", RAM + 0x8000, RAM + 0x41).ljust(64, b"\0")
    (folder / "network_rel.bin").write_bytes(MODEL)
    (folder / "firmware.elf").write_bytes(elf((Sect(".text", RAM, vectors, 6),)))
    return ["-i", str(folder / "network_rel.bin"), "--port", "made-up"]


class FakeSerial:
    """The port of the board that is meant: it says hello when the application was started, and the flash is right."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.told, self.frames, self.decoder = bench, False, b"", Decoder()

    def _hello(self) -> bytes:
        board = self.bench.right
        if board.running != (RAM + 0x8000, RAM + 0x40) or RAM not in board.ram:
            return b""
        ((at, _),) = load_table.read(board.get(TABLE, 64), "flash").models
        image = container.parse(board.get(at, len(MODEL)), "flash")
        name, stamp = image.context.c_name.encode(), container.stamp_of(image).encode()
        sizes = b"\1" + struct.pack("<I", 4)
        return encode(Frame("H", b"\1\1" + bytes([len(name)]) + name + bytes([len(stamp)]) + stamp + sizes * 2))

    def read(self, seconds: float | None) -> bytes:
        if not self.told and (hello := self._hello()):
            self.told, self.frames = True, self.frames + hello
        data, self.frames = self.frames, b""
        return data

    def write(self, data: bytes) -> None:
        for frame in self.decoder.feed(data):
            assert isinstance(frame, Frame) and frame.type == "I"
            self.frames += encode(Frame("O", frame.payload[:1] + bytes(4)))

    def waiting_for(self) -> str:
        return "it is made up"

    def spent(self) -> None:
        return None

    def idle(self) -> bool:
        return False

    def close(self) -> None:
        pass


def load(bench: Bench, folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    """Call it."""
    monkeypatch.setattr(deployment, "SerialTransport", lambda url, baud: FakeSerial(bench))
    return cli.main(["load", *files(folder), "--timeout", "0.2", *more])


def outcome(
    fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> matrix.Outcome:
    """Load with a fault; AssertionError: a success that is none, a message that does not help, no repair."""
    bench = Bench.of(matrix.N6, fault)
    matrix.patch(monkeypatch, bench, folder)
    probe = ["--probe", SERIALS[1]] if fault in ("sn ignored", "old version") else []
    before = [board.writes for board in bench.plugged]
    status, said = load(bench, folder, monkeypatch, *probe), capsys.readouterr()
    if not status:
        assert "The board runs" in said.out and not said.err
        assert bench.right.get(0x71000000, len(MODEL)) == MODEL and bench.right.ram, "a success that is none"
        return matrix.Outcome(RUNS, "")
    assert status == 1 and said.err.startswith("neuralart load: error: ") and "(" in said.err, said.err
    assert said.err.count("\n") <= 2 and "Traceback" not in said.err and "The board runs" not in said.out
    touched = [board.writes for board in bench.plugged] != before
    word = matrix.HALF if touched else matrix.FAILED if bench.steps else matrix.REFUSED
    bench.repair()
    assert load(bench, folder, monkeypatch, "--probe", bench.right.serial) == 0, capsys.readouterr().err
    capsys.readouterr()
    return matrix.Outcome(word, said.err)
