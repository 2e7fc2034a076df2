"""docs/how-to/typical-mistakes.md: each mistake is made, and prints the line of its row."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SCons.Errors

from neuralart import cli
from neuralart.resources import board_data_dir, package_parent
from support.cases.small_models import one_op
from support.projects.sconsproject import REPO, Project
from support.servers.messages import one_message

PAGE = REPO / "docs" / "how-to" / "typical-mistakes.md"
MODEL = REPO / "models" / "digits" / "digits.tflite"
_ROW = re.compile(
    r"^\| (?:(?P<place>[\w. ]+) \| )?`(?P<wrote>[^`|]+)`[^`|]*\| (`+)(?P<said>[^|]+?)\3 \| [^|]+ \|$", re.MULTILINE
)
ROWS = [match.group("place", "wrote", "said") for match in _ROW.finditer(PAGE.read_text("utf-8"))]
MAIN = "main.c"
"""Of rows that need a compiler: tests/build/programs/test_own_program.py makes them."""
IN_FILE = [(place, wrote, said) for place, wrote, said in ROWS if place and place != MAIN]
TYPED = [(wrote, said) for place, wrote, said in ROWS if not place]


def test_the_page_has_its_rows() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ") and "`" in line]
    assert len(lines) == len(ROWS) >= 25
    assert len(IN_FILE) >= 20 and len(TYPED) >= 15


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the page, and what it says is beside it."""
    folder = tmp_path_factory.mktemp("mistakes") / "doorbell"
    new = ["new", str(folder), "--board", "stm32n6570-dk", "--model", str(MODEL), "--toolpath", str(package_parent())]
    assert cli.main(new) == 0
    pools = (board_data_dir() / "pools" / "stm32n6570-dk.mpool").read_text("utf-8")
    (folder / "far.mpool").write_text(pools.replace("0x70380000", "0x79000000"), "utf-8")
    scores = (1, 4)
    (folder / "int16.tflite").write_bytes(one_op("HARD_SWISH", [scores], [scores], dtype="int16"))
    (folder / "unique.tflite").write_bytes(one_op("UNIQUE", [scores], [scores]))
    (folder / "bell.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(np.arange(64, dtype=np.uint8)))
    words = [
        "compile",
        "-m",
        str(MODEL),
        "--target",
        "stm32n6",
        "--name",
        "doorbell",
        "-o",
        str(folder / "st_ai_output"),
    ]
    assert cli.main(words) == 0
    with (folder / "st_ai_output" / "doorbell.c").open("a") as file:
        file.write("/* mine */\n")
    return folder


@pytest.fixture
def doorbell(made: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which SCons starts anew."""
    folder = shutil.copytree(made, tree / "doorbell")
    monkeypatch.chdir(folder)
    return folder


def _mistaken(text: str, place: str, wrote: str) -> str:
    """variants.yaml with one line as a row has it."""
    lines = text.splitlines()
    key = wrote.replace("\\t", "").partition(":")[0]
    sections = [lines.index("networks:"), lines.index("variants:"), len(lines)]
    if place == "file":
        at = next(n for n, line in enumerate(lines) if line.startswith("schema:"))
        lines[at : at + 1] = [wrote] if key == "schema" else [lines[at], wrote]
        return "\n".join(lines) + "\n"
    start, end = sections[:2] if "network" in place else sections[1:]
    if place.startswith("name"):
        lines[start + 1] = f"  {wrote}"
    elif place == "network once more":
        lines[end:end] = [f"  {wrote}", "    model: models/doorbell.tflite"]
    else:
        same = [n for n in range(start, end) if lines[n].startswith(f"    {key}:")]
        after = next(n for n in range(start, end) if lines[n].startswith(("    model:", "    network:")))
        line = wrote.replace("\\t", "\t") if "\\t" in wrote else f"    {wrote}"
        lines[same[0] if same else after + 1 : same[0] + 1 if same else after + 1] = [line]
    return "\n".join(lines) + "\n"


def _scons(make_env: Callable[..., Any], target: str) -> str:
    """What scons would print, in this process."""
    with pytest.raises(SCons.Errors.UserError) as caught:
        project = make_env().NeuralArtProject("variants.yaml")
        project.check_targets([target])
        project.build([target])
    return f"scons: *** {caught.value}"


def _compare(printed: str, said: str) -> None:
    """``[...]`` of the page stands for some text; a second line (what to do) follows the first behind a blank."""
    one_message(printed)
    printed = printed.replace("\n  ", " ")
    wanted = re.escape(said).replace(re.escape("[...]"), ".*")
    assert re.fullmatch(wanted, printed), f"the row must have:\n{printed}"


@pytest.mark.parametrize(("place", "wrote", "said"), IN_FILE, ids=[wrote for _, wrote, _ in IN_FILE])
def test_in_variants_yaml(
    place: str, wrote: str, said: str, doorbell: Path, make_env: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    if "toolchain" not in wrote:
        request.getfixturevalue("gcc")
    file = doorbell / "variants.yaml"
    file.write_text(_mistaken(file.read_text("utf-8"), place, wrote), "utf-8")
    _compare(_scons(make_env, "doorbell"), said)


@pytest.mark.parametrize(("typed", "said"), TYPED, ids=[typed for typed, _ in TYPED])
def test_on_the_command_line(
    typed: str,
    said: str,
    doorbell: Path,
    make_env: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = typed.split()
    while "=" in words[0]:
        monkeypatch.setenv(*words.pop(0).split("=", 1))
    if words[0] == "scons":
        _compare(_scons(make_env, words[1]), said)
        return
    try:
        status = cli.main(words[1:])
    except SystemExit as ended:
        status = int(ended.code or 0)
    assert status in (1, 2)
    _compare(capsys.readouterr().err.rstrip("\n"), said)


def test_scons_prints_it_so(doorbell: Path) -> None:
    """What this process reads out of SCons is what a terminal has."""
    (said,) = (said for typed, said in TYPED if typed == "scons run-dorbell")
    assert Project(doorbell).run("-Q", "run-dorbell", code=2).errors[0] == said
