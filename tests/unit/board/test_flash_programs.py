"""Flash runners with made-up programs that are programs; scripts of DRY=1; journal; what is connected; the device."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import boards, cli
from neuralart.errors import NeuralArtError
from neuralart.files import alone_with
from neuralart.flashing import plan as plans
from neuralart.flashing.runners import FlashJob, find
from neuralart.flashing.script import CommandScript
from neuralart_board.runners import process
from neuralart_board.runners.process import ServerEnded, free_port, served
from neuralart_board.runners.programmer import Programmer
from neuralart_board.runners.session import ConnectedProbe, usb_probes
from support.boards.images import Sect, elf
from support.fake_bench import matrix, program
from support.fake_bench.bench import SERIALS, Bench
from support.projects.sconsproject import REPO

CUBE = "STM32_Programmer_CLI"
posix = pytest.mark.skipif(os.name != "posix", reason="the programs are scripts")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench.of(matrix.N6)
    matrix.patch(monkeypatch, made, tmp_path)
    return made


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with the programs of a bench; its state."""
    folder = tmp_path / "the bin"
    state = program.install(folder, Bench.of(matrix.N6), CUBE)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))
    return state


def written(folder: Path, name: str = "cubeprogrammer", only: str | None = None) -> tuple[Path, FlashJob]:
    """A plan in a file, and its job."""
    job = matrix.job_of(name, folder)
    path = folder / "flash_plan.json"
    path.write_text(plans.make(job.board.name, job.plan.writes), "utf-8")
    return path, replace(job, only=only)


# ---- programs


@posix
def test_from_the_command_line(installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, job = written(tmp_path)
    words = ["--plan", str(path), "--runner", "cubeprogrammer", "--record", str(job.record), "--top", str(tmp_path)]
    assert cli.main(["flash", *words, "--only", "application"]) == 0
    assert capsys.readouterr().out == "application: 3001 bytes at 0x70100000, 1 sector erased and written\n"
    board = program.load(installed).right
    assert board.get(0x70100000, 3001) == (tmp_path / "application.bin").read_bytes() and board.resets == 1
    record = json.loads(job.record.read_text("utf-8"))
    assert (record["runner"], record["probe"], len(record["holds"])) == ("cubeprogrammer", SERIALS[1], 1)
    calls = [call[1:] for call in program.load(installed).calls]
    assert calls[0] == ["-l", "st-link"]
    assert all(call[:5] == ["-c", "port=SWD", "mode=HOTPLUG", "ap=1", f"sn={SERIALS[1]}"] for call in calls[1:])
    loader = str((installed.parent / "ExternalLoader" / "MX66UW1G45G_STM32N6570-DK.stldr").resolve())
    assert [call[5:7] for call in calls[2:-1]] == [["-el", loader]] * 4
    assert calls[-1][5:] == ["-hardRst"]


@posix
@pytest.mark.parametrize("folder", ["plain", "it's a $HOME & (co) 100%"])
def test_the_script_does_the_same(installed: Path, folder: str, tmp_path: Path) -> None:
    """Without this package, from another folder, after it was moved with its files."""
    here = tmp_path / folder
    here.mkdir()
    path, job = written(here)
    words = ["--plan", str(path), "--runner", "cubeprogrammer", "--record", str(job.record), "--top", str(here)]
    assert cli.main(["flash", *words, "--dry-run", "--only", "model"]) == 0
    assert program.load(installed).calls == [] and not job.record.exists()
    moved = tmp_path / f"{folder} moved"
    here.rename(moved)
    script = moved / "flash_plan.model.sh"
    subprocess.run(["sh", str(script)], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    bench = program.load(installed)
    for write in job.plan.chosen("model"):
        assert bench.right.get(write.address, write.bytes) == (moved / write.file).read_bytes()
    assert bench.right.resets == 1
    batch = (moved / "flash_plan.model.bat").read_bytes().decode()
    assert '-el "%LOADERS%\\MX66UW1G45G_STM32N6570-DK.stldr" -w "weights.bin" 0x70380000 -v || exit /b 1\r\n' in batch
    assert str(tmp_path) not in batch + script.read_text("utf-8")


@posix
def test_programs_that_never_end(tmp_path: Path) -> None:
    script = tmp_path / "slow"
    script.write_text("#!/bin/sh\necho begun\nsleep 60 & wait\n")
    script.chmod(0o755)
    answer = process.call([str(script)], tmp_path, 0.3)
    assert answer.late and answer.text == "begun\n" and answer.status != 0
    with pytest.raises(NeuralArtError, match=r"none: cannot be started: No such file"):
        process.call([str(tmp_path / "none")], tmp_path, 1)


SERVER = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(60)"


def test_a_server(tmp_path: Path) -> None:
    port = free_port()
    with served([sys.executable, "-ISc", SERVER, str(port)], tmp_path, port, 20):
        socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port))
    with (
        pytest.raises(ServerEnded, match="no ST-LINK"),
        served([sys.executable, "-ISc", "print('no ST-LINK')"], tmp_path, port, 20),
    ):
        pass


# ---- scripts


@pytest.mark.parametrize("name", matrix.BOARDS)
def test_what_is_typed(name: str, tmp_path: Path) -> None:
    """Weights first, the application last; each file is named."""
    path, job = written(tmp_path, name)
    script = find(name).script(replace(job, probe="0042"))
    lines = script.lines(Path(), {}, Path("loaders"))
    files = [file for line in lines for file in ("weights", "descriptor", "application") if f"{file}.bin" in line]
    assert files == ["weights", "descriptor", "application"]
    assert path.exists() and script.shell(tmp_path, tmp_path).startswith("#!/bin/sh\n")
    if name not in ("gdb",):
        assert all("0042" in line for line in lines)


def test_a_name_that_no_batch_file_can_hold(tmp_path: Path) -> None:
    script = CommandScript([("tool", Path('a"b'))])
    with pytest.raises(NeuralArtError, match=r"cannot stand in a script for Windows \(rename"):
        script.batch(tmp_path, tmp_path)


def test_the_virtual_runner_types_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, job = written(tmp_path)
    assert cli.main(["flash", "--plan", str(path), "--nor", str(job.record), "--top", str(tmp_path), "--dry-run"]) == 1
    assert "runner virtual starts no program" in capsys.readouterr().err


# ---- comparing, journal, locks


def test_only_what_differs(bench: Bench, tmp_path: Path) -> None:
    job = matrix.job_of("cubeprogrammer", tmp_path)
    runner = find("cubeprogrammer")
    runner.flash(job)
    assert (bench.right.writes, bench.right.resets) == (3, 1)
    assert [written.kept for written in runner.flash(job)] == [1, 1, 1]
    assert (bench.right.writes, bench.right.resets) == (3, 1), "it goes on running"
    bench.right.put(0x70380000, b"somebody else's")
    assert [written.erased for written in runner.flash(job)] == [1, 0, 0]
    assert [written.erased for written in runner.flash(replace(job, force=True))] == [1, 1, 1]
    assert bench.right.writes == 7
    order = [call[-2] for call in bench.calls if "-w" in call][:3]
    assert order == ["0x70380000", "0x70500000", "0x70100000"], "the application last"


def test_the_journal_says_how_far_it_came(bench: Bench, tmp_path: Path) -> None:
    job = matrix.job_of("cubeprogrammer", tmp_path)
    bench.fault = "cable pulled"
    with pytest.raises(NeuralArtError, match=r"'descriptor' is not written \(1 of 3 steps are\)"):
        find("cubeprogrammer").flash(job)
    journal = job.record.with_name("record.json.journal")
    rows = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    assert rows[0]["steps"] == 3 and [row["write"] for row in rows[1:]] == ["weights"]
    bench.repair()
    find("cubeprogrammer").flash(job)
    rows = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    assert [row.get("write") for row in rows[1:]] == ["descriptor", "application", None] and rows[-1] == {"ended": True}


def test_one_at_a_time_has_a_probe(bench: Bench, tmp_path: Path) -> None:
    job = matrix.job_of("cubeprogrammer", tmp_path)
    with (
        alone_with(tmp_path / f"neuralart-probe-{SERIALS[1]}"),
        pytest.raises(NeuralArtError, match="another process has been changing it"),
    ):
        find("cubeprogrammer").flash(job)
    assert bench.right.writes == 0


def test_verify_changes_nothing(bench: Bench, tmp_path: Path) -> None:
    job = matrix.job_of("cubeprogrammer", tmp_path)
    runner = find("cubeprogrammer")
    mismatch = runner.verify(job)
    assert mismatch is not None and mismatch.write.name == "application" and mismatch.found == 0xFF
    runner.flash(job)
    writes = bench.right.writes
    assert runner.verify(job) is None and bench.right.writes == writes and bench.right.resets == 1


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (0x60000000, "'x' goes to 0x60000000: no flash of stm32n6570-dk is there"),
        (0x77FFFFFF, "is not within the flash"),
    ],
)
def test_a_plan_that_does_not_fit(bench: Bench, address: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"1234")
    row = plans.write_of("x", "model", tmp_path / "x.bin", address, "x.bin")
    job = FlashJob(plans.FlashPlan(matrix.N6, (row,), "plan"), boards.load(matrix.N6), tmp_path / "r", top=tmp_path)
    with pytest.raises(NeuralArtError, match=said):
        find("cubeprogrammer").flash(job)
    assert bench.right.writes == 0


def test_the_size_of_the_flash_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Bench.of(matrix.H7)
    matrix.patch(monkeypatch, made, tmp_path)
    job = matrix.job_of("openocd", tmp_path)
    job = replace(job, board=replace(job.board, memory=job.board.memory[:2]))
    with pytest.raises(NeuralArtError, match="the device has 2048 KiB of flash, board stm32h747i-disco has 1024"):
        find("cubeprogrammer").reset(job)


# ---- which runner


@pytest.mark.parametrize("name", ["virtual", *matrix.BOARDS])
def test_the_page_says_what_each_can(name: str) -> None:
    page = (REPO / "docs/reference/flash-runners.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| `{name}` \| .* \| ([^|]*) \|$", page, re.MULTILINE)
    assert set(row.split(", ")) == find(name).capabilities.does


def test_external_flash_by_a_runner_that_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench.of(matrix.H7)
    matrix.patch(monkeypatch, bench, tmp_path)
    (tmp_path / "x.bin").write_bytes(b"weights")
    row = plans.write_of("x", "model", tmp_path / "x.bin", 0x90000000, "x.bin")
    job = FlashJob(plans.FlashPlan(matrix.H7, (row,), "plan"), bench.right.board, tmp_path / "r", top=tmp_path)
    with pytest.raises(NeuralArtError, match="'x' goes to 0x90000000: runner pyocd cannot flash external"):
        find("pyocd").flash(job)
    find("openocd").flash(job)
    assert bench.right.get(0x90000000, 7) == b"weights"


@pytest.mark.parametrize("serial", ["../x", "0042; shutdown", "[exit]"])
def test_serial_numbers_that_are_none(bench: Bench, serial: str, tmp_path: Path) -> None:
    """From the command line, and from a probe."""
    with pytest.raises(NeuralArtError, match="is no serial number of a probe"):
        find("cubeprogrammer").flash(matrix.job_of("cubeprogrammer", tmp_path, serial))
    bench.right.serial = serial
    with pytest.raises(NeuralArtError, match="is no serial number of a probe"):
        find("cubeprogrammer").flash(matrix.job_of("cubeprogrammer", tmp_path))
    assert bench.right.writes == 0


def test_a_program_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "find", lambda names, places: None)
    with pytest.raises(NeuralArtError, match=r"^runner cubeprogrammer: no STM32_Programmer_CLI: neither on PATH"):
        find("cubeprogrammer").flash(matrix.job_of("cubeprogrammer", tmp_path))


# ---- what is connected


def test_boards_that_are_connected(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["boards", "--connected"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["SERIAL", "BOARD", "VOLTAGE", "DEVICE", "ID", "PORT"]
    assert row.split() == [SERIALS[1], "STM32N6570-DK", "3.28V", "0x486", "-"]
    bench.fault = "no probe"
    assert cli.main(["boards", "--connected"]) == 0
    assert capsys.readouterr().out == "no debug probe is connected\n"


def test_what_linux_lists(tmp_path: Path) -> None:
    for name, files in {
        "1-2": {"idVendor": "0483", "idProduct": "374e", "serial": "0042", "product": "STLINK-V3"},
        "1-3": {"idVendor": "0483", "idProduct": "5740", "serial": "0043"},
        "1-4": {"idVendor": "1d6b", "idProduct": "0002"},
    }.items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text + "\n")
    (tmp_path / "1-2" / "1-2:1.2" / "tty" / "ttyACM0").mkdir(parents=True)
    assert usb_probes(tmp_path) == [ConnectedProbe("0042", "STLINK-V3", port="/dev/ttyACM0")]
    assert usb_probes(tmp_path / "none") == []


# ---- the device


def test_reset_and_boot(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["device", "boot", "--board", matrix.N6]) == 0
    said = capsys.readouterr().out
    assert "reset" in said and "BOOT0 and BOOT1 to the left, then a power cycle" in said
    assert bench.right.resets == 1
    bench.fault = "not reset"
    assert cli.main(["device", "reset", "--board", matrix.N6]) == 1
    assert "not reset: the device does not answer" in capsys.readouterr().err


def test_monitor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A port whose other end says two lines, and is then gone."""
    serial = pytest.importorskip("serial", reason="pyserial is not installed")
    opened = threading.Event()

    def open_port(*words: object, **more: object) -> object:
        # What is sent before the port is open is thrown away, as by a real one.
        try:
            return real(*words, **more)
        finally:
            opened.set()

    real = serial.serial_for_url
    monkeypatch.setattr(serial, "serial_for_url", open_port)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk() -> None:
            stream, _ = listener.accept()
            with stream:
                assert opened.wait(20)
                stream.sendall(b"hello\n\xffboard\n")

        thread = threading.Thread(target=talk)
        thread.start()
        port = f"socket://127.0.0.1:{listener.getsockname()[1]}"
        status = cli.main(["device", "monitor", "--board", matrix.N6, "--port", port])
        thread.join(20)
    said = capsys.readouterr()
    assert said.out == "hello\n\ufffdboard\n"
    assert status == 1 and "the port fails" in said.err, "a cable that falls out"


def test_monitor_without_a_port(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("serial", reason="pyserial is not installed")
    assert cli.main(["device", "monitor", "--board", matrix.N6]) == 1
    assert "no serial port of a probe is found (name it, for example" in capsys.readouterr().err


@pytest.mark.parametrize("name", matrix.BOARDS)
def test_an_image_in_ram(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code and constants, each compared; then the core has the stack and the entry of the vector table."""
    bench = Bench.of(matrix.BOARDS[name])
    matrix.patch(monkeypatch, bench, tmp_path)
    ram = 0x34000400 if matrix.BOARDS[name] == matrix.N6 else 0x24000000
    table = (ram + 0x8000).to_bytes(4, "little") + (ram + 0x41).to_bytes(4, "little") + bytes(56)
    (tmp_path / "x.elf").write_bytes(elf((Sect(".text", ram, table, 6), Sect(".data", ram + 0x1000, b"constants"))))
    job = FlashJob(plans.FlashPlan(bench.right.board.name, ()), bench.right.board, tmp_path / "record.json")
    assert find(name).load(job, tmp_path / "x.elf") == ram + 0x41
    assert bench.right.running == (ram + 0x8000, ram + 0x40)
    assert bench.right.ram[ram] == table and bench.right.ram[ram + 0x1000] == b"constants"
    bench.right.ram.clear()
    monkeypatch.setattr(type(bench.right), "put", lambda self, address, data: None)
    with pytest.raises(NeuralArtError, match=f"64 bytes at 0x{ram:08x} do not arrive"):
        find(name).load(job, tmp_path / "x.elf")


def test_an_image_for_another_board(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "x.elf").write_bytes(elf((Sect(".text", 0x20400000, bytes(64), 6),)))
    job = FlashJob(plans.FlashPlan(matrix.N6, ()), bench.right.board, tmp_path / "record.json")
    with pytest.raises(NeuralArtError, match="64 bytes at 0x20400000: no memory of stm32n6570-dk"):
        find("cubeprogrammer").load(job, tmp_path / "x.elf")
    assert bench.calls == []


def test_loading_what_is_no_image(bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.elf").write_bytes(b"no image")
    words = ["device", "load", "--board", matrix.N6, "--runner", "gdb", "--elf", str(tmp_path / "x.elf")]
    assert cli.main(words) == 1
    assert "damaged ELF file" in capsys.readouterr().err and bench.calls == []


def test_a_server_for_a_debugger(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.chdir(tmp_path)
    Path("a b.elf").write_bytes(b"of gdb's own reading")
    assert cli.main(["device", "debug", "--board", matrix.N6, "--elf", "a b.elf"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("gdb: ") and "'a b.elf' -ex 'target remote localhost:" in said
    words = bench.calls[0]
    assert words[words.index("-i") + 1] == SERIALS[1] and "-e" in words and bench.serving == {}


def test_every_runner_of_a_device_is_in_the_matrix() -> None:
    from neuralart import plugins

    found = {name for name in plugins.names("runners") if isinstance(find(name), Programmer)}
    assert found == set(matrix.BOARDS)
