"""The identity descriptor, byte by byte, and what cannot be written into one."""

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
from neuralart.memory.layout.identity import Entry, build, check_name, size_of
from neuralart.memory.layout.placements import Initializer
from support import smallboard

STAMP = "0123456789abcdef"
FIRST = Entry(STAMP, "AXISRAM5", 0x70210000, 4136, 0xDEADBEEF, 0)
SECOND = Entry("fedcba9876543210", "xSPI1", 0, 1, 0, 1)


def entries_of(data: bytes) -> tuple[Entry, ...]:
    """What a descriptor says, read as the module's docstring describes it."""
    magic, version, count, total, crc, zero = struct.unpack_from("<4sHHII16s", data)
    assert (magic, version, total, zero) == (b"NAID", 1, len(data), bytes(16))
    assert (crc, total) == (zlib.crc32(data[16:]), 32 + 48 * count)
    rows = [struct.unpack_from("<8s24sIIII", data, 32 + 48 * number) for number in range(count)]
    return tuple(Entry(stamp.hex(), name.rstrip(b"\0").decode("ascii"), *rest) for stamp, name, *rest in rows)


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
    assert entries_of(build([SECOND, FIRST])) == (SECOND, FIRST)
    assert entries_of(build([])) == ()


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
@given(descriptors())
def test_round_trip(entries: list[Entry]) -> None:
    data = build(entries)
    assert len(data) == size_of(len(entries))
    assert entries_of(data) == tuple(entries)


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
        (
            {"load_address": 0xFFFFFFFF, "size": 2},
            "2 bytes of pool AXISRAM5 at 0xffffffff run over the address space",
        ),
        ({"network": 1}, f"network 1 has ABI stamp {STAMP} here and fedcba9876543210 before"),
        ({"abi_stamp": SECOND.abi_stamp, "network": 1, "pool": "xSPI1"}, "pool xSPI1 of network 1 has two entries"),
    ],
)
def test_entries_that_cannot_be_written(change: dict[str, Any], said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        build([SECOND, replace(FIRST, **change)])
    assert str(caught.value) == f"entry 1: {said}"


def test_last_byte_of_the_address_space_is_one() -> None:
    entry = replace(FIRST, load_address=0xFFFFFFFF, size=1)
    assert entries_of(build([entry])) == (entry,)


def test_more_entries_than_the_header_can_count() -> None:
    with pytest.raises(NeuralArtError, match=r"^65536 entries, an identity descriptor has 65535 at most$"):
        build([FIRST] * 65536)


@pytest.mark.parametrize("name", ["A" * 23, "x", "~!"])
def test_names_that_fit(name: str) -> None:
    check_name(name, "a.mpool:1:5")
    assert entries_of(build([replace(FIRST, pool=name)]))[0].pool == name


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
    assert entries_of(identity.describe(networks, items, raws)) == (
        Entry("fedcba9876543210", "X", 0x70000000, 7, 1, 1),
        Entry(STAMP, "Z", 0, 9, 2, 0),
    )


def test_nothing_to_describe() -> None:
    items = [initializer("net", "X", 0x70000000)]
    assert identity.describe([smallboard.network()], items, {("net", "X"): (0, 0)}) == b""
    assert identity.size_of(0) == 32
