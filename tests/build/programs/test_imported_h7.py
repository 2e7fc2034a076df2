"""The whole way of a board without an NPU: a configuration of the model zoo, entries, an image, two flashes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from neuralart import cli, toolchain
from neuralart.config.types import ToolchainConfig
from neuralart.memory.image import elf_facts
from support.boards.core_firmware import write
from support.boards.h747_app import ROOT, tree
from support.projects.sconsproject import Project, copy_built, prepare

pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]
VARIANT = "digits-stm32h747i-disco"
ZOO = """\
operation_mode: deployment
model: {model_type: mobilenet, model_path: digits.tflite}
dataset: {class_names: [zero, one, two, three, four, five, six, seven, eight, nine]}
preprocessing: {resizing: {interpolation: bilinear, aspect_ratio: crop}, color_mode: grayscale}
tools: {stedgeai: {optimization: balanced}}
deployment:
  c_project_path: firm/app
  IDE: GCC
  hardware_setup: {serie: STM32H7, board: STM32H747I-DISCO}
"""
CONF = """\
{
  "version": "0.1", // of the format
  "memory_pool": {"internalFlash_size": "1024KB", "externalFlash_size": "128000KB", "application_size": "8B",
                  "lib_size": "0KB", "memory_pool_path": "${cwd}/pools.json",},
  "configurations": [],
}
"""
CONFIG_C = f"firm/app/{ROOT}/Src/CM7/config.c"
READS_HEADER = """\
#include "ai_model_config.h"
#if PP_COLOR_MODE != GRAYSCALE_FORMAT || !defined(NB_CLASSES)
#error "the header is not the generated one"
#endif
int classes(void) { return NB_CLASSES; }
"""
LARGEST = "s_network_fully_connected_5_weights_array_u64"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    found = toolchain.find(ToolchainConfig(), os.environ)
    project = write(tmp_path_factory.mktemp("zoo") / "project", " ".join(found.libc_flags))
    zoo = project.path("user_config.yaml")
    zoo.write_text(ZOO, "utf-8")
    project.path("firm/app/stmaic_STM32H747I-DISCO.conf").write_text(CONF, "utf-8")
    project.edit(f"firm/app/{ROOT}/Makefile", "/generated", "/neuralart")
    project.path(CONFIG_C).write_text(READS_HEADER, "utf-8")
    before = tree(project.path("firm"))
    words = ["--force", "--use-case", "image_classification"]
    assert cli.main(["import", str(zoo), "-o", str(project.path("variants.yaml")), *words]) == 0
    prepare(project, tmp_path_factory, "-j2", VARIANT)
    assert tree(project.path("firm")) == before, "no file of the user is touched"
    return project


def arrays(project: Project) -> dict[str, int]:
    """Address of each array of constants in the program."""
    path = project.path(f"build/{VARIANT}/firmware.elf")
    symbols = elf_facts.read(path, path.read_bytes()).symbols
    return {name: address for name, address in symbols.items() if name.endswith("_array_u64")}


def test_from_a_configuration_to_an_image_that_runs(built: Project) -> None:
    """The application's own make builds it, fitted to the network; what fits inside stays inside."""
    assert {0x08100000 <= address < 0x08200000 for address in arrays(built).values()} == {True}
    pytest.importorskip("unicorn")
    assert "status 0" in built.run(f"run-{VARIANT}").out


def test_weights_in_two_flashes(built: Project, tmp_path: Path) -> None:
    project = copy_built(built, tmp_path / "two")
    project.edit("variants.yaml", ".InternalFlashSection: 1048568", ".InternalFlashSection: 2K")
    project.edit(
        "variants.yaml", "    patch:", "    machine: silicon\n    allow_reference_on_hardware: true\n    patch:"
    )
    project.run(VARIANT)
    inside = dict.fromkeys(arrays(project), False) | {LARGEST: True}
    assert {name: address >= 0x90000000 for name, address in arrays(project).items()} == inside
    plan = json.loads(project.path(f"build/{VARIANT}/flash_plan.json").read_text("utf-8"))
    rows = {row["name"]: row for row in plan["writes"]}
    assert [(row["name"], row["kind"], row["address"]) for row in rows.values()] == [
        ("application.FLASH_BK1", "application", 0x08000000),
        ("application.FLASH_BK2", "application", 0x08100000),
        ("model.MT25TL01G", "model", 0x90000000),
    ]
    below = [project.path(row["file"]).read_bytes() for row in rows.values()]
    assert len(below[2]) == 2560, "the largest array alone"
    program = project.path(f"build/{VARIANT}/firmware.bin").read_bytes()
    assert program[: len(below[0])] == below[0] and program[1 << 20 :] == below[1], "without what is outside"
    said = project.run(f"flash-{VARIANT}", "DRY=1", "RUNNER=cubeprogrammer").out
    (outside,) = [line for line in said.splitlines() if "MT25TL01G_STM32H747I-DISCO.stldr" in line]
    assert "0x90000000" in outside and "0x08100000" in said
    project.up_to_date(VARIANT)
    project.edit("variants.yaml", ".ExternalFlashSection: 131072000", ".ExternalFlashSection: 2K")
    assert f"array {LARGEST} of 2560 bytes fits in no section" in project.run(VARIANT, code=2).err


def test_without_the_vendor_s_application(built: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The camera application of this project takes its place: from the same configuration to its image."""
    project = Project(tmp_path_factory.mktemp("lossy"))
    for name in ("SConstruct", "digits.tflite", "user_config.yaml"):
        shutil.copy(built.path(name), project.path(name))
    words = ["import", str(project.path("user_config.yaml")), "-o", str(project.path("variants.yaml"))]
    words += ["--use-case", "image_classification"]
    assert cli.main(words) == 1 and not project.path("variants.yaml").exists()
    assert cli.main([*words, "--lossy"]) == 0
    prepare(project, tmp_path_factory, "-j2", VARIANT)
    pytest.importorskip("unicorn")
    assert "output 'digit' int8[1,10]: nine " in project.run(f"run-{VARIANT}").out, "by the zoo's names of classes"
