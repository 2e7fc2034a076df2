"""What another compile of a model changes, by epoch: what its epochs do, and what they compute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart.cli import main
from neuralart.errors import NeuralArtError
from neuralart_insight.profiling.npu_diff import in_words, lines_of, npu_diff
from neuralart_virtual.emulator import vectors as golden
from neuralart_virtual.vectors import npu_buffers
from support.npu import npu_network as made


def compiled(folder: Path, *, controller: bool = False, seed: int = 7, **edits: str) -> Path:
    """A compile; ``edits``: members of structures and their values."""
    path = made.write(folder, controller=controller)
    (folder / "made_atonbuf.xSPI2.raw").write_bytes(made.Weights(np.random.default_rng(seed)).data())
    text = path.read_text("utf-8")
    for member, value in edits.items():
        name, _, number = member.rpartition("_")
        start = text.index(f"init_{name}_{number}")
        key, old, new = value.split()
        at = text.index(f".{key} = {old},", start)
        text = f"{text[:at]}.{key} = {new},{text[at:].partition(',')[2]}"
    path.write_text(text, encoding="utf-8")
    return path


def run(*words: object) -> None:
    assert main([*map(str, words)]) == 0


def keep(network: Path, folder: Path) -> Path:
    run("vectors", network, "--from-npu", "--random", 2, "-o", folder)
    return folder


def compared(capsys: pytest.CaptureFixture[str], a: object, b: object, *words: object) -> tuple[str, dict[str, Any]]:
    """Text and record of a comparison."""
    capsys.readouterr()
    run("diff", a, b, *words)
    text = capsys.readouterr().out
    run("diff", a, b, *words, "--json")
    return text, json.loads(capsys.readouterr().out)["networks"][0]["npu"]


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    folder = keep(compiled(tmp_path / "a"), tmp_path / "kept")
    kept = npu_buffers.load(folder)
    assert (kept.network, kept.assume, kept.ties, len(kept.vectors)) == ("made", (), (), 2)
    assert [epoch["epoch"] for epoch in kept.described] == ["1", "2", "3", "4", "5", "6"]
    assert [(buffer.epoch, buffer.size * buffer.elements) for buffer in kept.vectors[1]] == [
        *[("1", 144), ("2", 72), ("3", 72), ("4", 8), ("5", 32), ("6", 32)]
    ]
    last = kept.bytes_of(kept.vectors[1][-1])
    assert last == golden.load(folder).output_data[1] and len(kept.values) == 2 * 360
    npu_buffers.write(tmp_path, kept)
    assert npu_buffers.load(tmp_path) == kept


@pytest.mark.parametrize("controller", [False, True], ids=["structures", "programs"])
def test_the_same_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str], controller: bool) -> None:
    path = compiled(tmp_path / "a", controller=controller)
    kept = keep(path, tmp_path / "kept")
    for other in (path, kept):
        text, record = compared(capsys, kept, other)
        assert "what its epochs do: 6 paired: 6 equal, 0 at other addresses alone, 0 differ; 0 added, 0 removed" in text
        assert "what they compute of 2 vectors: 6 of 6 epochs equal, 0 in another order\n" in text
        assert record["changed"] == [] and record["values"]["first"] is None


def test_both_forms_compute_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = keep(compiled(tmp_path / "a"), tmp_path / "kept")
    other = compiled(tmp_path / "b", controller=True)
    record = compared(capsys, kept, other)[1]
    assert (record["paired"], record["values"]["equal"], record["added"], record["removed"]) == (6, 6, [], [])
    assert {key for row in record["changed"] for key in row["differs"]} <= {"settings"}


def test_other_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shift of epoch 2: it computes something else, and so do those behind it; the first one is named."""
    kept = keep(compiled(tmp_path / "a"), tmp_path / "kept")
    other = compiled(tmp_path / "b", arithacc_3_2="shift_o 20 21")
    text, record = compared(capsys, kept, other)
    assert (record["equal"], record["paired"]) == (5, 6)
    (changed, *others) = record["changed"]
    assert (changed["a"], list(changed["differs"])) == ("2", ["settings"]) and changed["values"]["steps"] > 1
    assert all(row["differs"] == {} for row in others)
    assert record["values"]["first"] == ["2", "2"] and record["values"]["equal"] == 1
    assert "1 of 6 epochs equal, 0 in another order; the first that differs, by up to " in text
    assert "2      settings of its units" in text
    steps = record["changed"][0]["values"]["steps"]
    assert f"{steps} steps\n" in text


def test_other_weights_and_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compiled(tmp_path / "a")
    kept = keep(path, tmp_path / "kept")
    record = compared(capsys, kept, compiled(tmp_path / "weights", seed=8))[1]
    assert (record["equal"], record["values"]["first"]) == (6, ["2", "2"])
    moved = tmp_path / "moved"
    text = compiled(moved).read_text("utf-8").replace("+ 1536", "+ 1600")
    for old, new in ((".offset_start = 512", ".offset_start = 704"), (".offset_end = 584", ".offset_end = 776")):
        text = text.replace(old, new)
    (moved / "made.c").write_text(text.replace(".offset_start = 516", ".offset_start = 708"), encoding="utf-8")
    text, record = compared(capsys, path, moved / "made.c")
    assert (record["moved"], record["equal"], record["values"]) == (2, 4, None)
    assert "6 paired: 4 equal, 2 at other addresses alone, 0 differ" in text


def test_two_compiles_with_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither was kept: both run. Vectors of another network are no error, but a note."""
    a, b = compiled(tmp_path / "a"), compiled(tmp_path / "b", poolacc_0_4="shift_o 18 17")
    kept = keep(a, tmp_path / "kept")
    for name in npu_buffers.FILES:
        (kept / name).unlink()
    text, record = compared(capsys, a, b, "--vectors", kept)
    assert record["values"]["first"] == ["4", "4"] and "of 2 vectors: 3 of 6 epochs equal" in text
    tensor = golden.VectorTensor("x", "int8", (4,), 4)
    golden.write(tmp_path / "small", golden.Vectors("", (tensor,), (tensor,), (b"1234",), (b"1234",)), "a test")
    text, record = compared(capsys, a, b, "--vectors", tmp_path / "small")
    assert record["note"] == "no values are compared: made.c has inputs of another size" and record["note"] in text
    (tmp_path / "b" / "made_atonbuf.xSPI2.raw").unlink()
    assert "no file with them is given" in compared(capsys, a, b, "--vectors", kept)[1]["note"]
    assert main(["diff", str(a), str(b), "--vectors", str(tmp_path / "none")]) == 1


def test_kept_for_other_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = compiled(tmp_path / "a")
    kept = keep(a, tmp_path / "kept")
    run("vectors", a, "--from-npu", "--random", 1, "--seed", 3, "-o", tmp_path / "other")
    record = compared(capsys, kept, tmp_path / "other")[1]
    assert record["values"] is None and record["note"].startswith("no values are compared: one side has none for the ")


def test_too_much_to_keep(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of all, values of the first ones: what differs is known, by how much is not."""
    monkeypatch.setattr(npu_buffers, "MOST_KEPT", 150)
    kept = keep(compiled(tmp_path / "a"), tmp_path / "kept")
    assert (kept / "epochs.bin").stat().st_size == 144
    text, record = compared(capsys, kept, compiled(tmp_path / "b", arithacc_3_2="shift_o 20 21"))
    assert record["values"]["first"] == ["2", "2"] and record["values"]["steps"] is None
    assert "another order; the first that differs: 2\n" in text


def test_a_saved_profile_has_the_epochs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = compiled(tmp_path / "a")
    run("profile", a, "-o", tmp_path / "a.json")
    record = compared(capsys, tmp_path / "a.json", compiled(tmp_path / "b", arithacc_3_2="shift_o 20 21"))[1]
    assert [(row["a"], list(row["differs"])) for row in record["changed"]] == [("2", ["settings"])]


def epoch(number: int, macs: int, written: int, **more: Any) -> dict[str, Any]:
    stream = {"engine": 1, "writes": True, "pool": "ram", "address": 0, "bytes": written}
    made_of = {"epoch": str(number), "kind": "HW", "units": ["CONVACC1"], "kernels": [], "streams": [stream]}
    return {**made_of, "macs": macs, "most_macs": 8 * macs, "settings": "", "missing": "", **more}


def test_pairs() -> None:
    """By work in order, then by the bytes that leave, then as many of one kind; names of tensors come before."""
    a = [epoch(1, 10, 5), epoch(2, 20, 6), epoch(3, 30, 7), epoch(4, 40, 8)]
    b = [epoch(1, 10, 5), epoch(2, 99, 6), epoch(3, 30, 7), epoch(4, 1, 1), epoch(5, 40, 8)]
    record = npu_diff(a, b)
    assert (record["paired"], [row["epoch"] for row in record["added"]]) == (4, ["4"])
    assert record["changed"] == [{"a": "2", "b": "2", "differs": {"MACs": [20, 99]}, "values": None}]
    assert npu_diff(a[1:2], [epoch(7, 1, 1)])["paired"] == 1
    software = epoch(9, 20, 6, kind="SW", units=[], kernels=["ll_sw_forward_conv"])
    assert (npu_diff(a[1:2], [software])["paired"], lines_of(npu_diff([], []))) == (0, [])
    names = {"1": ("x",), "2": ("y",)}, {"1": ("y",), "2": ("x",)}
    assert npu_diff(a[:2], [epoch(1, 10, 5), epoch(2, 20, 6)], names)["paired"] == 1


def test_the_same_values_in_another_order() -> None:
    def kept(data: bytes, size: int = 1) -> tuple[npu_buffers.KeptEpochs, npu_buffers.KeptBuffer]:
        from neuralart_virtual.npu.dataflow import EpochWork
        from neuralart_virtual.npu.memory import NpuMemory
        from neuralart_virtual.npu.run import EpochResult
        from neuralart_virtual.npu.software.tensors import Output

        memory = NpuMemory()
        memory.add("RAM", 0, np.frombuffer(data, np.uint8).copy())
        found = npu_buffers.KeptEpochs("net", "", (), (), [], [[]])
        output = Output(0, size, len(data) // size)
        found.add(EpochResult("1", True, (output,), (None,), EpochWork()), memory)
        return found, found.vectors[0][0]

    def words(a: bytes, b: bytes, size: int = 1) -> str:
        apart = npu_buffers.difference(*kept(a, size), *kept(b, size))
        if apart is None:
            return "equal"
        return in_words({**apart._asdict(), "buffers": 1, "equal": 0, "reordered": int(apart.reordered)})

    assert words(b"\1\2\3", b"\1\2\3") == "equal"
    assert words(b"\1\2\3", b"\3\1\2") == "other order"
    assert words(b"\1\2\3", b"\1\2\5") == "2 steps"
    # With and without a sign: the smaller difference.
    assert words(b"\xff\0", b"\0\0") == "1 step" and words(b"\x7f\0", b"\x80\0") == "1 step"
    assert words(b"\0\1\0\2", b"\0\1\1\2", 2) == "1 step"
    assert words(b"\1\2\3\4\5\6", b"\4\5\6\1\2\3", 3) == "other order"
    assert words(b"\1\2\3\4\5\6", b"\1\2\3\4\5\7", 3) == "differ"
    floats = [np.array(values, np.float32).tobytes() for values in ([1, 2], [1, 2.5], [1, np.nan])]
    assert words(floats[0], floats[1], 4) == "0.5" and words(floats[0], floats[2], 4) == "differ"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"neuralart-npu-epochs"', '"other"', "no neuralart-npu-epochs of schema 1"),
        ('"at":576', '"at":99999', "its bytes leave epochs.bin: the files do not belong together"),
        ('"elements":144', '"elements":"144"', "elements"),
        ('{"kind"', '{"kind', "epochs.json:"),
    ],
)
def test_damaged_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str) -> None:
    a = compiled(tmp_path / "a")
    kept = keep(a, tmp_path / "kept")
    text = (kept / "epochs.json").read_text("utf-8")
    assert old in text
    (kept / "epochs.json").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(NeuralArtError, match=said):
        npu_buffers.load(kept)
    capsys.readouterr()
    assert main(["diff", str(kept), str(a)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
