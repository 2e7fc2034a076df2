"""A repository as it is, adopted: image, flash plan, and in the next build nothing but what changed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from neuralart import cli
from support.projects import repositories
from support.projects.sconsproject import Project

pytestmark = [
    pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc") or not shutil.which("make"), reason="needs Arm gcc, make"),
    pytest.mark.skipif(sys.platform == "win32", reason="rules of make for a shell"),
]
VARIANT = "repo-stm32n6570-dk"
MODEL = "Model/STM32N6570-DK"
PLACE = f"build/{VARIANT}/application/tree/Application/STM32N6570-DK/build/Application/STM32N6570-DK"
SCONSTRUCT = """\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.Tool("neuralart", toolpath=[PyPackageDir("neuralart").up()])
project = env.NeuralArtProject("variants.yaml")
project.build(COMMAND_LINE_TARGETS)
Default(list(project.file.config.default))
"""


def test_a_repository_with_the_sconstruct_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repositories.two_boards(tmp_path / "repo")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    monkeypatch.chdir(root)
    assert cli.main(["adopt", ".", "-o", "variants.yaml", "--board", "stm32n6570-dk"]) == 0
    text = (root / "variants.yaml").read_text().replace("  repo:", f"  {VARIANT}:")
    (root / "variants.yaml").write_text(text)
    (root / "SConstruct").write_text(SCONSTRUCT)
    project = Project(root)
    project.run()
    assert all(path.read_bytes() == data for path, data in before.items()), "nothing of the user's is edited"
    network = json.loads((project.network_folder(VARIANT) / "network.json").read_text())
    assert (network["name"], network["macc"], network["runtime"]) == ("network", None, "ll_aton")
    plan = json.loads((root / f"build/{VARIANT}/flash_plan.json").read_text())["writes"]
    constants = next(row for row in plan if row["kind"] == "model")
    raw = root / f"{MODEL}/network_data.xSPI2.bin"
    assert (constants["address"], constants["bytes"]) == (0x71000000, raw.stat().st_size)
    assert (root / constants["file"]).read_bytes() == raw.read_bytes()
    made = {path.name: path.stat().st_mtime_ns for path in (root / PLACE).glob("*.o")}
    assert made.keys() == {"main.o", "other.o"}

    # What is built is not taken for a part of the repository.
    said = (root / "variants.yaml").read_text()
    assert cli.main(["adopt", ".", "-o", "variants.yaml", "--board", "stm32n6570-dk", "--force"]) == 0
    assert (root / "variants.yaml").read_text().replace("  repo:", f"  {VARIANT}:") == said
    (root / "variants.yaml").write_text(said)

    # SCons has written its own files into the tree by now.
    assert (root / ".sconsign.dblite").is_file()
    project.up_to_date()
    (root / "Application/STM32N6570-DK/other.h").touch()
    project.up_to_date()

    project.edit("Application/STM32N6570-DK/other.h", "other", "another")
    assert project.run().tags >= {"MAKE"}
    now = {path.name: path.stat().st_mtime_ns for path in (root / PLACE).glob("*.o")}
    assert {name for name in now if now[name] != made[name]} == {"other.o"}, "its includers only"

    data = bytearray(raw.read_bytes())
    data[7] ^= 1
    raw.write_bytes(data)
    # The bytes are an input of the tree's build as well, which finds nothing to do.
    assert project.run().tags <= {"NETWORK", "IMAGE", "PLAN", "SUMMARY", "MAKE"}
    assert {path.name: path.stat().st_mtime_ns for path in (root / PLACE).glob("*.o")} == now
    assert (root / constants["file"]).read_bytes() == bytes(data)
    project.up_to_date()

    (root / f"{MODEL}/network_ecblobs.h").unlink()
    assert "it includes network_ecblobs.h, which is not beside it" in project.run(code=2).err


def test_only_the_program_of_the_variant_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one of the same Makefile, which make would link without a target, cannot be."""
    root = repositories.edge_impulse(tmp_path / "ei")
    makefile = root / "Makefile"
    second = "all: build/out/Second.elf\nbuild/out/Second.elf: $(OBJECTS)\n\tfalse\n"
    makefile.write_text(makefile.read_text().replace("-include ", f"{second}-include "))
    monkeypatch.chdir(root)
    assert cli.main(["adopt", ".", "-o", "variants.yaml"]) == 0
    (root / "SConstruct").write_text(SCONSTRUCT)
    project = Project(root)
    project.run()
    assert (root / "build/ei/application/tree/build/out/Project.elf").is_file()
    project.up_to_date()
