"""Help, clean, dry run, targets: what a user types beside the names of variants."""

from __future__ import annotations

import json
import subprocess

import pytest

from neuralart_insight.profiling.diff_cli import diff
from neuralart_insight.profiling.diff_inputs import side_of
from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]


@pytest.fixture
def sources(texts: Project) -> Project:
    """No test here changes firmware or code."""
    return texts


def test_help_lists_variants(sources: Project) -> None:
    out = sources.run("-h").out
    assert "digits-n6" in out and "Digits on the STM32N6570-DK" in out
    assert "run-VARIANT" in out and "(default)" in out
    assert not sources.path("build").exists()


def test_dry_run_makes_nothing(sources: Project) -> None:
    result = sources.run("-n", "digits-n6")
    assert {"NETWORK", "CC", "LINK", "IMAGE", "SUMMARY"} <= result.tags
    assert not [path for path in sources.path("build").rglob("*") if path.is_file() and path.name != ".toolchain.json"]


def test_clean_removes_all(built: Project) -> None:
    """Also variants that nobody asked for now, and what effects have made."""
    index = built.path("build/digits-n6-internal/index.json")
    index.parent.mkdir()
    index.write_text("{}")
    left = built.path("build/digits-n6/export/x.c")
    left.parent.mkdir()
    left.write_text("")
    built.run("-c")
    assert not built.path("build").exists(), "neither a file nor an empty folder"
    assert not built.path("compile_commands.json").exists()


def _compiled(project: Project) -> dict[str, dict]:
    rows = json.loads(project.path("compile_commands.json").read_text("utf-8"))
    assert [row["output"] for row in rows] == sorted(row["output"] for row in rows)
    return {row["output"]: row for row in rows}


def test_every_object_is_in_the_compilation_database(built: Project) -> None:
    """Of all variants, whichever was built last; and it is no reason to build anything."""
    objects = {name for name in built.files("build") if name.endswith(".o") and "/relocatable/" not in name}
    assert objects == set(_compiled(built))
    built.edit("firmware/app/main.c", "int main", "  int main")
    assert ("CC", "build/digits-n6/app/main.o") in built.run("digits-n6").commands
    rows = _compiled(built)
    assert objects == set(rows) and {row["directory"] for row in rows.values()} == {str(built.root)}
    row = rows["build/digits-n6/app/main.o"]
    assert row["file"] == "firmware/app/main.c" and not [word for word in row["arguments"] if str(built.root) in word]
    object_file = built.path(row["output"])
    before = object_file.read_bytes()
    subprocess.run(row["arguments"], cwd=built.root, check=True)
    # It names this folder in its debug information, which the build's own does not.
    assert str(built.root).encode() in object_file.read_bytes()
    object_file.write_bytes(before)
    built.path("compile_commands.json").write_text("[]", "utf-8")
    assert not built.run("digits-n6").commands
    assert set(_compiled(built)) < objects, "what is up to date counts"
    built.path("compile_commands.json").write_text("{", "utf-8")
    assert "note: compile_commands.json stays as it is" in built.run("digits-n6").err


def test_clean_of_one_variant_keeps_the_other(built: Project) -> None:
    built.run("-c", "digits-n6")
    assert "build/digits-n6/app/main.o" not in _compiled(built) and "build/digits-an547/app/main.o" in _compiled(built)
    assert not built.path("build/digits-n6").exists() and built.path("build/.toolchain.json").exists()
    built.up_to_date("digits-an547")


def test_path_target(built: Project) -> None:
    built.path("build/digits-n6/firmware.bin").unlink()
    assert built.run("build/digits-n6/firmware.bin").commands == {("OBJCOPY", "build/digits-n6/firmware.bin")}


def test_everything_does_not_run_firmware(built: Project) -> None:
    """Of what a call would run, -n says it."""
    effects = {"RUN", "BOOT", "FLASH", "VERIFY"}
    verbs = built.run("-n", *(f"{verb.lower()}-digits-n6" for verb in effects)).tags
    assert effects <= verbs
    everything = built.run("-n", ".").tags
    assert {"NETWORK", "LINK", "PATCH"} <= everything, "of all variants"
    assert not everything & effects
    built.run("build/digits-n6")
    assert not list(built.root.rglob("*.nor"))


def test_whole_commands_on_request(sources: Project) -> None:
    out = sources.run("-n", "VERBOSE=1", "digits-n6").out
    assert "-m neuralart compile" in out and "arm-none-eabi-gcc" in out


def test_commands_name_no_folder_of_this_machine(sources: Project) -> None:
    """Equal trees give equal signatures: no absolute path counts in a command."""
    out = sources.run("-n", "--debug=explain", "VERBOSE=1", "digits-n6").out
    commands = [line for line in out.splitlines() if line.startswith(("arm-none-eabi-", "/"))]
    assert commands
    for line in commands:
        words = [w for w in line.split() if str(sources.root) in w]
        assert all(w.startswith("-ffile-prefix-map=") for w in words), line


@pytest.mark.parametrize(
    ("target", "hint"), [("digits-n7", "did you mean 'digits-n6'"), ("run-digit-n6", "did you mean 'run-digits-n6'")]
)
def test_misspelled_target(sources: Project, target: str, hint: str) -> None:
    failed = sources.run(target, code=2)
    assert f"unknown target '{target}'" in failed.err and hint in failed.err


def test_unknown_variable(sources: Project) -> None:
    failed = sources.run("BOARD=xx", "digits-n6", code=2)
    known = "DRY, FORCE, PORT, RUNNER, SERIAL, SERVER, VERBOSE, WAIT"
    assert f"unknown variable 'BOARD=' on the command line (known: {known})" in failed.err


def test_a_failed_read_shows_no_old_summary(built: Project) -> None:
    with built.path("SConstruct").open("a", encoding="utf-8") as stream:
        stream.write("raise ValueError('of the test')\n")
    result = built.run_raw("digits-n6")
    assert result.code == 2
    assert "firmware.elf" not in result.out


def test_model_outside_of_the_tree(built: Project) -> None:
    outside = built.root.parent / "elsewhere.tflite"
    built.path("models/digits/digits.tflite").rename(outside)
    built.edit("variants.yaml", "models/digits/digits.tflite", "../elsewhere.tflite")
    assert "NETWORK" in built.run("digits-n6").tags
    built.up_to_date("digits-n6")


SUB = """
Import("env")
net = env.Network("digits", model="digits.tflite", board="mine")
env.MemoryInitializers(net, folder="build/memory")
Default(net.files)
"""


@pytest.mark.parametrize("how", ["", ", variant_dir='out', duplicate=0", ", variant_dir='out', duplicate=1"])
def test_a_network_of_a_sub_sconscript(sources: Project, how: str) -> None:
    """Through a clone, with an own board, in a folder of its own, with and without variant_dir."""
    sub = sources.path("sub")
    sub.mkdir()
    sources.path("models/digits/digits.tflite").rename(sub / "digits.tflite")
    (sub / "SConscript").write_text(SUB, "utf-8")
    sources.path("mine.yaml").write_text("schema: 1\nbase: stm32n6570-dk\ntitle: Mine\n", "utf-8")
    sources.path("SConstruct").write_text(
        'root = Environment(tools=[])\nroot.Tool("neuralart", toolpath=["#site_scons"], '
        'NEURALART_BOARD_FILES=["mine.yaml"])\n'
        f'SConscript("sub/SConscript", exports={{"env": root.Clone()}}{how})\n',
        "utf-8",
    )
    assert "NETWORK" in sources.run().tags
    sources.up_to_date()


def test_boards_of_a_project_read_through_a_clone(sources: Project) -> None:
    sources.path("mine.yaml").write_text("schema: 1\nbase: stm32n6570-dk\ntitle: Mine\n", "utf-8")
    sources.edit("variants.yaml", "schema: 1\n", "schema: 1\nboards: [mine.yaml]\n")
    sources.edit("variants.yaml", "board: stm32n6570-dk", "board: mine")
    sources.edit("SConstruct", "env.NeuralArtProject", "env.Clone().NeuralArtProject")
    sources.run("digits-n6")


def test_own_vectors_of_a_variant(built: Project) -> None:
    """Two variants share a compile; what each is compared with is its own."""
    import shutil

    shutil.copytree(built.path("models/digits/vectors"), built.path("wrong"))
    path = built.path("wrong/outputs.bin")
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    text = built.path("variants.yaml").read_text("utf-8").rstrip() + (
        "\n\n  other:\n    board: stm32n6570-dk\n    network: digits\n    overrides: {digits: {vectors: wrong}}\n"
    )
    built.path("variants.yaml").write_text(text, "utf-8")
    failed = built.run("run-digits-n6", "run-other", code=2)
    assert "20 vectors bit-exact" in failed.out
    assert "vector 0" in failed.err


def test_two_builds_differ(built: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Memory, flash and functions of one build and of a change of it."""
    build = built.path("build")
    a, b = (side_of(name, build) for name in ("digits-n6", "digits-n6-rel"))
    record = diff(a, b)
    assert record["networks"][0]["matched"] == 6 and record["ram"]["DTCM"][0] < record["ram"]["DTCM"][1]
    assert record["flash"]["digits.xSPI2"][1] is None and record["symbols"]["na_softmax_s8"][1] is None
    assert a.ram["AXISRAM3 of digits"] == 2560 and diff(a, a)["symbols"] == {}


def test_limits_of_a_profile(built: Project) -> None:
    """The reference compiler estimates nothing: a limit of cycles cannot be kept, one of shares is broken."""
    assert "epochs       : 6 (6 SW)" in built.run("profile-digits-n6").out
    old = "    vectors: models/digits/vectors\n"
    built.edit(
        "variants.yaml",
        old,
        f"{old}    budgets: {{min_inferences_per_second: 10, max_sw_share: 99, max_instructions: 600000}}\n",
    )
    result = built.run("profile-digits-n6", code=2)
    found = [line for line in result.err.splitlines() if line.startswith("neuralart profile: variants.yaml:")]
    executed, rate, share = found
    said = "max_instructions: instructions of an inference on a virtual board of network digits: 69"
    assert said in executed and "allowed: 600,000; most of it: epoch 0 (CONV_2D) 31" in executed
    assert rate.endswith("min_inferences_per_second: inferences per second of network digits: nothing tells it")
    assert "max_sw_share: per cent of the epochs that the CPU computes of network digits: 100, allowed: 99" in share
    assert "epoch 0 (CONV_2D) 1" in share
