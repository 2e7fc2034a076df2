"""What a change rebuilds, and what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.models import tflite_edit
from support.projects.sconsproject import Project, copy_built, copy_small, copy_sources, prepare

pytestmark = [pytest.mark.arm, pytest.mark.long]

MODEL = "models/digits/digits.tflite"
C_TAGS = {"CC", "LINK", "OBJCOPY", "MEMORY", "SOURCES", "BOARD", "CHECK"}


def test_default_variants_are_built_and_summarized(template: Project) -> None:
    for variant in ("digits-n6", "digits-an547"):
        index = json.loads(template.path(f"build/{variant}/index.json").read_text("utf-8"))
        assert index["variant"] == variant
        for artefact in index["artefacts"]:
            assert template.path(artefact).is_file(), artefact
        kinds = {Path(artefact).name for artefact in index["artefacts"]}
        assert {"firmware.elf", "firmware.bin", "firmware.hex", "network.json", "manifest.json"} <= kinds
        assert {"plan.json", "flash_plan.json", "check.json", "network_io.h", "descriptor.bin"} <= kinds


def test_one_line_when_nothing_ran_and_the_summary_in_its_file(built: Project) -> None:
    assert built.run("digits-n6").out == "scons: `digits-n6' is up to date.\n"
    out = built.path("build/digits-n6/summary.txt").read_text("utf-8")
    assert "digits-n6: Digits" in out
    for words in ("0 HW", "weights", "activations", "firmware", "build/digits-n6/firmware.elf", "unicorn"):
        assert words in out, out
    assert "digits-an547:" not in out


def test_nothing_changed(built: Project) -> None:
    built.up_to_date()


def test_another_folder_is_as_good(built: Project, tmp_path: Path) -> None:
    other = copy_built(built, tmp_path / "elsewhere" / "deep" / "down")
    other.up_to_date()


def test_touched_model(built: Project) -> None:
    os.utime(built.path(MODEL), (time.time() + 60, time.time() + 60))
    built.up_to_date()


def test_metadata_of_the_model(built: Project) -> None:
    tflite_edit.change_description(built.path(MODEL), b"synthetic digits", b"SYNTHETIC DIGITS")
    result = built.run("digits-n6")
    assert result.tags == {"NETWORK"}, result.commands
    built.up_to_date("digits-n6")


LOADED = """\
schema: 1
networks:
  digits: {model: models/digits/digits.tflite}
variants:
  one: {board: stm32n6570-dk, network: digits, relocatable: true}
"""


def test_equal_contents_in_another_folder(tmp_path: Path) -> None:
    """An option that changes no byte of a model for a loader changes its folder, which index and bill name."""
    sources = copy_small(tmp_path / "tree", LOADED)
    sources.run("one", "sbom-one")
    sources.edit("variants.yaml", ".tflite}", ".tflite, options: [--enable-virtual-mem-pools]}")
    sources.run("one", "sbom-one")
    found = sources.files("build/one")
    for path in (sources.path("build"), sources.path(".sconsign.dblite")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    sources.run("one", "sbom-one")
    assert found == sources.files("build/one"), "as a clean build"


def test_weights_with_equal_quantization(built: Project) -> None:
    before = built.files("build/digits-n6")
    tflite_edit.change_weight(built.path(MODEL))
    result = built.run("digits-n6")
    assert not result.tags & C_TAGS, result.commands
    assert {"NETWORK", "IMAGE"} <= result.tags
    changed = {name for name, data in built.files("build/digits-n6").items() if before[name] != data}
    names = (
        "digits.xSPI2.bin",
        "digits.xSPI2.hex",
        "descriptor.bin",
        "descriptor.hex",
        "flash_plan.json",
        "made.sha256",
    )
    assert changed == {f"build/digits-n6/{name}" for name in names}
    built.up_to_date("digits-n6")


def test_pool_address(built: Project) -> None:
    pools = "site_scons/neuralart/boards/data/pools/stm32n6570-dk.mpool"
    built.edit(pools, "0x70380000", "0x70390000")
    result = built.run()
    networks = {target for tag, target in result.commands if tag == "NETWORK"}
    assert len(networks) == 1, networks
    assert "digits-stm32n6570-dk-" in next(iter(networks))
    built_again = {target for tag, target in result.commands if tag in ("CC", "LINK")}
    assert built_again, "the addresses in the C changed"
    assert not [target for target in built_again if "an547" in target], built_again
    assert "0x70390000" in built.path("build/digits-n6/summary.txt").read_text("utf-8")
    built.up_to_date()


def test_deleted_outputs_come_back(built: Project) -> None:
    """Each alone; equal bytes came back, so nothing follows."""
    folder = built.network_folder("digits-n6")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    names = {"digits.c", "digits.h", "network.json", "manifest.json", "digits_atonbuf.xSPI2.raw", "provenance.txt"}
    names |= {"digits_c_info.json", "digits_generate_report.txt"}
    assert names <= before.keys()
    for name in sorted(names):
        (folder / name).unlink()
        assert built.run("digits-n6").tags == {"NETWORK"}, name
        assert (folder / name).read_bytes() == before[name]
    built.up_to_date("digits-n6")


def test_deleted_image_comes_back(built: Project) -> None:
    built.path("build/digits-n6/digits.xSPI2.hex").unlink()
    assert built.run("digits-n6").commands == {("IMAGE", "build/digits-n6/digits.xSPI2.hex")}


# What runs again after a change of some code of the package.
ROOMS = {
    "neuralart_reference/planning/planner.py": {"NETWORK"},
    "neuralart_reference/model/tflite.py": {"NETWORK"},
    "neuralart/memory/startup/startup.py": {"MEMORY"},
    "neuralart/memory/startup/linker.py": {"BOARD"},
    "neuralart/text/ihex.py": {"IMAGE"},
    "neuralart/memory/layout/identity.py": {"IMAGE", "MEMORY", "PLAN"},
    "neuralart/memory/image/check_image.py": {"CHECK"},
    "neuralart/memory/plan/plan_report.py": {"PLAN"},
    "neuralart/flashing/plan.py": {"PLAN"},
    "neuralart/flashing/nor.py": set(),
    "neuralart/memory/startup/network_io.py": {"SOURCES"},
    "neuralart/summary.py": {"SUMMARY", "PLAN"},
    "neuralart_virtual/emulator/runner.py": set(),
}


def test_changed_rooms_of_the_package(built: Project) -> None:
    """One after the other: what a change leaves to do would be among what the next one does."""
    found = {}
    for room in ROOMS:
        with built.path(f"site_scons/{room}").open("a", encoding="utf-8") as file:
            file.write("\n# changed\n")
        found[room] = built.run("digits-n6").tags
    assert found == ROOMS
    built.up_to_date("digits-n6")


def test_changed_kernel(built: Project) -> None:
    path = built.path("firmware/runtime/kernels/softmax.c")
    path.write_text(path.read_text("utf-8") + "\n/* changed */\n", "utf-8")
    result = built.run("digits-n6")
    compiled = {target for tag, target in result.commands if tag == "CC"}
    assert len(compiled) == 1 and next(iter(compiled)).endswith("softmax.o"), compiled
    assert "NETWORK" not in result.tags


def test_changed_runtime_header_recompiles_the_network(built: Project) -> None:
    """The generated C is not scanned in each build, yet its headers are dependencies."""
    path = built.path("firmware/runtime/include/ll_aton_lib.h")
    path.write_text(path.read_text("utf-8") + "\n/* changed */\n", "utf-8")
    compiled = {target for tag, target in built.run("digits-n6").commands if tag == "CC"}
    assert [target for target in compiled if target.endswith("/digits.o")], compiled


def test_equal_specs_compile_once(sources: Project) -> None:
    sources.edit("variants.yaml", "default:", "# the same network on the same board, twice\ndefault:")
    text = sources.path("variants.yaml").read_text("utf-8").rstrip() + (
        "\n  digits-n6-again:\n    title: The same again\n    board: stm32n6570-dk\n    networks: [digits]\n"
    )
    sources.path("variants.yaml").write_text(text, "utf-8")
    result = sources.run("-n", "digits-n6", "digits-n6-again")
    assert len([1 for tag, _ in result.commands if tag == "NETWORK"]) == 1
    kernels = [target for tag, target in result.commands if tag == "CC" and "kernels" in target]
    assert len(kernels) == len(set(kernels)) == len(list(sources.path("firmware/runtime/kernels").glob("*.c")))


def test_one_variant_reads_only_that_one(sources: Project) -> None:
    """A variant that is broken does not matter to the others."""
    text = sources.path("variants.yaml").read_text("utf-8").rstrip() + (
        "\n  broken:\n    board: no-such-board\n    networks: [digits]\n"
    )
    sources.path("variants.yaml").write_text(text, "utf-8")
    sources.run("-n", "digits-n6")
    failed = sources.run("-n", "broken", code=2)
    assert any("no-such-board" in line and "variants.yaml:" in line for line in failed.errors), failed.err


@pytest.mark.usefixtures("anew")
def test_two_folders_give_equal_bytes(template: Project, tmp_path: Path) -> None:
    other = copy_sources(tmp_path / "another name" / "tree")
    other.run("-j2")
    ours, theirs = template.results(), other.results()
    assert sorted(ours) == sorted(theirs)
    assert [name for name in ours if ours[name] != theirs[name]] == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize("commands", [1, 2, 6, 20, 50])
def test_killed_in_the_middle(
    template: Project, sources: Project, commands: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Killed while its n-th command runs: the next build gives what a clean one gives."""
    variants = ("digits-n6", "digits-n6-rel")
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "SCons", "-Q", "-j2", *variants],
        cwd=sources.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(commands)]
    os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL, "it was still at work"
    assert all(seen)
    # What it takes for finished it does not look for in the store of objects.
    prepare(sources, tmp_path_factory, "-j2", *variants)
    ours, theirs = template.results(), sources.results()
    assert [name for name in theirs if name not in ours] == [], "leftovers"
    for variant in variants:
        index = json.loads(theirs[f"build/{variant}/index.json"])
        wanted = {name for name in ours if name.startswith(f"build/{variant}/")} | set(index["artefacts"])
        assert wanted <= set(theirs)
    assert [name for name in theirs if ours[name] != theirs[name]] == []
