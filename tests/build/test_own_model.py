"""``neuralart new`` and then ``scons``: a model of somebody's own, built and run in a folder of its own."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from pathlib import Path

import pytest

from neuralart import __version__, cli
from neuralart.resources import package_parent
from support.sconsproject import REPO, Project

pytestmark = [pytest.mark.arm, pytest.mark.long]
TOP = {".gitignore", "README.md", "SConstruct", "variants.yaml"}
ORACLE = f"scons-neuralart {__version__} on unicorn stm32n6570-dk"
MODEL = REPO / "models" / "digits" / "digits.tflite"


def test_a_new_project_builds_and_runs(tmp_path: Path) -> None:
    """With the package installed, as Python finds it; then with the package beside the project."""
    folder = tmp_path / "my cam"
    assert cli.main(["new", str(folder), "--board", "stm32n6570-dk", "--model", str(MODEL)]) == 0
    project, installed = Project(folder), {"PYTHONPATH": str(package_parent())}
    out = project.run("my-cam", "run-my-cam", env=installed).out
    assert "my_cam: input 0: output 'digit' int8[1,10]: min " in out
    assert "my_cam: 1 input (pseudo-random inputs, seed 0) computed on unicorn" in out
    # Everything that a build leaves is in .gitignore.
    left = {path.name for path in folder.iterdir()} - {".vscode", "models", *TOP}
    assert all(fnmatch(name, "build") or fnmatch(name, ".sconsign*.dblite") for name in left) and len(left) == 2
    assert {"/build/", ".sconsign*.dblite"} <= set((folder / ".gitignore").read_text("utf-8").split())
    beside = tmp_path / "other" / "my cam"
    words = ["new", str(beside), "--board", "stm32n6570-dk", "--model", str(MODEL)]
    assert cli.main([*words, "--toolpath", str(package_parent())]) == 0
    project.path("SConstruct").write_bytes((beside / "SConstruct").read_bytes())
    project.up_to_date("my-cam")


def test_a_project_without_its_model_says_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "cam"
    words = ["new", str(folder), "--board", "mps3-an547", "--toolpath", str(package_parent())]
    assert cli.main(words) == 0
    failed = Project(folder).run(code=2)
    assert "models/cam.tflite" in failed.err and len(failed.errors) <= 2, failed.err


def test_expected_outputs_without_litert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The virtual board computes what LiteRT computes, and the folder says who did."""
    vectors = MODEL.parent / "vectors"
    words = ["vectors", str(MODEL), str(vectors / "inputs.bin"), "-o", str(tmp_path / "v"), "--expected", "board"]
    assert cli.main(words) == 0
    said = capsys.readouterr()
    assert said.out == f"{(tmp_path / 'v').as_posix()}: 20 vectors, outputs by {ORACLE}\n"
    assert "note: the outputs come from the compiler of this project" in said.err
    assert json.loads((tmp_path / "v/vectors.json").read_text("utf-8"))["oracle"] == ORACLE
    for name in ("inputs.bin", "outputs.bin"):
        assert (tmp_path / "v" / name).read_bytes() == (vectors / name).read_bytes()
