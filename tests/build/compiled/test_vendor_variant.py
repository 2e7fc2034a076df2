"""A variant of ST Edge AI Core and an application of the user's own, from the model to the flash plan."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from support.fake_apps import application
from support.projects import vendorproject
from support.projects.vendorproject import VendorProject, new_weights

pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script"),
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]
SCONSTRUCT = f"""\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.Tool("neuralart", toolpath=[{str(vendorproject.REPO / "site_scons")!r}])
project = env.NeuralArtProject("variants.yaml")
project.check_targets(BUILD_TARGETS)
project.build(COMMAND_LINE_TARGETS)
Default("v")
"""
VARIANTS = """\
schema: 1
networks:
  net:
    model: net.tflite
    compiler: {stedgeai: "4.0.*"}
    profile: blobs@na.json
variants:
  v:
    board: stm32n6570-dk
    machine: silicon
    network: net
    application:
      make: {folder: my app, directory: gcc, artefact: build/firmware.elf, stage: {"net*.*": Model/}}
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> VendorProject:
    folder = tmp_path_factory.mktemp("vendor")
    project = vendorproject.make(folder / "tree", folder / "st" / "4.0.1")
    application(project.path("my app"), "make")
    project.path("SConstruct").write_text(SCONSTRUCT, "utf-8")
    project.path("variants.yaml").write_text(VARIANTS, "utf-8")
    project.run()
    return project


@pytest.fixture
def built(template: VendorProject, tmp_path: Path) -> VendorProject:
    return vendorproject.copy(template, tmp_path / "tree")


def test_image_and_flash_plan(template: VendorProject) -> None:
    plan = json.loads(template.path("build/v/flash_plan.json").read_text("utf-8"))
    text = json.dumps(plan)
    assert all(name in text for name in ("application.bin", "net.xSPI2.bin")), text
    assert "descriptor.bin" not in text, "no code of this application reads it"
    raw = (template.folder() / "net_atonbuf.xSPI2.raw").read_bytes()
    assert template.path("build/v/net.xSPI2.bin").read_bytes() == raw
    assert template.path("build/v/firmware.elf").read_bytes()[:4] == b"\x7fELF"
    summary = template.path("build/v/summary.txt").read_text("utf-8")
    assert "ll_aton" in summary and "0x70380000" in summary, summary


def test_nothing_changed(built: VendorProject) -> None:
    built.up_to_date()


def test_weights_leave_the_application_alone(built: VendorProject) -> None:
    """Its own build is asked, as constants are among what it gets; it has nothing to do, and nothing follows."""
    before = built.path("build/v/application.bin").read_bytes()
    new_weights(built.path("net.tflite"))
    result = built.run()
    assert {"NETWORK", "IMAGE", "PLAN"} <= result.tags
    assert not result.tags & {"CC", "LINK", "CHECK", "OBJCOPY"}, result.commands
    assert " -c " not in built.path("build/v/application/log.txt").read_text("utf-8")
    assert built.path("build/v/application.bin").read_bytes() == before
    assert ("IMAGE", "build/v/application.bin") not in result.commands
    built.up_to_date()


def test_an_option_of_the_profile_makes_it_again(built: VendorProject) -> None:
    built.edit("na.json", "--Os --enable-epoch-controller --ec-single-epoch", "--Os")
    result = built.run()
    assert {"NETWORK", "MAKE"} <= result.tags, result.commands
    staged = {path.name for path in built.path("build/v/application/tree/Model").iterdir()}
    assert "net.c" in staged and "net_ecblobs.h" not in staged, "nothing stale in the copy either"


def test_the_tool_is_gone(built: VendorProject) -> None:
    before = built.files("build")
    failed = built.run(code=2, env={"STEDGEAI_CORE_DIR": ""})
    assert failed.errors[0].startswith("scons: *** variants.yaml:5: no ST Edge AI Core 4.0.* found; looked at ")
    assert "STEDGEAI_CORE_DIR: not set; PATH: none; " in failed.errors[0]
    assert built.files("build") == before


def test_nothing_here_runs_it(built: VendorProject) -> None:
    failed = built.run("run-v", code=2)
    assert len(failed.errors) == 1 and "run-v: " in failed.errors[0], failed.err


def test_the_reference_application_of_a_real_board_cannot_have_it(built: VendorProject) -> None:
    text = built.path("variants.yaml").read_text("utf-8")
    built.path("variants.yaml").write_text(text[: text.index("    application:")], "utf-8")
    failed = built.run(code=2)
    assert failed.errors[0].startswith("scons: *** variants.yaml:5: network net is compiled for runtime ll_aton, which")


def test_export(built: VendorProject) -> None:
    built.run("export-v")
    folder = built.path("build/v/export")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {"network.cmake", "networks/net/net.c", "networks/net/net_ecblobs.h", "images/net.xSPI2.hex"} <= names
    assert {"runtime/include/npu_memory.h", "runtime/memory/npu_memory.c", "program/npu_memory_init.c"} <= names
    assert "runtime/include/ll_aton.h" not in names, "the runtime comes with the user's Middlewares"


def test_constants_that_are_c_of_the_program(built: VendorProject) -> None:
    """The linker places them: they are in the firmware, and neither in the flash plan nor in the descriptor."""
    text = built.path("variants.yaml").read_text("utf-8")
    built.path("variants.yaml").write_text(text.replace("blobs@na.json", "linked@na.json"), "utf-8")
    makefile = built.path("my app/gcc/Makefile")
    makefile.write_text(makefile.read_text().replace("/net.c", "/net.c $(TOP)/Model/net_atonbuf.xSPI2.c"), "utf-8")
    built.run()
    plan = built.path("build/v/flash_plan.json").read_text("utf-8")
    assert "application.bin" in plan and "xSPI2" not in plan
    assert "_mem_pool_xSPI2_net" in built.path("build/v/firmware.elf").read_bytes().decode("latin-1")
    built.up_to_date()
