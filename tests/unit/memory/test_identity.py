"""The identity descriptor, byte by byte, and every way in which it can be wrong."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.memory.layout import identity
from neuralart.memory.layout.identity import Entry, build, check_name, parse, size_of
from neuralart.memory.layout.strategies import Initializer
from support.projects import smallboard

STAMP = "0123456789abcdef"
FIRST = Entry(STAMP, "AXISRAM5", 0x70210000, 4136, 0xDEADBEEF, 0)
SECOND = Entry("fedcba9876543210", "xSPI1", 0, 1, 0, 1)


def refusal(data: bytes, display: str = "d.bin") -> str:
    with pytest.raises(NeuralArtError) as caught:
        parse(data, display)
    said = str(caught.value)
    assert "\n" not in said
    return said


def sealed(data: bytes) -> bytes:
    """The same bytes with the right CRC."""
    return data[:12] + struct.pack("<I", zlib.crc32(data[16:])) + data[16:]


def patched(offset: int, new: bytes, entries: tuple[Entry, ...] = (FIRST, SECOND)) -> bytes:
    """A descriptor with other bytes at an offset, and the right CRC."""
    data = build(entries)
    return sealed(data[:offset] + new + data[offset + len(new) :])


# ---- the format


def test_bytes_of_a_descriptor() -> None:
    """Written out by hand."""
    entries = (
        bytes.fromhex("0123456789abcdef")
        + b"AXISRAM5"
        + bytes(16)
        + bytes.fromhex("00002170 28100000 efbeadde 00000000")
        + bytes.fromhex("fedcba9876543210")
        + b"xSPI1"
        + bytes(19)
        + bytes.fromhex("00000000 01000000 00000000 01000000")
    )
    checked = bytes(16) + entries
    header = b"NAID" + bytes.fromhex("0100 0200 80000000") + zlib.crc32(checked).to_bytes(4, "little")
    assert build([FIRST, SECOND]) == header + checked
    assert (len(header + checked), size_of(2)) == (128, 128)


def test_crc_is_that_of_zlib() -> None:
    """A number from elsewhere: the CRC-32 of sixteen zero bytes."""
    assert build([])[12:16] == (0xECBB4B55).to_bytes(4, "little")


def test_entries_keep_their_order() -> None:
    assert parse(build([SECOND, FIRST])) == (SECOND, FIRST)
    assert parse(build([])) == ()


@pytest.mark.parametrize("rest", [0, 1, 4096 - 128])
def test_erased_flash_may_follow(rest: int) -> None:
    assert parse(build([FIRST, SECOND]) + b"\xff" * rest) == (FIRST, SECOND)


_STAMPS = st.binary(min_size=8, max_size=8).map(bytes.hex)
_NAMES = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=23)


@st.composite
def descriptors(draw: st.DrawFn) -> list[Entry]:
    stamps = draw(st.dictionaries(st.integers(0, 0xFFFFFFFF), _STAMPS, min_size=1, max_size=3))
    keys = draw(st.lists(st.tuples(st.sampled_from(sorted(stamps)), _NAMES), unique=True, max_size=8))
    made = []
    for number, pool in keys:
        address = draw(st.integers(0, 0xFFFFFFFF))
        size = draw(st.integers(1, min(0xFFFFFFFF, (1 << 32) - address)))
        made.append(Entry(stamps[number], pool, address, size, draw(st.integers(0, 0xFFFFFFFF)), number))
    return made


@settings(deadline=None)
@given(descriptors(), st.integers(0, 64))
def test_round_trip(entries: list[Entry], rest: int) -> None:
    data = build(entries)
    assert len(data) == size_of(len(entries))
    assert parse(data + b"\xff" * rest) == tuple(entries)


@settings(deadline=None, max_examples=300)
@given(descriptors(), st.data())
def test_every_flipped_bit_is_found(entries: list[Entry], data: st.DataObject) -> None:
    whole = build(entries)
    at, bit = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 7))
    damaged = whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
    assert refusal(damaged).startswith("d.bin@0x")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_anything_else_is_refused_in_one_line(data: bytes) -> None:
    assert refusal(data).startswith("d.bin@0x")
    assert refusal(b"NAID" + data).startswith("d.bin@0x")


# ---- damage

GOOD = build([FIRST, SECOND])
DAMAGE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "d.bin@0x0: 0 bytes, an identity descriptor has 32 at least"),
    "a byte less than the header": (GOOD[:31], "d.bin@0x1f: 31 bytes, an identity descriptor has 32 at least"),
    "erased": (b"\xff" * 4096, "d.bin@0x0: no identity descriptor: the flash is erased here (flash the model)"),
    "something else": (b"ELF!" + GOOD[4:], "d.bin@0x0: no identity descriptor: b'ELF!' (it begins with NAID)"),
    "magic half erased": (
        b"NAI\xff" + b"\xff" * 28,
        "d.bin@0x0: no identity descriptor: b'NAI\\xff' (it begins with NAID)",
    ),
    "version": (patched(4, b"\2"), "d.bin@0x4: identity descriptor of version 2, this program reads 1"),
    "length": (patched(8, b"\x7f"), "d.bin@0x8: 2 entries are 128 bytes, it says 127 (it is damaged: flash the model)"),
    "entries": (patched(6, b"\3"), "d.bin@0x8: 3 entries are 176 bytes, it says 128 (it is damaged: flash the model)"),
    "cut off": (GOOD[:127], "d.bin@0x7f: 128 bytes announced, 127 are there (it was cut off)"),
    "cut off after the header": (GOOD[:32], "d.bin@0x20: 128 bytes announced, 32 are there (it was cut off)"),
    "crc": (
        GOOD[:12] + bytes(4) + GOOD[16:],
        f"d.bin@0xc: CRC 0x{zlib.crc32(GOOD[16:]):08x}, it says 0x00000000 (it is damaged: flash the model)",
    ),
    "an entry": (
        GOOD[:64] + b"\1" + GOOD[65:],
        f"d.bin@0xc: CRC 0x{zlib.crc32(GOOD[16:64] + bytes([1]) + GOOD[65:]):08x}, "
        f"it says 0x{zlib.crc32(GOOD[16:]):08x} (it is damaged: flash the model)",
    ),
    "zeros of the header": (patched(31, b"\1"), "d.bin@0x10: bytes 16 to 31 are not zero"),
    "something behind it": (GOOD + b"\xff\xff\0", "d.bin@0x82: 0x00 follows, erased flash is 0xff"),
    "no name": (patched(40, bytes(24)), f"d.bin@0x28: entry 0: {bytes(24)!r} is not the name of a pool"),
    "name of 24 bytes": (patched(88, b"A" * 24), f"d.bin@0x58: entry 1: {b'A' * 24!r} is not the name of a pool"),
    "name with a hole": (
        patched(40, b"A\0B" + bytes(21)),
        f"d.bin@0x28: entry 0: {b'A' + bytes(1) + b'B' + bytes(21)!r} is not the name of a pool",
    ),
    "name with a blank": (
        patched(40, b"A B" + bytes(21)),
        f"d.bin@0x28: entry 0: {b'A B' + bytes(21)!r} is not the name of a pool",
    ),
    "name that is not ASCII": (
        patched(40, b"\xc3\xa4" + bytes(22)),
        f"d.bin@0x28: entry 0: {bytes([0xC3, 0xA4]) + bytes(22)!r} is not the name of a pool",
    ),
    "entry of no bytes": (
        patched(68, bytes(4)),
        "d.bin@0x20: pool AXISRAM5 has an entry of 0 bytes; what is empty has none",
    ),
    "over the end of the address space": (
        patched(64, b"\xff\xff\xff\xff"),
        "d.bin@0x20: 4136 bytes of pool AXISRAM5 at 0xffffffff run over the address space",
    ),
    "two stamps of one network": (
        patched(124, bytes(4)),
        f"d.bin@0x50: network 0 has ABI stamp fedcba9876543210 here and {STAMP} before",
    ),
    "twice": (sealed(GOOD[:80] + GOOD[32:80]), "d.bin@0x50: pool AXISRAM5 of network 0 has two entries"),
}


@pytest.mark.parametrize(("data", "said"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_one_line_with_an_offset(data: bytes, said: str) -> None:
    assert refusal(data) == said


def test_name_for_messages_has_a_default() -> None:
    with pytest.raises(NeuralArtError, match=r"^descriptor@0x0: 0 bytes"):
        parse(b"")


# ---- what cannot be written


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"abi_stamp": "0123456789ABCDEF"}, "ABI stamp '0123456789ABCDEF' is not 16 hexadecimal digits"),
        ({"abi_stamp": "0123456789abcde"}, "ABI stamp '0123456789abcde' is not 16 hexadecimal digits"),
        ({"abi_stamp": STAMP + "\n"}, f"ABI stamp '{STAMP} ' is not 16 hexadecimal digits"),
        ({"load_address": -1}, "load address -1 of pool AXISRAM5 is not a 32-bit number"),
        ({"size": 1 << 32}, "size 4294967296 of pool AXISRAM5 is not a 32-bit number"),
        ({"crc32": 1 << 32}, "CRC 4294967296 of pool AXISRAM5 is not a 32-bit number"),
        ({"network": -1}, "network number -1 of pool AXISRAM5 is not a 32-bit number"),
        ({"size": 0}, "pool AXISRAM5 has an entry of 0 bytes; what is empty has none"),
        ({"load_address": 0xFFFFFFFF, "size": 2}, "2 bytes of pool AXISRAM5 at 0xffffffff run over the address space"),
    ],
)
def test_entries_that_cannot_be_written(change: dict[str, Any], said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        build([SECOND, replace(FIRST, **change)])
    assert str(caught.value) == f"entry 1: {said}"


def test_last_byte_of_the_address_space_is_one() -> None:
    entry = replace(FIRST, load_address=0xFFFFFFFF, size=1)
    assert parse(build([entry])) == (entry,)


def test_more_entries_than_the_header_can_count() -> None:
    with pytest.raises(NeuralArtError, match=r"^65536 entries, an identity descriptor has 65535 at most$"):
        build([FIRST] * 65536)


@pytest.mark.parametrize("name", ["A" * 23, "x", "~!"])
def test_names_that_fit(name: str) -> None:
    check_name(name, "a.mpool:1:5")
    assert parse(build([replace(FIRST, pool=name)]))[0].pool == name


@pytest.mark.parametrize("name", ["A" * 24, "", "a b", "ä", "a\0"])
def test_names_that_do_not_fit(name: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        check_name(name, "a.mpool:1:5")
    assert str(caught.value).startswith("a.mpool:1:5: fname '")
    assert f"23 ASCII characters at most, this has {len(name)} (give the pool a shorter fname)" in str(caught.value)
    with pytest.raises(NeuralArtError, match=r"^entry 0: fname"):
        build([replace(FIRST, pool=name)])


# ---- the descriptor of an image


def initializer(network: str, pool: str, load: int) -> Initializer:
    return Initializer(network, pool, "boot-copy", 0x34000000, load, 4096, False)


def test_descriptor_of_an_image() -> None:
    """In the order of the initializers, numbered by the order of the networks, empty ones left out."""
    networks = [smallboard.network(name=name) for name in ("b", "a")]
    networks[1] = replace(networks[1], abi_stamp="fedcba9876543210")
    items = [initializer("a", "X", 0x70000000), initializer("b", "Y", 0x70001000), initializer("b", "Z", 0)]
    raws = {("a", "X"): (7, 1), ("b", "Y"): (0, 0), ("b", "Z"): (9, 2)}
    assert parse(identity.describe(networks, items, raws)) == (
        Entry("fedcba9876543210", "X", 0x70000000, 7, 1, 1),
        Entry(STAMP, "Z", 0, 9, 2, 0),
    )


def test_nothing_to_describe() -> None:
    items = [initializer("net", "X", 0x70000000)]
    assert identity.describe([smallboard.network()], items, {("net", "X"): (0, 0)}) == b""
    assert identity.size_of(0) == 32
