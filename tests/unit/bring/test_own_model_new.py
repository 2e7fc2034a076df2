"""``neuralart new``: what is in a project, what it is called, and what is refused before anything is written."""

from __future__ import annotations

import ast
import io
import json
import os
import re
from pathlib import Path

import pytest

from neuralart import boards, cli, config
from neuralart.errors import NeuralArtError
from neuralart.resources import PACKAGE
from neuralart_bring.own_model import elsewhere, project

REPO = Path(__file__).resolve().parents[3]
MODEL = REPO / "models" / "digits" / "digits.tflite"
FILES = [
    *[".gitignore", *(f".vscode/{name}.json" for name in ("extensions", "launch", "tasks", "variants.schema"))],
    "README.md",
    *["SConstruct", "main.c", "models/door_bell.tflite", "variants.yaml"],
]


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("board", boards.names())
def test_a_project_for_each_board(tmp_path: Path, board: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "door bell"
    assert cli.main(["new", str(folder), "--board", board, "--model", str(MODEL)]) == 0
    said = capsys.readouterr().out
    assert (
        f"variant door-bell, network door_bell, board {board}\n  models/door_bell.tflite: 6 epochs, 4136 bytes" in said
    )
    assert said.endswith(f"  next: cd '{folder.as_posix()}'; neuralart run door-bell\n")
    assert _files(folder) == FILES
    assert (folder / "models/door_bell.tflite").read_bytes() == MODEL.read_bytes()
    file = config.read(folder / "variants.yaml")
    variant = file.variant("door-bell")
    (model,) = [name for name in FILES if name.endswith(".tflite")]
    assert (variant.board, variant.networks[0].name, variant.networks[0].model) == (board, "door_bell", model)
    assert file.config.default == ("door-bell", "door-bell-check")
    assert variant.application.sources is not None and variant.application.sources.files == ("main.c",)
    # What feeds and measures is the same network in the reference application.
    assert file.variant("door-bell-check").application.kind == "reference"
    assert re.search(r"\b(LL_ATON_RT_Main\(&NN_Instance|ai)_door_bell", (folder / "main.c").read_text("utf-8"))
    ast.parse((folder / "SConstruct").read_text("utf-8"))
    tasks = json.loads((folder / ".vscode/tasks.json").read_text("utf-8"))["tasks"]
    assert [task["args"] for task in tasks] == [["door-bell"], ["run-door-bell"], ["-c"], ["debug-door-bell"]]
    gcc, link = tasks[0]["problemMatcher"]
    pattern = re.compile(link["pattern"]["regexp"])
    for line, found in (
        ("/opt/bin/arm-none-eabi-ld: ./src/main.c:7: undefined reference to `lost'", ("./src/main.c", "7")),
        ("src/b.c:3: multiple definition of `f'; a.o:src/a.c:3: first defined here", ("src/b.c", "3")),
    ):
        match = pattern.match(line)
        assert gcc == "$gcc" and match is not None and match.groups()[:2] == found
    assert not pattern.match("src/main.c:7:2: error: unknown type")
    launch = json.loads((folder / ".vscode/launch.json").read_text("utf-8").partition("\n")[2])["configurations"]
    assert [each["preLaunchTask"] for each in launch] == ["debug-door-bell"]
    assert (
        "marus25.cortex-debug" in json.loads((folder / ".vscode/extensions.json").read_text("utf-8"))["recommendations"]
    )


def test_every_line_that_is_commented_out_can_be_used(tmp_path: Path) -> None:
    """But for those that exclude each other: a hint that fails is worse than none."""
    assert cli.main(["new", str(tmp_path / "cam"), "--board", "mps3-an547"]) == 0
    text = (tmp_path / "cam/variants.yaml").read_text("utf-8")
    keys = [
        line for line in text.splitlines() if line.startswith("    # ") and line.partition(":")[0].strip("# ").islower()
    ]
    keys = re.findall(r"^    # [a-z_]+: .*", text, re.M)
    assert len(keys) >= 6
    for line in keys:
        used = text.replace(line, line.replace("# ", "", 1))
        (tmp_path / "cam/variants.yaml").write_text(used, "utf-8")
        config.read(tmp_path / "cam/variants.yaml").variant("cam")


def test_without_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "cam"
    folder.mkdir()
    assert cli.main(["new", str(folder), "--board", "mps3-an547"]) == 0
    assert f"your model is missing: put it at {folder.as_posix()}/models/cam.tflite\n" in capsys.readouterr().out
    assert "models/cam.tflite" not in _files(folder)


def test_equal_projects_have_equal_bytes(tmp_path: Path) -> None:
    board = boards.load("mps3-an547")
    made = [project.files(project.names_of(tmp_path / name / "cam"), board) for name in ("a", "b")]
    assert made[0] == made[1]
    assert not [name for name, data in made[0].items() if str(tmp_path).encode() in data or b"\r" in data]


@pytest.mark.parametrize("name", ["on", "null", "y", "yes", "e1"])
def test_names_that_yaml_takes_for_something_else(tmp_path: Path, name: str) -> None:
    assert cli.main(["new", str(tmp_path / name), "--board", "mps3-an547"]) == 0
    assert config.read(tmp_path / name / "variants.yaml").variant(name).networks[0].name == name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("3d", "3d: the name of the folder gives no C name: '3d' is not a C identifier (letters, digits and _"),
        ("größe", "'größe' is not a C identifier"),
        ("a+b", "'a+b' is not a C identifier"),
        ("int", "'int' is not a C identifier"),
        ("run-x", "variants.run-x: the name must not begin with 'run-'"),
        ("networks", "variants.networks: this name is taken by a folder of the build"),
        ("-x", "-x: the name of the folder gives no variant: variants.-x: the name must be letters"),
    ],
)
def test_names_that_cannot_be(tmp_path: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["new", f"{tmp_path}/{name}", "--board", "mps3-an547"]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / ".hidden").touch()
    (tmp_path / "file").touch()
    (tmp_path / "bad.tflite").write_text("text")
    data = MODEL.read_bytes()
    (tmp_path / "cut.tflite").write_bytes(data[: len(data) // 2])
    before = _files(tmp_path)
    for words, said in (
        (["full", "--board", "mps3-an547"], "full: is not empty (name a new folder, or an empty one)"),
        (["file", "--board", "mps3-an547"], "file: is no folder"),
        (["x", "--board", "stm32n6570"], "--board: no board 'stm32n6570' (did you mean 'stm32n6570-dk'?"),
        (["x"], "--board: no board (known: art-pi, mps2-an500, mps3-an547,"),
        (["x", "--board", "mps3-an547", "--model", "bad.tflite"], "bad.tflite: not a TensorFlow Lite model but text"),
        (["x", "--board", "mps3-an547", "--model", "cut.tflite"], "cut.tflite"),
        (["x", "--board", "mps3-an547", "--model", "no.tflite"], "no.tflite: cannot read"),
        (["x", "--board", "mps3-an547", "--toolpath", "full"], "full: holds no package neuralart"),
        (["x", "--for", "cmake", "--board", "art-pi"], "--model: no model (a network for cmake is compiled with its"),
        (["full", "--for", "cmake", "--board", "art-pi", "--model", "bad.tflite"], "full: is not empty"),
        (["x", "--for", "modm", "--board", "art-pi", "--model", "bad.tflite"], "bad.tflite: not a TensorFlow Lite"),
        (["x", "--for", "cmake", "--board", "art-pi", "--toolpath", "full"], "--toolpath: is of projects of variants"),
    ):
        monkeypatch.chdir(tmp_path)
        assert cli.main(["new", *words]) == 1, words
        error = capsys.readouterr().err
        assert said in error and error.startswith("neuralart new: error: ") and error.count("\n") == 1, error
        assert _files(tmp_path) == before and not (tmp_path / "x").exists()


def test_trees_of_other_builds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for world, listed in {
        "cmake": ["CMakeLists.txt", "main.c", "models/door_bell.tflite"],
        "modm": ["door_bell.tflite", "main.cpp", "project.xml"],
        "platformio": ["models/door_bell.tflite", "network.py", "platformio.ini", "src/main.c"],
        "rt-thread": ["Kconfig", "SConscript", "command.c", "door_bell.tflite", "package.json"],
    }.items():
        folder = tmp_path / world / "door bell"
        words = ["new", str(folder), "--for", world, "--board", "art-pi", "--model", str(MODEL)]
        assert cli.main(words) == 0
        assert _files(folder) == listed and "door bell" in capsys.readouterr().out
        texts = "".join((folder / name).read_text("utf-8") for name in listed if not name.endswith(".tflite"))
        assert 'neuralart_find("door_bell")' in texts and "memory" not in texts and "{" + "{" not in texts


def test_a_network_that_needs_stripes_elsewhere(tmp_path: Path) -> None:
    names = project.Names("cam", "cam")
    for world, said in {
        "cmake": "OPTIONS --memory smallest)",
        "modm": '<option name="neuralart:network:memory">smallest</option>',
        "platformio": ', memory="smallest")',
        "rt-thread": ', memory="smallest")',
    }.items():
        made = elsewhere.files(world, names, boards.load("art-pi"), "smallest")
        assert said in b"".join(made.values()).decode("utf-8")


def test_an_unknown_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["new", str(tmp_path / "x"), "--for", "zephyr"])
    said = capsys.readouterr().err
    assert all(world in said for world in elsewhere.WORLDS)


def test_the_board_is_asked_for_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("mps3-an547\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert cli.main(["new", str(tmp_path / "cam")]) == 0
    assert config.read(tmp_path / "cam/variants.yaml").variant("cam").board == "mps3-an547"


def test_the_package_beside_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both move together, or the package stays where it is."""
    (tmp_path / "tools/neuralart").mkdir(parents=True)
    (tmp_path / "tools/neuralart/__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    assert project.relative_toolpath(Path("tools"), Path("a/cam")) == "#../../tools"
    assert project.relative_toolpath(PACKAGE.parent, Path("a/cam")) == PACKAGE.parent.as_posix()
    assert cli.main(["new", "cam", "--board", "mps3-an547", "--toolpath", "tools"]) == 0
    assert 'toolpath=["#../tools"])\n' in Path("cam/SConstruct").read_text("utf-8")


@pytest.mark.skipif(os.name != "posix", reason="needs folders without the right to write")
def test_all_files_or_none(tmp_path: Path) -> None:
    made = {"a": b"1", "b/c": b"2", "a/d": b"a is no folder"}
    with pytest.raises(NeuralArtError, match="cannot write"):
        project.write(tmp_path / "new", made)
    assert not (tmp_path / "new").exists()
