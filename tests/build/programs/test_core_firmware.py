"""Firmware of a user's own for a board without an NPU: fitted to its network out of tree, built, run, exported."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from neuralart import cli, toolchain
from neuralart.config.types import ToolchainConfig
from support.boards.core_firmware import write
from support.boards.h747_app import ROOT, tree
from support.projects.sconsproject import Project, copy_built, prepare

pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]
SAYS = {"own": ["width 240", "input 66"], "mk": ["width 320", "input 66", "status 0"]}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    found = toolchain.find(ToolchainConfig(), os.environ)
    project = write(tmp_path_factory.mktemp("core") / "a project", " ".join(found.libc_flags))
    before = tree(project.path("firm"))
    prepare(project, tmp_path_factory, "-j2", "own", "mk")
    project.run("done", "export-mk")
    assert tree(project.path("firm")) == before, "no file of the user is touched"
    return project


def test_runs_on_the_virtual_board(built: Project) -> None:
    pytest.importorskip("unicorn")
    out = built.run("run-own", "run-mk").out
    lines = [line.strip() for line in out.splitlines()]
    for name, said in SAYS.items():
        shown = [line.removeprefix(f"{name} | ") for line in lines if line.startswith(f"{name} | ")]
        assert shown == said, "crop or padding, and the buffer that holds the input, from the patched sources"


def test_what_is_in_the_copy(built: Project) -> None:
    copy = built.path("build/mk/application/tree")
    assert "CAM_RES_WIDTH (QVGA_RES_WIDTH)" in (copy / ROOT / "Inc/CM7/main.h").read_text("utf-8")
    assert {"network.c", "network_data_params.c"} <= {path.name for path in (copy / "generated/network").iterdir()}
    assert (copy / "generated/runtime/legacy/legacy_network.c").is_file()
    assert built.path("build/done/firmware.elf").read_bytes() == (copy / ROOT / "out/app.elf").read_bytes()
    built.up_to_date("own", "mk", "done")


def test_exported(built: Project) -> None:
    made = json.loads(built.path("build/mk/export/manifest.json").read_text("utf-8"))
    assert made["include_dirs"] == ["networks/network", "runtime/include", "runtime/legacy/include"]
    assert {"networks/network/network_data_params.c", "runtime/legacy/legacy_network.c"} <= set(made["sources"])
    assert made["images"] == [] and not [name for name in made["sources"] if "ll_aton" in name]


def test_exported_by_hand(built: Project, tmp_path: Path) -> None:
    words = ["--file", str(built.path("variants.yaml")), "--build", str(built.path("build")), "--quiet"]
    assert cli.main(["export", "mk", "--to", str(tmp_path / "out"), *words]) == 0
    assert tree(tmp_path / "out") == tree(built.path("build/mk/export"))


def test_an_edit_of_a_patched_file_alone(built: Project, tmp_path: Path) -> None:
    project = copy_built(built, tmp_path / "edited")
    project.edit(f"firm/app/{ROOT}/Src/CM7/app_network.c", "/ 32", "/ 16")
    result = project.run("mk")
    assert result.tags == {"PATCH", "MAKE", "CHECK", "OBJCOPY", "SUMMARY"}
    log = project.path("build/mk/application/log.txt").read_text("utf-8")
    assert [line.split()[-3] for line in log.splitlines() if " -c " in line] == ["Src/CM7/app_network.c"]
