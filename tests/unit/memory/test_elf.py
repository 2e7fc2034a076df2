"""ELF files: one reader, whose users say one line about a damaged file."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuralart import boards
from neuralart.applications import runtime
from neuralart.errors import NeuralArtError
from neuralart.memory.image import elf_facts
from neuralart.relocatable.build import assemble
from neuralart.summary import region_use
from neuralart.text.elf import Elf, Symbol, of
from neuralart_virtual.emulator.image import read_elf
from support.boards import images

WHOLE = images.elf()
BOARD = boards.load("stm32n6570-dk")


def archive(data: bytes) -> bytes:
    """An ``ar`` archive with one member."""
    return b"!<arch>\n" + f"{'a.o/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data


READERS: dict[str, Callable[[Path, bytes], object]] = {
    "check-image": lambda path, data: elf_facts.read(path, data),
    "virtual board": lambda path, data: path.write_bytes(data) and read_elf(path),
    "summary": lambda path, data: path.write_bytes(data) and region_use(path, BOARD),
    "archive": lambda path, data: path.write_bytes(archive(data)) and runtime.needed_library(path),
    "relocatable": lambda path, data: assemble.read_linked(data, str(path), ()),
}


def test_facts_of_a_file() -> None:
    elf = Elf(WHOLE, "a.elf")
    facts = elf_facts.read(Path("a.elf"), WHOLE)
    placed = [section for section in elf.sections if section.allocated and section.size]
    assert [(s.name, s.address, elf.load_address(s)) for s in placed] == [(p.name, p.run, p.load) for p in facts.parts]
    assert [elf.bytes_of(section, section.name) for section in placed] == [part.data for part in facts.parts]
    assert elf.section(".nothing") is None


def _wide() -> bytes:
    """A file of 64 bits, most significant byte first, with one weak symbol."""
    table = struct.pack(">IBBHQQ", 0, 0, 0, 0, 0, 0) + struct.pack(">IBBHQQ", 1, 0x22, 0, 0xFFF1, 1 << 40, 8)
    strings = b"\0n\xc3\xa4me\0.symtab\0.strtab\0"
    rows = [(7, 2, 64, len(table), 2, 24), (15, 3, 64 + len(table), len(strings), 0, 0)]
    headers = bytes(64) + b"".join(
        struct.pack(">IIQQQQIIQQ", name, kind, 0, 0, at, size, link, 0, 1, step)
        for name, kind, at, size, link, step in rows
    )
    where = 64 + len(table) + len(strings)
    head = struct.pack(">HHIQQQIHHHHHH", 1, 22, 1, 0, 0, where, 0, 64, 0, 0, 64, 3, 2)
    return b"\x7fELF\x02\x02\x01" + bytes(9) + head + table + strings + headers


def _by_the_library(data: bytes) -> list[Symbol]:
    found = ELFFile(io.BytesIO(data)).get_section_by_name(".symtab").iter_symbols()
    return [
        Symbol(each.name, each["st_value"], each["st_size"], *map(str, (info["type"], info["bind"])), each["st_shndx"])
        for each in found
        for info in [each["st_info"]]
    ]


def test_symbols_are_those_of_the_library() -> None:
    odd = images.Symbol("odd", 1, 0xFFF2, 4, 10)
    for data in (WHOLE, images.elf(symbols=[odd]), _wide()):
        assert list(Elf(data, "a.elf").symbols) == _by_the_library(data)
    assert Elf(_wide(), "b").symbols[1] == Symbol("n\u00e4me", 1 << 40, 8, "STT_FUNC", "STB_WEAK", "SHN_ABS")
    cut = _wide().replace(struct.pack(">Q", 48), struct.pack(">Q", 4800))
    with pytest.raises(NeuralArtError, match="damaged ELF file"):
        _ = Elf(cut, "b").symbols


def test_a_file_is_read_once() -> None:
    assert of(WHOLE, "a.elf") is of(bytes(bytearray(WHOLE)), "a.elf") is not of(WHOLE, "b.elf")


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6), cut=st.integers(0))
def test_a_damaged_file_is_one_line(
    reader: Callable[[Path, bytes], object], tmp_path: Path, changes: list[tuple[int, int]], cut: int
) -> None:
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value
    try:
        reader(tmp_path / "a.elf", bytes(data[: len(WHOLE) - cut % 99]))
    except NeuralArtError as error:
        assert "\n" not in str(error) and str(tmp_path) in error.where
