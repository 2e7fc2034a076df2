"""Variants of boards without an NPU: the camera application, fitted to its network out of tree, built and run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from support.boards.h747_app import App
from support.models import tflite_edit
from support.projects.dependencies import bypasses
from support.projects.sconsproject import Project, copy_built, copy_sources, prepare
from tflite_writer import ModelWriter

pytestmark = [pytest.mark.arm, pytest.mark.long]

MODEL = "models/digits/digits.tflite"
POOLS = {
    "digits-h747": ["AXIRAM"],
    "digits-h747-two": ["AXIRAM", "SDRAM"],
    "digits-h747-three": ["DTCMRAM", "AXIRAM", "SDRAM"],
    "digits-an500": ["DTCMRAM"],
}
CLASS = '["0", "1", "2"'
H747 = "  digits-h747:\n    title: Digits on the STM32H747I-DISCO, one activation buffer\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_sources(tmp_path_factory.mktemp("h747") / "tree")
    prepare(project, tmp_path_factory, "-j2", *POOLS)
    return project


@pytest.fixture
def built(made: Project, tmp_path: Path) -> Project:
    return copy_built(made, tmp_path / "a tree with spaces")


def vectors(project: Project) -> int:
    return int(json.loads(project.path("models/digits/vectors/vectors.json").read_text("utf-8"))["count"])


@pytest.mark.parametrize("variant", [name for name in POOLS if "h747" in name])
def test_bit_exact_on_the_virtual_board(made: Project, variant: str) -> None:
    pytest.importorskip("unicorn")
    out = made.run(f"run-{variant}").out
    assert f"network: {vectors(made)} vectors bit-exact on unicorn" in out


@pytest.mark.qemu
def test_bit_exact_on_qemu(made: Project) -> None:
    out = made.run("run-digits-an500").out
    assert f"network: {vectors(made)} vectors bit-exact on qemu" in out


@pytest.mark.parametrize(("variant", "pools"), POOLS.items())
def test_buffers_and_pictures(made: Project, variant: str, pools: list[str]) -> None:
    index = json.loads(made.path(f"build/{variant}/index.json").read_text("utf-8"))
    for artefact in index["artefacts"]:
        assert made.path(artefact).is_file(), artefact
    names = {Path(artefact).name for artefact in index["artefacts"]}
    assert {"firmware.elf", "firmware.bin", "network.json", "patched.json", "main.c"} <= names
    assert ("ai_model_config.h" in names) == (variant == "digits-h747")
    decided = json.loads(made.path(f"build/{variant}/patched/patched.json").read_text("utf-8"))
    assert [row["pool"] for row in decided["activations"]] == pools
    summary = made.path(f"build/{variant}/summary.txt").read_text("utf-8")
    assert re.findall(r"activations  (\w+)", summary) == pools


def test_nothing_changed(made: Project) -> None:
    made.up_to_date(*POOLS)


def test_no_original_is_compiled_or_included(built: Project) -> None:
    for path in built.path("build/digits-h747/app").glob("*.o"):
        path.unlink()
    lines = [line for line in built.run("VERBOSE=1", "digits-h747").out.splitlines() if " -c " in line]
    assert len(lines) == 5
    for line in lines:
        done = subprocess.run(
            [*shlex.split(line), "-M", "-MF", "/dev/stdout"], cwd=built.root, capture_output=True, text=True, check=True
        )
        assert "build/digits-h747/patched/" in done.stdout
        assert "build/digits-h747/ai_model_config.h" in done.stdout or "main.h" not in done.stdout
        folders = ["Inc/CM7", "Src/CM7"]
        assert bypasses(done.stdout, built.path("firmware/h747"), folders, built.root) == []


def test_a_changed_setting_rebuilds_the_header_and_its_includers_only(built: Project) -> None:
    built.edit("variants.yaml", CLASS, '["zero", "1", "2"')
    result = built.run("digits-h747", "digits-h747-two")
    objects = {target for tag, target in result.commands if tag == "CC"}
    assert result.tags - {"CC"} <= {"HEADER", "LINK", "CHECK", "OBJCOPY", "SUMMARY"}
    assert ("HEADER", "build/digits-h747/ai_model_config.h") in result.commands
    # All of those that include main.h, and nobody else.
    names = ("app_camera", "app_link", "app_network", "main")
    assert objects == {f"build/digits-h747/app/{name}.o" for name in names}
    built.up_to_date("digits-h747", "digits-h747-two")


def test_new_weights(built: Project) -> None:
    tflite_edit.change_weight(built.path(MODEL))
    result = built.run("digits-h747-two")
    compiled = [target for tag, target in result.commands if tag == "CC"]
    assert len(compiled) == 1 and compiled[0].endswith("/network_data_params.o"), "constants are C here"
    assert result.tags <= {"NETWORK", "CC", "LINK", "CHECK", "OBJCOPY", "SUMMARY"}


def test_everything_at_once_and_several_jobs(built: Project) -> None:
    """While the network is compiled, the includes of what is made of it are looked for."""
    tflite_edit.change_weight(built.path(MODEL))
    built.edit("variants.yaml", CLASS, '["zero", "1", "2"')
    result = built.run("-j4", "digits-h747")
    assert "build/digits-h747/app/ai_interface.o" not in {target for tag, target in result.commands if tag == "CC"}
    built.up_to_date("digits-h747")


def test_a_deleted_file_of_the_network(built: Project) -> None:
    (built.network_folder("digits-an500") / "network_c_info.json").unlink()
    assert built.run("digits-an500").tags == {"NETWORK"}
    built.up_to_date("digits-an500")


def test_an_edited_application(built: Project) -> None:
    built.edit("firmware/h747/Src/CM7/app_camera.c", "void Camera_Capture", "/* edited */\nvoid Camera_Capture")
    result = built.run("digits-h747", "digits-h747-two")
    assert {target for tag, target in result.commands if tag == "PATCH"} == {
        "build/digits-h747/patched",
        "build/digits-h747-two/patched",
    }
    assert {Path(target).name for tag, target in result.commands if tag == "CC"} == {"app_camera.o"}


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("flash-digits-h747", "nothing of this variant is kept in external flash (run- loads its image in place)"),
        ("boot-digits-h747", "nothing of this variant is kept in external flash"),
        ("load-digits-h747", "its networks are linked into the firmware"),
        ("verify-digits-an500", "board mps2-an500 has no flash"),
    ],
)
def test_effects_that_there_are_not(made: Project, target: str, words: str) -> None:
    failed = made.run(target, code=2)
    assert any(words in line for line in failed.errors), failed.err


def test_a_model_that_no_resolution_holds(sources: Project) -> None:
    writer = ModelWriter()
    x = writer.tensor("image", (1, 500, 700, 1), "int8", 1 / 255, -128)
    y = writer.tensor("mean", (1, 5, 7, 1), "int8", 1 / 255, -128)
    size = {"stride_w": 100, "stride_h": 100, "filter_width": 100, "filter_height": 100}
    writer.op("AVERAGE_POOL_2D", [x], [y], padding="VALID", **size)
    sources.path(MODEL).write_bytes(writer.finish([x], [y]))
    failed = sources.run("digits-h747-two", code=2)
    (said,) = [line for line in failed.errors if "700x500" in line]
    assert "480x480" in said, "crop: the largest square"
    assert not sources.path("build/digits-h747-two/firmware.elf").exists()


def test_an_application_of_the_users_own(sources: Project) -> None:
    App(sources.path("camera"))
    sources.edit("variants.yaml", "patch: {aspect_ratio: crop}", "patch: {aspect_ratio: crop, application: camera/app}")
    result = sources.run("digits-h747-two")
    assert result.tags == {"NETWORK", "PATCH", "SUMMARY"}
    index = json.loads(sources.path("build/digits-h747-two/index.json").read_text("utf-8"))
    assert "build/digits-h747-two/patched/Src/CM7/main.c" in index["artefacts"]
    sources.up_to_date("digits-h747-two")
    failed = sources.run("run-digits-h747-two", code=2)
    assert any("its image is built by the application's own project" in line for line in failed.errors), failed.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (H747, f"{H747}    slots: {{descriptor: 0x90000000}}\n", "'slots' means nothing for board stm32h747i-disco"),
        (H747, f"{H747}    relocatable: true\n", "'relocatable' means nothing for board stm32h747i-disco"),
        (H747, f"{H747}    kernels: mve\n", "runs no MVE code"),
        (H747, f"{H747}    patch: {{aspect_ratio: crop}}\n", "aspect_ratio is crop here, and fit in app_config"),
        (H747, f"{H747}    patch: {{list: x.yaml}}\n", "patch: list 'x.yaml' does not exist"),
        (H747, f"{H747}    patch: {{linker_script: x.ld}}\n", "patch: linker_script 'x.ld' does not exist"),
        (H747, f"{H747}    patch: {{application: nowhere}}\n", "nowhere: no such folder"),
        (H747, f"{H747}    patch: {{application: models}}\n", "no patch list fits this application"),
        ("          aspect_ratio: fit\n", "", "'aspect_ratio' is missing (crop, padding or fit"),
        ("fit\n          color", "full_screen\n          color", "aspect_ratio: full_screen does not exist"),
        ("          use_case: image", "          profile: x\n          use_case: image", "unknown key 'profile'"),
        ("        app_config:", "        profile: x.json\n        app_config:", "'profile' means nothing for board"),
        (f"{H747}    board: stm32h747i-disco\n    network: digits", f"{H747}    board: stm32h747i-disco\n"
         "    networks: [digits, digits_b]", "has 2 networks (digits, digits_b), an application"),
        (H747 + "    board: stm32h747i-disco\n", H747 + "    board: stm32n6570-dk\n    patch: {aspect_ratio: fit}\n",
         "an STM32N6 application is not patched"),
    ],
)  # fmt: skip
def test_what_cannot_be(texts: Project, old: str, new: str, words: str) -> None:
    texts.edit("variants.yaml", old, new)
    failed = texts.run("digits-h747", code=2)
    (said,) = [line for line in failed.errors if words in line]
    assert re.search(r"variants\.yaml:\d+: ", said), said
