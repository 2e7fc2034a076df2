"""Memories of a board: which ones networks touch, how they are turned on, where the firmware goes, Intel HEX."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart import toolchain
from neuralart.boards.types import BoardSection, Console
from neuralart.config.types import ToolchainConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.regions import Span, check_disjoint, firmware_spans, fold_alias, network_spans, touched_regions
from neuralart.memory.startup import linker
from neuralart.text.ihex import ihex
from support.projects import smallboard as small

BOARD = small.board()


# ---- regions


@pytest.mark.parametrize(
    ("address", "folded"),
    [
        (0x3400_1010, 0x3400_1010),
        (0x2400_1010, 0x3400_1010),
        (0x2400_0000, 0x3400_0000),
        (0x2400_2FFF, 0x3400_2FFF),
        (0x7000_0000, 0x7000_0000),
    ],
)
def test_alias_is_folded(address: int, folded: int) -> None:
    assert fold_alias(BOARD, address) == folded


@pytest.mark.parametrize("address", [0, 0x2400_3000, 0x3400_3000, 0x7010_0000, 0x33FF_FFFF])
def test_no_memory_at_an_address(address: int) -> None:
    with pytest.raises(NeuralArtError) as caught:
        fold_alias(BOARD, address)
    assert caught.value.what == f"there is no memory at 0x{address:08x}"
    assert caught.value.where == "board small"
    assert "NOR 0x70000000-0x70100000" in caught.value.hint


def test_both_aliases_are_the_same_memory() -> None:
    spans = network_spans(BOARD, small.network(small.pool("A", 0x2400_1100, 0x10)))
    assert spans == [Span("pool A of network net", "network net", 0x3400_1100, 0x3400_1110)]


def test_unused_pools_take_nothing() -> None:
    assert network_spans(BOARD, small.network(small.pool("A", 0x2400_1000, 0), small.pool("B", 0xDEAD_0000, 0))) == []


def _touched(*spans: tuple[int, int]) -> list[str]:
    return [region.name for region in touched_regions(BOARD, [Span("x", "x", *span) for span in spans])]


@pytest.mark.parametrize(
    ("span", "names"),
    [
        ((0x3400_0000, 0x3400_1000), ["BANK1"]),
        ((0x3400_0FFF, 0x3400_1001), ["BANK1", "BANK2"]),
        ((0x3400_0800, 0x3400_2001), ["BANK1", "BANK2", "BANK3"]),
        ((0x3400_0000, 0x3400_3000), ["BANK1", "BANK2", "BANK3"]),
        ((0x3400_1000, 0x3400_1000), []),
    ],
)
def test_banks_under_a_range(span: tuple[int, int], names: list[str]) -> None:
    assert _touched(span) == names


def test_banks_come_once_and_in_the_order_of_the_board() -> None:
    assert _touched((0x7000_0000, 0x7000_0001), (0x3400_2000, 0x3400_2010), (0x3400_2020, 0x3400_2030)) == [
        "BANK3",
        "NOR",
    ]


def test_range_that_runs_out_of_memory() -> None:
    with pytest.raises(NeuralArtError) as caught:
        network_spans(BOARD, small.network(small.pool("A", 0x2400_2F00, 0x101)))
    assert caught.value.what == "pool A of network net [0x34002f00, 0x34003001) runs out of memory at 0x34003000"
    network_spans(BOARD, small.network(small.pool("A", 0x2400_2F00, 0x100)))


def test_firmware_takes_its_sections() -> None:
    assert firmware_spans(BOARD) == [
        Span("firmware code", "firmware code", 0x3000_0100, 0x3000_0900),
        Span("firmware data", "firmware data", 0x3001_0000, 0x3001_0400),
    ]
    assert firmware_spans(small.board(code=None, data=None)) == []


def test_overlap_names_both() -> None:
    spans = [Span("a", "1", 0x200, 0x300), Span("b", "2", 0x100, 0x210)]
    with pytest.raises(NeuralArtError) as caught:
        check_disjoint(spans, "board small")
    assert caught.value.what == "a [0x00000200, 0x00000300) overlaps b [0x00000100, 0x00000210) by 16 bytes"
    assert caught.value.where == "board small"


def test_overlap_of_a_range_within_another() -> None:
    with pytest.raises(NeuralArtError, match=r"inner .* overlaps outer .* by 4 bytes"):
        check_disjoint([Span("outer", "1", 0, 100), Span("other", "3", 200, 300), Span("inner", "2", 50, 54)], "x")


def test_overlap_behind_a_short_neighbor() -> None:
    """The range before the last one ends early, the one before that does not."""
    with pytest.raises(NeuralArtError, match=r"late .* overlaps long"):
        check_disjoint([Span("long", "1", 0, 100), Span("short", "1", 10, 20), Span("late", "2", 90, 95)], "x")


def test_touching_ranges_and_ranges_of_a_group_are_no_overlap() -> None:
    check_disjoint([Span("a", "1", 0, 16), Span("b", "2", 16, 32), Span("c", "2", 20, 40)], "x")
    check_disjoint([], "x")


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 10), st.sampled_from("ab")), max_size=6))
def test_overlap_is_found_exactly_when_bytes_are_shared(ranges: list[tuple[int, int, str]]) -> None:
    spans = [Span(f"s{i}", group, start, start + size) for i, (start, size, group) in enumerate(ranges)]
    owners: dict[int, set[str]] = {}
    for span in spans:
        for byte in range(span.start, span.end):
            owners.setdefault(byte, set()).add(span.group)
    if any(len(groups) > 1 for groups in owners.values()):
        with pytest.raises(NeuralArtError):
            check_disjoint(spans, "x")
    else:
        check_disjoint(spans, "x")


# ---- linker fragment


def _cross_gcc() -> list[str]:
    found = toolchain.find(ToolchainConfig(), os.environ)
    return [str(Path(found.folder) / f"{found.prefix}gcc"), *found.libc_flags]


def test_memory_ld() -> None:
    text = linker.memory_ld(BOARD)
    assert re.findall(r"(\w+) \((\w+)\) : ORIGIN = (0x\w+), LENGTH = (0x\w+)", text) == [
        ("CODE", "rx", "0x30000100", "0x800"),
        ("DATA", "rw", "0x30010000", "0x400"),
    ]


@pytest.mark.parametrize(("changes", "name"), [({"code": None}, "code"), ({"data": None}, "data")])
def test_memory_ld_of_a_board_that_says_nothing(changes: dict[str, BoardSection | None], name: str) -> None:
    with pytest.raises(NeuralArtError, match=f"board small: the board has no '{name}' section"):
        linker.memory_ld(small.board(**changes))


def test_board_config() -> None:
    text = linker.board_config_h(BOARD)
    assert "#define CONSOLE_BASE 0x52001000u" in text
    assert "CONSOLE_CLOCK" not in text
    gated = linker.board_config_h(small.board(console=Console("uart_small", 0x5200_1000, 0x5602_826C, 4)))
    assert "#define CONSOLE_CLOCK_REGISTER 0x5602826cu" in gated
    assert "#define CONSOLE_CLOCK_BIT 4u" in gated
    with pytest.raises(NeuralArtError, match="the board has no console"):
        linker.board_config_h(small.board(console=None))


@pytest.mark.arm
def test_the_linker_takes_the_fragment_and_places_by_it(tmp_path: Path) -> None:
    (tmp_path / "memory.ld").write_text(linker.memory_ld(BOARD), "utf-8")
    (tmp_path / "all.ld").write_text(
        "INCLUDE memory.ld\nSECTIONS { .text : { *(.text*) } > CODE  .data : { *(.data*) } > DATA AT > CODE }\n",
        "utf-8",
    )
    (tmp_path / "x.c").write_text("int value = 1;\nvoid _start(void);\nvoid _start(void) { value++; }\n", "utf-8")
    gcc = _cross_gcc()[0]
    flags = ["-mcpu=cortex-m33", "-mthumb", "-nostdlib", "-T", "all.ld", "-Wl,--build-id=none"]
    subprocess.run([gcc, *flags, "x.c", "-o", "x.elf"], cwd=tmp_path, check=True)
    listing = subprocess.run(
        [gcc[:-3] + "nm", "x.elf"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    symbols = {name: int(address, 16) for address, _, name in map(str.split, listing.splitlines())}
    assert symbols["_start"] & ~1 == 0x3000_0100
    assert symbols["value"] == 0x3001_0000


# ---- Intel HEX


def decoded(text: str) -> dict[int, int]:
    """Bytes by address. Checks sums, order of records, and that no row crosses 64 KiB."""
    found: dict[int, int] = {}
    upper = 0
    lines = text.splitlines()
    assert lines[-1] == ":00000001FF"
    for line in lines[:-1]:
        assert line.startswith(":")
        record = bytes.fromhex(line[1:])
        assert sum(record) & 0xFF == 0
        length, offset, kind, data = record[0], int.from_bytes(record[1:3], "big"), record[3], record[4:-1]
        assert length == len(data)
        if kind == 4:
            upper = int.from_bytes(data, "big") << 16
        elif kind == 0:
            assert offset + length <= 0x10000
            for index, byte in enumerate(data):
                assert upper + offset + index not in found
                found[upper + offset + index] = byte
        else:
            assert kind in (3, 5), line  # where execution starts: no data
    return found


CASES = [
    (0x7038_0000, 100),
    (0x7000_0000, 1),
    (0x7000_FFF0, 0x40),
    (0x7000_FFFF, 2),
    (0x7001_0000 - 33, 0x10000 + 70),
    (0, 33),
    (0xFFFF_FFE0, 0x20),
]


@pytest.mark.parametrize(("address", "size"), CASES)
def test_ihex_holds_the_bytes_at_their_addresses(address: int, size: int) -> None:
    data = bytes((index * 7 + index // 256) & 0xFF for index in range(size))
    assert decoded(ihex(address, data)) == {address + index: byte for index, byte in enumerate(data)}


@given(st.integers(0x6FFF_FFC0, 0x7000_0040), st.binary(max_size=200))
def test_ihex_of_anything(address: int, data: bytes) -> None:
    assert decoded(ihex(address, data)) == {address + index: byte for index, byte in enumerate(data)}


def test_ihex_of_nothing() -> None:
    assert ihex(0x7000_0000, b"") == ":00000001FF\n"


def test_ihex_by_hand() -> None:
    assert ihex(0x7038_0000, b"\x01\x02") == ":02000004703852\n:020000000102FB\n:00000001FF\n"


@pytest.mark.arm
@pytest.mark.parametrize(("address", "size"), [case for case in CASES if case[0] < 0x8000_0000])
def test_ihex_holds_what_objcopy_writes(tmp_path: Path, address: int, size: int) -> None:
    data = bytes((index * 7 + index // 256) & 0xFF for index in range(size))
    (tmp_path / "x.bin").write_bytes(data)
    objcopy = _cross_gcc()[0][:-3] + "objcopy"
    command = [objcopy, "-I", "binary", "-O", "ihex", f"--change-addresses=0x{address:x}", "x.bin", "x.hex"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert decoded(ihex(address, data)) == decoded((tmp_path / "x.hex").read_text("ascii"))


def test_activations_that_an_application_reuses() -> None:
    first, second = (small.network(small.pool("A", 0x2400_1000, 16), name=name) for name in "ab")
    with pytest.raises(NeuralArtError, match=r"pool A of network b .* overlaps pool A of network a"):
        check_disjoint([*network_spans(BOARD, first), *network_spans(BOARD, second)], "x")
    theirs = [replace(each, runtime="ll_aton") for each in (first, second)]
    check_disjoint([span for each in theirs for span in network_spans(BOARD, each)], "x")
