"""``neuralart vectors``: the folders of this repository come out of it again, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from neuralart import cli
from neuralart_reference.model import tflite
from neuralart_virtual.emulator import vectors
from neuralart_virtual.emulator.inputs.source import RandomInputs, at_random
from neuralart_virtual.vectors import expected

REPO = Path(__file__).resolve().parents[3]
MODELS = REPO / "models"
DIGITS = MODELS / "digits" / "digits.tflite"
litert = pytest.mark.needs("ai_edge_litert")


def made(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    """What the command says."""
    assert cli.main(["vectors", *map(str, words)]) == code
    said = capsys.readouterr()
    if code:
        assert said.err.startswith("neuralart vectors: error: ") and said.err.count("\n") == 1
    return said.err if code else said.out


@litert
@pytest.mark.parametrize("name", ["digits", "mobilenet", "heatmap", "detector"])
def test_the_vectors_of_this_repository(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """From their inputs alone: the same three files."""
    origin = MODELS / name / "vectors"
    said = made(capsys, MODELS / name / f"{name}.tflite", origin / "inputs.bin", "-o", tmp_path / "v")
    assert said.endswith(" vectors, outputs by ai-edge-litert 2.3.0 BUILTIN_REF\n")
    for file in ("vectors.json", "inputs.bin", "outputs.bin"):
        assert (tmp_path / "v" / file).read_bytes() == (origin / file).read_bytes(), file


@litert
def test_inputs_of_several_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.full((2, 16, 16, 1), 255.0))
    (tmp_path / "b.csv").write_text(",".join(["128"] * 256))
    words = [DIGITS, tmp_path / "a.npy", tmp_path / "b.csv", "--random", 2, "--seed", 5, "--scale", "1/255"]
    words.insert(1, "-o")
    words.insert(2, tmp_path / "v")
    assert "v: 5 vectors, outputs by" in made(capsys, *words)
    read = vectors.load(tmp_path / "v")
    model = tflite.read(DIGITS)
    (port,) = expected.ports(model, model.inputs)
    element = round(1.0 / port.scale) + port.zero_point, round(128 / 255 / port.scale) + port.zero_point
    assert [set(np.frombuffer(data, np.int8)) for data in read.input_data[1:3]] == [
        {min(element[0], 127)},
        {element[1]},
    ]
    assert list(read.input_data[3:]) == at_random([port], RandomInputs(2, 5))
    assert read.input_data[0] == read.input_data[1] and read.output_data[0] == read.output_data[1]


@litert
def test_settings_of_the_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The picture is stretched as the application's header says, or as an option says."""
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    image.effect_noise((20, 30), 90).save(tmp_path / "a.png")
    (tmp_path / "digits.tflite").write_bytes(DIGITS.read_bytes())
    (tmp_path / "variants.yaml").write_text(
        "schema: 1\nnetworks:\n  digits:\n    model: digits.tflite\n"
        "    app_config: {use_case: image_classification, aspect_ratio: full_screen}\n"
        "variants:\n  v: {board: mps3-an547, network: digits}\n"
    )
    words = [tmp_path / "digits.tflite", tmp_path / "a.png"]
    assert "a picture of 20x30, the network takes 16x16" in made(capsys, *words, "-o", tmp_path / "v", code=1)
    settings = ["--variants", tmp_path / "variants.yaml"]
    for folder, more in (("a", settings), ("b", ["--resize", "fit"]), ("c", [*settings, "--resize", "crop"])):
        made(capsys, *words, *more, "-o", tmp_path / folder)
    found = [(tmp_path / folder / "inputs.bin").read_bytes() for folder in "abc"]
    assert found[0] == found[1] != found[2]
    said = made(capsys, DIGITS, tmp_path / "a.png", *settings, "-o", tmp_path / "d", code=1)
    assert "digits.tflite has an app_config" in said


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.tflite").write_text("text")
    (tmp_path / "short.bin").write_bytes(b"123")
    there = MODELS / "digits" / "vectors"
    monkeypatch.setattr(expected, "has_litert", lambda: False)
    for words, said in (
        ([DIGITS], "no inputs (name files of inputs, or --random N)"),
        ([tmp_path / "bad.tflite", "--random", 1], "bad.tflite: not a TensorFlow Lite model but text"),
        ([tmp_path / "no.tflite", "--random", 1], "no.tflite: cannot read"),
        ([DIGITS, tmp_path / "short.bin"], "short.bin: 3 bytes are no whole number of vectors of 256 bytes"),
        ([DIGITS, "--random", 1, "--expected", "litert"], "--expected: LiteRT is not installed (pip install"),
        ([DIGITS, "--random", 1, "--board", "stm32n6"], "--board: no board 'stm32n6'"),
        ([DIGITS, "--random", 1, "--variants", tmp_path / "none.yaml"], "none.yaml"),
    ):
        assert said in made(capsys, *words, "-o", tmp_path / "v", code=1), words
        assert not (tmp_path / "v").exists()
    assert "vectors.json: is there already" in made(capsys, DIGITS, "--random", 1, "-o", there, code=1)
    for words, said in (
        (["--scale", "1/0"], "no number like 0.5 or 1/255"),
        (["--random", "-1"], "no whole number"),
        (["--random", "1000000"], "is more than 100000"),
    ):
        with pytest.raises(SystemExit):
            cli.main(["vectors", str(DIGITS), "-o", str(tmp_path / "v"), *words])
        assert said in capsys.readouterr().err


@litert
def test_force_replaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for count, more in ((1, []), (2, ["--force"])):
        made(capsys, DIGITS, "--random", count, *more, "-o", tmp_path)
        assert json.loads((tmp_path / "vectors.json").read_text("utf-8"))["count"] == count
        assert vectors.load(tmp_path).count == count
