"""A model of somebody's own, as far as it takes a build; the whole way is in test_tutorial.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuralart import __version__, cli
from neuralart.resources import package_parent
from support.projects.sconsproject import REPO, Project, shared_objects

pytestmark = [pytest.mark.arm, pytest.mark.long]
ORACLE = f"scons-neuralart {__version__} on unicorn stm32n6570-dk"
MODEL = REPO / "models" / "digits" / "digits.tflite"


def test_a_project_without_its_model_says_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "cam"
    words = ["new", str(folder), "--board", "mps3-an547", "--toolpath", str(package_parent())]
    assert cli.main(words) == 0
    failed = Project(folder).run(code=2)
    assert "models/cam.tflite" in failed.err and len(failed.errors) <= 2, failed.err


def test_expected_outputs_without_litert(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The virtual board computes what LiteRT computes, and the folder says who did."""
    for name, value in shared_objects(tmp_path_factory).items():
        monkeypatch.setenv(name, value)
    vectors = MODEL.parent / "vectors"
    words = ["vectors", str(MODEL), str(vectors / "inputs.bin"), "-o", str(tmp_path / "v"), "--expected", "board"]
    assert cli.main(words) == 0
    said = capsys.readouterr()
    assert said.out == f"{(tmp_path / 'v').as_posix()}: 20 vectors, outputs by {ORACLE}\n"
    assert "note: the outputs come from the compiler of this project" in said.err
    assert json.loads((tmp_path / "v/vectors.json").read_text("utf-8"))["oracle"] == ORACLE
    for name in ("inputs.bin", "outputs.bin"):
        assert (tmp_path / "v" / name).read_bytes() == (vectors / name).read_bytes()
