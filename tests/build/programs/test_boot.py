"""The virtual flash that stays: written, booted, verified, and updated in part."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.models.new_weights import new_weights
from support.projects.sconsproject import Project, copy_built, prepare

pytestmark = [pytest.mark.arm, pytest.mark.long]

VARIANT = "digits-n6"
NOR = f"build/{VARIANT}/flash.nor"


def effects(out: str) -> list[str]:
    """Effects in the order in which they ran."""
    return [f"{verb.lower()} {name}" for verb, name in re.findall(r"^(RUN|BOOT|FLASH|VERIFY) +([^ \n]+)", out, re.M)]


def flash_bytes(project: Project, kind: str) -> bytes:
    """What stands in the virtual flash where the plan puts things of a kind."""
    from neuralart.flashing import nor

    chip = nor.load(project.path(NOR))
    plan = json.loads(project.path(f"build/{VARIANT}/flash_plan.json").read_text("utf-8"))
    writes = [write for write in plan["writes"] if write["kind"] == kind]
    assert writes
    return b"".join(chip.read(write["address"] - chip.chip.base, write["bytes"]) for write in writes)


@pytest.fixture(scope="module")
def once_flashed(template: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_built(template, tmp_path_factory.mktemp("flashed") / "tree")
    project.run(f"flash-{VARIANT}")
    return project


@pytest.fixture
def flashed(once_flashed: Project, tmp_path: Path) -> Project:
    return copy_built(once_flashed, tmp_path / "a tree with spaces")


def test_flash_and_boot_in_the_order_of_the_command_line(built: Project) -> None:
    done = built.run("-j4", f"flash-{VARIANT}", f"boot-{VARIANT}", f"verify-{VARIANT}")
    assert effects(done.out) == [f"flash {VARIANT}", f"boot {VARIANT}", f"verify {VARIANT}"]
    assert "20 vectors bit-exact on unicorn" in done.out
    assert "3 writes" in done.out and "all as planned" in done.out


def test_from_nothing_to_a_booted_flash(sources: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """All of the build and both effects in one call with several jobs."""
    done = prepare(sources, tmp_path_factory, "-j4", f"flash-{VARIANT}", f"boot-{VARIANT}")
    assert effects(done.out) == [f"flash {VARIANT}", f"boot {VARIANT}"]
    assert "20 vectors bit-exact" in done.out


def test_boot_comes_first_if_it_is_named_first(flashed: Project) -> None:
    done = flashed.run("-j4", f"boot-{VARIANT}", f"flash-{VARIANT}")
    assert effects(done.out) == [f"boot {VARIANT}", f"flash {VARIANT}"]


def test_boot_before_anything_was_flashed(built: Project) -> None:
    failed = built.run(f"boot-{VARIANT}", code=2)
    (said,) = [line for line in failed.errors if "neuralart" in line]
    assert said.startswith(f"neuralart run: error: {NOR}: there is no virtual flash yet (write it: scons flash-")
    assert not built.path(NOR).exists()


def test_new_weights_reach_the_flash_without_a_new_application(flashed: Project) -> None:
    application, model = flash_bytes(flashed, "application"), flash_bytes(flashed, "model")
    elf = flashed.path(f"build/{VARIANT}/firmware.elf").read_bytes()
    new_weights(flashed)
    stale = flashed.run(f"boot-{VARIANT}", code=2)
    assert "expected" in stale.err, "the old weights are still in the flash, and they run"
    differs = flashed.run(f"verify-{VARIANT}", code=2)
    assert re.search(r"neuralart verify: .*'digits.xSPI2' differs at 0x70380", differs.err)

    done = flashed.run("-j4", f"flash-model-{VARIANT}", f"boot-{VARIANT}")
    assert not done.tags & {"CC", "LINK", "OBJCOPY", "MEMORY", "SOURCES"}
    assert not re.search(r"^application: ", done.out, re.M), "nothing is written there"
    assert "20 vectors bit-exact" in done.out
    assert flash_bytes(flashed, "application") == application
    assert flash_bytes(flashed, "model") != model
    assert flashed.path(f"build/{VARIANT}/firmware.elf").read_bytes() == elf


def test_new_weights_without_their_descriptor(flashed: Project) -> None:
    """Half an update: the descriptor's checksum is that of the old weights."""
    new_weights(flashed)
    flashed.run(VARIANT)
    data = json.loads(flashed.path(f"build/{VARIANT}/flash_plan.json").read_text("utf-8"))
    data["writes"] = [write for write in data["writes"] if write["kind"] != "descriptor"]
    flashed.path("half.json").write_text(json.dumps(data), "utf-8")
    words = ["flash", "--plan", "half.json", "--nor", NOR]
    env = {**os.environ, "PYTHONPATH": str(flashed.path("site_scons"))}
    subprocess.run([sys.executable, "-m", "neuralart", *words], cwd=flashed.root, env=env, check=True)
    failed = flashed.run(f"boot-{VARIANT}", code=2)
    assert re.search(r"neuralart run: .*network digits, pool xSPI2: wrong CRC", failed.err), failed.err


def test_a_new_application_without_its_model(flashed: Project) -> None:
    """Other addresses in the network's code: the firmware sees that the flash holds the model of an older one."""
    before = flash_bytes(flashed, "model")
    # Activations elsewhere: the constants stay what they are, the addresses in the firmware do not.
    pools = "site_scons/neuralart/boards/data/pools/stm32n6570-dk.mpool"
    flashed.edit(pools, "0x34200000", "0x34200040")
    flashed.edit(pools, '"value": "448"', '"value": "440"')
    flashed.run(f"flash-application-{VARIANT}")
    assert flash_bytes(flashed, "model") == before
    failed = flashed.run(f"boot-{VARIANT}", code=2)
    assert "ABI mismatch" in failed.err, failed.err


def test_verify_names_the_first_difference(flashed: Project) -> None:
    from neuralart.flashing import nor

    chip = nor.load(flashed.path(NOR))
    address = 0x7038_0000 - chip.chip.base + 100
    chip.program(address, bytes([0]))
    chip.save(flashed.path(NOR))
    failed = flashed.run(f"verify-{VARIANT}", code=2)
    assert "'digits.xSPI2' differs at 0x70380064" in failed.err


def test_a_damaged_flash_is_one_line(flashed: Project) -> None:
    path = flashed.path(NOR)
    path.write_bytes(path.read_bytes()[:-1])
    failed = flashed.run(f"boot-{VARIANT}", code=2)
    (said,) = [line for line in failed.errors if "neuralart" in line]
    assert f"{NOR}: " in said and "delete it, then flash everything again" in said


def test_clean_removes_the_flash(flashed: Project) -> None:
    flashed.run("-c", f"flash-{VARIANT}")
    assert not flashed.path(NOR).exists()


@pytest.mark.qemu
def test_machine_without_a_boot_chain(built: Project) -> None:
    done = built.run("-j4", "flash-digits-an547", "boot-digits-an547", "verify-digits-an547")
    assert effects(done.out) == [f"{verb} digits-an547" for verb in ("flash", "boot", "verify")]
    assert "20 vectors bit-exact on qemu" in done.out


def test_one_variants_failure_does_not_hold_up_another(built: Project) -> None:
    """With -k; the boot of the same variant waits for its flash, and fails with it."""
    built.edit("variants.yaml", "default:", "# two boards\ndefault:")
    built.path(NOR).write_bytes(b"no flash")
    failed = built.run("-k", f"flash-{VARIANT}", f"boot-{VARIANT}", "flash-digits-an547", code=2)
    assert effects(failed.out) == [f"flash {VARIANT}", "flash digits-an547"]
    assert built.path(NOR).read_bytes() == b"no flash"
