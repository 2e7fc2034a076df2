"""The commands of the how-to pages work, in a project that is built once for all of them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from neuralart import cli
from neuralart_virtual.vectors import expected
from support import tflite_edit
from support.fake_stedgeai import install
from support.pages import commands, executed
from support.sconsproject import REPO, Project, copy_built, once, prepare, shared_objects

pytestmark = [
    pytest.mark.arm,
    pytest.mark.qemu,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bash") is None, reason="no bash"),
    pytest.mark.skipif(not expected.has_litert(), reason="LiteRT is not installed"),
]
HOW_TO = REPO / "docs" / "how-to"
# Where the commands of each page are typed: in the project, or in the folder above it.
PAGES = {
    "add-to-a-repository.md": "..",
    "several-boards.md": ".",
    "new-weights.md": ".",
    "weights-in-internal-ram.md": ".",
    "continuous-integration.md": ".",
    "budgets.md": ".",
    "recorded-compiles.md": ".",
}


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


@pytest.mark.parametrize("page", PAGES)
def test_a_page(page: str, doorbell: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    if page == "recorded-compiles.md" and sys.platform == "win32":
        pytest.skip("the made-up tool is a shell script")
    project = copy_built(Project(doorbell), tmp_path / "work").root / "doorbell"
    more = shared_objects(tmp_path_factory)
    if page == "recorded-compiles.md":
        more |= {"STEDGEAI_CORE_DIR": str(install(tmp_path / "st")), "NEURALART_STEDGEAI_ROOTS": str(tmp_path / "none")}
        more |= {"NEURALART_CACHE_DIR": str(tmp_path / "cache")}
    done = commands(HOW_TO / page)
    outputs = executed(done, Path(os.path.normpath(project / PAGES[page])), more)
    for each, output in zip(done, outputs, strict=True):
        assert each.missing(output) == "", f"{each.text}: {output}"


def test_pages_with_commands_are_executed() -> None:
    """A page that shows a console is here, or is compared elsewhere."""
    elsewhere = {
        "troubleshooting.md": "tests/unit/test_how_to_pages.py",
        "run-a-compiled-network.md": "tests/build/test_virtual_npu.py",
        "platformio.md": "tests/build/test_firmware_worlds.py",
    }
    found = {page.name for page in HOW_TO.glob("*.md") if any(each.text for each in commands(page) if each.text)}
    shown = {page.name for page in HOW_TO.glob("*.md") if "```console" in page.read_text("utf-8")}
    assert shown - elsewhere.keys() == PAGES.keys() and found >= PAGES.keys()
