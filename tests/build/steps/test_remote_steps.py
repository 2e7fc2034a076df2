"""Heavy steps of a build are done by a farm: with the same results, and here where the farm fails."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.projects import vendorproject
from support.projects.sconsproject import REPO, Project

grpc = pytest.importorskip("grpc")
pytest.importorskip("zstandard")

from support.servers import reapi_server  # noqa: E402 - it needs grpc
from support.servers.reapi_server import Done, ReapiServer, Task  # noqa: E402

SCONSTRUCT = f"""
import atexit, sys
atexit.register(lambda: print("loaded:", *sorted({{"grpc", "neuralart_fleet.scons.farm"}} & set(sys.modules))))
DefaultEnvironment(tools=[])
env = Environment(
    tools=["neuralart"], toolpath=[{str(REPO / "site_scons")!r}], NEURALART_BOARD="stm32n6570-dk", NEURALART_VERBOSE=1
)
env.NeuralArtNetwork("build/one/kws.c", "kws.tflite")
env.NeuralArtNetwork("build/two/kws.c", "kws.tflite", NEURALARTFLAGS=["--input-data-type", "float32"])
"""
PROJECT = f"""
DefaultEnvironment(tools=[])
env = Environment(tools=["neuralart"], toolpath=[{str(REPO / "site_scons")!r}])
env.NeuralArtProject("variants.yaml").build(["v"])
"""
VARIANTS = """schema: 1
networks: {digits: {model: kws.tflite}}
variants: {v: {title: V, board: stm32n6570-dk, network: digits}}
"""
NO_CREDENTIALS = {"NETRC": os.devnull}


def tree(root: Path) -> Project:
    root.mkdir()
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", root / "kws.tflite")
    (root / "SConstruct").write_text(SCONSTRUCT, "utf-8")
    return Project(root)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReapiServer]:
    with reapi_server.serving() as running:
        running.work = reapi_server.worker(tmp_path)
        yield running


def variables(server: ReapiServer) -> dict[str, str]:
    return {"NEURALART_EXECUTE": f"grpc://me:s3cret@127.0.0.1:{server.port}/main", **NO_CREDENTIALS}


def test_compiles(server: ReapiServer, tmp_path: Path) -> None:
    here, there = tree(tmp_path / "here"), tree(tmp_path / "another folder")
    assert here.run("build/one").out.endswith("loaded:\n")
    made = there.run("build/one", env=variables(server))
    assert there.files("build/one") == here.files("build/one")
    assert f"farm grpc://127.0.0.1:{server.port}/main: 1 of 1 steps done there (" in made.out
    (task,) = server.tasks
    assert "kws.tflite" in task.files and "build/one/kws.c" in task.outputs and not task.anew
    # Neither the folder of the tree nor that of the package is in what goes there.
    words = " ".join([*task.words, *task.environment.values(), *task.files, *task.outputs])
    assert str(tmp_path) not in words and str(REPO) not in words and "s3cret" not in made.raw + made.err
    there.up_to_date("build/one")

    # A step that fails fails; it is not done here in hope.
    there.path("kws.tflite").write_bytes(b"no model")
    failed = there.run("build/one", env=variables(server), code=2)
    assert failed.errors[0].startswith("neuralart compile: error: kws.tflite"), failed.err
    assert len(server.tasks) == 2 and "is done here" not in failed.out


@pytest.mark.arm
def test_vendor_compiles(server: ReapiServer, tmp_path: Path) -> None:
    """The same files, and the log; what the tool says when it fails is said here."""
    core = tmp_path / "core"
    here = vendorproject.make(tmp_path / "here", core)
    there = vendorproject.copy(here, tmp_path / "there")
    server.work = reapi_server.worker(tmp_path, STEDGEAI_CORE_DIR=str(core))
    here.run("build/networks")
    made = there.run("build/networks", env=variables(server))
    assert ": 1 of 1 steps done there (" in made.out
    assert {name for name, data in here.kept().items() if there.kept().get(name) != data} == set()
    assert here.kept().keys() == there.kept().keys()
    assert sorted(path.name for path in (there.folder() / ".vendor").iterdir()) == ["command.txt", "log.txt"]

    vendorproject.new_weights(there.path("net.tflite"))
    server.work = reapi_server.worker(tmp_path, STEDGEAI_CORE_DIR=str(core), FAKE_STEDGEAI_FAIL="e700")
    failed = there.run("build/networks", env=variables(server), code=2)
    assert failed.errors[0].startswith("neuralart compile: error: net.tflite: "), failed.err
    assert "/.vendor/log.txt" in failed.err and (there.folder() / ".vendor" / "log.txt").read_text("utf-8")
    assert ": 1 of 1 steps done there (" in failed.out and not (there.folder() / "net.c").exists()


def test_what_is_not_in_the_tree_is_read_here(server: ReapiServer, tmp_path: Path) -> None:
    mine = tree(tmp_path / "mine")
    outside = mine.path("kws.tflite").rename(tmp_path / "kws.tflite")
    mine.edit("SConstruct", '"build/one/kws.c", "kws.tflite"', f'"build/one/kws.c", {str(outside)!r}')
    made = mine.run("build/one", env=variables(server))
    assert server.tasks == [] and mine.path("build/one/kws.c").is_file()
    why = f"it reads {outside}, which is neither in this tree nor in this package"
    assert f"/main: build/one/kws.c is done here, and others like it: {why}\n" in made.out
    assert "steps done there" not in made.out


def test_python_in_a_folder_with_blanks(server: ReapiServer, tmp_path: Path) -> None:
    """SCons puts such a word into quotes of its own."""
    python = tmp_path / "a folder \u00fc" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', "utf-8")
    python.chmod(0o755)
    mine = tree(tmp_path / "mine")
    mine.edit("SConstruct", "NEURALART_VERBOSE=1", f"NEURALART_VERBOSE=1, NEURALART_PYTHON=[{str(python)!r}]")
    made = mine.run("build/one", env=variables(server))
    assert f'"{python}" -m neuralart compile ' in made.out
    assert ": 1 of 1 steps done there (" in made.out and len(server.tasks) == 1
    assert "is done here" not in made.out


@pytest.mark.parametrize(
    "command", ["nice $NEURALART_PYTHON -m", "$NEURALART_PYTHON -W ignore -m", "X=1 $NEURALART_PYTHON -m"]
)
def test_a_command_that_is_not_ours_is_not_sent_and_that_is_said_once(
    server: ReapiServer, tmp_path: Path, command: str
) -> None:
    mine = tree(tmp_path / "mine")
    text = mine.path("SConstruct").read_text("utf-8").partition("env.NeuralArtNetwork")
    change = f'env["NEURALARTCOM"] = env["NEURALARTCOM"].replace("$NEURALART_PYTHON $) -m", "$) {command}")\n'
    mine.path("SConstruct").write_text(text[0] + change + "".join(text[1:]), "utf-8")
    made = mine.run("build", env=variables(server))
    assert server.tasks == [] and mine.path("build/two/kws.c").is_file()
    line = "/kws.c is done here, and others like it: its command is not 'python -m neuralart ...' alone\n"
    assert made.out.count(line) == made.out.count("is done here") == 1, made.out


def test_on_a_terminal(server: ReapiServer, tmp_path: Path) -> None:
    """With bars, for which a build takes the output of commands by pipes."""
    mine = tree(tmp_path / "mine")
    mine.path("variants.yaml").write_text(VARIANTS, "utf-8")
    mine.path("SConstruct").write_text(PROJECT, "utf-8")
    made = mine.on_a_terminal("build/networks", **variables(server))
    assert ": 1 of 1 steps done there (" in made and len(server.tasks) == 1, made
    assert len(list(mine.path("build/networks").glob("*/network.json"))) == 1


def test_a_farm_that_fails(server: ReapiServer, tmp_path: Path) -> None:
    def killed(task: Task) -> Done:
        return Done(137)

    server.work = killed
    mine = tree(tmp_path / "mine")
    made = mine.run("build/one", "build/two", env=variables(server))
    assert made.out.count(": its worker ended with 137: : build/") == 2 and made.out.count(" is done here\n") == 2
    assert ": 0 of 2 steps done there (" in made.out and mine.path("build/two/kws.c").is_file()
