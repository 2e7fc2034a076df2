"""``neuralart fit``: the answer for each board is that of a compile, and what does not fit is named with its size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuralart import boards, cli
from neuralart_reference import fit
from support.networks import Network, tflite_of
from support.small_models import one_op

DIGITS = Path(__file__).resolve().parents[2] / "models/digits/digits.tflite"


def model(folder: Path, size: int, channels: int, wide: int = 8) -> Path:
    """A picture, a layer of many channels, and one of few."""
    net = Network(size)
    net.conv(net.pool(net.conv(net.input, channels, 3), 2, 2), wide, 3, 2)
    path = folder / "camera.tflite"
    path.write_bytes(tflite_of(net))
    return path


def answers(path: Path, capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, dict[str, object]]:
    assert cli.main(["fit", str(path), "--json", *words]) == code
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == fit.SCHEMA
    return {row["board"]: row for row in record["boards"]}


@pytest.mark.parametrize("board", boards.names())
def test_places_are_those_of_a_compile(tmp_path: Path, board: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = boards.load(board)
    stock = ["--memory-pool", found.memory_pools], ["--st-neural-art", f"default@{found.profile}"]
    more = stock[0] if found.memory_pools else stock[1]
    words = ["-m", str(DIGITS), "--target", found.target, "-o", str(tmp_path / "out"), "--quiet"]
    assert cli.main(["compile", *words, *more]) == 0
    pools = json.loads((tmp_path / "out/network.json").read_text("utf-8"))["pools"]
    compiled = sorted((pool["weights"], pool["activations"]) for pool in pools if pool["used"])
    uses = answers(DIGITS, capsys, "--board", board)[board]["uses"]
    assert isinstance(uses, list)
    assert sorted((use["weights"], use["activations"]) for use in uses) == compiled


def test_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fit", str(DIGITS)]) == 0
    said = capsys.readouterr().out
    head, needs = said.splitlines()[:3:2]
    assert head == "digits.tflite: 6 epochs, 97,802 MACC"
    assert needs == "  activations  2,066 B at least, in epoch 0 (CONV_2D): 'conv1' 2048, 'image' 256"
    assert said.count("yes") == len(boards.names())


def test_a_board_that_is_too_small_and_stripes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 64 channels of 200 x 200: 2.4 MiB at once, more than a joined bank; in stripes it is less
    path = model(tmp_path, 200, 64)
    found = answers(path, capsys)
    assert found["mps3-an547"]["fits"] and found["mps3-an547"]["memory"] == ""
    assert found["nucleo-n657x0-q"]["fits"] and found["nucleo-n657x0-q"]["memory"] == "smallest"
    assert cli.main(["fit", str(path), "--board", "nucleo-n657x0-q"]) == 0
    assert "nucleo-n657x0-q  memory: smallest" in capsys.readouterr().out


def test_nothing_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, 6000, 3)
    found = answers(path, capsys, "--board", "stm32h747i-disco", "--board", "nucleo-n657x0-q", code=1)
    assert not any(row["fits"] for row in found.values())
    assert all("activations do not fit: " in str(row["why"]) for row in found.values())
    assert cli.main(["fit", str(path), "--board", "nucleo-n657x0-q"]) == 1
    said = capsys.readouterr().out
    assert "nucleo-n657x0-q: activations do not fit: " in said and "no board takes it" in said


def test_weights_beside_the_firmware(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, 16, 256, 600)
    row = answers(path, capsys, "--board", "stm32h747i-disco", code=1)["stm32h747i-disco"]
    assert str(row["why"]).startswith("weights do not fit: 1") and "FLASH_BK1 has 1048576" in str(row["why"])
    assert "dispatch_weights" in str(row["hint"])


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.tflite").write_text("text", "utf-8")
    (tmp_path / "rare.tflite").write_bytes(one_op("CUMSUM", [(1, 4)], [(1, 4)], constants={}))
    for words, said in (
        (["none"], "none: cannot read"),
        (["text.tflite"], "not a TensorFlow Lite model but text"),
        (["rare.tflite"], "CUMSUM"),
        ([str(DIGITS), "--board", "stm32n6570"], "--board: no board 'stm32n6570' (did you mean 'stm32n6570-dk'?"),
    ):
        assert cli.main(["fit", *([str(tmp_path / words[0]), *words[1:]])]) == 1, words
        error = capsys.readouterr().err
        assert said in error and error.startswith("neuralart fit: error: ")


def test_a_new_project_takes_stripes_or_names_a_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, 200, 64)
    assert cli.main(["new", str(tmp_path / "cam"), "--board", "nucleo-n657x0-q", "--model", str(path)]) == 0
    assert "    memory: smallest\n" in (tmp_path / "cam/variants.yaml").read_text("utf-8")
    large = model(tmp_path, 1000, 3)
    capsys.readouterr()
    assert cli.main(["new", str(tmp_path / "mic"), "--board", "nucleo-n657x0-q", "--model", str(large)]) == 1
    error = " ".join(capsys.readouterr().err.split())
    assert "activations do not fit: 6000000 bytes" in error and not (tmp_path / "mic").exists()
    assert "it fits mps2-an500, mps3-an547, stm32h747i-disco, " in error


def test_the_page_shows_what_is_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    root = DIGITS.parents[2]
    monkeypatch.chdir(root)
    page = (root / "docs/reference/fit.md").read_text("utf-8")
    call, _, shown = page.partition("```console\n$ neuralart ")[2].partition("\n")
    assert cli.main(call.split()) == 0
    assert capsys.readouterr().out == shown.partition("```")[0]
