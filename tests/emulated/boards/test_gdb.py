"""The GDB server with the real gdb: one image, few debuggers, each with a script of its own."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from neuralart import boards
from neuralart.flashing import nor as nor_files
from neuralart.text import image_header
from support.boards.debugging import Debugged, command, in_order
from support.boards.firmware import (
    N6_STEPS,
    PREFIX,
    WEIGHTS,
    Builder,
    Image,
    have_gcc,
    memory_init,
    pixels,
    reference,
    run_tool,
    write_plan,
)

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
pytestmark = [
    pytest.mark.arm,
    pytest.mark.gdb,
    pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH"),
]
BOARD = "stm32n6570-dk"
SCORES, SUMS = 0x342E0200, 0x342E0300


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("gdb")
    board = boards.load(BOARD)
    made = Builder(folder / "objects", board, "unicorn", 0x71000000, 0x342E0000).image(
        folder, memory=memory_init(tuple(N6_STEPS))
    )
    write_plan(folder, board, made)
    return made


@pytest.fixture
def debugged(request: pytest.FixtureRequest, tmp_path: Path):
    def start(command: Sequence[str]) -> Debugged:
        made = Debugged(command, tmp_path)
        request.addfinalizer(made.kill)
        return made

    return start


def words(image: Image, *more: str) -> list[str]:
    return command(BOARD, image.elf, image.network, image.vectors, *more)


def from_plan(image: Image) -> list[str]:
    folder = image.elf.parent
    return words(image, "--plan", str(folder / "flash_plan.json"), "--top", str(folder))


def test_from_main_to_bit_exact(debugged, image):
    run = debugged(from_plan(image))
    said = run.gdb(
        "break main",
        "continue",
        "info registers msp xpsr",
        "monitor banks",
        # The third epoch of the second inference.
        "tbreak sum_up",
        "ignore 2 1",
        "continue",
        "info registers control fpscr",
        "print/d *('LL_ATON_Input_Buffers_Info_toy'::table[0].addr_base.p)@16",
        f"print/d *(signed char*)0x{SCORES:x}@16",
        "stepi",
        "next",
        "finish",
        f"print/d *(short*)0x{SUMS:x}@4",
        f"watch *(signed char*)0x{SCORES:x}",
        f"rwatch *(signed char*)0x{SUMS:x}",
        "continue",
        "backtrace 2",
        "continue",
        "delete",
        "continue",
    )
    sums = [int.from_bytes(reference(pixels(1))[at : at + 2], "little", signed=True) for at in (16, 18, 20, 22)]
    signed = [byte - 256 * (byte > 127) for byte in pixels(1)]
    scores = [byte - 256 * (byte > 127) for byte in reference(pixels(1))[:16]]
    in_order(
        said,
        "Breakpoint 1, main () at",
        "msp            0x30020000",
        "xpsr           0x",
        "Temporary breakpoint 2, sum_up (",
        "control        0xc",
        f"= {{{', '.join(map(str, signed))}}}",
        f"= {{{', '.join(map(str, scores))}}}",
        f"= {{{', '.join(map(str, sums))}}}",
        "Hardware read watchpoint",
        "Value = ",
        "#0  send_outputs",
        "Hardware watchpoint",
        "Old value = ",
        "exited normally",
        "toy: 5 vectors bit-exact on unicorn",
    )
    assert "AXISRAM3   0x34200000    448 KiB  off: has no clock: set bit 0 of RCC_MEMENR" in said
    assert "AXISRAM1   0x34064000    624 KiB  on" in said
    status, out, error = run.end()
    assert status == 0 and "toy: 5 vectors bit-exact on unicorn" in out and not error


def test_load_writes_the_virtual_flash(debugged, image, tmp_path):
    """A flash with nothing but a start; gdb's load brings application and weights, and they stay in the file."""
    flash = tmp_path / "flash.nor"
    empty = nor_files.Nor(nor_files.chip_of(boards.load(BOARD)))
    # The boot chain wants something that looks like a program; it is never run.
    start = (0x34010000).to_bytes(4, "little") + (0x34000441).to_bytes(4, "little")
    empty.program(0x100000, image_header.make(start, "application"))
    empty.save(flash)
    folder = image.elf.parent
    for name, address in (("application.bin", 0x70100000), ("weights.bin", 0x71000000)):
        run_tool(
            [
                *(f"{PREFIX}objcopy", "-I", "binary", "-O", "elf32-littlearm", "--change-section-address"),
                *(f".data=0x{address:x}", str(folder / name), str(tmp_path / f"{name}.elf")),
            ]
        )
    run = debugged(words(image, "--nor", str(flash)))
    loop = (
        # The firmware is made to hang, and is stopped and repaired again.
        "set $kept = *(short*)$pc",
        "set *(short*)$pc = 0xe7fe",
        "python import threading",
        "python threading.Timer(0.2, lambda: gdb.post_event(lambda: gdb.execute('interrupt'))).start()",
        "continue",
        "set *(short*)$pc = $kept",
    )
    said = run.gdb(
        "file application.bin.elf",
        "load",
        "compare-sections",
        "load weights.bin.elf",
        "monitor flash",
        "monitor reset",
        "maintenance flush register-cache",
        f"file {image.elf}",
        "compare-sections .text",
        "tbreak main",
        "continue",
        *loop,
        "print/x *(unsigned char*)0x71000000@16",
        "set {int}0x71000000 = 4",
        "x/xb 0x34200000",
        "monitor nonsense",
    )
    weights = ", ".join(f"0x{byte:x}" for byte in WEIGHTS)
    in_order(
        said,
        "Loading section .data, size",
        "lma 0x70100000",
        "lma 0x71000000",
        "main () at",
        "Program received signal SIGINT",
        f"= {{{weights}}}",
    )
    assert "Section .data, range 0x70100000" in said and said.count(": matched.") == 2 and "MIS-MATCHED" not in said
    assert "0x70100000..0x70110000 is written" in said and "0x71000000..0x71010000 is written" in said
    assert "Writing to flash memory forbidden" in said
    assert "Cannot access memory at address 0x34200000" in said, "this bank is off"
    assert "the memories, and what each needs" in said
    # gdb has gone without an end: the program runs on.
    status, out, _ = run.end()
    assert status == 0 and "5 vectors bit-exact" in out
    kept = nor_files.load(flash)
    assert kept.read(0x1000000, 16) == WEIGHTS
    assert kept.read(0x100000, 0x2000).startswith((folder / "application.bin").read_bytes()[:0x1000])


def test_a_fault_stops_the_debugger_where_it_happens(debugged, image):
    run = debugged(from_plan(image))
    said = run.gdb("break add_weights", "continue", "set $pc = 0x34600000", "continue", "info registers pc", "kill")
    in_order(said, "add_weights (", "SIGSEGV", "0x34600000", "killed", "fetch at 0x34600000", "no memory is there")
    status, out, error = run.end()
    assert status == 0 and "bit-exact" not in out
    assert error == "neuralart run: note: the debugger ended the run\n"


def test_an_end_that_is_not_good(debugged, image):
    run = debugged(from_plan(image))
    # As Visual Studio Code calls: such a debugger does not hang up at the end.
    run.call[-1] = run.call[-1].replace("remote", "extended-remote")
    said = run.gdb("break sum_up", "continue", f"set {{char}}0x{SCORES:x} = 77", "delete", "continue")
    in_order(said, "sum_up (", "exited with code 02", "toy: vector 0, output 'scores' index 0: expected", "got 77")
    assert "communication error" not in said
    status, _, error = run.end()
    assert status == 2 and "got 77" in error


def test_a_power_cycle_that_starts_nothing(debugged, image):
    run = debugged(from_plan(image))
    said = run.gdb("flash-erase", "monitor flash", "monitor reset")
    assert "Erasing flash memory region at address 0x70000000" in said and "is written" not in said
    assert "application slot is empty: nothing was flashed" in said
    status, _, error = run.end()
    assert status == 2 and error.startswith("neuralart run: application slot is empty: nothing was flashed")


def test_interrupted_while_nobody_has_called(debugged, image):
    run = debugged(from_plan(image))
    run.process.send_signal(signal.SIGINT)
    status, _, error = run.end()
    assert status == 130 and error == "neuralart run: interrupted\n"
