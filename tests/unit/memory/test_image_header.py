"""The header of an STM32N6 image: made, read again, and found out when it is damaged."""

from __future__ import annotations

import csv
import json
import os
import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.boards import fields
from neuralart.cli import main
from neuralart.errors import NeuralArtError
from neuralart.text import image_header
from neuralart.text.ihex import ihex
from neuralart.text.image_header import LAYOUTS, VECTOR_TABLE, find, make, problems, read
from neuralart_virtual.emulator import MachineStop
from neuralart_virtual.emulator.image import _check_header

STACK, RESET = 0x34100000, 0x34000455
VERSIONS = sorted(LAYOUTS)


def program(size: int = 1000, stack: int = STACK, reset: int = RESET) -> bytes:
    """A program: a vector table of 16 + 195 entries, then something."""
    table = struct.pack("<211I", stack, reset, *(0x34000501 + 4 * n for n in range(209)))
    return (table + bytes(n * 7 & 0xFF for n in range(size)))[: max(size, len(table))]


def damaged(data: bytes, at: int, value: int) -> list[str]:
    """Problems after one word was changed."""
    return problems(read(data[:at] + struct.pack("<I", value) + data[at + 4 :]))


@pytest.mark.parametrize("version", VERSIONS, ids=hex)
@pytest.mark.parametrize("kind", ["fsbl", "ssbl", "application"])
def test_an_image_that_was_made_is_read_again_without_a_problem(kind: str, version: int) -> None:
    made = make(program(), kind, version)
    image = read(made)
    assert problems(image) == []
    assert (image.entry_point, image.vector(0), image.vector(1)) == (RESET, STACK, RESET)
    assert image.vector_table == VECTOR_TABLE and made[VECTOR_TABLE : VECTOR_TABLE + 1000] == program()
    assert image.binary_type == (0x10 if kind == "fsbl" else 0)
    assert (image.layout.size + image.image_length, image.image_length % 32) == (len(made), 0)
    assert not image.signed and image.load_address == 0xFFFFFFFF


def test_fields_stand_where_the_format_says() -> None:
    made = make(program(), "fsbl")
    words = {at: struct.unpack_from("<I", made, at)[0] for at in range(0, 0x240, 4)}
    length = len(made) - 0x240
    expected = {0x00: 0x324D5453, 0x64: sum(made[0x240:]), 0x68: 0x20300, 0x6C: length, 0x70: RESET}
    expected |= {0x78: 0xFFFFFFFF, 0x84: 0x80000000, 0x88: 0x1A0, 0x8C: 0x10, 0xA0: 0xFFFF5453, 0xA4: 0x1A0}
    assert {at: word for at, word in words.items() if word} == expected


@given(st.binary(min_size=0, max_size=300), st.sampled_from(VERSIONS))
def test_any_program_behind_a_vector_table_keeps_its_bytes(more: bytes, version: int) -> None:
    body = struct.pack("<II", STACK, RESET) + more
    made = make(body, "application", version)
    assert made[VECTOR_TABLE : VECTOR_TABLE + len(body)] == body
    assert not made[VECTOR_TABLE + len(body) :].strip(b"\0")
    assert problems(read(made)) == []


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (0x64, 1, "checksum 0x00000001, the payload has 0x"),
        (0x6C, 0x1000, "truncated: "),
        (0x6C, 0x3E1, "image length 993 is not a multiple of 32"),
        (0x70, RESET + 2, f"entry 0x{RESET + 2:08x} is not the reset handler 0x{RESET:08x}"),
        (0x78, 0x34000000, "load address 0x34000000, not 0xffffffff: the boot ROM would move the image"),
        (0x8C, 7, "binary type 0x7 is neither 0x10 (fsbl) nor 0 (anything else)"),
        (0xA0, 0, "extension 0x00000000 instead of the padding extension 0xffff5453"),
        (0x400, 0x12345678, "no vector table at 0x400, where the boot chain looks for it"),
        (0x404, 0x34000454, "no vector table at 0x400, where the boot chain looks for it"),
        (0x500, 0, "checksum 0x"),
    ],
)
def test_each_damaged_field_is_named(at: int, value: int, said: str) -> None:
    assert any(text.startswith(said) for text in damaged(make(program(), "application"), at, value))


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (0x64, 1, "checksum 0x00000001"),
        (0x6C, 0x100000, "truncated: "),
        (0x70, RESET + 2, "is not the reset handler"),
        (0x78, 0x34000000, "the boot ROM would move the image"),
        (0x8C, 7, "binary type 0x7"),
        (0x400, 0x12345678, "no vector table at 0x400"),
        (0, 0, "it does not begin with STM2"),
    ],
)
def test_the_virtual_boot_rom_starts_no_damaged_image(at: int, value: int, said: str) -> None:
    whole = make(program(), "application")
    chip = SimpleNamespace(size=0x10000, base=0)

    def flash(data: bytes) -> Any:
        held = data.ljust(chip.size, b"\xff")
        return SimpleNamespace(chip=chip, read=lambda offset, size: held[offset : offset + size])

    assert _check_header(flash(whole), 0, "slot").entry_point == RESET
    bad = bytearray(whole)
    struct.pack_into("<I", bad, at, value)
    if at >= 0x240:
        struct.pack_into("<I", bad, 0x64, sum(bad[0x240:]))  # or the checksum would be what is wrong
    with pytest.raises(MachineStop, match="the boot chain does not start it") as stopped:
        _check_header(flash(bytes(bad)), 0, "slot")
    assert said in str(stopped.value)


@pytest.mark.parametrize("cut", [0x240, 0x241, 0x400, 0x404, 0x408, 0x500])
def test_a_truncated_image_says_how_much_is_there(cut: int) -> None:
    made = make(program(), "application")
    image = read(made[:cut])
    assert problems(image)[0] == f"truncated: {cut - 0x240:,} of {len(made) - 0x240:,} bytes are there"
    assert not image.checksum_ok


def test_a_table_right_behind_the_header_is_named_for_what_it_is() -> None:
    """Tool 2.21 without -align: the table comes to 0x240, the entry is still taken from 0x404."""
    aligned = make(program(), "application")
    body = program() + bytes(-len(program()) % 32)
    header = bytearray(aligned[:0x240])
    vector = struct.unpack_from("<I", body, 4 * 113)[0]
    struct.pack_into("<I", header, 0x64, sum(body) & 0xFFFFFFFF)
    struct.pack_into("<2I", header, 0x6C, len(body), vector)
    assert problems(read(bytes(header) + body)) == [
        f"vector table at 0x240, not 0x400; entry 0x{vector:08x} is interrupt vector 113 (signed without -align)"
    ]


def test_images_are_found_wherever_they_stand() -> None:
    one, other = make(program(), "fsbl"), make(program(2000), "application", 0x00020100)
    gap = b"\xff" * 512
    assert list(find(gap + one + gap + other)) == [512, 1024 + len(one)]
    assert list(find(b"STM2" * 300)) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no image header at 0x0"),
        (b"STM2" + bytes(600), "header of unknown version at 0x0"),
        (make(program(), "fsbl")[:0x100], "the file ends inside the image header: 256 of 576 bytes"),
    ],
)
def test_what_is_no_image_is_one_error(data: bytes, said: str) -> None:
    with pytest.raises(NeuralArtError, match=said):
        read(data, where="x.bin")


@given(st.binary(max_size=1200))
def test_any_bytes_behind_a_magic_are_read_or_refused(noise: bytes) -> None:
    data = b"STM2" + noise[:0x64] + struct.pack("<I", 0x20300) + noise
    for at in find(data):
        assert problems(read(data, at)) or read(data, at).checksum_ok


def test_sign_writes_the_same_bytes_twice_and_refuses_a_signed_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare, signed, again = (tmp_path / name for name in ("firmware.bin", "signed.bin", "again.bin"))
    bare.write_bytes(program())
    assert main(["tool", "sign", str(bare), "-o", str(signed), "--type", "fsbl"]) == 0
    assert "type fsbl, entry 0x34000455, vector table at 0x400; no signature" in capsys.readouterr().out
    assert main(["tool", "sign", str(bare), "-o", str(again), "--type", "fsbl"]) == 0
    assert signed.read_bytes() == again.read_bytes()
    assert main(["tool", "sign", str(signed), "-o", str(again)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"neuralart sign: error: {signed}: it has an image header already (sign the bare image, firmware.bin)"
    )
    assert main(["tool", "sign", str(bare), "-o", str(bare)]) == 1
    assert "firmware.bin: is there already, and does not say that we made it" in capsys.readouterr().err
    assert main(["tool", "sign", str(bare), "-o", str(bare), "--force"]) == 1
    assert bare.read_bytes() == program() and "firmware.bin: it is the bare image" in capsys.readouterr().err
    bare.write_bytes(b"\x7fELF" + bytes(100))
    assert main(["tool", "sign", str(bare), "-o", str(again)]) == 1
    assert "it does not begin with a vector table: words 0x464c457f" in capsys.readouterr().err


@pytest.mark.real
def test_headers_of_published_images_are_read_and_made_again() -> None:
    folder = os.environ.get("NEURALART_REAL_DATA")
    table = Path(folder or "") / "n6_image_headers.tsv"
    if not folder or not table.is_file():
        pytest.skip("no n6_image_headers.tsv in NEURALART_REAL_DATA")
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines(), delimiter="\t"))
    assert rows
    for row in rows:
        data = bytes.fromhex(row["first_0x410_bytes"])
        image = read(data)
        told = image_header.record(image, 0)
        names = {"image_length": "image_length", "entry_point": "entry", "stack_pointer": "stack"}
        names |= {"reset_handler": "reset", "checksum": "checksum", "binary_type": "type"}
        names |= {"header_version": "header_version"}
        assert {key: told[key] for key in names} == {key: int(row[name], 0) for key, name in names.items()}, row["path"]
        assert (told["vector_table_offset"] or 0) == int(row["vector_table"], 0)
        if image.vector_table is None:
            assert any(text.startswith("no vector table at 0x400") for text in problems(image))
            continue
        made = bytearray(make(data[VECTOR_TABLE:], "fsbl" if image.binary_type else "ssbl", image.layout.version))
        # Of the payload only the first bytes are known: its sum and length are given.
        struct.pack_into("<I", made, image.layout.checksum, image.checksum)
        struct.pack_into("<I", made, image.layout.checksum + 8, image.image_length)
        padding = image.layout.extension + 8
        assert made[:padding] == data[:padding], row["path"]
        assert replace(image, data=b"") == replace(read(bytes(made)), data=b"")


def inspected(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert main(["inspect", "--json", str(path)]) == 0
    shown = capsys.readouterr().out
    try:
        return [json.loads(shown)]
    except ValueError:
        return [json.loads(line) for line in shown.splitlines()]


def test_inspect_has_a_record_for_each_image_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = make(program(), "fsbl"), make(program(2000), "application")
    dump, hexa = tmp_path / "flash.bin", tmp_path / "both.hex"
    dump.write_bytes(one + b"\xff" * 64 + other)
    places = {0x70000000: one, 0x70100000: other}
    lines = [line for at, data in places.items() for line in ihex(at, data).splitlines()]
    hexa.write_text("\n".join(line for line in lines if line != ":00000001FF") + "\n:00000001FF\n")
    for path, wanted in ((dump, [0, len(one) + 64]), (hexa, list(places))):
        found = inspected(path, capsys)
        assert [(each["kind"], each["file"], each["at"]) for each in found] == [
            ("stm32n6-image", str(path), at) for at in wanted
        ]
        assert [each["binary_type"] for each in found] == [0x10, 0]
        assert all(each["checksum_ok"] and each["problems"] == [] for each in found)
        assert found[0]["vector_table_offset"] == VECTOR_TABLE and found[0]["reset_handler"] == RESET


def test_inspect_says_in_words_what_is_wrong_with_an_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(make(program(), "application")[:0x500])
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "image at 0x00000000: header 2.3, application" in shown and "  problem: truncated: 704 of" in shown
    path.write_bytes(b"STM2" + bytes(900))
    assert main(["inspect", str(path)]) == 1
    assert "header of unknown version at 0x0 (0x00000000 or 0x00000000)" in capsys.readouterr().err


def test_boards_name_the_versions_that_there_are() -> None:
    assert tuple(image_header.VERSIONS) == fields.HEADER_VERSIONS
    assert fields._BEHIND_HEADER == VECTOR_TABLE
