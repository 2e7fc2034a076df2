"""``neuralart ide``, and the rows of ``compile_commands.json``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.scons.firmware.compile_commands import merged
from neuralart_bring.export.ide import MARK, debug_tasks, launch_json, port_of_variant

VARIANTS = "schema: 1\nnetworks:\n  net: {model: net.tflite}\nvariants:\n" + "".join(
    f"  {name}: {{board: {board}, network: net}}\n" for name, board in (("one", "stm32n6570-dk"), ("two", "mps3-an547"))
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "variants.yaml").write_text(VARIANTS, "utf-8")
    return tmp_path


def read(path: Path) -> dict:
    text = path.read_text("utf-8")
    assert text.startswith(MARK) and text.endswith("}\n")
    return json.loads(text.removeprefix(MARK))


def ide(project: Path, *words: str) -> int:
    return cli.main(["ide", "--file", str(project / "variants.yaml"), *words])


def test_all_variants(project: Path, capsys: pytest.CaptureFixture[str]):
    assert ide(project) == 0
    assert capsys.readouterr().out.endswith(".vscode: launch.json and tasks.json for one, two\n")
    rows = read(project / ".vscode" / "launch.json")["configurations"]
    assert [row["executable"] for row in rows] == [
        f"${{workspaceFolder}}/build/{name}/firmware.elf" for name in ("one", "two")
    ]
    tasks = {task["label"]: task for task in read(project / ".vscode" / "tasks.json")["tasks"]}
    for row in rows:
        task = tasks[row["preLaunchTask"]]
        assert row["gdbTarget"] == "127.0.0.1" + task["options"]["env"]["NEURALART_GDB"]
        assert task["command"] == "scons" and task["args"] == [row["preLaunchTask"]]


def test_some_variants_again(project: Path):
    (project / "sconsw").write_text("", "utf-8")
    assert ide(project) == ide(project, "two", "two", "--build", "out") == 0
    (row,) = read(project / ".vscode" / "launch.json")["configurations"]
    assert row["executable"] == "${workspaceFolder}/out/two/firmware.elf"
    assert read(project / ".vscode" / "tasks.json")["tasks"][0]["command"] == "./sconsw"


def test_files_of_others_stay(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / ".vscode").mkdir()
    mine = project / ".vscode" / "tasks.json"
    mine.write_text("{}", "utf-8")
    assert ide(project) == 1
    error = capsys.readouterr().err
    assert "tasks.json: this command did not write it (--force" in error and error.count("\n") == 1
    assert mine.read_text("utf-8") == "{}" and not (project / ".vscode" / "launch.json").exists()
    assert ide(project, "--force") == 0 and read(mine)


@pytest.mark.parametrize(("words", "said"), [(["tow"], "no variant 'tow'"), (["--file", "no.yaml"], "no.yaml")])
def test_wrong_input(project: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]):
    assert ide(project, *words) == 1
    assert said in capsys.readouterr().err
    assert not (project / ".vscode").exists()


def test_ports_are_the_same_everywhere():
    assert port_of_variant("digits-n6") == 46121
    assert all(40000 <= port_of_variant(str(number)) < 49000 for number in range(99))
    assert '"127.0.0.1:46121"' in launch_json(["digits-n6"])
    assert [task["label"] for task in debug_tasks(["a", "b"])] == ["debug-a", "debug-b"]


def test_rows_of_a_compilation_database(tmp_path: Path):
    def row(output: str, directory: str = str(tmp_path), **more: str) -> dict:
        return {"directory": directory, "file": f"{output}.c", "output": output, **more}

    (tmp_path / "build").mkdir()
    for name in ("kept.o", "moved.o", "new.o"):
        (tmp_path / "build" / name).touch()
    cmake = {"directory": "/elsewhere", "file": "/elsewhere/main.c", "command": "cc -c main.c"}
    known = [
        row("build/new.o", old="yes"),
        row("build/kept.o"),
        row("build/gone.o"),
        row("build/moved.o", "/old"),
        cmake,
    ]
    made = [row("build/new.o")]
    expected = [cmake, row("build/kept.o"), row("build/moved.o"), row("build/new.o")]
    assert merged(known, made, tmp_path, "build") == expected
    assert merged(expected, [], tmp_path, "build") == expected


def test_tasks_of_a_new_project_stay(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A variant that came later gets its task; those that others wrote are theirs."""
    tasks = project / ".vscode" / "tasks.json"
    tasks.parent.mkdir(exist_ok=True)
    own = {"label": "scons", "command": "scons", "args": ["one"]}
    tasks.write_text(json.dumps({"version": "2.0.0", "tasks": [own, *debug_tasks(["one"])]}), "utf-8")
    assert ide(project) == 0, capsys.readouterr().err
    labels = [task["label"] for task in json.loads(tasks.read_text("utf-8"))["tasks"]]
    assert labels == ["scons", "debug-one", "debug-two"]
    for damaged in ("{", "[]", '{"tasks": 5}', "// mine\n{}"):
        tasks.write_text(damaged, "utf-8")
        assert ide(project) == 1
        assert tasks.read_text("utf-8") == damaged
