"""Variants whose firmware loads its model: what a change makes again, loading, flashing, refusals."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.flashing import nor
from neuralart.relocatable.format.container import parse
from neuralart.relocatable.verify.verifier import verify
from support.models import tflite_edit
from support.models.new_weights import new_weights
from support.projects.sconsproject import Project, Result, copy_sources, prepare

pytestmark = [pytest.mark.arm, pytest.mark.long]

VARIANT = "digits-n6-rel"
FOLDER = f"build/{VARIANT}"
MODEL = "models/digits/digits.tflite"
KEY = "    network: digits\n    relocatable: true\n"
POOLS = "site_scons/neuralart/boards/data/pools/stm32n6570-dk-relocatable.mpool"


def said(result: Result) -> str:
    """The one line that says why."""
    (line,) = [line for line in result.errors if line.startswith("scons: *** ")]
    return line


def images(project: Project, variant: str) -> dict[str, bytes]:
    folder = project.path(f"build/{variant}")
    return {path.name: path.read_bytes() for path in sorted(folder.glob("network_rel*.bin"))}


# ---- what is built


@pytest.mark.parametrize("variant", ["digits-n6-rel", "digits-n6-rel-ext", "mobilenet-n6-rel"])
def test_the_images_of_the_default_variants(template: Project, variant: str) -> None:
    found = images(template, variant)
    split = variant == "mobilenet-n6-rel"
    assert list(found) == ["network_rel.bin", "network_rel_params.bin"] if split else ["network_rel.bin"]
    image = parse(found["network_rel.bin"], "network_rel.bin", found.get("network_rel_params.bin"))
    assert [str(finding) for finding in verify(image) if finding.level == "error"] == []
    index = json.loads(template.path(f"build/{variant}/index.json").read_text("utf-8"))
    assert {f"build/{variant}/{name}" for name in found} <= set(index["artefacts"])
    assert [name for name in index["artefacts"] if not template.path(name).is_file()] == []
    assert not list(template.path(f"build/{variant}").glob("descriptor.*"))


def test_the_summary_speaks_of_the_model(template: Project) -> None:
    text = template.path(f"{FOLDER}/summary.txt").read_text("utf-8")
    assert re.search(r"weights +xSPI2 .* in the model\n", text)
    assert re.search(r"loader needs \d+ B of RAM in mode xip, \d+ B in mode copy\n", text)
    assert "01010500 RELOC.PARAM.0.RCACHED" in text
    external = template.path("build/digits-n6-rel-ext/summary.txt").read_text("utf-8")
    assert re.search(r"activations +xSPI1 .* where the loader puts it\n", external)
    assert "build/digits-n6-rel-ext/mps3-an547/firmware.elf" in external


def test_the_firmware_has_no_weights(template: Project) -> None:
    (raw,) = template.network_folder(VARIANT).glob("*.raw")
    firmware = template.path(f"{FOLDER}/firmware.bin").read_bytes()
    assert raw.read_bytes()[256:512] in images(template, VARIANT)["network_rel.bin"]
    assert raw.read_bytes()[256:512] not in firmware


# ---- what a change makes again


def test_new_weights(built: Project) -> None:
    before, firmware = images(built, VARIANT)["network_rel.bin"], built.path(f"{FOLDER}/firmware.bin").read_bytes()
    tflite_edit.change_weight(built.path(MODEL))
    done = built.run(VARIANT)
    assert done.tags == {"NETWORK", "RELOC", "MODEL", "PLAN", "SUMMARY"}
    assert len([1 for tag, _ in done.commands if tag == "RELOC"]) == 1
    after = images(built, VARIANT)["network_rel.bin"]
    assert after != before and len(after) == len(before)
    assert built.path(f"{FOLDER}/firmware.bin").read_bytes() == firmware
    built.up_to_date(VARIANT)


def test_another_table_makes_no_other_image(built: Project) -> None:
    built.edit("variants.yaml", KEY, KEY.replace("true", "{modes: [copy, xip]}"))
    done = built.run(VARIANT)
    assert not done.tags & {"NETWORK", "RELOC", "MODEL", "CC", "LINK", "TABLE"}
    plan = json.loads(built.path(f"{FOLDER}/flash_plan.json").read_text("utf-8"))
    assert plan["writes"][-1]["file"] == f"{FOLDER}/load_table.copy.bin", "the first mode is what flash and boot use"


# ---- loading


def test_load_in_all_modes_on_all_boards(built: Project) -> None:
    out = built.run("load-digits-n6-rel-ext").out
    found = re.findall(
        r"^LOAD +\S+ on (\S+) \((\w+)\), (\w+)\n(?:  digits-n6-rel-ext \| .*\n)*"
        r"digits-n6-rel-ext: digits: 20 vectors bit-exact on \2 ",
        out,
        re.M,
    )
    n6, an547 = ("stm32n6570-dk-psram", "unicorn"), ("mps3-an547", "qemu")
    assert found == [(*machine, mode) for machine in (n6, an547) for mode in ("xip", "copy")]


def test_a_split_model_in_mode_copy_only(built: Project) -> None:
    built.edit("variants.yaml", KEY, KEY.replace("true", "{split: true, modes: [copy]}"))
    out = built.run(f"load-{VARIANT}").out
    assert [line.split(", ")[1] for line in out.splitlines() if line.startswith("LOAD ")] == ["copy"]
    assert "20 vectors bit-exact" in out
    plan = json.loads(built.path(f"{FOLDER}/flash_plan.json").read_text("utf-8"))
    assert [(write["name"], write["address"]) for write in plan["writes"]] == [
        ("application", 0x70100000),
        ("relocatable", 0x71000000),
        ("relocatable_params", 0x71800000),
        ("load_table", 0x70FF0000),
    ]


def test_moved_slots(built: Project) -> None:
    moved = "    slots: {relocatable: 0x72000000, load_table: 0x73000000, application: 0x70080000}\n"
    built.edit("variants.yaml", KEY, KEY + moved)
    assert built.run(f"load-{VARIANT}").out.count("20 vectors bit-exact") == 2


def test_flash_and_boot_with_several_jobs(sources: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """All of the build and both effects in one call."""
    out = prepare(sources, tmp_path_factory, "-j4", f"flash-{VARIANT}", f"boot-{VARIANT}").out
    assert re.findall(r"^(FLASH|BOOT) ", out, re.M) == ["FLASH", "BOOT"]
    assert "20 vectors bit-exact" in out


def _flash(project: Project, address: int, size: int) -> bytes:
    chip = nor.load(project.path(f"{FOLDER}/flash.nor"))
    return chip.read(address - chip.chip.base, size)


def test_a_new_model_reaches_the_flash_without_a_new_application(built: Project) -> None:
    built.run(f"flash-{VARIANT}")
    application = _flash(built, 0x70100000, 1 << 20)
    new_weights(built)
    stale = built.run(f"boot-{VARIANT}", code=2)
    assert re.search(r"the firmware loaded another model: its stamp is \w+, that of the file \w+", stale.err)
    done = built.run("-j4", f"flash-model-{VARIANT}", f"boot-{VARIANT}")
    assert "20 vectors bit-exact" in done.out
    assert not re.search(r"^application: ", done.out, re.M)
    assert not done.tags & {"CC", "LINK", "OBJCOPY"}
    assert _flash(built, 0x70100000, 1 << 20) == application
    image = images(built, VARIANT)["network_rel.bin"]
    assert _flash(built, 0x71000000, len(image)) == image


# ---- a firmware of the user's own

OWN = """\
  own:
    board: stm32n6570-dk
    network: digits
    relocatable: {modes: [xip]}
    application: {sources: {files: [own.c]}}
"""
OWN_C = """\
#include <stdio.h>
#include "ll_aton.h"
#include "ll_aton_reloc_network.h"
#include "npu_memory_init.h"

static uint8_t room[65536] __attribute__((aligned(64)));
static NN_Instance_TypeDef digits;

int main(void) {
  ll_aton_reloc_config config = {.exec_ram_addr = (uintptr_t)room, .exec_ram_size = sizeof room,
                                 .mode = AI_RELOC_RT_LOAD_MODE_XIP};
  if (npu_memory_init() != 0) {
    return 3;
  }
  if (ll_aton_reloc_install(0x71000000, &config, &digits) != 0) {
    printf("no model: %s\\n", ll_aton_reloc_reason());
    return 1;
  }
  LL_ATON_RT_RuntimeInit();
  if (!LL_ATON_RT_Init_Network(&digits)) {
    return 2;
  }
  LL_ATON_RT_Main(&digits);
  ll_aton_reloc_info info;
  ll_aton_reloc_get_info(ll_aton_reloc_get_file_ptr(&digits), &info);
  printf("%s has run\\n", info.c_name);
  return 0;
}
"""


def test_a_firmware_of_the_user_s_loads_the_model(built: Project) -> None:
    """It is built beside the model, both are in the flash plan, and the virtual board runs it from there."""
    with built.path("variants.yaml").open("a", encoding="utf-8") as file:
        file.write(OWN)
    built.path("own.c").write_text(OWN_C, "utf-8")
    out = built.run("own", "run-own", "flash-own", "verify-own").out
    assert "own | digits has run\n" in out and "the program ended with status 0" in out
    plan = json.loads(built.path("build/own/flash_plan.json").read_text("utf-8"))
    places = [(write["name"], write["address"]) for write in plan["writes"]]
    assert places == [("application", 0x70100000), ("relocatable", 0x71000000), ("load_table", 0x70FF0000)]
    model = built.path("build/own/network_rel.bin").read_bytes()
    tflite_edit.change_weight(built.path(MODEL))
    assert built.run("own").tags == {"NETWORK", "RELOC", "MODEL", "PLAN", "SUMMARY"}
    assert built.path("build/own/network_rel.bin").read_bytes() != model
    built.up_to_date("own")
    # Another runtime in the user's own folders would load no such model.
    built.path("inc").mkdir()
    parts = {"MAJOR": 1, "MINOR": 1, "MICRO": 3, "DEV": 8}
    lines = "".join(f"#define LL_ATON_VERSION_{part} {number}\n" for part, number in parts.items())
    built.path("inc/ll_aton_version.h").write_text(lines, "utf-8")
    built.edit("variants.yaml", "files: [own.c]", "files: [own.c], include_dirs: [inc]")
    err = built.run("own", code=2).err
    assert "is made for runtime 0.1.0.0 (the reference compiler's), the application has 1.1.3.8 (ST Edge" in err


# ---- the address plan


def test_the_plan_before_and_after_a_build(
    template: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(template.root)

    def uses(*words: str) -> dict[str, int | None]:
        assert cli.main(["plan", "mobilenet-n6-rel", "--json", *words]) == 0
        out, err = capsys.readouterr()
        found = json.loads(out)
        assert ("note" in err) == (found["view"] == "declared")
        return {each["owner"]: each["used"] for each in found["placements"]}

    slots = ("slot load_table", "slot relocatable", "slot relocatable_params")
    before, after = uses("--build", "nowhere"), uses()
    assert [before[slot] for slot in slots] == [None] * 3
    sizes = {name: len(data) for name, data in images(template, "mobilenet-n6-rel").items()}
    assert [after[slot] for slot in slots] == [20, sizes["network_rel.bin"], sizes["network_rel_params.bin"]]
    assert before.keys() == after.keys()
    written = json.loads(template.path("build/mobilenet-n6-rel/plan.json").read_text("utf-8"))
    assert {each["owner"]: each["used"] for each in written["placements"]} == after


# ---- refusals


def test_a_board_that_lacks_memories_of_the_model(built: Project) -> None:
    """Its activations are at an absolute address that the other board does not have."""
    built.edit("variants.yaml", KEY, KEY.replace("true", "{also_on: [mps3-an547]}"))
    line = said(built.run(VARIANT, code=2))
    assert "AXISRAM3" in line and "0x34200000" in line and "mps3-an547" in line


def test_too_little_memory_for_the_model(built: Project) -> None:
    built.edit("variants.yaml", KEY, KEY.replace("true", "{exec_ram: 4K}"))
    line = said(built.run(VARIANT, code=2))
    assert re.search(r"exec_ram: the firmware keeps 4096 bytes for the model, which needs \d+ in mode copy", line)
    built.edit("variants.yaml", "{exec_ram: 4K}", "{exec_ram: 4K, modes: [xip]}")
    assert "20 vectors bit-exact" in built.run(f"load-{VARIANT}").out


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (
            KEY.replace("network: digits", "networks: [digits, mobilenet]"),
            r"variants\.yaml:\d+: relocatable: this variant has 2 networks \(digits, mobilenet\), its firmware loads",
        ),
        (KEY + "    kernels: mve\n", r"variants\.yaml:\d+: kernels: mve, but a relocatable model is baseline code"),
        (KEY.replace("true", "{mode: [xip]}"), r"variants\.yaml:\d+: unknown key 'mode' .*did you mean 'modes'\?"),
        (
            KEY + "    slots: {relocatable: 0x70100000}\n",
            r"slot relocatable \[0x70100000, 0x[0-9a-f]+\) overlaps slot application .* of neuralart:boards/data/stm",
        ),
        (
            KEY + "    overrides: {digits: {mpool: models/digits/pools/first.mpool}}\n",
            r"models/digits/pools/first\.mpool:\d+:\d+: pool xSPI2 at 0x[0-9a-f]+ is USEMODE_ABSOLUTE",
        ),
    ],
    ids=["two networks", "mve", "key", "slot", "pools"],
)
def test_refusals(texts: Project, new: str, words: str) -> None:
    texts.edit("variants.yaml", KEY, new)
    assert re.search(words, said(texts.run("-n", VARIANT, code=2)))


def test_a_model_that_does_not_fit_in_front_of_somebody(built: Project) -> None:
    text = KEY.replace("true", "true\n    reserved: [{name: log, address: 0x71010000, size: 64K}]")
    built.edit("variants.yaml", KEY, text.replace("network: digits", "network: mobilenet"))
    line = said(built.run(VARIANT, code=2))
    assert re.search(
        r"variants\.yaml:\d+: reserved log \[0x71010000, .* overlaps pool xSPI2 of network mobilenet", line
    )


# ---- without variants.yaml

SCONSTRUCT = """\
env = Environment(tools=[])
env.Tool("neuralart", toolpath=["site_scons"])
net = env.Network("digits", model="models/digits/digits.tflite", board="stm32n6570-dk")
rel = env.NetworkRel(net, split=True)
assert rel.image in rel.files and rel.params in rel.files
env.Command("update.bin", [rel.image, rel.params], Copy("$TARGET", "$SOURCE"))
"""


@pytest.mark.skipif(os.name == "nt", reason="the compiler that writes down what it is asked for is a shell script")
def test_in_a_repository_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also: what is compiled for new weights and for new code, counted by a compiler that writes down its words."""
    real, log, wrapper = shutil.which("arm-none-eabi-gcc"), tmp_path / "gcc.log", tmp_path / "bin/arm-none-eabi-gcc"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexec "{real}" "$@"\n', "utf-8")
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")
    project = copy_sources(tmp_path / "tree", ["digits"])
    project.path("variants.yaml").unlink()
    project.path("SConstruct").write_text(SCONSTRUCT, "utf-8")
    done = project.run("update.bin")
    assert log.stat().st_size
    assert done.tags == {"NETWORK", "RELOC"}
    assert len([1 for tag, _ in done.commands if tag == "NETWORK"]) == 1, "nobody asked for the linked one"
    (folder,) = (path.parent for path in project.root.glob("build/relocatable/*/digits_rel.bin"))

    def made() -> tuple[bytes, bytes]:
        return project.path("update.bin").read_bytes(), (folder / "digits_rel_params.bin").read_bytes()

    def store() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in project.path("build/relocatable/objects").iterdir()}

    image = parse(made()[0], "update.bin", made()[1])
    assert image.split and [str(finding) for finding in verify(image) if finding.level == "error"] == []
    results = json.loads((folder / "digits_reloc_results.json").read_text("utf-8"))
    assert results
    project.up_to_date("update.bin")
    log.write_text("", "utf-8")
    stored, before = store(), made()
    tflite_edit.change_weight(project.path(MODEL))
    assert project.run("update.bin").tags == {"NETWORK", "RELOC"}
    assert log.read_text("utf-8") == "", "it is not even asked for its version"
    assert store() == stored and [len(each) for each in made()] == [len(each) for each in before]
    assert made()[1] != before[1]
    # A comment in network.c is other code: its object and the link.
    project.edit(POOLS, '"read_power": 18.531', '"read_power": 18.5')
    project.run("update.bin")
    ran = [line for line in log.read_text("utf-8").splitlines() if " -o " in line and "-Wl,--trace" not in line]
    compiled = [line for line in ran if " -c " in line]
    assert len(compiled) == 1 and "/digits_reloc.c" in compiled[0], compiled
    assert len(ran) - len(compiled) <= 1, "and it is linked, unless the object is the same"
