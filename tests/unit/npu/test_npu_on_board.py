"""A compiled network on the memories of a virtual board, without a core: what its firmware forgot is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart import boards
from neuralart.boards.types import MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator import MachineStop
from neuralart_virtual.emulator.banks import Banks
from neuralart_virtual.emulator.image import Load
from neuralart_virtual.emulator.power import Power
from neuralart_virtual.npu.on_board import NetworkOnBoard
from neuralart_virtual.npu.run import load
from support.npu import npu_network as made

BOARD = boards.load("stm32n6570-dk")
RAW = made.Weights().data()


class Gates(Power):
    """All memories answer but those that are named."""

    off: tuple[str, ...] = ()

    def missing(self, region: MemoryRegion) -> str:
        return f"{region.name} has no clock" if region.name in self.off else ""


def board(*loads: tuple[int, bytes], off: tuple[str, ...] = ()) -> Banks:
    power = Gates(BOARD)
    power.off = off
    banks = Banks(None, BOARD, power)
    for address, data in loads:
        banks.load(Load("constants", address, data))
    return banks


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(NeuralArtError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_memory_is_shared_not_copied() -> None:
    banks = board((0x34063FFC, b"12345678"))
    between = banks.shared(0x34063FFE, 4)
    assert bytes(between) == b"3456", "buffers reach from one bank into the next"
    between[:] = b"abcd"
    assert banks.peek(0x24063FFC, 8) == b"12abcd78", "at both addresses"
    flash = banks.shared(0x70380000, 2)
    assert bytes(flash) == b"\xff\xff" and flash.readonly


@pytest.mark.parametrize(
    ("address", "size", "said"),
    [
        (0x342E0000, 4, "4 bytes at 0x342e0000: at 0x342e0000, AXISRAM5 has no clock"),
        (0x342DFFFE, 4, "4 bytes at 0x342dfffe: at 0x342e0000, AXISRAM5 has no clock"),
        (0x3441FFFE, 4, "4 bytes at 0x3441fffe: at 0x34420000, no memory is there"),
        (0x50000000, 1, "1 bytes at 0x50000000: no memory is there"),
        (0xFFFFFFFE, 4, "4 bytes at 0xfffffffe: no memory is there"),
    ],
)
def test_memory_that_does_not_answer(address: int, size: int, said: str) -> None:
    with pytest.raises(MachineStop) as caught:
        board(off=("AXISRAM5",)).shared(address, size)
    assert str(caught.value) == said


@pytest.mark.parametrize("controller", [False, True])
def test_outputs_and_memory_are_those_of_a_run_on_its_own(tmp_path: Path, controller: bool) -> None:
    path = made.write(tmp_path, controller=controller)
    alone = load(path)
    alone.set_input("image", made.image())
    wanted = alone.run().outputs["scores"].tobytes()
    banks = board((made.FLASH, RAW))
    network = NetworkOnBoard(banks, tmp_path)
    assert network.infer(made.image()) == wanted
    assert network.infer(bytes(made.IN_ELEMENTS)) != wanted
    assert network.infer(made.image()) == wanted
    # Between the buffers stands what RAM was full of before.
    here = np.frombuffer(banks.peek(made.RAM, 0x620), np.uint8)
    there = alone.memory.view(made.RAM, 0x620)
    assert set(np.unique(here[here != there]).tolist()) <= {0xA5}
    assert banks.peek(made.RAM + made.OUTPUT, len(wanted)) == wanted


# ---- what goes wrong on a bench ----


def test_a_file_that_was_not_flashed(tmp_path: Path) -> None:
    made.write(tmp_path, controller=False)
    said = refusal(lambda: NetworkOnBoard(board(), tmp_path))
    first = next(at for at, byte in enumerate(RAW) if byte != 0xFF)
    assert said.startswith("made.c: pool xSPI2 at 0x71000000 does not hold made_atonbuf.xSPI2.raw: ")
    assert f"the first at 0x{made.FLASH + first:08x} is 0xff, not 0x{RAW[first]:02x}" in said
    assert said.endswith("(nothing was written to this flash)")


def test_the_weights_of_another_model(tmp_path: Path) -> None:
    made.write(tmp_path, controller=False)
    other = made.Weights(np.random.default_rng(8)).data()
    said = refusal(lambda: NetworkOnBoard(board((made.FLASH, other)), tmp_path))
    assert "pool xSPI2 at 0x71000000 does not hold made_atonbuf.xSPI2.raw: " in said
    assert said.endswith("(the constants of another model, or of another compile?)")


@pytest.mark.parametrize("place", [0, len(RAW) // 2, len(RAW) - 1])
def test_one_byte(tmp_path: Path, place: int) -> None:
    made.write(tmp_path, controller=False)
    data = bytearray(RAW)
    data[place] ^= 0x10
    said = refusal(lambda: NetworkOnBoard(board((made.FLASH, bytes(data))), tmp_path))
    assert f"1 of {len(RAW)} bytes differ, the first at 0x{made.FLASH + place:08x} is 0x{data[place]:02x}" in said


def test_a_pool_at_another_address(tmp_path: Path) -> None:
    made.write(tmp_path, controller=False)
    said = refusal(lambda: NetworkOnBoard(board((made.FLASH + 0x10000, RAW)), tmp_path))
    assert "pool xSPI2 at 0x71000000 does not hold made_atonbuf.xSPI2.raw: " in said
    assert said.endswith("(its first bytes are at 0x71010000)")


def test_a_bank_that_is_off(tmp_path: Path) -> None:
    made.write(tmp_path, controller=False)
    said = refusal(lambda: NetworkOnBoard(board((made.FLASH, RAW), off=("AXISRAM5",)), tmp_path))
    assert said == "made.c: pool AXISRAM5 at 0x342e0000: 1 bytes at 0x342e0000: at 0x342e0000, AXISRAM5 has no clock"


def test_a_bank_that_no_pool_names(tmp_path: Path) -> None:
    """Only an epoch reaches it."""
    path = made.write(tmp_path, controller=False)
    text = path.read_text()
    members = "    .offset_start = {},\n    .offset_end = {},\n    .offset_limit = {},\n"
    before, after = (members.format(at, at + made.COUNT, at + made.COUNT + 64) for at in (made.AVERAGE, 0x70000))
    assert before in text
    path.write_text(text.replace(before, after))
    network = NetworkOnBoard(board((made.FLASH, RAW), off=("AXISRAM6",)), tmp_path)
    said = refusal(lambda: network.infer(made.image()))
    assert said.startswith("made.c: epoch 4: ") and "AXISRAM6 has no clock" in said, said


@pytest.mark.parametrize("what", ["stream", "software"])
def test_nothing_writes_to_flash(tmp_path: Path, what: str) -> None:
    path = made.write(tmp_path, controller=False)
    text = path.read_text()
    ram, flash = f"0x{made.RAM:08x}UL", f"0x{made.FLASH:08x}UL"
    if what == "stream":
        at = text.index(".dir = 1,")
        text = text[:at] + text[at:].replace(ram, flash, 2)
    else:
        at = text.index("general.output")
        text = text[:at] + text[at:].replace(ram, flash, 1)
    path.write_text(text)
    banks = board((made.FLASH, RAW))
    said = refusal(lambda: NetworkOnBoard(banks, tmp_path).infer(made.image()))
    assert said.startswith("made.c:") and said.endswith(
        "epoch 1: STRENG4: writes to flash" if what == "stream" else "ll_sw_forward_dequantizelinear writes to flash"
    )
    assert banks.peek(made.FLASH, len(RAW)) == RAW


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "made.c").unlink(), "holds 0 generated networks in C, not one"),
        (lambda folder: os.link(folder / "made.c", folder / "b.c"), "holds 2 generated networks in C, not one"),
        (lambda folder: (folder / "made_atonbuf.xSPI2.raw").unlink(), "no file with them is given"),
        (lambda folder: (folder / "made_ecblobs.h").unlink(), "made_ecblobs.h: cannot read"),
    ],
)
def test_a_folder_that_is_not_whole(tmp_path: Path, damage: Callable[[Path], Any], said: str) -> None:
    made.write(tmp_path, controller=True)
    damage(tmp_path)
    assert said in refusal(lambda: NetworkOnBoard(board((made.FLASH, RAW)), tmp_path))
