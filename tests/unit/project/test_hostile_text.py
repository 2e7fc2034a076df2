"""JSON that is nested without end or says a thing twice, and names that no system takes: one line, whoever reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuralart import cli, jsontext
from neuralart_bring.patching.inplace import RECORD
from support.boards.h747_app import App, FakeNetwork, FakePool

DEEP = ("[" * 100_000, '{"schema":' * 100_000, '{"a":[' * 50_000 + "]}" * 50_000)
TWICE = '{"schema": 1, "schema": 1, "board": "stm32n6570-dk", "writes": []}'
LONG = "a" * 5000
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("text", DEEP)
def test_deep_text_is_a_value_error(text: str) -> None:
    for given in (text, text.encode()):
        with pytest.raises(ValueError, match=r"nested too deeply|Expecting"):
            jsontext.loads(given)


def test_a_key_that_stands_twice() -> None:
    with pytest.raises(ValueError, match="the key 'a' stands twice"):
        jsontext.loads('[{"b": {"a": 1, "c": 2, "a": 1}}]')
    assert jsontext.loads('{"a": 1, "a": 2}', duplicates=True) == {"a": 2}
    assert jsontext.loads(b'{"a": {"a": [1.5, null]}}') == {"a": {"a": [1.5, None]}}


def one_line(argv: list[str], capsys: Capture) -> str:
    assert cli.main(argv) == cli.USER_ERROR
    said = capsys.readouterr().err
    command = argv[argv[0] == "tool"]
    assert said.count("\n") == 1 and said.startswith(f"neuralart {command}: error: "), said
    return said


@pytest.mark.parametrize("text", [*DEEP, TWICE], ids=["lists", "objects", "both", "twice"])
def test_flash_and_run_plans(text: str, tmp_path: Path, capsys: Capture) -> None:
    plan = tmp_path / "flash_plan.json"
    plan.write_text(text)
    for command in ("flash", "verify"):
        said = one_line([command, "--plan", str(plan), "--nor", str(tmp_path / "x.nor")], capsys)
        assert "not a flash plan" in said
    assert not (tmp_path / "x.nor").exists()


@pytest.mark.parametrize("text", DEEP, ids=["lists", "objects", "both"])
def test_the_record_of_patches(text: str, tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path, FakeNetwork((FakePool("AXIRAM", 50_000, 1),)))
    words = ["tool", "patch", str(app.folder), "--network", str(app.network), "--aspect-ratio", "crop", "--in-place"]
    assert cli.main(words) == 0
    before = app.snapshot()
    (app.root / RECORD).write_text(text)
    capsys.readouterr()
    assert "the record of earlier patches cannot be read" in one_line(words, capsys)
    assert "cannot be read" in one_line(["tool", "patch", str(app.folder), "--restore"], capsys)
    after = app.snapshot()
    assert {path for path in before if before[path] != after.get(path)} == {
        (app.root / RECORD).relative_to(app.folder).as_posix()
    }
    journal = app.root / ".neuralart-patch" / "change" / "journal.json"
    journal.parent.mkdir()
    journal.write_text(text)
    assert "the journal of an interrupted patch cannot be read" in one_line(words, capsys)


@pytest.mark.parametrize("text", [*DEEP, '{"schema": 1, "count": 1e999, "inputs": [], "outputs": []}'])
def test_vectors(text: str, tmp_path: Path) -> None:
    from neuralart.errors import NeuralArtError
    from neuralart_virtual.emulator import vectors

    (tmp_path / "vectors.json").write_text(text)
    with pytest.raises(NeuralArtError, match=r"not a vectors\.json"):
        vectors.load(tmp_path)


@pytest.mark.parametrize(
    "argv",
    [
        ["import", LONG],
        ["tool", "patch", LONG, "--restore"],
        ["flash", "--plan", LONG, "--nor", "x"],
        ["flash", "--plan", "{plan}", "--nor", LONG],
        ["verify", "--plan", "{plan}", "--nor", LONG],
        ["lint", LONG],
        ["inspect", LONG],
        ["tool", "check-image", "--board", "stm32n6570-dk", LONG],
        ["relocatable", "verify", LONG],
        ["compile", LONG, "--board", "stm32n6570-dk"],
    ],
    ids=lambda argv: " ".join(word[:12] for word in argv),
)
def test_a_name_of_5000_letters(argv: list[str], tmp_path: Path, capsys: Capture) -> None:
    plan = tmp_path / "plan.json"
    row = {"name": "x", "kind": "model", "file": "x", "address": 0x71000000, "bytes": 1, "sha256": "0" * 64}
    plan.write_text(json.dumps({"schema": 1, "board": "stm32n6570-dk", "writes": [row]}))
    try:
        assert cli.main([word.format(plan=plan) for word in argv]) != 0
    except SystemExit as end:
        assert end.code
    said = capsys.readouterr().err
    assert "Traceback" not in said and said.count("\n") == 1 and ": error: " in said, said


def test_a_name_of_5000_letters_in_a_user_config(tmp_path: Path, capsys: Capture) -> None:
    config = tmp_path / "user_config.yaml"
    config.write_text(
        "general:\n  project_name: x\n  model_path: " + LONG + ".tflite\noperation_mode: deployment\n"
        "deployment:\n  hardware_setup:\n    serie: STM32N6\n    board: STM32N6570-DK\n"
    )
    said = one_line(["import", str(config)], capsys)
    assert "File name too long" in said and len(said) < 500


@pytest.mark.parametrize("outside", [False, True])
def test_entities_in_a_project_of_stm32cubeide(outside: bool, tmp_path: Path) -> None:
    """What grows to gigabytes is ended early, and no file is fetched (bandit B314)."""
    from neuralart.applications.cube_project import project_name
    from neuralart.errors import NeuralArtError

    (tmp_path / "secret").write_text("secret")
    rows = [f'<!ENTITY e{n} "{f"&e{n - 1};" * 50}">' for n in range(1, 12)]
    text = f'<!ENTITY e11 SYSTEM "{(tmp_path / "secret").as_uri()}">' if outside else '<!ENTITY e0 "x">' + "".join(rows)
    data = f"<!DOCTYPE d [{text}]><projectDescription><name>&e11;</name></projectDescription>"
    (tmp_path / ".project").write_text(data)
    with pytest.raises(NeuralArtError, match="is no XML: ") as caught:
        project_name(tmp_path, "it", "here")
    assert "secret" not in caught.value.what
