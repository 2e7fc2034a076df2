"""The reference application on QEMU's mps3-an547: the Armv8.1-M core that the virtual STM32N6 does not have."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from neuralart import boards, cli
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator import Difference, LinkFailure, MachineStop, qemu, runner
from support.boards.debugging import Debugged, command, in_order
from support.boards.firmware import Builder, have_gcc, have_qemu, memory_init

pytestmark = [
    pytest.mark.arm,
    pytest.mark.qemu,
    pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH"),
    pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH"),
]

FLASH = 0x71000000
NOTHING = memory_init(())


@pytest.fixture(scope="module")
def board():
    return boards.load("mps3-an547")


@pytest.fixture(scope="module")
def builder(tmp_path_factory, board):
    return Builder(tmp_path_factory.mktemp("an547"), board, "qemu", FLASH, 0x31000000)


@pytest.fixture
def run(board):
    def go(image, *, loads=None, timeout=10.0):
        given = [(image.weights, FLASH)] if loads is None else loads
        return runner.run(
            board, "qemu", image.elf, given, [runner.NetworkRun(image.network, image.vectors)], timeout=timeout
        )

    return go


def test_all_vectors_are_bit_exact(builder, run, tmp_path):
    # Commas separate QEMU's options, blanks separate words of lesser programs.
    result = run(builder.image(tmp_path / "a, b=c,,d", memory=NOTHING))
    assert [(n.name, n.vectors) for n in result.networks] == [("toy", 5)]
    assert result.console == ("scons-neuralart reference application on mps3-an547",)
    assert "cortex-m55" in result.note


def test_the_core_has_mve(builder, run, tmp_path):
    memory = NOTHING.replace(
        "#include <stdint.h>",
        "#include <stdint.h>\n#include <arm_mve.h>\nstatic const int8_t x[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};",
    ).replace("return 0;", "int8x16_t v = vld1q_s8(x); return vmladavq_s8(v, v);")
    with pytest.raises(LinkFailure, match=f"npu_memory_init returned: {sum(n * n for n in range(11))}"):
        run(builder.image(tmp_path, memory=memory))


def test_forgotten_weights_differ(builder, run, tmp_path):
    with pytest.raises(Difference, match="toy: vector 0, output 'scores' index 0: expected"):
        run(builder.image(tmp_path, memory=NOTHING), loads=[])


def test_an_empty_raw_file_is_nothing_to_load(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=NOTHING)
    empty = tmp_path / "empty.raw"
    empty.write_bytes(b"")
    assert run(image, loads=[(image.weights, FLASH), (empty, 0x72000000)]).networks[0].vectors == 5


def test_a_fault_is_reported_by_the_firmware(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=NOTHING, defines=("TOY_FAULT",))
    with pytest.raises(MachineStop) as caught:
        run(image)
    # A precise bus fault (CFSR 0x8200) or a secure fault, escalated: with its address and place.
    text = str(caught.value)
    assert text.startswith("firmware fault: exception 0x00000003 CFSR 0x00008200")
    assert "BFAR 0x50000000" in text and " PC 0x1000" in text
    assert ", in add_weights" in text


def test_a_stack_overflow_is_reported_by_the_firmware(builder, run, tmp_path):
    memory = NOTHING.replace("return 0;", '__asm__ volatile("1: push {r0-r7}\\n b 1b"); return 0;')
    with pytest.raises(MachineStop, match=r"firmware fault: .*CFSR 0x00100000.*"):
        run(builder.image(tmp_path, memory=memory))


def test_a_misused_runtime_faults(builder, run, tmp_path):
    memory = NOTHING.replace("return 0;", "__builtin_trap();")
    with pytest.raises(MachineStop, match=r"firmware fault: .*CFSR 0x00010000"):
        run(builder.image(tmp_path, memory=memory))


def test_a_network_that_hangs_runs_out_of_time(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=NOTHING, defines=("TOY_HANG",))
    with pytest.raises(MachineStop, match=r"no answer after 0.5 s of computing: waited for outputs; qemu-system-arm"):
        run(image, timeout=0.5)


def test_another_abi_stamp_is_refused(builder, run, tmp_path):
    with pytest.raises(LinkFailure, match="built for abi stamp aaaa"):
        run(builder.image(tmp_path, memory=NOTHING, stamp="a" * 16))


def test_buffers_of_the_application(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=NOTHING, defines=("TOY_USER_IO",), user_io=True)
    assert run(image).networks[0].vectors == 5


def test_loading_where_no_memory_is(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=NOTHING)
    with pytest.raises(NeuralArtError, match="where no memory is"):
        run(image, loads=[(image.weights, 0x50000000)])
    with pytest.raises(NeuralArtError, match=r"missing.raw: cannot read"):
        run(image, loads=[(tmp_path / "missing.raw", FLASH)])


def test_the_command(builder, tmp_path, capsys):
    image = builder.image(tmp_path, memory=NOTHING)
    words = ["run", "--board", "mps3-an547", "--elf", str(image.elf), "--load", f"{image.weights}@{FLASH}"]
    words += ["--network", str(image.network), "--vectors", str(image.vectors)]
    assert cli.main(words) == 0
    assert "toy: 5 vectors bit-exact on qemu (cortex-m55 code; " in capsys.readouterr().out
    assert cli.main([*words, "--machine", "unicorn"]) == 1
    assert "board mps3-an547: no machine 'unicorn'" in capsys.readouterr().err


@pytest.mark.gdb
def test_gdb_speaks_with_qemu_itself(board, builder, tmp_path, request):
    image = builder.image(tmp_path, memory=NOTHING)
    load = ("--load", f"{image.weights}@0x71000000", "--machine", "qemu")
    run = Debugged(command(board.name, image.elf, image.network, image.vectors, *load), tmp_path)
    request.addfinalizer(run.kill)
    said = run.gdb("break main", "continue", "info registers pc", "delete", "detach")
    in_order(said, "Breakpoint 1, main () at", "<main", "detached")
    status, out, _ = run.end()
    assert status == 0 and "5 vectors bit-exact on qemu" in out


def test_qemu_that_is_not_there(builder, run, tmp_path, monkeypatch):
    image = builder.image(tmp_path, memory=NOTHING)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NeuralArtError, match=r"needs qemu-system-arm .*apt-get install"):
        run(image)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_qemu_that_ends_early(builder, run, tmp_path, monkeypatch):
    image = builder.image(tmp_path, memory=NOTHING)
    fake = tmp_path / "bin" / "qemu-system-arm"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'first words' >&2\necho 'qemu-system-arm: no such machine' >&2\nexit 7\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(MachineStop, match=r"ended early \(exit code 7\): qemu-system-arm: no such machine"):
        run(image)


def test_only_the_own_process_is_ended(board, builder, tmp_path):
    image = builder.image(tmp_path, memory=NOTHING)
    with qemu.QemuMachine(board, board.machines["qemu"], image.elf) as first:
        with qemu.QemuMachine(board, board.machines["qemu"], image.elf) as second:
            assert second._process.poll() is None
        assert second._process.poll() is not None
        assert first._process.poll() is None
    assert first._process.poll() is not None


def test_arguments():
    from neuralart.boards.types import Machine

    machine = Machine("qemu", (), "mps3-an547")
    words = qemu.arguments("qemu-system-arm", machine, Path("a b.elf"), [(Path("x,y.raw"), 0x71000000)])
    assert words == [
        *("qemu-system-arm", "-M", "mps3-an547", "-display", "none", "-monitor", "none", "-serial", "stdio"),
        *("-kernel", "a b.elf", "-device", "loader,file=x,,y.raw,addr=0x71000000,force-raw=on"),
    ]
    assert shutil.which("qemu-system-arm")
