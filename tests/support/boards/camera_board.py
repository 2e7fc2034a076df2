"""Runs the camera example on the virtual STM32N6, then reads its result as a debugger would."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from neuralart import boards
from neuralart_virtual.emulator import MachineStop
from neuralart_virtual.emulator.image import read_elf, read_raw
from neuralart_virtual.emulator.unicorn_board import UnicornBoard


def _symbol(elf: Path, name: str) -> int:
    with elf.open("rb") as stream:
        (symbol,) = ELFFile(stream).get_section_by_name(".symtab").get_symbol_by_name(name)
        return int(symbol["st_value"])


def run(elf: Path, images: Sequence[tuple[Path, int]]) -> int:
    """The value of ``camera_result`` when the firmware has gone to sleep."""
    board = boards.load("stm32n6570-dk")
    loads = [read_raw(path, address) for path, address in images]
    machine = UnicornBoard(board, board.machines["unicorn"], read_elf(elf), loads)
    with pytest.raises(MachineStop, match="sleeps at start"):
        machine.read(20)
    return int.from_bytes(machine.memory(_symbol(elf, "camera_result"), 4), "little", signed=True)
