"""Load tables and stamps of relocatable models, in Python."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import container, load_table
from neuralart.relocatable.format.container import stamp_of
from neuralart.relocatable.format.load_table import LoadTable, make, read
from support.relocatable.rel_images import SHAPES, Recipe, build

AT, PARAMS = 0x7100_0000, 0x7180_0000
addresses = st.integers(1, 0x3FFFFFFE).map(lambda n: 4 * n)


def test_words_of_a_table() -> None:
    assert make(["xip"], [(AT, 0)]) == b"MREL" + struct.pack("<4I", 1, 1, AT, 0)
    assert make(["copy", "clear"], [(AT, PARAMS), (AT + 4, 0)]) == struct.pack(
        "<7I", 0x4C45524D, 2, 4, AT, PARAMS, AT + 4, 0
    )
    assert struct.unpack_from("<I", make(["ext", "no-overlay", "xip"], [(AT, 0)]), 8) == (11,)


@given(
    st.sampled_from(["xip", "copy"]),
    st.sets(st.sampled_from(["ext", "clear", "no-overlay"])),
    st.lists(st.tuples(addresses, st.just(0) | addresses), min_size=1, max_size=4),
    st.binary(max_size=8),
)
def test_what_is_written_is_read(mode: str, more: set[str], models: list[tuple[int, int]], behind: bytes) -> None:
    words = (mode, *(word for word in load_table.WORDS if word in more))
    assert read(make(words, models) + behind, "t") == LoadTable(words, tuple(models))


@pytest.mark.parametrize(
    ("mode", "models", "said"),
    [
        (["xpi"], [(AT, 0)], "no mode 'xpi' of a load table"),
        ([], [(AT, 0)], "one of xip and copy"),
        (["xip", "copy"], [(AT, 0)], "mode 'xip copy' of a load table: one of xip and copy"),
        (["xip", "xip"], [(AT, 0)], "no word twice"),
        (["xip"], [], "0 models: a load table names 1 to 4"),
        (["xip"], [(AT, 0)] * 5, "5 models: a load table names 1 to 4"),
        (["xip"], [(AT, 0), (0, 0)], "model 1 of a load table: 0x00000000 is no address of model"),
        (["xip"], [(AT + 2, 0)], "0x71000002 is no address of model, a multiple of 4"),
        (["xip"], [(AT, PARAMS + 1)], "0x71800001 is no address of params, a multiple of 4"),
        (["xip"], [(1 << 32, 0)], "is no address of model"),
        (["xip"], [(AT, -4)], "is no address of params"),
    ],
)
def test_what_is_not_written(mode: list[str], models: list[tuple[int, int]], said: str) -> None:
    with pytest.raises(NeuralArtError, match=said):
        make(mode, models)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "0 bytes are no load table"),
        (b"\xff" * 64, "t@0x0: no load table: nothing was written there"),
        (bytes(64), "nothing was written there"),
        (b"NBIN" + bytes(60), "0x4e49424e instead of MREL"),
        (struct.pack("<3I", 0x4C45524D, 5, 1), "t@0x4: 5 models"),
        (struct.pack("<3I", 0x4C45524D, 1, 0x21), "t@0x8: unknown flags 0x00000020 in 0x00000021"),
        (struct.pack("<7I", 0x4C45524D, 2, 0, AT, 0, 0, 0), "t@0x14: model 1 has no address: 0x00000000"),
        (struct.pack("<5I", 0x4C45524D, 1, 0, AT, 0xFFFFFFFF), "cut off: the address of the params of model 0"),
        (make(["xip"], [(AT, 0)])[:-4], "cut off: 1 models take 20 bytes, 16 are there"),
    ],
)
def test_what_is_no_table(data: bytes, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        read(data, "t")
    assert said in str(caught.value)


# ---- stamps


@pytest.mark.parametrize("name", [name for name, recipe in SHAPES.items() if not recipe.split and not recipe.front])
def test_stamp_of_a_whole_image(name: str) -> None:
    made = build(SHAPES[name])
    end = made.word("rel_end") & 0x0FFFFFFF
    assert (
        stamp_of(container.parse(bytes(made.data), "m"))
        == f"{zlib.crc32(made.data[:end]):08x}{zlib.crc32(made.params):08x}"
    )


def test_stamp_of_a_split_model() -> None:
    made = build(Recipe(split=True))
    stamp = stamp_of(container.parse(bytes(made.data), "m", made.params))
    assert stamp[8:] == f"{zlib.crc32(made.params):08x}" and len(stamp) == 16
    # What follows the params in their flash slot is not theirs.
    assert stamp_of(container.parse(bytes(made.data), "m", made.params + b"\xff" * 100)) == stamp
    assert stamp_of(container.parse(bytes(made.data), "m", b"\x01" + made.params[1:]))[:8] == stamp[:8]


@pytest.mark.parametrize(
    ("data", "params", "said"),
    [
        (build(Recipe(split=True)).data, None, "bytes of params are in a file of their own"),
        (build(Recipe(split=True)).data, b"12", "bytes of params belong to it, 2 are there"),
        (build().data[:-20], None, "bytes of params belong to it"),
        (b"TFL3" * 60, None, "not a relocatable model"),
    ],
    ids=["split", "short", "cut off", "no image"],
)
def test_no_stamp(data: bytes, params: bytes | None, said: str) -> None:
    with pytest.raises(NeuralArtError, match=said) as caught:
        stamp_of(container.parse(bytes(data), "m_rel.bin", params))
    assert str(caught.value).startswith("m_rel.bin")
