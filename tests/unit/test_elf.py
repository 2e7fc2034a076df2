"""ELF files: one reader, whose users say one line about a damaged file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuralart import boards
from neuralart.applications import runtime
from neuralart.emulator.image import read_elf
from neuralart.errors import NeuralArtError
from neuralart.memory.image import elf_facts
from neuralart.relocatable.build import assemble
from neuralart.report.summary import region_use
from neuralart.text.elf import Elf
from support import images

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
