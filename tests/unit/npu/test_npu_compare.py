"""``neuralart tool npu-compare``: a board that rounds otherwise is made up by the model with other rules."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart_virtual.npu.run import EpochResult, load
from neuralart_virtual.tie_rules import Ties
from neuralart_virtual.validation_link import layer_files
from neuralart_virtual.validation_link.client import LayerRecord
from support.npu import npu_network as made


def tensor(name: str, address: int, data: bytes) -> dict[str, Any]:
    return {"description": {"name": name, "address": address}, "data": {"content": data}}


def operator(first: int, last: int) -> dict[str, Any]:
    return {"id": last << 16 | first}


def record(folder: Path, network: Path, *, whole: bool = False, image: bytes = b"", **how: Any) -> Path:
    """What a board with these rules would send. ``whole``: one program, whose last buffer is sent alone."""
    board = load(network, **how)
    image = image or made.image()
    board.set_input("image", image)
    layers: list[LayerRecord] = []

    def keep(result: EpochResult) -> None:
        sent = [
            tensor(
                f"epoch {result.label}", each.start, board.memory.view(each.start, each.size * each.elements).tobytes()
            )
            for each in result.outputs
        ]
        number = int(result.label)
        if not whole or number > 3:
            first = 1 if whole and number == 4 else number
            layers.append(LayerRecord(operator(first, number), tuple(sent), ()))

    board.run(keep)
    layer_files.write(folder, "made", [image], layers, force=False)
    return folder


def call(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    """Output of a call; of one that is refused its message."""
    assert cli.main(["tool", "npu-compare", *map(str, words)]) == code
    out, err = capsys.readouterr()
    if code:
        assert err.startswith("neuralart npu-compare: error: ") and err.count("\n") == 1, err
    return err if code else out


def two_records(folder: Path, network: Path, **how: Any) -> list[Path]:
    """The inputs have ties that tell all three rules of the convolution apart."""
    images = [np.random.default_rng(seed).integers(-128, 128, made.IN_ELEMENTS, dtype=np.int8) for seed in (3, 12)]
    return [record(folder / str(n), network, image=image.tobytes(), **how) for n, image in enumerate(images)]


@pytest.mark.parametrize("rule", ["away", "up", "even"])
def test_the_rule_of_convolutions(tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: str) -> None:
    path = made.write(tmp_path / "net", controller=False)
    records = two_records(tmp_path, path, ties=Ties(stages={"convolution": rule}))
    found = json.loads(call(capsys, *records, "--network", path, "--json"))
    stage = found["stages"]["convolution"]
    assert stage.pop(rule) == [0, "confirmed"]
    assert [verdict for count, verdict in stage.values() if count] == ["refuted"] * 2
    assert all(verdict == "open" for _, verdict in found["stages"]["input"].values()), "no unit shifts its input"
    assert len(found["buffers"]) == 12 and not any(each["different"] for each in found["buffers"])
    assert found["not_compared"] == 0


def test_what_one_inference_cannot_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made.write(tmp_path / "net", controller=False)
    records = two_records(tmp_path, path, ties=Ties(stages={"convolution": "even", "activation": "up"}))
    out = call(capsys, records[0], "--network", path).splitlines()
    assert out[1].split() == ["stage", "away", "up", "even"]
    assert out[2].split() == ["convolution", "1", "refuted", "0", "open", "0", "open"]
    assert (
        out[-1] == "6 buffers of 312 elements compared with the best rules, 0 differ; 0 recorded tensors are no buffers"
    )
    out = call(capsys, *records, "--network", path).splitlines()
    assert out[2].split() == ["convolution", "2", "refuted", "1", "refuted", "0", "confirmed"]


def test_a_program_of_the_epoch_controller(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The board sends what a whole program wrote last."""
    path = made.write(tmp_path / "net", controller=True)
    found = json.loads(call(capsys, record(tmp_path / "record", path, whole=True), "--network", path, "--json"))
    assert [(each["epoch"], each["different"]) for each in found["buffers"]] == [("4", 0), ("5", 0), ("6", 0)]


@pytest.mark.parametrize("same", [True, False])
def test_an_assumed_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str], same: bool) -> None:
    path = made.write(tmp_path / "net", controller=False)
    text = path.read_text("utf-8").replace("operation = POOL_MAX", "operation = POOL_MIN")
    path.write_text(text, encoding="utf-8")
    folder = record(tmp_path / "record", path, assume=["POOL.TYPE=1"])
    if not same:
        rows = json.loads((folder / "record.json").read_text())["layers"]
        file = folder / rows[1]["tensors"][0]["file"]
        file.write_bytes(bytes(byte ^ 0x40 for byte in file.read_bytes()))
    assert "--assume POOL.TYPE=1" in call(capsys, folder, "--network", path, code=1)
    lines = call(capsys, folder, "--network", path, "--assume", "POOL.TYPE=1").splitlines()
    said = "confirmed: 0 of" if same else "refuted: 72 of"
    assert f"POOL.TYPE=1: {said} 72 elements differ" in lines
    assert (f"epoch 2: 72 of 72 elements at 0x{made.RAM + made.POOLED:08x} differ" in lines) != same


def test_records_that_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made.write(tmp_path / "net", controller=False)
    folder = record(tmp_path / "record", path)
    good = json.loads((folder / "record.json").read_text("utf-8"))

    def said(change: dict[str, Any]) -> str:
        (folder / "record.json").write_text(json.dumps({**good, **change}), "utf-8")
        return call(capsys, folder, "--network", path, code=1)

    moved = [{**row, "tensors": [{**t, "address": 64} for t in row["tensors"]]} for row in good["layers"]]
    assert "none of the 6 recorded tensors is where an epoch of the network writes" in said({"layers": moved})
    assert "not the record of an inference" in said({"kind": "other"})
    assert "not the record of an inference" in said({"schema": 2})
    assert "'../made.c' is no file beside it (record it again)" in said({"inputs": ["../made.c"]})
    assert "has inputs of [] bytes, the network's own are [144] (is it the record of this compile?)" in said(
        {"inputs": []}
    )
    assert "record.json" in said({"layers": [{**moved[0], "epoch": "x"}]})
    assert "record.json" in said({"layers": [{"last": 1, "tensors": [{"address": 1, "file": "000_0.bin"}]}]})
    assert "gone.bin" in said({"layers": [{"epoch": 1, "last": 1, "tensors": [{"address": 1, "file": "gone.bin"}]}]})
    assert "neuralart tool talk PORT --input FILE --layers FOLDER" in call(capsys, tmp_path, "--network", path, code=1)
    (folder / "record.json").write_bytes(b"{")
    assert "record.json" in call(capsys, folder, "--network", path, code=1)
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert "the virtual NPU needs the Python package numpy" in call(capsys, folder, "--network", path, code=1)


def test_nothing_is_replaced(tmp_path: Path) -> None:
    layers = [LayerRecord(operator(0xFFFD, 2), (tensor("a", 1, b"x"), tensor("b", 2, b"")), ())]
    layers += [LayerRecord(operator(3, 0xFFFE), (), ())]
    layer_files.write(tmp_path, "n", [b"in"], layers, force=False)
    found = layer_files.read(tmp_path)
    assert (found.network, found.inputs, [each.data for each in found.tensors]) == ("n", (b"in",), [b"x"])
    layer_files.write(tmp_path, "n", [b"in"], layers, force=False)
    with pytest.raises(NeuralArtError, match=r"input_0\.bin: is there already"):
        layer_files.write(tmp_path, "n", [b"other"], layers, force=False)
    assert layer_files.read(tmp_path).inputs == (b"in",)
    layer_files.write(tmp_path, "n", [b"other"], layers, force=True)
