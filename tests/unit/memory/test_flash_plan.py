"""Flash plans, the programmer that follows them, and the commands round it."""

from __future__ import annotations

import hashlib
import json

import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart.flashing import plan as plans
from neuralart.flashing.nor import Chip, Nor, load, program_plan, verify_plan

BASE = 0x70000000
CHIP = Chip(BASE, 1 << 20, 0x1000)


def writes(tmp_path, *rows):
    """Files of (name, kind, address, bytes), and their writes."""
    made = []
    for name, kind, address, data in rows:
        (tmp_path / f"{name}.bin").write_bytes(data)
        made.append(plans.write_of(name, kind, tmp_path / f"{name}.bin", address, f"{name}.bin"))
    return made


@pytest.fixture
def three(tmp_path):
    return writes(
        tmp_path,
        ("application", "application", BASE + 0x10000, bytes(range(256)) * 20),
        ("weights", "model", BASE + 0x20010, b"\x5a" * 0x1800),
        ("descriptor", "descriptor", BASE + 0x30000, b"NAID" * 8),
    )


def make(tmp_path, rows, board="stm32n6570-dk"):
    path = tmp_path / "flash_plan.json"
    path.write_text(plans.make(board, rows), encoding="utf-8")
    return path


def test_a_plan_is_read_as_it_was_made(tmp_path, three):
    path = make(tmp_path, three)
    plan = plans.read(path)
    assert (plan.board, plan.writes, plan.where) == ("stm32n6570-dk", tuple(three), str(path))
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["schema"] == 1
    assert data["writes"][2] == {
        "name": "descriptor",
        "kind": "descriptor",
        "file": "descriptor.bin",
        "address": 0x70030000,
        "bytes": 32,
        "sha256": hashlib.sha256(b"NAID" * 8).hexdigest(),
    }


def test_writes_of_nothing_are_left_out(tmp_path, three):
    empty = writes(tmp_path, ("nothing", "model", BASE, b""))
    assert plans.make("b", [*three, *empty]) == plans.make("b", three)


def change(**keys):
    def edit(data):
        data["writes"][1].update(keys)

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d.update(schema=2), "schema 2, this version reads 1"),
        (lambda d: d.pop("schema"), "it has no 'schema'"),
        (lambda d: d.update(writs=[]), "unknown key 'writs' .did you mean 'writes'"),
        (lambda d: d.update(writes={}), "'writes' a list"),
        (lambda d: d.update(writes=[]), "it has no writes: there is nothing to flash"),
        (lambda d: d.pop("board"), "'board' must be a text"),
        (lambda d: d["writes"].append(7), r"writes\[3\]: not an object"),
        (lambda d: d["writes"][1].pop("file"), r"writes\[1\]: 'file' is missing"),
        (change(adress=1), r"writes\[1\]: unknown key 'adress' .did you mean 'address'"),
        (change(kind="modle"), r"writes\[1\]: kind 'modle' .did you mean 'model'"),
        (change(address="0x70000000"), "'address' is '0x70000000', not a int"),
        (change(address=True), "'address' is True"),
        (change(address=-1), "are no place for data"),
        (change(address=0xFFFFFFFF), "are no place for data"),
        (change(bytes=0), "0 bytes at"),
        (change(bytes=1.5), "'bytes' is 1.5"),
        (change(name=""), "must not be empty"),
        (change(sha256="12"), "'sha256' is '12', not 64 hex digits"),
        (change(sha256="G" * 64), "not 64 hex digits"),
        (change(name="application"), r"writes\[1\]: two writes are called 'application'"),
    ],
)
def test_wrong_plans_are_named(tmp_path, three, edit, message):
    path = make(tmp_path, three)
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(NeuralArtError, match=message) as caught:
        plans.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "null",
        '"x"',
        "\x00",
        "9" * 5000,
        "[" * 100_000,
        '{"schema":' * 100_000,
        '{"schema": 1, "schema": 1}',
    ],
)
def test_what_is_no_plan(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NeuralArtError, match="not a flash plan"):
        plans.read(path)


def test_programming_writes_everything_and_says_what(tmp_path, three):
    nor = Nor(CHIP)
    plan = plans.read(make(tmp_path, three))
    done = program_plan(plan, nor, top=tmp_path)
    assert [(w.write.name, w.erased, w.kept, w.lost) for w in done] == [
        ("application", 2, 0, ()),
        ("weights", 2, 0, ()),
        ("descriptor", 1, 0, ()),
    ]
    assert nor.read(0x20000, 0x20) == b"\xff" * 16 + b"\x5a" * 16
    assert nor.read(0x20010 + 0x1800 - 1, 2) == b"\x5a\xff"
    assert verify_plan(plan, nor, top=tmp_path) is None


def test_sectors_that_hold_their_bytes_are_left_alone(tmp_path, three):
    nor = Nor(CHIP)
    plan = plans.read(make(tmp_path, three))
    program_plan(plan, nor, top=tmp_path)
    nor.program(0x30800, b"kept")
    again = program_plan(plan, nor, top=tmp_path)
    assert [(w.erased, w.kept, w.lost) for w in again] == [(0, 2, ()), (0, 2, ()), (0, 1, ())]
    assert nor.read(0x30800, 4) == b"kept"
    changed = bytearray((tmp_path / "application.bin").read_bytes())
    changed[-1] ^= 0xFF
    (tmp_path / "application.bin").write_bytes(changed)
    rows = writes(tmp_path, ("application", "application", three[0].address, bytes(changed)))
    (one,) = program_plan(plans.read(make(tmp_path, rows)), nor, top=tmp_path)
    assert (one.erased, one.kept) == (1, 1)


def test_what_shared_a_sector_is_lost_and_said(tmp_path, three):
    nor = Nor(CHIP)
    nor.program(0x20004, b"before")
    nor.program(0x21900, b"behind")
    nor.program(0x22000, b"next sector")
    done = program_plan(plans.read(make(tmp_path, three)), nor, top=tmp_path)
    assert done[1].lost == ((BASE + 0x20004, BASE + 0x2000A), (BASE + 0x21900, BASE + 0x21906))
    assert nor.read(0x20004, 6) == nor.read(0x21900, 6) == b"\xff" * 6
    assert nor.read(0x22000, 11) == b"next sector"


def test_two_writes_in_one_sector(tmp_path, three):
    late = writes(tmp_path, ("late", "model", BASE + 0x21900, b"x"))
    plan = plans.read(make(tmp_path, [*three, *late]))
    nor = Nor(CHIP)
    for only in (None, "application"):
        with pytest.raises(NeuralArtError) as caught:
            program_plan(plan, nor, only, tmp_path)
        text = str(caught.value)
        assert "'weights' [0x70020010, 0x70021810) and 'late' [0x70021900, 0x70021901)" in text
        assert "share the erase sector [0x70021000, 0x70022000)" in text
    assert list(nor.contents()) == []


@pytest.mark.parametrize("address", [BASE - 16, BASE + CHIP.size - 16, BASE + CHIP.size])
def test_a_write_outside_of_the_chip(tmp_path, three, address):
    far = writes(tmp_path, ("far", "model", address, bytes(32)))
    nor = Nor(CHIP)
    with pytest.raises(NeuralArtError, match=r"'far' .* is not within the flash .0x70000000, 0x70100000"):
        program_plan(plans.read(make(tmp_path, [*three, *far])), nor, top=tmp_path)
    assert list(nor.contents()) == []


def test_a_changed_file_stops_everything_before(tmp_path, three):
    plan = plans.read(make(tmp_path, three))
    nor = Nor(CHIP)
    (tmp_path / "descriptor.bin").write_bytes(b"XAID" * 8)
    with pytest.raises(NeuralArtError, match=r"'descriptor' has changed since the plan was made .*build again"):
        program_plan(plan, nor, top=tmp_path)
    assert list(nor.contents()) == []
    # What is not written is not looked at.
    assert [w.write.name for w in program_plan(plan, nor, "application", tmp_path)] == ["application"]
    with pytest.raises(NeuralArtError, match="has changed"):
        verify_plan(plan, nor, top=tmp_path)
    (tmp_path / "descriptor.bin").unlink()
    with pytest.raises(NeuralArtError, match=r"descriptor.bin: cannot read"):
        program_plan(plan, nor, top=tmp_path)


def test_parts(tmp_path, three):
    plan = plans.read(make(tmp_path, three))
    nor = Nor(CHIP)
    nor.program(0x10000, b"\x11\x22")
    assert [w.write.name for w in program_plan(plan, nor, "model", tmp_path)] == ["weights", "descriptor"]
    assert nor.read(0x10000, 2) == b"\x11\x22"
    assert verify_plan(plan, nor, "model", tmp_path) is None
    with pytest.raises(NeuralArtError, match="no part 'modle'"):
        program_plan(plan, nor, "modle", tmp_path)
    alone = plans.read(make(tmp_path, three[:1]))
    with pytest.raises(NeuralArtError, match="nothing of kind model or descriptor is in it"):
        program_plan(alone, nor, "model", tmp_path)


def test_the_first_difference(tmp_path, three):
    plan = plans.read(make(tmp_path, three))
    nor = Nor(CHIP)
    program_plan(plan, nor, top=tmp_path)
    nor.program(0x21000, b"\x50")
    nor.program(0x30001, b"\0")
    mismatch = verify_plan(plan, nor, top=tmp_path)
    assert (mismatch.write.name, mismatch.offset, mismatch.expected, mismatch.found) == ("weights", 0xFF0, 0x5A, 0x50)
    assert str(mismatch) == ("'weights' differs at 0x70021000: weights.bin offset 0xff0 is 0x5a, the flash has 0x50")
    nor.erase(0x10000, 0x1000)
    assert str(verify_plan(plan, nor, top=tmp_path)).endswith("offset 0x0 is 0x00, the flash has 0xff (erased)")


@pytest.fixture
def words(tmp_path):
    rows = writes(
        tmp_path,
        ("application", "application", 0x70100000, bytes(100)),
        ("weights", "model", 0x71000000, b"\x5a" * 70000),
    )
    nor = tmp_path / "out" / "flash.nor"
    return ["--plan", str(make(tmp_path, rows)), "--nor", str(nor), "--top", str(tmp_path)], nor


def test_the_commands(words, tmp_path, capsys):
    given, nor = words
    assert cli.main(["flash", *given]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "application: 100 bytes at 0x70100000, 1 sector erased and written",
        "weights: 70000 bytes at 0x71000000, 2 sectors erased and written",
    ]
    assert nor.stat().st_size == 36 + 3 * (4 + 65536)
    assert cli.main(["verify", *given]) == 0
    assert capsys.readouterr().out == f"{nor}: 2 writes, 70100 bytes, all as planned\n"
    before = nor.stat().st_mtime_ns
    assert cli.main(["flash", *given]) == 0
    assert "weights: 70000 bytes at 0x71000000, 2 sectors held these bytes already" in capsys.readouterr().out
    assert nor.stat().st_mtime_ns == before

    chip = load(nor)
    chip.program(0x1000005, b"\0")
    chip.program(0x1011180, b"tail")
    chip.save(nor)
    assert cli.main(["verify", *given]) == 2
    captured = capsys.readouterr()
    assert "'weights' differs at 0x71000005" in captured.err and captured.err.count("\n") == 1
    assert cli.main(["flash", *given, "--only", "model"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "weights: 70000 bytes at 0x71000000, 1 sector erased and written, 1 sector held these bytes already"
    ]
    assert load(nor).read(0x1011180, 4) == b"tail"


def test_what_a_killed_flash_left_is_in_nobodys_way(words, tmp_path):
    """Its lock and half a file of its own; both are gone afterwards."""
    given, nor = words
    nor.parent.mkdir()
    for name in (f"{nor.name}.lock", f".{nor.name}.99999999-1.part"):
        nor.with_name(name).write_bytes(b"half")
    assert cli.main(["flash", *given]) == 0
    assert [path.name for path in nor.parent.iterdir()] == [nor.name]


def test_a_lost_neighbor_is_said_by_the_command(words, capsys):
    given, nor = words
    cli.main(["flash", *given])
    chip = load(nor)
    chip.program(0x1011000, b"\0")
    chip.program(0x1011180, b"tail")
    chip.save(nor)
    capsys.readouterr()
    assert cli.main(["flash", *given]) == 0
    assert (
        "weights: what stood at [0x71011180, 0x71011184) shared its sectors and is erased now"
        in capsys.readouterr().out.splitlines()
    )


def test_a_failed_command_leaves_the_flash_as_it_was(words, tmp_path, capsys):
    given, nor = words
    (tmp_path / "weights.bin").write_bytes(b"other")
    assert cli.main(["flash", *given]) == 1
    assert "weights.bin" in capsys.readouterr().err
    assert not nor.exists()
    assert cli.main(["verify", *given]) == 1
    assert "there is no virtual flash yet" in capsys.readouterr().err


def test_a_plan_of_an_unknown_board(tmp_path, three, capsys):
    path = make(tmp_path, three, board="stm32n6570dk")
    assert cli.main(["flash", "--plan", str(path), "--nor", str(tmp_path / "x")]) == 1
    error = capsys.readouterr().err
    assert str(path) in error and "stm32n6570-dk" in error
