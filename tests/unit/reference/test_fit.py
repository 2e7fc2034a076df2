"""``neuralart fit``: the answer for each board is that of a compile, and what does not fit is named with its size."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from neuralart import boards, cli
from neuralart_insight.fit import cli as page
from neuralart_insight.fit.cli import SCHEMA
from neuralart_reference.fit import Demand, Fit, InPool
from neuralart_reference.model.refusal import ModelRefusal
from neuralart_reference.planning.placement import brief
from support.cases.small_models import one_op
from support.models.networks import Network, tflite_of

DIGITS = Path(__file__).resolve().parents[3] / "models/digits/digits.tflite"


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
    assert record["schema"] == SCHEMA
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


def test_a_compile_that_is_refused_names_boards_that_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stock = ["--target", "stm32n6", "--st-neural-art", f"default@{boards.load('nucleo-n657x0-q').profile}"]
    words = ["-o", str(tmp_path / "out"), "--quiet", *stock]
    assert cli.main(["compile", "-m", str(model(tmp_path, 200, 64)), *words]) == 1
    said = capsys.readouterr().err
    assert re.search(r"activations do not fit: \d+ bytes are live in epoch \d \(\w+\), the largest '.+' \d+ \(", said)
    assert re.search(
        r"enlarge or enable an ACC_WRITE pool; it fits .*mps3-an547, .*n657x0-q \(memory: smallest\)", said
    )
    assert said.count("\n") == 2 and "says if" not in said
    assert cli.main(["compile", "-m", str(model(tmp_path, 6000, 3)), *words]) == 1
    assert "it fits no board that is known" in capsys.readouterr().err


def test_names_of_fused_layers_are_short() -> None:
    assert brief("stem/Relu;stem/bn;stem/conv") == "stem/Relu;..." and brief("conv1") == "conv1"
    assert brief("block/" * 20 + "end") == "block/block/block/bl...ock/block/block/block/block/block/end"


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


def page_of(path: Path, *words: str, code: int = 0) -> str:
    page = path.parent / "fit.html"
    assert cli.main(["fit", str(path), "-o", str(page), *words]) == code
    return page.read_text("utf-8")


def texts(page: str) -> list[str]:
    """What a reader sees, without the style."""
    return [html.unescape(text).strip() for text in re.split(r"<[^>]*>", page.partition("<body>")[2]) if text.strip()]


def test_a_page_says_what_the_table_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, 200, 64)
    words = ["--board", "nucleo-n657x0-q", "--board", "mps3-an547"]
    rows = answers(path, capsys, *words)
    page = page_of(path, *words)
    said = texts(page)
    place = said.index("nucleo-n657x0-q")
    assert said[place + 1 : place + 3] == [
        "with memory: smallest",
        "Give the network of this board the key memory: smallest.",
    ]
    assert "in epoch 0 (CONV_2D)" in said and "2,560,606 B" in said
    for row in rows.values():
        uses = row["uses"]
        assert isinstance(uses, list)
        for use in uses:
            share = 100 * (use["weights"] + use["activations"]) / use["size"]
            bar = re.search(rf"<td>{use['pool']}</td><td><span class=\"meter\"><i style=\"width:([0-9.]+)%", page)
            assert bar is not None and float(bar[1]) == pytest.approx(share, abs=1e-4)
            assert {f"{use['weights']:,}", f"{use['activations']:,}"} <= {*said}
    assert "<script" not in page and "script-src" not in page and str(tmp_path) not in page
    (tmp_path / "other").mkdir()
    assert page_of(model(tmp_path / "other", 200, 64), *words) == page


def test_a_page_of_a_model_that_fits_nowhere(tmp_path: Path) -> None:
    said = " ".join(texts(page_of(model(tmp_path, 6000, 3), "--board", "nucleo-n657x0-q", code=1)))
    assert "It fits 0 of 1 board." in said and "activations do not fit: " in said and "No board takes it: " in said
    assert "Where it would lie" not in said


def test_a_page_of_operators_that_are_not_supported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rare.tflite"
    path.write_bytes(one_op("CUMSUM", [(1, 4)], [(1, 4)], constants={}))
    said = texts(page_of(path, code=1))
    assert "What is not supported" in said and said[said.index("CUMSUM") + 1] == "1"
    assert "CUMSUM" in capsys.readouterr().err


def test_names_in_a_page_are_texts(tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>\"'&\u202e\x1b[31m"
    x, y = Demand(1, 2, 3, 4, f"in epoch 0 ({bad})", ((bad * 9, 4),)), InPool(bad, 1, 2, 2)
    told = [Fit(bad, "", (y,)), Fit(bad, "smallest", (y,)), Fit(bad, "", (), bad, bad)]
    both = [
        page.of_answers(tmp_path / f"a{bad.replace('/', '')}.tflite", x, told),
        page.of_refusal(tmp_path / "<b>.onnx", ModelRefusal(bad, {bad: 1}, bad, bad)),
    ]
    for text in both:
        assert "<script" not in text and "alert(1)" in text
        assert not {"\u202e", "\x1b"} & {*text} and "width:100.0000%" in both[0]
        assert not {*re.findall(r"<([a-z0-9]+)", text)} & {"b", "script", "img", "iframe"}


def test_files_that_are_not_ours_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, damaged, page = tmp_path / "mine.html", tmp_path / "damaged.tflite", tmp_path / "damaged.html"
    mine.write_text("<p>mine</p>", "utf-8")
    damaged.write_bytes(DIGITS.read_bytes()[:900])
    words = ["fit", str(DIGITS), "--board", "mps2-an500", "-o"]
    for place, what in ((mine, "is there already"), (tmp_path, "is a folder"), (mine / "x.html", "mine.html")):
        assert cli.main([*words, str(place)]) == 1
        error = capsys.readouterr().err
        assert what in error and error.startswith("neuralart fit: error: ")
    assert mine.read_text("utf-8") == "<p>mine</p>"
    assert cli.main([*words, str(mine), "--force"]) == cli.main([*words, str(mine)]) == 0
    assert cli.main(["fit", str(damaged), "-o", str(page)]) == 1
    assert not page.exists() and "Traceback" not in capsys.readouterr().err
