"""Every way of constants into their pool runs, and a change of weights compiles nothing but what it must."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from neuralart import cli
from support.boards.virtual_serial import offered
from support.models import tflite_edit
from support.projects.sconsproject import REPO, Project, copy_built, copy_small, prepare

pytestmark = [pytest.mark.arm, pytest.mark.long]

MODEL = "models/digits/digits.tflite"
STRATEGIES = {
    "flash": "digits-n6",
    "boot-copy": "digits-n6-internal",
    "link": "digits-n6-link",
    "external-loader": "digits-n6-external",
}


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_small(tmp_path_factory.mktemp("ways") / "tree", (REPO / "variants.yaml").read_text("utf-8"))
    prepare(project, tmp_path_factory, "-j2", *STRATEGIES.values(), "digits-n6-two")
    return project


@pytest.fixture
def tree(ways: Project, tmp_path: Path) -> Project:
    return copy_built(ways, tmp_path / "tree")


def test_they_run(tree: Project) -> None:
    done = tree.run(*(f"run-{variant}" for variant in STRATEGIES.values()))
    assert done.commands == {("RUN", variant) for variant in STRATEGIES.values()}, "what was built is what runs"
    for strategy, variant in STRATEGIES.items():
        assert f"\n{variant}: digits: 20 vectors bit-exact on unicorn" in done.out
        plan = json.loads(tree.path(f"build/{variant}/plan.json").read_text("utf-8"))
        assert [row["strategy"] for row in plan["initializers"]] == [strategy]


def kinds(project: Project, variant: str) -> list[str]:
    plan = json.loads(project.path(f"build/{variant}/flash_plan.json").read_text("utf-8"))
    return [write["kind"] for write in plan["writes"]]


def test_what_each_writes_to_the_flash(ways: Project) -> None:
    assert {name: kinds(ways, variant) for name, variant in STRATEGIES.items()} == {
        "flash": ["application", "model", "descriptor"],
        "boot-copy": ["application", "model", "descriptor"],
        "link": ["application"],
        "external-loader": ["application", "descriptor"],
    }


def test_where_the_bytes_are(ways: Project) -> None:
    """Linked ones are in the image, the others are not."""
    (network,) = [path.parent for path in ways.path("build/networks").rglob("*.raw") if "AXISRAM5" in path.name]
    raw = (network / "digits_atonbuf.AXISRAM5.raw").read_bytes()
    assert len(raw) > 4000
    for name, variant in STRATEGIES.items():
        image = ways.path(f"build/{variant}/application.bin").read_bytes()
        assert (raw in image) == (name == "link"), name
    for name in ("boot-copy", "external-loader"):
        assert ways.path(f"build/{STRATEGIES[name]}/digits.AXISRAM5.bin").read_bytes() == raw
    with ways.path("build/digits-n6-link/firmware.elf").open("rb") as stream:
        (symbol,) = ELFFile(stream).get_section_by_name(".symtab").get_symbol_by_name("npu_link_digits_AXISRAM5_start")
        assert symbol["st_value"] % 64 == 0


def test_weights_only(tree: Project) -> None:
    """Linked constants are part of the image: their object, and what is made of the image. No other C."""
    tflite_edit.change_weight(tree.path(MODEL))
    done = tree.run(*STRATEGIES.values())
    linked = f"build/{STRATEGIES['link']}/"
    assert {target for tag, target in done.commands if tag == "CC"} == {f"{linked}npu_link_digits_AXISRAM5.o"}
    assert ("LINK", f"{linked}firmware.elf") in done.commands
    image = {"LINK", "OBJCOPY", "MEMORY", "SOURCES", "BOARD", "CHECK"}
    assert not [each for each in done.commands if each[0] in image and not each[1].startswith(linked)], done.commands
    tree.up_to_date(*STRATEGIES.values())


@pytest.mark.gdb
@pytest.mark.skipif(not shutil.which("gdb-multiarch"), reason="no gdb-multiarch")
def test_neuralart_load_brings_what_the_firmware_waits_for(
    tree: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """n6_loader's job: descriptor by a runner, weights by gdb while the core waits; by contents, not by time."""
    pytest.importorskip("serial", reason="pyserial is not installed")
    monkeypatch.chdir(tree.root)
    folder = Path("build/digits-n6-external")
    with offered("stm32n6570-dk", tmp_path) as board:
        words = ["load", str(folder), *board.words]
        assert cli.main([*words, "--vectors", "models/digits/vectors"]) == 0
        said = capsys.readouterr().out
        assert "digits: 20 vectors bit-exact" in said and "The board runs 'digits', stamp " in said
        weights = folder / "digits.AXISRAM5.bin"
        weights.write_bytes(weights.read_bytes()[:-1] + b"!")
        assert cli.main(words) == 1
        assert f"{weights}: is not what the build made" in capsys.readouterr().err
    assert cli.main([*words, "--board", "nucleo-n657x0-q"]) == 1
    assert "built for stm32n6570-dk, not for nucleo-n657x0-q" in capsys.readouterr().err


def test_no_strategy_runs_without_its_bytes(tree: Project) -> None:
    """The external loader that loads nothing: the firmware waits, looks, and says what it found."""
    tree.edit(
        "variants.yaml", "        strategies: {AXISRAM5: external-loader}\n", "        strategies: {AXISRAM5: link}\n"
    )
    tree.run("run-digits-n6-external")
    tree.edit(
        "variants.yaml", "        strategies: {AXISRAM5: link}\n", "        strategies: {AXISRAM5: external-loader}\n"
    )
    tree.run("digits-n6-external")
    (facts,) = {
        path
        for path in tree.path("build/networks").rglob("network.json")
        if (path.parent / "digits_atonbuf.AXISRAM5.raw").exists()
    }
    words = ["run", "--board", "stm32n6570-dk", "--elf", "build/digits-n6-external/firmware.elf"]
    words += ["--plan", "build/digits-n6-external/flash_plan.json", "--network", str(facts)]
    words += ["--vectors", "models/digits/vectors"]
    done = subprocess.run(
        [sys.executable, "-m", "neuralart", *words], cwd=tree.root, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2
    assert "network digits, pool AXISRAM5" in done.stderr, done.stderr


def test_relocatable_is_refused(tree: Project) -> None:
    tree.edit("variants.yaml", "strategies: {AXISRAM5: link}", "strategies: {AXISRAM5: relocatable}")
    failed = tree.run("digits-n6-link", code=2)
    assert any(
        "variants.yaml:" in line and "strategy relocatable is for variants whose firmware loads its model" in line
        for line in failed.errors
    ), failed.err


# ---- two networks in one image


def test_two_networks_have_places_of_their_own(tree: Project) -> None:
    done = tree.run("run-digits-n6-two")
    assert "digits: 20 vectors bit-exact" in done.out and "digits_b: 20 vectors bit-exact" in done.out
    plan = json.loads(tree.path("build/digits-n6-two/plan.json").read_text("utf-8"))
    used = sorted((p["start"], p["start"] + p["used"], p["owner"]) for p in plan["placements"] if p["used"])
    assert {"pool xSPI2 of network digits", "pool xSPI2 of network digits_b"} <= {owner for _, _, owner in used}
    for (_, end, one), (start, _, other) in itertools.pairwise(used):
        assert end <= start, f"{one} and {other}"


@pytest.mark.parametrize(
    ("old", "new", "pools"),
    [("0x70500000", "0x70400000", ("xSPI2", "xSPI2")), ("0x34270000", "0x34200000", ("AXISRAM4", "AXISRAM3"))],
)
def test_an_overlap_is_refused_before_the_link(tree: Project, old: str, new: str, pools: tuple[str, str]) -> None:
    """Flash as soon as the files are read, RAM when it is known what is used: nothing is linked."""
    elf = tree.path("build/digits-n6-two/firmware.elf")
    elf.unlink()
    tree.edit("models/digits/pools/second.mpool", old, new)
    failed = tree.run("digits-n6-two", code=2)
    assert "LINK" not in failed.tags and not elf.exists()
    (said,) = [line for line in failed.errors if "overlaps" in line]
    for network, pool, file in (("digits_b", pools[0], "second"), ("digits", pools[1], "first")):
        assert f"pool {pool} of network {network} [0x" in said, said
        assert f"models/digits/pools/{file}.mpool:" in said, said


def test_a_pool_file_that_changed_and_kept_its_time(tree: Project) -> None:
    """Contents decide, also for a user who tells SCons to believe times."""
    pools = tree.path("models/digits/pools/second.mpool")
    os.utime(pools, (1e9, 1e9))
    tree.run("digits-n6-two")
    tree.edit("models/digits/pools/second.mpool", "0x70500000", "0x70600000")
    os.utime(pools, (1e9, 1e9))
    done = tree.run("--max-drift=1", "--no-stamps", "digits-n6-two")
    assert "scons: --max-drift is not used: contents decide whether a file has changed" in done.err
    plan = json.loads(tree.path("build/digits-n6-two/plan.json").read_text("utf-8"))
    assert 0x70600000 in [each["start"] for each in plan["placements"]]
