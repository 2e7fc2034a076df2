"""The first-stage boot loader: from every kind of file, and refused where the boot ROM would not start it."""

from __future__ import annotations

import struct

import pytest

from neuralart import boards
from neuralart.errors import NeuralArtError
from neuralart.memory.image.boot_loader import boot_loader
from neuralart.text import image_header
from neuralart.text.ihex import ihex
from support.boards import images

SLOT, ROOM = 0x70000000, 0x100000
RUNS = 0x34180400
BARE = struct.pack("<II", 0x34200000, RUNS + 0x101) + bytes(range(248)) + b"\x00\xbf" * 64
SIGNED = image_header.make(BARE, "fsbl")


@pytest.fixture(scope="module")
def made():
    board = boards.load("stm32n6570-dk")
    return lambda data, room=ROOM: boot_loader(data, board, SLOT, room, "fsbl.x")


@pytest.mark.parametrize(
    "data",
    [
        SIGNED,
        BARE,
        ihex(SLOT, SIGNED).encode(),
        ihex(SLOT, BARE).encode(),
        images.elf([images.Sect(".all", RUNS, BARE)]),
    ],
    ids=["signed", "bare", "hex", "bare-hex", "elf"],
)
def test_every_kind_of_file_gives_the_same_bytes(made, data):
    assert made(data) == SIGNED


def test_gaps_of_a_hex_file_stay_erased(made):
    text = ihex(SLOT, SIGNED[:0x240]).replace(":00000001FF\n", "") + ihex(SLOT + 0x400, SIGNED[0x400:])
    with pytest.raises(NeuralArtError, match="checksum 0x"):
        made(text.encode())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it does not begin with a vector table"),
        (b"\x00" * 400, "it does not begin with a vector table"),
        (image_header.make(BARE, "application"), "binary type 0x0, not 0x10"),
        (SIGNED[:-32], "the signed image is wrong: truncated: "),
        (SIGNED[:0x100], "the file ends inside the image header"),
        (ihex(0x70100000, SIGNED).encode(), "it goes to 0x70100000, the slot of the first-"),
        (b":00000001FF\n", "it holds no bytes"),
        (b":0000", "is no record of an Intel HEX file"),
        (b"\x7fELF", "fsbl.x"),
    ],
)
def test_what_the_boot_rom_would_not_start(made, data, said):
    with pytest.raises(NeuralArtError) as caught:
        made(data)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_it_must_fit(made):
    with pytest.raises(NeuralArtError, match=f"{len(SIGNED)} bytes, the slot at 0x70000000 has room for 1024"):
        made(SIGNED, 1024)
