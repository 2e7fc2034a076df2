"""Intel HEX: what the writer writes the reader reads; every way to get a file wrong."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.text.ihex import HexFile, ihex, parse

END = ":00000001FF\n"


def read(text: str) -> HexFile:
    return parse(text.encode(), "x.hex")


@given(st.integers(0, (1 << 32) - 70_000), st.binary(max_size=100), st.integers(0, 700))
def test_what_is_written_is_read(address: int, data: bytes, times: int) -> None:
    data *= times
    assert read(ihex(address, data)) == HexFile(((address, data),) if data else ())


def test_several_parts_and_start_addresses() -> None:
    text = ihex(0x70380000, b"abc") + "\n"
    assert read(text.replace("\n", "\r\n")).parts == ((0x70380000, b"abc"),)
    gap = ihex(0x1FFF0, bytes(64)).removesuffix(END) + ihex(0x30000, b"z")
    assert [(at, len(data)) for at, data in read(gap).parts] == [(0x1FFF0, 64), (0x30000, 1)]
    assert read(":04000005080001C529\n" + END) == HexFile((), 0x080001C5)
    assert read(":020000021000EC\n:0100000041BE\n:00000001FF").parts == ((0x10000, b"A"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (":0100000041BE\n", "no end record"),
        ("", "no end record"),
        (":0100000041BF\n" + END, "checksum of this record is wrong"),
        (":00000001FE", "checksum of this record is wrong"),
        (":0200000041BE\n" + END, "is no record"),
        (":01000000\n", "is no record"),
        ("hello\n", "is no record"),
        ("0100000041BE\n", "is no record"),
        (":", "is no record"),
        (":zz", "is no record"),
        (":0000000AF6\n", "record of kind 10"),
        (":0100000401FA\n", "a record of kind 4 has 2 bytes of data, not 1"),
        (":0100000101FD\n", "a record of kind 1 has 0 bytes of data, not 1"),
        (END + ":0100000041BE\n", "a line behind the end record"),
        (END + END, "a line behind the end record"),
        (":020000021000EC\n:02FFFF0041427D\n" + END, "beyond the 64 KiB of its segment"),
    ],
)
def test_damaged_files(text: str, said: str) -> None:
    with pytest.raises(NeuralArtError, match=said) as caught:
        read(text)
    assert re.fullmatch(r"x\.hex(:[12])?", caught.value.where)


@given(st.integers(0, 200), st.binary(max_size=3))
def test_damaged_bytes_are_read_or_refused(at: int, damage: bytes) -> None:
    data = ihex(0x12345, bytes(range(80))).encode()
    with contextlib.suppress(NeuralArtError):
        parse(data[:at] + damage + data[at + len(damage) :], "x.hex")
