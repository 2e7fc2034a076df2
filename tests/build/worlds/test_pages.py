"""Every console block of every page works, and prints what the page says; those that cannot run here say why."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import cli
from neuralart_virtual.vectors import expected
from support.cases import onnx_small
from support.fake_stedgeai import install
from support.models import tflite_edit
from support.projects.sconsproject import REPO, Project, copy_built, copy_sources, once, prepare, shared_objects
from support.servers import pages

pytestmark = [
    pytest.mark.arm,
    pytest.mark.qemu,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bash") is None, reason="no bash"),
    pytest.mark.skipif(not expected.has_litert(), reason="LiteRT is not installed"),
]
HOW_TO = REPO / "docs" / "how-to"
ALL = [
    *sorted(REPO.glob("*.md")),
    *(page for top in ("docs", "examples", "models") for page in sorted((REPO / top).rglob("*.md"))),
]
# Where the commands of a page are typed: in a project of `neuralart new`, in the folder around it, which has a model,
# or (all others) in a clone of this repository.
IN_PROJECT = {
    "add-to-a-repository.md": "..",
    "several-boards.md": ".",
    "new-weights.md": ".",
    "weights-in-internal-ram.md": ".",
    "continuous-integration.md": ".",
    "budgets.md": ".",
    "recorded-compiles.md": ".",
}
# Their own tests type them: what these pages say of a model or a machine is more than a line to compare.
ELSEWHERE = {
    "own-model.md": "tests/build/worlds/test_tutorial.py",
    "troubleshooting.md": "tests/unit/repository/test_how_to_pages.py",
    "fit.md": "tests/unit/reference/test_fit.py",
}
# What a block that is not executed begins its reason with.
REASONS = {
    "a board": "no board is here",
    "a download": "tests load nothing from a network",
    "a server": "a cache or a farm; their tests start one",
    "ST Edge AI Core": "it is not installed here, and is never executed",
    "does not end": "it waits for somebody",
    "installs": "the tests run where this is done",
    "takes minutes": "the tests are what it starts, or do the same",
    "your ": "the page is about a file of the reader's",
    "the modules": "the page has them; its test writes them",
    "the tests": "the tests do this otherwise",
}
SHOWN = [page for page in ALL if pages.commands(page, yaml=False) and page.name not in ELSEWHERE]
IN_CLONE = [page for page in SHOWN if page.parent != HOW_TO or page.name not in IN_PROJECT]
# Pages whose ``yaml`` is typed, too; elsewhere it shows keys.
WRITES_YAML = {"first-flash.md"}


@pytest.fixture(scope="session")
def doorbell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, later versions of it, and the project that `neuralart new` made of it, built."""

    def make(folder: Path) -> None:
        folder.mkdir()
        model = folder / "doorbell.tflite"
        shutil.copy(REPO / "models" / "digits" / "digits.tflite", model)
        shutil.copy(model, folder / "third.tflite")
        shutil.copy(model, folder / "retrained.tflite")
        tflite_edit.reverse_weights(folder / "retrained.tflite")
        words = ["new", str(folder / "doorbell"), "--board", "stm32n6570-dk", "--model", str(model)]
        assert cli.main(words) == 0
        prepare(Project(folder / "doorbell"), tmp_path_factory)

    return once(tmp_path_factory, "doorbell", make)


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which `./sconsw` has installed and built everything; beside it are models to try."""

    def make(folder: Path) -> None:
        project = copy_sources(folder)
        shutil.copy(REPO / "models" / "digits" / "digits.tflite", folder / "doorbell.tflite")
        (folder / "net.onnx").write_bytes(onnx_small.SMALL)
        for name in ("sconsw", ".gitignore", *(each.name for each in REPO.glob("requirements*.lock"))):
            shutil.copy2(REPO / name, folder / name)
        _environment(folder)
        prepare(project, tmp_path_factory)
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
        for words in (["init", "-q"], ["add", "models", "variants.yaml"], ["commit", "-qm", "a"]):
            subprocess.run([*git, *words], cwd=folder, check=True)

    shared = once(tmp_path_factory, "clone", make)
    return copy_built(Project(shared), tmp_path_factory.mktemp("clone") / "networks").root


@pytest.fixture
def folder(clone: Path, tmp_path: Path) -> Path:
    """A copy of the clone. Its code is the same files with other names: they are most of it, and no page writes there.

    Objects of models are those that the clone has.
    """
    (folder := tmp_path / "networks").mkdir()
    code = {clone / "site_scons", clone / "firmware"}
    subprocess.run(["cp", "-al", *code, folder], check=True)
    subprocess.run(["cp", "-a", *{*clone.iterdir()} - code, folder], check=True)
    _environment(folder)
    (folder / "build" / "objects").symlink_to("relocatable/objects")
    return folder


def _environment(folder: Path) -> None:
    """The `.venv` of a clone: programs of the one in which the tests run, installed as `./sconsw` asks for it."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (folder / ".venv" / "pyvenv.cfg").touch()
    for name in ("python", "neuralart"):
        (programs / name).write_text(f'#!/bin/sh\nexec "{Path(sys.executable).parent / name}" "$@"\n', "utf-8")
        (programs / name).chmod(0o755)
    lock = "requirements-build.lock"
    script = f'printf \'%s %s\' "$(cat pyproject.toml {lock} | cksum)" "$PWD" > .venv/.{lock}.installed'
    subprocess.run(["sh", "-c", script], cwd=folder, check=True)


def _compare(done: list[pages.Command], outputs: list[str]) -> None:
    for each, output in zip(done, outputs, strict=True):
        assert (line := each.missing(output)) == "", f"{each.text}: no line {line!r} in\n{output}"


@pytest.mark.parametrize("page", IN_PROJECT)
def test_a_page_about_a_project(
    page: str, doorbell: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if page == "recorded-compiles.md" and sys.platform == "win32":
        pytest.skip("the made-up tool is a shell script")
    project = copy_built(Project(doorbell), tmp_path / "work").root / "doorbell"
    more = shared_objects(tmp_path_factory)
    if page == "recorded-compiles.md":
        more |= {"STEDGEAI_CORE_DIR": str(install(tmp_path / "st")), "NEURALART_STEDGEAI_ROOTS": str(tmp_path / "none")}
        more |= {"NEURALART_CACHE_DIR": str(tmp_path / "cache")}
    done = pages.commands(HOW_TO / page)
    _compare(done, pages.executed(done, Path(os.path.normpath(project / IN_PROJECT[page])), more))


@pytest.mark.parametrize("page", IN_CLONE, ids=lambda page: page.relative_to(REPO).as_posix())
def test_a_page_about_this_repository(page: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    done = pages.commands(page, yaml=page.name in WRITES_YAML)
    more = {**shared_objects(tmp_path_factory), "NEURALART_TOOLPATH": str(folder / "site_scons")}
    _compare(done, pages.executed(done, folder, more))


def test_the_table_of_st_tools(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each row with a command prints its line; each other row names a test or a page that there is, or says why."""
    page = REPO / "docs" / "reference" / "st-tools.md"
    table = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| ") and "| here |" not in line]
    done = pages.rows(page)
    assert len(table) >= 176 and len(done) >= 90
    for line in table:
        what, state, *_ = line[2:].split(" | ")
        assert what and re.match(r"works|other form|missing", state), line
        named = line.endswith("` |") or re.search(r"tests/[\w/]+/test_\w+\.py|\.md", line)
        assert named or state.startswith("missing"), line
        assert all((REPO / test).is_file() for test in re.findall(r"tests/[\w/]+/test_\w+\.py", line)), line
    for name in ("rel", "rel2", "rel3", "rel5", "rel7", "rel9"):
        (folder / name).mkdir()
        (folder / name / "objects").symlink_to(folder / "build/relocatable/objects")
    # Where the compiler shall be seen, it compiles something.
    shutil.copytree(folder / "build/relocatable/objects", folder / "rel8/objects")
    for path in (folder / "rel8/objects").glob("a*"):
        path.unlink()
    # A command that several rows show is typed once.
    typed = list({each.text: each for each in done}.values())
    printed = pages.executed(typed, folder, shared_objects(tmp_path_factory))
    outputs = {each.text: output for each, output in zip(typed, printed, strict=True)}
    _compare(done, [outputs[each.text] for each in done])


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.relative_to(REPO).as_posix())
def test_what_is_typed_is_in_a_console(page: Path) -> None:
    """A block that is not executed says why, and a test that it names is about that."""
    assert pages.hidden(page) == []
    for why in pages.not_executed(page):
        assert any(why.startswith(reason) for reason in REASONS), why
        for test in re.findall(r"tests/\S+\.py", why):
            assert (REPO / test).is_file(), test


def test_every_page_is_executed_somewhere() -> None:
    shown = {page for page in ALL if "```console" in page.read_text("utf-8")}
    assert {page.name for page in shown} >= {*IN_PROJECT, *ELSEWHERE, "tour.md", "README.md"}
    assert len(SHOWN) >= 30 and len(ELSEWHERE) < 5
    for page, test in ELSEWHERE.items():
        assert page in (REPO / test).read_text("utf-8") or page.partition(".")[0] in test, page
