from __future__ import annotations

import struct
from collections.abc import Callable

import flatbuffers
import pytest

from neuralart.errors import NeuralArtError
from neuralart_reference.model.flatbuffer import FlatBuffer, Table


def sample() -> bytes:
    """A table with one field of each sort: slots 0 int8, 1 uint64, 2 float, 3 string, 4 int32[], 5 tables, 6 bool."""
    builder = flatbuffers.Builder(64)
    children = []
    for value in (11, 22):
        builder.StartObject(1)
        builder.PrependInt32Slot(0, value, 0)
        children.append(builder.EndObject())
    builder.StartVector(4, 2, 4)
    for child in reversed(children):
        builder.PrependUOffsetTRelative(child)
    tables = builder.EndVector()
    builder.StartVector(4, 3, 4)
    for number in (3, -2, 1):
        builder.PrependInt32(number)
    numbers = builder.EndVector()
    text = builder.CreateString("naïve")
    builder.StartObject(8)
    builder.PrependInt8Slot(0, -5, 0)
    builder.PrependUint64Slot(1, 2**63 + 1, 0)
    builder.PrependFloat32Slot(2, 0.1, 0.0)
    builder.PrependUOffsetTRelativeSlot(3, text, 0)
    builder.PrependUOffsetTRelativeSlot(4, numbers, 0)
    builder.PrependUOffsetTRelativeSlot(5, tables, 0)
    builder.PrependBoolSlot(6, True, False)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def root(data: bytes) -> Table:
    return FlatBuffer(data, "x.bin").root("thing")


def test_fields() -> None:
    table = root(sample())
    assert table.integer(0, "a", "int8") == -5
    assert table.integer(1, "b", "uint64") == 2**63 + 1
    assert table.real(2, "c") == struct.unpack("<f", struct.pack("<f", 0.1))[0]
    assert table.text(3, "d") == "naïve"
    assert table.integers(4, "e") == (1, -2, 3)
    assert [child.integer(0, "v") for child in table.tables(5, "f", "child")] == [11, 22]
    assert [child.what for child in table.tables(5, "f", "child")] == ["child 0", "child 1"]
    assert table.flag(6, "g") is True
    assert table.has(3)


@pytest.mark.parametrize("slot", [7, 8, 60, 30000])
def test_absent_fields_have_their_default(slot: int) -> None:
    table = root(sample())
    assert table.integer(slot, "a", default=42) == 42
    assert table.flag(slot, "b", True) is True
    assert table.real(slot, "c", 1.5) == 1.5
    assert table.text(slot, "d") == ""
    assert table.integers(slot, "e") == ()
    assert table.tables(slot, "f", "child") == []
    assert table.table(slot, "g") is None
    assert table.blob(slot, "h") is None
    assert not table.has(slot)


def table_bytes(fields: list[int], body: bytes, *, size: int | None = None, length: int | None = None) -> bytes:
    """A root offset, a vtable of ``fields``, and its table: the way back to the vtable and ``body``."""
    vtable = struct.pack(
        f"<HH{len(fields)}H",
        4 + 2 * len(fields) if length is None else length,
        4 + len(body) if size is None else size,
        *fields,
    )
    vtable += bytes(-len(vtable) % 4)
    start = 4 + len(vtable)
    return struct.pack("<I", start) + vtable + struct.pack("<i", start - 4) + body


def numbers(table: Table) -> object:
    return table.integers(0, "numbers")


BROKEN: list[tuple[str, bytes, Callable[[Table], object], str]] = [
    ("empty", b"", numbers, "x.bin@0x0: thing: 4 bytes lie outside of the file, which has 0 bytes"),
    ("root is zero", bytes(8), numbers, "x.bin@0x0: thing: offset 0x0 leads outside of the file, which has 8 bytes"),
    ("root outside", struct.pack("<II", 6, 0), numbers, "x.bin@0x0: thing: offset 0x6 leads outside"),
    ("vtable before the file", struct.pack("<Ii", 4, 5), numbers, "x.bin@0x4: thing: its vtable would be at -0x1"),
    ("vtable behind the file", struct.pack("<Ii", 4, -40), numbers, "x.bin@0x4: thing: its vtable would be at 0x2c"),
    ("tiny vtable", table_bytes([4], bytes(4), length=2), numbers, "x.bin@0x4: thing: 2 is no possible size of a v"),
    ("odd vtable", table_bytes([4], bytes(4), length=5), numbers, "x.bin@0x4: thing: 5 is no possible size of a vta"),
    ("long vtable", table_bytes([4], bytes(4), length=900), numbers, "x.bin@0x4: the vtable of thing: 900 bytes lie"),
    ("tiny table", table_bytes([4], bytes(4), size=3), numbers, "x.bin@0x6: thing: 3 is no possible size of a table"),
    ("long table", table_bytes([4], bytes(4), size=999), numbers, "x.bin@0xc: thing: 999 bytes lie outside of the"),
    ("field in the vtable offset", table_bytes([2], bytes(4)), numbers, "x.bin@0x8: numbers of thing: byte 2 is not"),
    ("field behind", table_bytes([6], bytes(4)), numbers, "x.bin@0x8: numbers of thing: byte 6 is not inside of its"),
    (
        "scalar across the end",
        table_bytes([6], bytes(4)),
        lambda t: t.integer(0, "wide", "int64"),
        "x.bin@0x8: wide of thing: byte 6 is not inside of its table of 8 bytes",
    ),
    (
        "vector points at itself",
        table_bytes([4], bytes(4)),
        numbers,
        "x.bin@0x10: numbers of thing: offset 0x0 leads outside",
    ),
    (
        "absurd length",
        table_bytes([4], struct.pack("<II", 4, 0xFFFFFFFF)),
        numbers,
        "x.bin@0x14: numbers of thing: 4294967295 elements of 4 bytes do not fit into the file, which has 24 bytes",
    ),
    (
        "length one too large",
        table_bytes([4], struct.pack("<IIi", 4, 2, 7)),
        numbers,
        "x.bin@0x14: numbers of thing: 2 elements of 4 bytes do not fit into the file, which has 28 bytes",
    ),
    (
        "table in a vector outside",
        table_bytes([4], struct.pack("<III", 4, 1, 0x1000)),
        lambda t: t.tables(0, "children", "child"),
        "x.bin@0x18: child 0: offset 0x1000 leads outside of the file, which has 28 bytes",
    ),
    (
        "string outside",
        table_bytes([4], struct.pack("<I", 0xFFFFFFF0)),
        lambda t: t.text(0, "name"),
        "x.bin@0x10: name of thing: offset 0xfffffff0 leads outside",
    ),
]


@pytest.mark.parametrize(("data", "use", "message"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_broken(data: bytes, use: Callable[[Table], object], message: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        use(root(data))
    assert str(caught.value).startswith(message)


def test_text_that_is_no_utf8() -> None:
    assert root(table_bytes([4], struct.pack("<II3s", 4, 3, b"a\xffb"))).text(0, "name") == "a\ufffdb"


def test_chain_of_tables_has_an_end() -> None:
    """The deepest file that memory allows would otherwise be walked down to its end."""
    links = 100
    vtable = struct.pack("<HHHxx", 6, 8, 4)
    chain = b"".join(struct.pack("<iI", 8 * i + len(vtable), 4) for i in range(links))
    # Entry i: its table at 12 + 8 i, whose only field leads 4 bytes on, to the next one.
    data = struct.pack("<I", 4 + len(vtable)) + vtable + chain + struct.pack("<i", 4)
    table = root(data)
    for _ in range(32):
        inner = table.table(0, "inner")
        assert inner is not None
        inner.what = "link"
        table = inner
    with pytest.raises(NeuralArtError, match="nested more than 32 deep"):
        table.table(0, "inner")


def test_the_same_bytes_over_and_over_have_an_end() -> None:
    """A small file may say by offsets that it has a thousand copies of its largest vector."""
    count = 1 << 15
    data = table_bytes([4], struct.pack("<II", 4, count) + bytes(4 * count), size=8)
    table = root(data)
    for _ in range(16):
        assert table.integers(0, "numbers") == (0,) * count
    with pytest.raises(NeuralArtError, match="the same bytes are used over and over"):
        table.integers(0, "numbers")
