"""Recorded compiles: the result without the tool, for the same inputs and for no others."""

from __future__ import annotations

import argparse
import json
import os
import sys

import pytest

from neuralart.cli import main
from neuralart.compilers import recorded
from neuralart.compilers.recorded import load
from neuralart.errors import NeuralArtError
from support.fake_stedgeai import calls, install
from support.models.stedgeai_case import make, refusal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script")
BASE = ("-m", "net.tflite", "-n", "net", "--target", "stm32n6", "--st-neural-art", "blobs@na.json")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A machine with the tool; the current folder is the user's."""
    make(tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    monkeypatch.setenv("STEDGEAI_CORE_DIR", str(tmp_path / "st"))
    monkeypatch.setenv("NEURALART_STEDGEAI_ROOTS", str(tmp_path / "nowhere"))
    monkeypatch.setenv("NEURALART_CACHE_DIR", str(tmp_path / "cache"))
    return install(tmp_path / "st", "4.0.1")


def record(*words: str) -> None:
    parser = argparse.ArgumentParser()
    recorded.configure(parser)
    assert recorded.run(parser.parse_args([*BASE, "--recording", "rec", "-o", "out", *words])) == 0


def without_tool(monkeypatch) -> None:
    monkeypatch.delenv("STEDGEAI_CORE_DIR")
    monkeypatch.setenv("PATH", "")


def replay(*words: str, base=BASE, code: int = 0) -> None:
    assert main(["compile", "--compiler", "recorded", *base, "--recording", "rec", "-o", "again", *words]) == code


def refused(capsys, *words: str, base=BASE) -> str:
    capsys.readouterr()
    replay(*words, base=base, code=1)
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert not os.path.exists("again/network.json")  # noqa: PTH110
    return err


def listing(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_record_and_replay(root, tmp_path, monkeypatch, capsys):
    record("--input-data-type", "uint8")
    said = capsys.readouterr().out
    assert said == (
        "recorded network net by ST Edge AI Core 4.0.1-20581 7ed50de05 in rec: model net.tflite, "
        "memory pools n6.mpool, profile blobs@na.json\n"
    )
    without_tool(monkeypatch)
    replay("--input-data-type", "uint8")
    assert listing(tmp_path / "w/again") == listing(tmp_path / "w/out")
    assert "network net: recorded with ST Edge AI Core 4.0.1-20581" in capsys.readouterr().out
    assert len(calls(root, "generate")) == 1


def test_the_recording_says_no_folder(root, tmp_path):
    record()
    for path in (tmp_path / "w/rec").rglob("*"):
        assert path.is_dir() or str(tmp_path).encode() not in path.read_bytes(), path
    data = json.loads((tmp_path / "w/rec/recording.json").read_text())
    assert [row["role"] for row in data["inputs"]] == ["model", "memory pools", "profile"]
    assert (data["schema"], data["network"], data["tool"]) == (1, "net", "4.0.1-20581 7ed50de05")


def test_another_place_of_the_same_inputs(root, tmp_path, monkeypatch):
    record()
    without_tool(monkeypatch)
    (tmp_path / "w/sub").mkdir()
    for name in ("net.tflite", "na.json"):
        (tmp_path / "w" / name).rename(tmp_path / "w/sub" / name)
    (tmp_path / "w/pools").rename(tmp_path / "w/sub/pools")
    replay(base=("-m", "sub/net.tflite", *BASE[2:-1], "blobs@sub/na.json"))
    assert listing(tmp_path / "w/again") == listing(tmp_path / "w/out")


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (
            ("net.tflite", b"other"),
            (),
            "rec: was made from something else: model net.tflite (sha256 d9298a10d1b0, recorded net.tflite ",
        ),
        (("pools/n6.mpool", None), (), "memory pools n6.mpool (sha256 "),
        (("na.json", None), (), "profile blobs@na.json (sha256 "),
        (None, ("--input-data-type", "int8"), "the options: '--input-data-type int8', recorded ''"),
        (None, ("--no-inputs-allocation",), "the options: '--no-inputs-allocation', recorded ''"),
        (None, ("--extra-options=--x 1",), "--extra-options: '--x 1', recorded ''"),
        (None, ("--initializers", "xSPI2,AXISRAM3"), "--initializers: 'xSPI2,AXISRAM3', recorded 'xSPI2'"),
        (None, ("--no-report",), "--no-report: 'true', recorded ''"),
        (None, ("--pair", "profiling"), "--enable-epoch-controller: '', recorded 'true'"),
        (None, ("--profile-add=--Oauto",), "profile blobs@na.json (sha256 "),
    ],
)
def test_other_inputs_are_named(root, tmp_path, monkeypatch, capsys, change, words, said):
    record()
    without_tool(monkeypatch)
    if change is not None:
        path = tmp_path / "w" / change[0]
        text = path.read_bytes()
        path.write_bytes(change[1] or text.replace(b"0x34270000", b"0x34270010").replace(b"--ec-single-epoch", b""))
    text = refused(capsys, *words)
    assert said in text
    assert "record it again where the tool is installed: neuralart record" in text


def test_what_does_not_matter(root, tmp_path, monkeypatch):
    record()
    without_tool(monkeypatch)
    # Another profile of the file, a comment, and words that only we read.
    text = (tmp_path / "w/na.json").read_text()
    (tmp_path / "w/na.json").write_text(text.replace("// ours", "// still ours").replace("--frobnicate 3", ""))
    replay("--verbosity", "0")
    replay("--compiler-version", "4.0.*", "--quiet")
    assert listing(tmp_path / "w/again") == listing(tmp_path / "w/out")


def test_a_pin_holds_for_recordings(root, monkeypatch, capsys):
    record()
    text = refused(capsys, "--compiler-version", "3.0.*")
    assert "rec: was made by ST Edge AI Core 4.0.1-20581, wanted 3.0.*" in text
    assert "'x' is no version" in refused(capsys, "--compiler-version", "x")


def test_recording_again_replaces(root, tmp_path):
    record()
    first = listing(tmp_path / "w/rec/files")
    (tmp_path / "w/net.tflite").write_bytes(b"another model, and a shorter one")
    record("--pair", "profiling")
    second = listing(tmp_path / "w/rec/files")
    assert "net_ecblobs.h" in first
    assert "net_ecblobs.h" not in second
    assert set(load(tmp_path / "w/rec").files) == set(second)


def test_a_failed_compile_leaves_the_recording(root, tmp_path, monkeypatch):
    record()
    before = listing(tmp_path / "w/rec/files")
    monkeypatch.setenv("FAKE_STEDGEAI_FAIL", "e010")
    with pytest.raises(NeuralArtError, match="takes the model for invalid"):
        record()
    assert listing(tmp_path / "w/rec/files") == before


def test_folders_that_hold_something_else(root, tmp_path, capsys):
    (tmp_path / "w/rec").mkdir()
    (tmp_path / "w/rec/mine.txt").write_text("mine")
    assert "rec: is not empty and no recording" in refusal(record)
    assert calls(root, "generate") == []
    assert "rec: no recording: there is no recording.json (neuralart record makes one)" in refused(capsys)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"schema": 1', '"schema": 2', "schema 2, this version reads 1"),
        ('"schema": 1', '"schema": true', "schema True, this version reads 1"),
        ('"tool": "4.0.1', '"tool": "x4.0.1', "is no version"),
        ('"network": "net"', '"network": 5', "5 is no text"),
        ('"name": "net.c"', '"name": "../net.c"', "a file's name has a folder in it"),
        ('"files": [', '"files": [], "others": [', "is no recording: it has no files"),
        ('{\n "schema"', '{\n schema"', "is no recording"),
        ('"inputs"', '"outputs"', "is no recording: 'inputs'"),
    ],
)
def test_damaged_recordings(root, tmp_path, capsys, old, new, said):
    record()
    path = tmp_path / "w/rec/recording.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    assert said in refused(capsys)


def test_damaged_files(root, tmp_path, capsys):
    record()
    path = tmp_path / "w/rec/files/net.c"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert "net.c: is not what was recorded (restore it (does git change its line ends?" in refused(capsys)
    path.unlink()
    assert "net.c: cannot read" in refused(capsys)


def test_what_is_not_recorded(root):
    assert refusal(record, "--compiler", "reference").startswith("--compiler: 'reference' is not recorded")
    assert refusal(record, "--recording", "") == "--recording: is required (the folder to record into)"


def test_a_replay_needs_a_recording(root, capsys):
    assert main(["compile", "--compiler", "recorded", *BASE]) == 1
    assert "--recording: is required" in capsys.readouterr().err
