"""The flash runner gdb with the real gdb: a virtual STM32N6 and STM32H747, and QEMU."""

from __future__ import annotations

import contextlib
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuralart import boards
from neuralart.errors import NeuralArtError
from neuralart.flashing import plan as plans
from neuralart.flashing.plan import FlashPlan
from neuralart.flashing.runners import FlashJob, find
from neuralart_board.runners.process import free_port
from neuralart_virtual.emulator.gdb.packets import encode
from support.boards.images import Sect, elf
from support.fake_bench import matrix

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
from support.boards.gdb_rig import CODE, START, Rig, vectors

pytestmark = [pytest.mark.gdb, pytest.mark.skipif(not shutil.which("gdb-multiarch"), reason="no gdb-multiarch")]
# movs r0, #0; ldr r1, =place; again: adds r0, #1; str r0, [r1]; b again
LOOP = (0x2000, 0x4902, 0x3001, 0x6008, 0xE7FC, 0xBF00)


def image(path: Path, at: int, place: int) -> Path:
    """A vector table and a loop that counts in a word of RAM."""
    code = struct.pack("<2I", place + 0x1000, at + 0x41).ljust(0x40, b"\0") + struct.pack("<6HI", *LOOP, place)
    path.write_bytes(elf((Sect(".text", at, code, 6),), entry=at + 0x41))
    return path


@contextlib.contextmanager
def running(rig: Rig) -> Iterator[Rig]:
    """End it, whatever happens."""
    rig.client.close()
    yield rig
    if rig.thread.is_alive():
        rig.again().send(encode(b"k"))
        rig.thread.join(20)
    rig.client.close()


@pytest.fixture
def n6() -> Iterator[Rig]:
    with running(Rig()) as rig:
        yield rig


def test_the_flash_of_a_virtual_board(n6: Rig, tmp_path: Path) -> None:
    job = matrix.job_of("gdb", tmp_path, server=_of(n6), only="model")
    runner = find("gdb")
    done = runner.flash(job)
    assert [(written.write.name, written.erased) for written in done] == [("weights", 1), ("descriptor", 1)]
    assert n6.flashed == 2
    (tmp_path / "weights.bin").write_bytes(b"others" * 20_000)
    row = plans.write_of("weights", "model", tmp_path / "weights.bin", job.plan.writes[1].address, "weights.bin")
    changed = FlashPlan(job.plan.board, (row, job.plan.writes[2]), "plan")
    again = FlashJob(changed, job.board, job.record, top=tmp_path, server=job.server)
    assert [(written.erased, written.kept) for written in runner.flash(again)] == [(2, 0), (0, 1)]
    assert n6.flashed == 3
    (tmp_path / "weights.bin").write_bytes((tmp_path / "weights.bin").read_bytes()[:-1] + b"!")
    row = plans.write_of("weights", "model", tmp_path / "weights.bin", row.address, "weights.bin")
    mismatch = runner.verify(
        FlashJob(FlashPlan("stm32n6570-dk", (row,)), job.board, job.record, top=tmp_path, server=job.server)
    )
    assert mismatch is not None and (mismatch.offset, mismatch.found) == (119_999, ord("s"))


@pytest.mark.parametrize(
    ("name", "start", "ram"), [("stm32n6570-dk", START, 0x34000000), ("stm32h747i-disco", 0x08000040, 0x24000000)]
)
def test_an_image_in_the_ram_of_a_virtual_board(name: str, start: int, ram: int, tmp_path: Path) -> None:
    at, place = ram + 0x800, ram + 0x2000
    with running(Rig(CODE[:-4] + struct.pack("<I", ram + 0x1000), name, vectors(start, ram + 0x8000))) as rig:
        job = FlashJob(FlashPlan(name, ()), boards.load(name), tmp_path / "x", server=_of(rig))
        assert find("gdb").load(job, image(tmp_path / "loop.elf", at, place)) == at + 0x41
        client = rig.again()
        assert client.ask(f"m{place:x},4".encode()) not in (b"00000000", b""), "it counts"
        assert at <= client.pc() < at + 0x80, "the image that was loaded, not the one that ran before"


def _of(rig: Rig) -> str:
    return f"localhost:{rig.server.port}"


def test_nobody_listens(tmp_path: Path) -> None:
    job = matrix.job_of("gdb", tmp_path, server=f"localhost:{free_port()}")
    with pytest.raises(NeuralArtError, match=r"the gdb server does not answer \(does it still run\?"):
        find("gdb").flash(job)
    assert not job.record.exists()


@pytest.fixture
def qemu(tmp_path: Path) -> Iterator[str]:
    """A machine that waits in a loop."""
    if not shutil.which("qemu-system-arm"):
        pytest.skip("no qemu-system-arm")
    idle = image(tmp_path / "idle.elf", 0x10000000, 0x31000000)
    port = free_port()
    words = ["qemu-system-arm", "-M", "mps3-an547", "-display", "none", "-serial", "none", "-monitor", "none"]
    with subprocess.Popen([*words, "-S", "-kernel", str(idle), "-gdb", f"tcp:127.0.0.1:{port}"]) as process:
        try:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                with socket.socket() as probe:
                    try:
                        probe.bind(("127.0.0.1", port))
                    except OSError:
                        break
                time.sleep(0.05)
            yield f"localhost:{port}"
        finally:
            process.kill()


@pytest.mark.qemu
def test_qemu(qemu: str, tmp_path: Path) -> None:
    """Its flash is plain memory; an image is loaded over the one that runs."""
    board = boards.load("mps3-an547")
    (tmp_path / "weights.bin").write_bytes(bytes(range(256)) * 300)
    row = plans.write_of("weights", "model", tmp_path / "weights.bin", 0x70380000, "weights.bin")
    job = FlashJob(FlashPlan(board.name, (row,), "plan"), board, tmp_path / "record.json", top=tmp_path, server=qemu)
    runner = find("gdb")
    assert [written.erased for written in runner.flash(job)] == [2]
    assert runner.verify(job) is None
    assert runner.load(job, image(tmp_path / "loop.elf", 0x10001000, 0x31002000)) == 0x10001041
    with runner.session(job) as session:  # type: ignore[attr-defined]
        assert runner.bytes_of(session, [(0x31002000, 4)]) != [bytes(4)]  # type: ignore[attr-defined]
