"""``boot:`` of a variant: executed in its slot, or loaded by a debugger; checks, slots and flash plan follow."""

from __future__ import annotations

import json
import shutil

import pytest

from neuralart import cli
from support.boards.core_firmware import SCONSTRUCT
from support.projects.sconsproject import REPO, Project, prepare

pytestmark = [pytest.mark.arm, pytest.mark.long]
VARIANTS = """\
schema: 1
networks:
  digits: {model: digits/digits.tflite, vectors: digits/vectors}
defaults:
  variant: {board: stm32n6570-dk, network: digits}
variants:
  slot: {boot: xip}
  debugger:
    boot: ram
    overrides: {digits: {mpool: digits/pools/internal.mpool, strategies: {AXISRAM5: link}}}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("boot") / "tree"
    shutil.copytree(REPO / "models" / "digits", root / "digits")
    (root / "SConstruct").write_text(SCONSTRUCT, "utf-8")
    (root / "variants.yaml").write_text(VARIANTS, "utf-8")
    project = Project(root)
    prepare(project, tmp_path_factory, "-j2", "slot", "debugger")
    return project


def test_it_runs(built: Project) -> None:
    pytest.importorskip("unicorn")
    out = built.run("flash-slot", "boot-slot", "run-debugger").out
    assert out.count("20 vectors bit-exact on unicorn") == 2


def test_what_follows(built: Project) -> None:
    check, plan = (json.loads(built.path(f"build/slot/{name}.json").read_text("utf-8")) for name in ("check", "plan"))
    assert (check["board"], check["vector_table"], check["copy_size"]) == ("stm32n6570-dk+xip", 0x70100400, None)
    owners = {row["owner"]: row for row in plan["placements"]}
    assert "firmware code" not in owners and owners["slot application"]["start"] == 0x70100000
    image = built.path("build/slot/application.bin").read_bytes()
    assert image[:4] == b"STM2" and built.path("build/slot/firmware.bin").read_bytes() in image
    check = json.loads(built.path("build/debugger/check.json").read_text("utf-8"))
    assert (check["board"], check["vector_table"]) == ("stm32n6570-dk+ram", 0x34000400)
    names = {path.name for path in built.path("build/debugger").iterdir()}
    assert not names & {"application.bin", "flash_plan.json"} and "plan.json" in names


def test_an_image_for_another_mode(built: Project, capsys: pytest.CaptureFixture[str]) -> None:
    elf = str(built.path("build/slot/firmware.elf"))
    assert cli.main(["tool", "check-image", elf, "--board", "stm32n6570-dk"]) == 1
    said = capsys.readouterr().err
    assert "the vector table is at 0x70100400, the boot loader of stm32n6570-dk takes it from 0x34000400" in said
    other = str(built.path("build/debugger/firmware.elf"))
    assert cli.main(["tool", "check-image", other, "--board", "stm32n6570-dk+xip"]) == 1
    assert "where the boot loader takes it from" in capsys.readouterr().err
    assert cli.main(["tool", "check-image", elf, "--board", "stm32n6570-dk+xipp"]) == 1
    assert "no boot mode 'xipp' (did you mean 'xip'?" in capsys.readouterr().err
