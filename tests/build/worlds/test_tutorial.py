"""docs/tutorial/own-model.md: its commands work with the model that it names, or without a network with one of ours."""

from __future__ import annotations

import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.resources import package_parent
from neuralart_virtual.vectors import expected
from support.models import zoo
from support.projects.sconsproject import REPO, Project, shared_objects
from support.servers.pages import commands, executed

pytestmark = [
    pytest.mark.arm,
    pytest.mark.qemu,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bash") is None, reason="no bash"),
    pytest.mark.skipif(not expected.has_litert(), reason="LiteRT is not installed"),
]
PAGE = REPO / "docs" / "tutorial" / "own-model.md"
MODEL = "mltk/image_classification.tflite"
TOP = {".gitignore", ".vscode", "README.md", "SConstruct", "labels.txt", "main.c", "models", "variants.yaml"}


def _followed(folder: Path, model: Path, more: dict[str, str]) -> tuple[Project, dict[str, str]]:
    """The project that somebody has who followed the page, and lines that were not printed, by command."""
    (folder / "mltk").mkdir()
    shutil.copy(model, folder / MODEL)
    done = commands(PAGE)
    assert len(done) >= 10 and MODEL in done[0].text
    wrong = {}
    for command, output in zip(done, executed(done, folder, more), strict=True):
        if line := command.missing(output):
            wrong[command.text] = line
    return Project(folder / "pictures"), wrong


def test_the_page(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Line by line; where the model cannot be had, with one of ours, of which other things are printed."""
    missing = bool(zoo.unavailable())
    model = REPO / "models" / "digits" / "digits.tflite" if missing else zoo.path("image_classification")
    project, wrong = _followed(tmp_path, model, shared_objects(tmp_path_factory))
    commands = {"neuralart new", "neuralart build", "neuralart run"}
    differs = commands if missing else set()
    assert {command.partition(" --")[0].partition(" pictures")[0] for command in wrong} <= differs, wrong
    assert not missing or "'Identity_int8'" in wrong["neuralart run pictures-check"], "but with vectors it is bit-exact"
    # Everything that a build leaves is in .gitignore.
    left = {path.name for path in project.root.iterdir()} - TOP
    ignored = ("build", "compile_commands.json", ".sconsign*.dblite")
    assert all(any(fnmatch(name, pattern) for pattern in ignored) for name in left) and len(left) == len(ignored)
    assert {"/build/", "/compile_commands.json", ".sconsign*.dblite"} <= set(
        project.path(".gitignore").read_text("utf-8").split()
    )
    # A package beside the project is the same package.
    beside = tmp_path / "beside" / "pictures"
    words = ["new", str(beside), "--board", "stm32n6570-dk", "--toolpath", str(package_parent())]
    assert cli.main(words) == 0
    project.path("SConstruct").write_bytes((beside / "SConstruct").read_bytes())
    project.up_to_date("pictures")


def test_a_newcomer_types_all_of_it() -> None:
    """`.ci/newcomer` takes the commands from the page, those too that are not executed here."""
    done = subprocess.run([REPO / ".ci" / "newcomer", "--list"], capture_output=True, text=True, check=True)
    listed = done.stdout.replace('<<"END"', "<<'END'")
    rest = listed
    for command in commands(PAGE):
        assert command.text in rest
        rest = rest.partition(command.text)[2]
    assert listed.startswith(
        "./sconsw -h\n. .venv/bin/activate\npip install --editable '.[vectors,oracle]'\nmkdir ../networks\n"
        "cd ../networks\npython3 -m pip download "
    )
    assert rest == "\n"
