"""Firmware that drives the registers of the NPU itself, on the virtual board: polled, by interrupt, by a program."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from neuralart import boards
from neuralart_virtual.emulator import MachineStop, runner
from neuralart_virtual.emulator.coherency import Conditions
from neuralart_virtual.emulator.gdb.debugged import DebuggedBoard
from neuralart_virtual.emulator.image import read_elf, read_raw
from neuralart_virtual.emulator.unicorn_board import UnicornBoard
from support.boards.firmware import N6_STEPS, Builder, have_gcc, memory_init

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
pytest.importorskip("numpy", reason="NumPy is not installed")
from support.npu import npu_network as made
from support.npu.npu_blob import Program

pytestmark = [pytest.mark.arm, pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH")]
BOARD, FLASH = boards.load("stm32n6570-dk"), 0x71000000
# Of the first epoch, which copies: its engine that writes, and the controller.
ENGINE, CONTROLLER = 0x580E9000, 0x580FE000
_C = """
#include <stdint.h>
#define REGISTER(address) (*(volatile uint32_t *)(address))
%(data)s
static volatile uint32_t calls, served;
static void handler(void) {
  served = REGISTER(0x580E1008);
  REGISTER(0x580E1010) = served;
  calls++;
}
static int drive(void) {
  static volatile uint32_t vectors[128] __attribute__((aligned(512)));
  for (int n = 0; n < 128; n++) { vectors[n] = ((const uint32_t *)REGISTER(0xE000ED08))[n]; }
  vectors[16 + 53] = (uint32_t)handler;
  REGISTER(0xE000ED08) = (uint32_t)vectors;
  for (int n = 0; n < %(count)d; n++) { ((volatile uint8_t *)%(input)#x)[n] = (uint8_t)(5 * n); }
  %(body)s
  ((volatile uint8_t *)%(input)#x)[0] = (uint8_t)(16 * calls + (served >> 28));
  return 0;
}
"""
SET = "for (unsigned n = 0; n < WORDS; n += 2) { REGISTER(words[n]) = words[n + 1]; } "
POLL = f"while (REGISTER({ENGINE:#x}) >> 31) {{ }}"
# Line 0 is active when bit 28 is set, or that of engine 4; the core takes it.
LISTEN = "REGISTER(0x580E1014) = ~(1u << 28 | 1u << 4); REGISTER(0xE000E104) = 1u << 21; "
WAIT = 'while (calls == 0) { __asm__ volatile(%s ::: "memory"); }'
START = f"REGISTER({CONTROLLER + 8:#x}) = (uint32_t)words; REGISTER({CONTROLLER:#x}) = 1; "


def copying(**more: int) -> list[int]:
    """Pairs of address and value: the registers of the first epoch, units enabled last. ``more``: fields of the engine
    that writes, by register and field.
    """
    state = made.epochs(made.Weights())[0].state
    for name, value in more.items():
        register, _, field = name.partition("__")
        state.unit("STRENG", 4).set(register, **{field: value})
    pairs = [
        (0x580E0000 | ip << 12 | offset, value)
        for ip, unit in state.by_ip.items()
        for offset, value in unit.words.items()
    ]
    return [word for pair in sorted(pairs, key=lambda pair: pair[0] & 0xFFF == 0) for word in pair]


class _Debugger:
    """Lets the core run."""

    board, attached, stepping = None, True, False


def started(folder: Path, words: list[int], body: str, *, debugged: bool = False) -> UnicornBoard:
    """The board, whose firmware drives the NPU before it says hello."""
    listed = ", ".join(f"0x{word:08x}u" for word in words)
    data = f"enum {{ WORDS = {len(words)} }};\n"
    data += f"static const uint32_t words[] __attribute__((aligned(8))) = {{{listed}}};"
    source = _C % {"data": data, "body": body, "count": made.IN_ELEMENTS, "input": made.RAM}
    memory = memory_init(tuple(N6_STEPS)).replace("return 0;", "return drive();")
    builder = Builder(folder / "objects", BOARD, "unicorn", FLASH, 0x342E0000)
    image = builder.image(folder / "image", memory=source + memory)
    given = BOARD, BOARD.machines["unicorn"], read_elf(image.elf), [read_raw(image.weights, FLASH)]
    debugger: Any = _Debugger()
    return DebuggedBoard(debugger, *given, Conditions()) if debugged else UnicornBoard(*given)


@pytest.mark.parametrize("wait", ["wfi", "wfe", "nop"])
@pytest.mark.parametrize("form", ["polled", "interrupt", "program"])
def test_an_epoch(tmp_path: Path, form: str, wait: str) -> None:
    """Its outputs are in the board's memory; handlers were called once, or never by firmware that polls."""
    words = copying(EVENT__EN_OFLOW_FRM=int(form == "interrupt"))
    body = SET + POLL
    if form == "interrupt":
        body = LISTEN + SET + WAIT % f'"{wait}"'
    elif form == "program":
        program = Program()
        program.epoch(1, made.epochs(made.Weights())[0].state)
        program.end()
        words = list(struct.unpack(f"<{len(program.data()) // 4}I", program.data()))
        body = LISTEN + START + WAIT % f'"{wait}"'
    board = started(tmp_path, words, body)
    runner.Session(board, timeout=20.0).hello()
    copied = [(5 * n + 128) & 0xFF for n in range(made.IN_ELEMENTS)]
    assert list(board.memory(made.RAM + made.COPY, made.IN_ELEMENTS)) == copied
    assert board.memory(made.RAM, 1)[0] == {"polled": 0, "interrupt": 16, "program": 17}[form]


@pytest.mark.parametrize("wait", ["wfi", "wfe", "nop"])
def test_with_a_debugger(tmp_path: Path, wait: str) -> None:
    board = started(tmp_path, copying(EVENT__EN_OFLOW_FRM=1), LISTEN + SET + WAIT % f'"{wait}"', debugged=True)
    assert isinstance(board, DebuggedBoard)
    for _ in range(1000):
        assert board.go(step=False) is None
        if board.memory(made.RAM, 1) == b"\x10":
            break
    copied = [(5 * n + 128) & 0xFF for n in range(made.IN_ELEMENTS)]
    assert list(board.memory(made.RAM + made.COPY, made.IN_ELEMENTS)) == copied
    assert board.memory(made.RAM, 1) == b"\x10"


def test_a_mode_that_is_not_executed(tmp_path: Path) -> None:
    board = started(tmp_path, copying(ENCR_MSB__EN=1), SET + POLL)
    with pytest.raises(MachineStop) as stopped:
        runner.Session(board, timeout=20.0).hello()
    assert "the virtual NPU: epoch 0: STRENG4 ENCR_MSB (0x044) EN = 1: encrypted streams are not" in str(stopped.value)
