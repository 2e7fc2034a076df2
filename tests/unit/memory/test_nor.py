"""The virtual NOR flash: what erasing and programming do, and the file that keeps it."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart import boards
from neuralart.errors import NeuralArtError
from neuralart.flashing.nor import Chip, Nor, chip_of, load, load_for

BASE = 0x70000000
CHIP = Chip(BASE, 16 * 64, 64)


def erased(size: int) -> bytes:
    return b"\xff" * size


@pytest.fixture
def nor():
    return Nor(CHIP)


def test_a_new_chip_is_erased(nor):
    assert nor.read(0, CHIP.size) == erased(CHIP.size)
    assert list(nor.contents()) == []


def test_programming_clears_bits_only(nor):
    nor.program(10, b"\xf0")
    nor.program(10, b"\x30")
    assert nor.read(9, 3) == b"\xff\x30\xff"
    with pytest.raises(NeuralArtError) as caught:
        nor.program(8, b"\xff\xff\x31\xff")
    assert "programming 0x31 over 0x30 at offset 0xa: bits turn from 0 to 1 by erasing only" in str(caught.value)
    assert nor.read(8, 4) == b"\xff\xff\x30\xff"


def test_a_refused_write_programs_nothing(nor):
    nor.program(100, b"\0")
    with pytest.raises(NeuralArtError, match="offset 0x64"):
        nor.program(60, b"\x11" * 60)
    assert nor.read(60, 40) == erased(40)


def test_erase_takes_whole_sectors(nor):
    nor.program(0, b"\0" * 200)
    nor.erase(64, 64)
    assert nor.read(0, 200) == b"\0" * 64 + erased(64) + b"\0" * 72
    for offset, count in ((1, 64), (64, 63), (0, 1)):
        with pytest.raises(NeuralArtError, match="sectors have 64 bytes"):
            nor.erase(offset, count)


@pytest.mark.parametrize(("offset", "count"), [(CHIP.size, 1), (CHIP.size - 3, 4), (-1, 2), (1 << 40, 64), (0, -64)])
def test_bounds(nor, offset, count):
    with pytest.raises(NeuralArtError, match="the chip has 1024 bytes"):
        nor.read(offset, count)
    with pytest.raises(NeuralArtError, match="the chip has 1024 bytes"):
        nor.erase(offset, count)
    if count > 0:
        with pytest.raises(NeuralArtError, match="the chip has 1024 bytes"):
            nor.program(offset, bytes(count))


def test_nothing_at_the_very_end_is_fine(nor):
    assert nor.read(CHIP.size, 0) == b""
    nor.program(CHIP.size, b"")
    nor.erase(CHIP.size, 0)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("erase"), st.integers(0, 15), st.integers(0, 3)),
        st.tuples(st.just("program"), st.integers(0, CHIP.size - 1), st.binary(max_size=150)),
    ),
    max_size=20,
)


@given(steps=steps)
def test_it_behaves_as_a_plain_array_would(steps, tmp_path_factory):
    nor, model = Nor(CHIP), bytearray(erased(CHIP.size))
    for verb, where, what in steps:
        if verb == "erase":
            count = min(what, 16 - where) * 64
            nor.erase(where * 64, count)
            model[where * 64 : where * 64 + count] = erased(count)
            continue
        data = what[: CHIP.size - where]
        possible = all(new & ~old == 0 for new, old in zip(data, model[where:], strict=False))
        if possible:
            nor.program(where, data)
            model[where : where + len(data)] = data
        else:
            with pytest.raises(NeuralArtError, match="bits turn from 0 to 1"):
                nor.program(where, data)
    assert nor.read(0, CHIP.size) == bytes(model)
    path = tmp_path_factory.mktemp("nor") / "flash.nor"
    nor.save(path)
    again = load(path)
    assert again.chip == CHIP and again.read(0, CHIP.size) == bytes(model)
    filled = sum(model[n : n + 64] != erased(64) for n in range(0, CHIP.size, 64))
    assert path.stat().st_size == 36 + filled * 68
    joined = bytearray(erased(CHIP.size))
    last = -1
    for offset, data in nor.runs():
        assert offset > last
        joined[offset : offset + len(data)] = data
        last = offset + len(data)
    assert joined == model


def test_equal_contents_make_equal_files(tmp_path):
    one, other = Nor(CHIP), Nor(CHIP)
    one.program(70, b"abc")
    other.program(900, b"gone")
    other.program(3, b"\xff")
    other.erase(896, 64)
    other.program(70, b"abc")
    one.save(tmp_path / "one")
    other.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_large_chip_costs_what_is_in_it(tmp_path):
    chip = chip_of(boards.load("stm32n6570-dk"))
    assert chip == Chip(0x70000000, 128 << 20, 64 << 10)
    nor = Nor(chip)
    nor.save(tmp_path / "empty")
    assert (tmp_path / "empty").stat().st_size == 36
    nor.program((128 << 20) - 1, b"\0")
    nor.save(tmp_path / "one")
    assert (tmp_path / "one").stat().st_size == 36 + 4 + (64 << 10)
    assert load(tmp_path / "one").read((128 << 20) - 2, 2) == b"\xff\0"


@pytest.fixture
def saved(nor, tmp_path):
    nor.program(64, bytes(range(200)))
    path = tmp_path / "flash.nor"
    nor.save(path)
    return path


@given(data=st.data())
def test_any_damage_is_seen(data, tmp_path_factory):
    nor = Nor(CHIP)
    nor.program(64, bytes(range(200)))
    path = tmp_path_factory.mktemp("nor") / "flash.nor"
    nor.save(path)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])
    with pytest.raises(NeuralArtError):
        load(path)
    path.write_bytes(whole[:at])
    with pytest.raises(NeuralArtError):
        load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(NeuralArtError, match="make 308"):
        load(path)


def test_messages_of_damage(saved):
    whole = saved.read_bytes()
    saved.write_bytes(b"hello")
    with pytest.raises(NeuralArtError, match="not a virtual flash"):
        load(saved)
    saved.write_bytes(whole[:20])
    with pytest.raises(NeuralArtError, match="cut short: 20 bytes, the header has 36"):
        load(saved)
    saved.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(NeuralArtError, match=r"damaged: CRC 0x\w{8}, computed 0x\w{8} .delete it"):
        load(saved)
    with pytest.raises(NeuralArtError, match="cannot read"):
        load(saved.with_name("nowhere"))


@pytest.mark.parametrize(
    ("geometry", "index", "message"),
    [
        ((0, 100, 64, 1), (0,), "no such chip"),
        ((0, 1024, 0, 0), (), "no such chip"),
        ((0xFFFFFFC0, 128, 64, 1), (0,), "no such chip"),
        ((0, 1024, 64, 2), (3, 3), "do not ascend"),
        ((0, 1024, 64, 2), (3, 2), "do not ascend"),
        ((0, 1024, 64, 1), (16,), "do not ascend"),
    ],
)
def test_a_file_that_is_whole_and_wrong(tmp_path, geometry, index, message):
    import zlib

    head = struct.pack("<QQII", *geometry)
    body = struct.pack(f"<{len(index)}I", *index) + bytes(geometry[2] * len(index))
    crc = struct.pack("<I", zlib.crc32(head + body))
    path = tmp_path / "wrong.nor"
    path.write_bytes(b"NARNOR1\0" + head + crc + body)
    with pytest.raises(NeuralArtError, match=message):
        load(path)


def test_writing_is_whole_or_not_at_all(saved, monkeypatch):
    from pathlib import Path

    before = saved.read_bytes()
    nor = load(saved)
    nor.erase(0, CHIP.size)

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(NeuralArtError, match="No space left on device"):
        nor.save(saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before


def test_the_chip_of_a_board(saved):
    board = boards.load("stm32n6570-dk")
    with pytest.raises(NeuralArtError, match="it is a chip of 1024 bytes at 0x70000000 in sectors of 64, board"):
        load_for(saved, board)
    small = replace(board, flash={"base": BASE, "size": 1024, "sector": 64})
    assert load_for(saved, small).read(64, 3) == b"\0\1\2"
    with pytest.raises(NeuralArtError, match="has no 'flash: base'"):
        chip_of(replace(board, flash={}))
    with pytest.raises(NeuralArtError, match="not made of sectors of 60"):
        chip_of(replace(board, flash={"base": BASE, "size": 1024, "sector": 60}))
