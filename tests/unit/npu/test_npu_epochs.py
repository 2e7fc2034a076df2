"""What each epoch does, told by its registers: the same figures as a run, from structures and programs alike."""

from __future__ import annotations

import json
import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy", reason="NumPy is not installed: pip install scons-neuralart[npu]")

from neuralart.cli import main
from neuralart.vendor.network_c.read import read
from neuralart_insight.report import npu_epochs
from neuralart_insight.report.page.document import npu_section
from neuralart_insight.report.page.gather import gather
from neuralart_insight.report.page.parts import Note, PageTable
from neuralart_virtual.npu import described
from neuralart_virtual.npu.dataflow import EpochWork
from neuralart_virtual.npu.described import EpochFacts, of_state
from neuralart_virtual.npu.run import load
from neuralart_virtual.npu.state import NpuState
from support.npu import npu_build as build
from support.npu import npu_network as made
from support.npu.npu_build import FLASH, RAM
from support.servers import page_folder

# By hand: (macs, words of the longest stream), of 8 kernels of 3x3x4 on 6x6, and of twice 8 kernels of 1x1x4 on 3x3.
BY_HAND = {1: (0, 144), 2: (36 * 8 * 36, 288), 3: (2 * 9 * 8 * 4, 72), 4: (0, 72)}


def bytes_of(facts: EpochFacts, *, writes: bool) -> int:
    return sum(stream.bytes for stream in facts.streams if stream.writes == writes)


def same(facts: EpochFacts, work: EpochWork) -> bool:
    """A run did as much as is told without one."""
    told = facts.macs, bytes_of(facts, writes=False), bytes_of(facts, writes=True)
    return told == (work.products, work.read_bytes, work.written_bytes)


@pytest.mark.parametrize("epoch", made.epochs(made.Weights()), ids=lambda epoch: str(epoch.number))
def test_figures_by_hand(epoch: made.Epoch) -> None:
    facts = of_state(epoch.state)
    macs, steps = BY_HAND[epoch.number]
    assert (facts.macs, facts.steps, facts.most) == (macs, steps, 4 * 72 * steps if macs else 0)


@pytest.mark.parametrize("controller", [False, True], ids=["structures", "programs"])
def test_the_same_as_a_run(tmp_path: Path, controller: bool) -> None:
    path = made.write(tmp_path, controller=controller)
    network = read(path, path.name)
    epochs = described.of_network(network, tmp_path)
    ran = load(path).run().epochs
    assert [(each["epoch"], each["kind"] == "HW") for each in epochs] == [(each.label, each.hardware) for each in ran]
    for each, one in zip(epochs, ran, strict=True):
        sides = [sum(s["bytes"] for s in each["streams"] if s["writes"] == writes) for writes in (False, True)]
        work = one.work
        assert [each["macs"] or 0, *sides] == [work.products, work.read_bytes, work.written_bytes]
        assert set(each["units"]) == {name for name in work.units if name != "STRSWITCH"}
    # Software epochs and pools by name; nothing of it needs an initializer.
    assert [each["kernels"] for each in epochs[4:]] == [["ll_sw_forward_dequantizelinear"], ["ll_sw_forward_softmax"]]
    streams = {(s["writes"], s["pool"], s["address"]) for s in epochs[1]["streams"]}
    assert streams == {
        (False, "npuRAM5", made.RAM + made.COPY),
        (False, "octoFlash", made.FLASH + made.KERNELS),
        (True, "npuRAM5", made.RAM + made.POOLED),
    }
    (tmp_path / "made_atonbuf.xSPI2.raw").unlink()
    assert described.of_network(network, tmp_path) == epochs


def test_both_forms_tell_the_same(tmp_path: Path) -> None:
    paths = [made.write(tmp_path / name, controller=name == "programs") for name in ("structures", "programs")]
    one, other = (described.of_network(read(path, path.name), path.parent) for path in paths)
    for epochs in (one, other):
        for each in epochs:
            each["settings"] = ""  # Registers that only one of the forms writes
    assert one == other


def dropped(first: int, second: int) -> NpuState:
    """The engine takes frames of a convolution, of those some in turns."""
    state = NpuState()
    build.convolution(state, KFORMAT={"NR": 2}, FFORMAT={"WIDTH": 4, "HEIGHT": 1}, FHCROP={"RIGHT": 3})
    build.engine(state, 0, RAM, 4, frames=12)
    build.engine(state, 1, FLASH, 24)
    build.engine(state, 2, RAM + 512, 8, write=True, size=2, frames=3)
    state.link(("CONVACC", 0, 0), (("STRENG", 0), 1, 0))
    state.link(("CONVACC", 0, 1), (("STRENG", 1), 1, 0))
    state.link(("STRENG", 2, 0), (("CONVACC", 0), int(first > 0), abs(first)), (("CONVACC", 0), 1, second))
    return state


@pytest.mark.parametrize(("first", "second"), [(-1, 1), (-3, 1), (2, 1)])
def test_frames_that_contexts_drop_are_made_too(first: int, second: int) -> None:
    state = dropped(first, second)
    facts, work = of_state(state), build.run(state, build.memory())
    frames = {(-1, 1): 6, (-3, 1): 12, (2, 1): 3}[first, second]
    assert facts.macs == work.products == frames * 8
    assert facts.macs <= facts.most


def test_features_of_16_bits_have_half_the_products() -> None:
    state = NpuState()
    unit = build.convolution(state, FFORMAT={"WIDTH": 4, "HEIGHT": 1}, FHCROP={"RIGHT": 3}, DFORMAT={"FBYTES": 2})
    unit.set("CTRL", SIMD=2)
    build.engine(state, 0, RAM, 4, size=2)
    build.engine(state, 1, FLASH, 1)
    build.engine(state, 2, RAM + 512, 4, write=True, size=2)
    for port, source in ((("CONVACC", 0, 0), 0), (("CONVACC", 0, 1), 1)):
        state.link(port, (("STRENG", source), 1, 0))
    state.link(("STRENG", 2, 0), (("CONVACC", 0), 1, 0))
    facts = of_state(state)
    assert (facts.macs, facts.steps, facts.most) == (4, 4, 4 * 4 * 36)
    assert same(facts, build.run(state, build.memory()))


def inspected(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, Any]]:
    assert main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    assert main(["inspect", "--json", str(path)]) == 0
    return text, json.loads(capsys.readouterr().out)


def test_inspect_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made.write(tmp_path, controller=True)
    text, record = inspected(path, capsys)
    rows = [line.split("  ") for line in text.splitlines() if line.startswith("  2 ")]
    assert [cell.strip() for cell in rows[-1] if cell] == [
        *("2", "3 STRENG, 1 CONVACC, 2 ARITH, 1 POOL", "npuRAM5 144, octoFlash 288", "npuRAM5 72", "10,368", "12.5 %")
    ]
    assert "softmax  " in text and "4 epochs on the NPU, 2 by software; 10,944 MACs, 10.6 % of the most" in text
    assert [each["epoch"] for each in record["npu"]["epochs"]] == ["1", "2", "3", "4", "5", "6"]
    text, alone = inspected(tmp_path / "made_ecblobs.h", capsys)
    assert "RAM 144, XSPI2 288" in text
    assert [each["macs"] for each in alone["npu"]["epochs"]] == [0, 10368, 576, 0]


def test_what_cannot_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A damaged epoch; no header with programs; an encrypted program; no NumPy. The rest is shown."""
    path = made.write(tmp_path, controller=False)
    text = path.read_text("utf-8")
    path.write_text(text.replace(".poolWinX = 2", ".poolWinX = WIDE"), encoding="utf-8")
    epochs = inspected(path, capsys)[1]["npu"]["epochs"]
    assert [each["epoch"] for each in epochs if each["missing"]] == ["2"]
    assert "poolWinX of init_poolacc_1_2 is 'WIDE', no number that is known" in epochs[1]["missing"]
    made.write(tmp_path, controller=True)
    header = tmp_path / "made_ecblobs.h"
    header.write_text(header.read_text("utf-8").replace("_made_1 false", "_made_1 true"), encoding="utf-8")
    first = inspected(path, capsys)[1]["npu"]["epochs"][0]
    assert (first["kind"], first["macs"]) == ("", None) and "is encrypted" in first["missing"]
    header.unlink()
    shown, record = inspected(path, capsys)
    assert record["npu"]["epochs"] == [] and "what each epoch does: unknown: " in shown


def test_without_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made.write(tmp_path, controller=False)
    monkeypatch.delitem(sys.modules, "neuralart_virtual.npu.described")
    monkeypatch.delattr("neuralart_virtual.npu.described")
    monkeypatch.setitem(sys.modules, "neuralart_virtual.npu.run", None)
    found = npu_epochs.of_network(read(path, path.name), tmp_path)
    assert found["epochs"] == [] and "is not installed: pip install 'scons-neuralart[npu]'" in found["missing"]


def test_profile_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made.write(tmp_path, controller=True)
    assert main(["profile", str(path)]) == main(["profile", str(tmp_path), "-v", "0"]) == 0
    text = capsys.readouterr().out
    assert text.count("3 STRENG, 1 CONVACC, 2 ARITH, 1 POOL") == 1  # Not without a line for each epoch
    assert text.count("4 epochs on the NPU, 2 by software; 10,944 MACs, 10.6 % of the most") == 2
    assert main(["profile", str(path), "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)
    assert profile["npu"] == npu_epochs.of_file(path) and len(profile["npu"]["epochs"]) == 6


def test_a_page_shows_them_in_a_table_that_folds(tmp_path: Path) -> None:
    facts = gather(page_folder.write(tmp_path), (), "Toy")
    assert npu_section(facts, 800) == []
    path = made.write(tmp_path / "npu", controller=False)
    network = replace(facts.networks[0], npu=npu_epochs.of_file(path))
    (section,) = npu_section(replace(facts, networks=(network,)), 800)
    note, table = section.parts
    assert isinstance(note, Note) and note.text.startswith("Network net: 4 epochs on the NPU, 2 by software; 10,944 ")
    assert isinstance(table, PageTable) and table.folded.startswith("6 epochs of net; ") and len(table.rows) == 6
    many = [{**each, "epoch": str(n)} for n in range(200) for each in network.npu["epochs"]]
    large = replace(network, npu={"epochs": many, "missing": ""})
    note, table = npu_section(replace(facts, networks=(large,)), 800)[0].parts
    assert isinstance(note, Note) and note.text.endswith("400 more are left out.") and len(table.rows) == 800
    unknown = replace(network, npu={"epochs": [], "missing": "no header"})
    (section,) = npu_section(replace(facts, networks=(unknown,)), 800)
    assert section.parts == (Note("Network net: unknown. no header", "unknown"),)


@pytest.mark.parametrize("name", ["made.c", "made_ecblobs.h"])
def test_damaged_files_are_told_in_a_line(tmp_path: Path, name: str) -> None:
    """A number is another one, or a part is cut out: the rest is shown, or a line says what is wrong."""
    path = made.write(tmp_path, controller=name != "made.c")
    text, rng = (tmp_path / name).read_text("utf-8"), random.Random(5)
    numbers = [match.span() for match in re.finditer(r"0x[0-9a-f]+|\b\d+\b", text)]
    told = 0
    for _ in range(40):
        start, end = rng.choice(numbers)
        changed = rng.choice(["0", "1", "7", "255", "65535", "0xffffffff", hex(rng.getrandbits(64))])
        cut = end + rng.choice([0, 0, 0, 40])
        (tmp_path / name).write_text(text[:start] + changed + text[cut:], encoding="utf-8")
        found = npu_epochs.of_file(path)
        told += bool(found["missing"]) or any(each["missing"] for each in found["epochs"])
        "\n".join(npu_epochs.lines(found))
    assert told > 3
