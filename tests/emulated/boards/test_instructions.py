"""Instructions of each epoch, counted on both kinds of virtual machines; and our firmware with profile.c in it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from neuralart import boards
from neuralart.boards.types import Machine
from neuralart.errors import NeuralArtError
from neuralart_insight.profiling.counter_log import parse_counter_log
from neuralart_virtual.emulator import runner
from neuralart_virtual.emulator.coherency import Conditions
from neuralart_virtual.emulator.image import Symbols, read_elf, read_raw
from neuralart_virtual.emulator.instructions import EpochInstructions, QemuCounter
from neuralart_virtual.emulator.unicorn_board import UnicornBoard
from neuralart_virtual.validation_link.client import PER_LAYER, ValidationClient
from support.boards.firmware import N6_STEPS, Builder, have_gcc, have_qemu, memory_init, pixels

pytestmark = [pytest.mark.arm, pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH")]

FLASH = 0x71000000
EPOCHS = {"add_weights": 1, "reverse": 2, "sum_up": 3}
# 1 + 5 turns of 100,000 + 3 of the conditional part + 1: all instructions that are executed, skipped ones included.
LOOP = """
__attribute__((naked, noinline, used)) int counted(void) {
  __asm__ volatile(
      "movw r0, #50000\\n 1: subs r0, r0, #1\\n nop.w\\n nop\\n bne 1b\\n"
      "cmp r0, #1\\n ite eq\\n moveq r0, #1\\n movne r0, #0\\n bx lr\\n");
}
"""
COUNTED = 1 + 4 * 50_000 + 4 + 1


def image_of(folder: Path, kind: str, steps: tuple[str, ...], name: str, ram: int):
    board = boards.load(name)
    builder = Builder(folder / "objects", board, kind, FLASH, ram)
    memory = (LOOP + memory_init(steps)).replace("return 0;", "return counted();")
    return board, builder, builder.image(folder / "image", memory=memory)


def counts_of(board, kind, image) -> EpochInstructions:
    found = EpochInstructions({"counted": 0, **EPOCHS})
    runs = [runner.NetworkRun(image.network, image.vectors)]
    given = Conditions(counts=found)
    result = runner.run(board, kind, image.elf, [(image.weights, FLASH)], runs, surroundings=given, timeout=20.0)
    assert result.networks[0].vectors == len(found.samples) == 5
    assert all(set(each) >= {1, 2, 3} for each in found.samples)
    return found


def test_unicorn_counts_each_instruction(tmp_path):
    unicorn = pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
    board, _, image = image_of(tmp_path, "unicorn", tuple(N6_STEPS), "stm32n6570-dk", 0x342E0000)
    found = counts_of(board, "unicorn", image)
    assert found.samples[0][0] == COUNTED
    # One by one: a hook for each instruction of the functions tells the same (they call nothing).
    seen = dict.fromkeys(EPOCHS.values(), 0)
    machine = UnicornBoard(
        board, board.machines["unicorn"], read_elf(image.elf), [read_raw(image.weights, FLASH)], Conditions()
    )

    def step(uc, address, size, data):
        seen[EPOCHS.get(machine.symbols.name_at(address).partition("+")[0], 0)] += 1

    seen[0] = 0
    machine._uc.hook_add(unicorn.UC_HOOK_CODE, step)
    session = runner.Session(machine, timeout=20.0)
    session.hello()
    session.infer(0, pixels(0))
    assert {epoch: seen[epoch] for epoch in (1, 2, 3)} == {epoch: found.samples[0][epoch] for epoch in (1, 2, 3)}


@pytest.mark.qemu
@pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH")
def test_qemu_counts_each_instruction(tmp_path):
    board, _, image = image_of(tmp_path, "qemu", (), "mps3-an547", 0x31000000)
    found = counts_of(board, "qemu", image)
    assert found.samples[0][0] == COUNTED
    assert counts_of(board, "qemu", image).samples == found.samples
    assert len({each[2] for each in found.samples}) == 1  # reverse() does the same with any data
    with pytest.raises(NeuralArtError, match="the image has no function epoch_9"):
        runs = [runner.NetworkRun(image.network, image.vectors)]
        given = Conditions(counts=EpochInstructions({"epoch_9": 9}))
        runner.run(board, "qemu", image.elf, [(image.weights, FLASH)], runs, surroundings=given)


def test_no_packet_to_qemu_waits_for_an_acknowledgement():
    counter = QemuCounter(boards.load("mps3-an547").machines["qemu"], Symbols([]), EpochInstructions({}))
    with socket.create_connection(counter._listener.getsockname()) as qemu:
        counter.start()
        assert qemu.recv(30) == b"$Qqemu.sstep=1#d4"
        assert counter._stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    counter.join()


def test_every_qemu_of_a_board_has_a_counter():
    machines = [boards.load(name).machines for name in boards.names()]
    assert all(each["qemu"].counter and each["qemu"].counter_hz for each in machines if "qemu" in each)
    with pytest.raises(NeuralArtError, match="instructions are not counted on QEMU's x"):
        QemuCounter(Machine("qemu", (), "x"), Symbols([]), EpochInstructions({}))


def test_the_reference_application_sends_lines_for_a_profiler(tmp_path):
    """Cycles are 0 here, as no DWT counts; how they are counted is in tests/unit/profiling/test_profile_counters.py."""
    pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
    board = boards.load("stm32n6570-dk")
    builder = Builder(tmp_path / "objects", board, "unicorn", FLASH, 0x342E0000)
    defines = ("NEURALART_VALIDATION_LINK", "NEURALART_VALIDATION_SILENCE=30u", "NEURALART_PROFILE")
    image = builder.image(tmp_path / "image", memory=memory_init(tuple(N6_STEPS)), app_defines=defines)
    machine = UnicornBoard(board, board.machines["unicorn"], read_elf(image.elf), [read_raw(image.weights, FLASH)])
    client = ValidationClient(machine)
    (network,) = client.networks()
    assert client.lines[:3] == ["s:config:version:1.0", "s:config:dev_id:0x486", "s:config:mcu_freq:0"]
    *layers, whole = client.run(network, [pixels(0)], PER_LAYER)
    assert [layer.lines[0] for layer in layers] == [
        f"s:node:evt_pre_start:{n}:{n}:{n}:{n}:00000023:05000002:SW" for n in range(3)
    ]
    assert {layer.lines[2:] for layer in layers} == {("s:node:mcu_cycles:0:0:0",)} and not whole.lines
    (measured,) = parse_counter_log("\n".join(client.lines).encode(), "board")
    assert [(epoch.first, epoch.kind) for epoch in measured.epochs] == [(0, "SW"), (1, "SW"), (2, "SW")]
    # To a host that keeps no lines none are sent. Without such a host they are text of the console.
    client.run(network, [pixels(0)])
    console = runner.run(
        board, "unicorn", image.elf, [(image.weights, FLASH)], [runner.NetworkRun(image.network, image.vectors)]
    ).console
    assert sum(line.startswith("s:node:evt_post_end") for line in console) == 15
