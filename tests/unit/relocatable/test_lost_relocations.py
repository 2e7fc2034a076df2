"""Relocation lists that have lost a row: which of them ``verify`` finds, row by row, and what is no such row."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart.cli import main
from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import container
from neuralart.relocatable.verify.verifier import verify
from support.relocatable.rel_images import CORE_40, P0, P1, PARAM, RAM, ROM, SHAPES, Recipe, build

RELEASED = Path(__file__).parents[2] / "releases/0.2.0/left/network_rel.bin"
REL_START, REL_END = 9, 10


def without(data: bytes, lost: Sequence[int]) -> bytes:
    """An image without some rows of its list; the padding behind stays zero, as after a builder's mistake."""
    words = struct.unpack_from("<11I", data)
    start, end = words[REL_START] - ROM, words[REL_END] - ROM
    rows = [row for row in struct.unpack_from(f"<{(end - start) // 4}I", data, start) if row not in lost]
    text = struct.pack(f"<{len(rows)}I", *rows).ljust(end - start, b"\0")
    head = data[: 4 * REL_END] + struct.pack("<I", ROM + start + 4 * len(rows))
    return head + data[len(head) : start] + text + data[end:]


def found(data: bytes, lost: Sequence[int], params: bytes | None = None) -> list[str]:
    """What is said of an image that has lost rows."""
    try:
        image = container.parse(without(data, lost), "x.bin", params)
    except NeuralArtError as error:
        return [f"refused: {error}"]
    return [f"{finding.level}: {finding}" for finding in verify(image) if finding.check in ("relocations", "context")]


def levels(recipe: Recipe, *, whole: bool = True) -> dict[str, str]:
    """How the loss of each row is found, by the name of its word; empty text: not at all."""
    built = build(recipe)
    names = {RAM + at - built.word("data_data") + ROM: name for name, at in built.at.items()}
    params = built.params if recipe.split and whole else None
    said = {}
    for number in range(sum(name.startswith("rel") and name[3:].isdigit() for name in built.at)):
        place = built.word(f"rel{number}")
        texts = found(bytes(built.data), [place], params)
        said[names[place]] = texts[0].partition(":")[0] if texts else ""
    return said


@pytest.mark.parametrize("name", SHAPES)
def test_each_row_lost(name: str) -> None:
    recipe = SHAPES[name]
    known = ["interface.name", "context.c_name", "context.rt_version_desc", "context.interface"]
    known += [f"pool{number}.name" for number in range(len(recipe.pools))]
    pointers = [f"pointer{number}" for number in range(len(recipe.pointers))]
    assert levels(recipe) == dict.fromkeys(pointers, "warning") | dict.fromkeys(known, "error")


def test_each_row_lost_of_a_released_image() -> None:
    data = RELEASED.read_bytes()
    rows = container.parse(data, "x.bin").relocations
    texts = {row: found(data, [row]) for row in rows}
    assert Counter(len(text) for text in texts.values()) == {1: 22}
    assert Counter(text[0].partition(":")[0] for text in texts.values()) == {"warning": 16, "error": 6}
    assert {row: text[0] for row, text in texts.items() if text[0].startswith("error")} == {
        place: f"error: the pointer {name} at 0x{place:08x} is not in the list"
        for place, name in {
            0x400001E0: "network_name of the interface",
            0x40000224: "c_name of the context",
            0x40000234: "rt_version_desc of the context",
            0x40000250: "itf_network of the context",
            0x40000254: "name of pool 0",
            0x40000268: "name of pool 1",
        }.items()
    }


def test_what_cannot_be_known() -> None:
    """Starts of segments are a single bit, as 2.0 and -0.0; without the params nothing says how far they reach."""
    recipe = replace(CORE_40, pointers=(P0, RAM, P0 + 8, ROM + 0x101))
    assert [levels(recipe)[f"pointer{number}"] for number in range(4)] == ["", "", "warning", "warning"]
    split = replace(SHAPES["split"], pointers=(P0 + 8, ROM + 0x101))
    assert [levels(split, whole=False)[f"pointer{number}"] for number in range(2)] == ["", "warning"]
    assert levels(replace(SHAPES["external"], pointers=(P1, P0 + 8)))["pointer0"] == "warning"


NUMBERS = (0x20000000, 0x40000000, 0x80000000, 0x20000067, 0x200FFFFF, 0x40400000, 0x80000100, 0x90000004, 0x342E0000)


def test_numbers_that_are_no_addresses_of_the_image() -> None:
    """2.0, -0.0, 3.0, a place in the header, behind each segment, in a pool that is not relocated."""
    recipe = replace(CORE_40, tables=lambda where: [(number, False) for number in NUMBERS])
    assert verify(container.parse(bytes(build(recipe).data), "x.bin")) == ()
    pool = replace(SHAPES["4.0"].pools[1], dst=0x20000100)
    image = container.parse(bytes(build(replace(CORE_40, pools=(PARAM, pool))).data), "x.bin")
    assert [finding.check for finding in verify(image)] == ["pools"]


def test_many_lost_rows_are_not_told_one_by_one() -> None:
    recipe = replace(CORE_40, pointers=(ROM + 0x101,) * 20)
    texts = found(bytes(build(recipe).data), range(RAM, RAM + 80, 4))
    assert len(texts) == 9 and texts[-1] == "warning: and 12 more of this kind"


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "network_rel.bin"
    data = RELEASED.read_bytes()
    path.write_bytes(without(data, [0x40000268]))
    assert main(["relocatable", "verify", str(path)]) == 1
    assert "error: relocations: the pointer name of pool 1 at 0x40000268 is not in the list" in capsys.readouterr().err
    row = container.parse(data, "x.bin").relocations[0]
    path.write_bytes(without(data, [row]))
    assert main(["relocatable", "verify", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "no errors, 1 warning: 'digits'" in out
    assert f"warning: relocations: the word at 0x{row:08x} is 0x2000" in err
    assert (
        "as an address in segment 2 (FLASH), but not in the list (a relocation is lost, unless it is a number)" in err
    )
