"""Each wrong input: one line that says what and where, exit status 2, nothing half-written."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.scons.network.plan import option_words
from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]

MODEL = "models/digits/digits.tflite"
POOLS = "site_scons/neuralart/boards/data/pools/stm32n6570-dk.mpool"
PROFILE = "site_scons/neuralart/boards/data/profiles/stm32n6570-dk.json"


@pytest.fixture
def sources(texts: Project) -> Project:
    """No test here changes firmware or code."""
    return texts


def _truncate(project: Project) -> None:
    path = project.path(MODEL)
    path.write_bytes(path.read_bytes()[:1000])


CASES: list[tuple[str, Callable[[Project], object], list[str]]] = [
    ("no tflite", lambda p: p.path(MODEL).write_bytes(b"hello, this is text"), [MODEL]),
    ("empty model", lambda p: p.path(MODEL).write_bytes(b""), [MODEL]),
    ("truncated", _truncate, [MODEL]),
    ("no model", lambda p: p.path(MODEL).unlink(), ["variants.yaml:", MODEL, "does not exist"]),
    ("trailing comma", lambda p: p.edit(POOLS, "\n}", ",\n}"), ["stm32n6570-dk.mpool:"]),
    ("no usable pool", lambda p: p.edit(POOLS, "ACC_WRITE", "ACC_READ"), ["stm32n6570-dk.mpool"]),
    ("overlapping pools", lambda p: p.edit(POOLS, "0x34270000", "0x34260000"), ["stm32n6570-dk.mpool:", "overlap"]),
    ("missing mpool", lambda p: p.path(POOLS).unlink(), ["stm32n6570-dk.mpool"]),
    (
        "misspelled board",
        lambda p: p.edit("variants.yaml", "stm32n6570-dk", "stm32n6750-dk"),
        ["variants.yaml:", "stm32n6570-dk"],
    ),
    ("unknown key", lambda p: p.edit("variants.yaml", "board:", "bord:"), ["variants.yaml:", "board"]),
    ("missing unit", lambda p: p.edit(POOLS, '"KBYTES"', '""'), ["stm32n6570-dk.mpool:"]),
    ("no variants.yaml", lambda p: p.path("variants.yaml").unlink(), ["variants.yaml"]),
]


@pytest.mark.parametrize(("name", "change", "words"), CASES, ids=[case[0] for case in CASES])
def test_bad_input(sources: Project, name: str, change: Callable[[Project], object], words: list[str]) -> None:
    change(sources)
    failed = sources.run("digits-n6", code=2)
    said = [line for line in failed.errors if all(word in line for word in words)]
    assert len(said) == 1, failed.err
    # SCons adds its own line, and at read time the place in the SConstruct.
    assert len(failed.errors) <= 3, failed.err
    written = [path for path in sources.path("build").rglob("*") if path.is_file()]
    assert not [path for path in written if "networks" in path.parts], written


def test_built_pool_file(sources: Project) -> None:
    sources.path("SConstruct").write_text(
        'env = Environment(tools=[])\nenv.Tool("neuralart", toolpath=["#site_scons"])\n'
        'env.Command("made.mpool", [], Touch("$TARGET"))\n'
        'env.Network("digits", model="models/digits/digits.tflite", board="stm32n6570-dk", mpool="made.mpool")\n',
        "utf-8",
    )
    failed = sources.run(code=2)
    assert "made.mpool' is itself built by this SConstruct" in failed.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(sources: Project) -> None:
    sources.path("build").mkdir()
    sources.path("build").chmod(0o555)
    try:
        failed = sources.run("digits-n6", code=2)
    finally:
        sources.path("build").chmod(0o755)
    assert any("build" in line for line in failed.errors)


def test_output_in_the_way(sources: Project) -> None:
    """Also root cannot write a folder's name as a file."""
    sources.path("build").write_text("a file", "utf-8")
    failed = sources.run("digits-n6", code=2)
    assert any("build" in line for line in failed.errors)


def test_a_folder_in_the_place_of_a_file(built: Project) -> None:
    for name in ("build/digits-n6/firmware.bin", "build/digits-n6/app/main.o", "firmware/app/main.c"):
        built.path(name).rename(built.path("kept"))
        built.path(name).mkdir()
        said = built.run("digits-n6", code=2).errors
        assert said[0] == f"scons: *** {name}: is a directory, where a file is needed (delete or rename it)"
        assert "Traceback" not in "".join(said) and len(said) == 2
        built.path(name).rmdir()
        built.path("kept").rename(built.path(name))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("vectors: models/digits/vectors", f"vectors: {MODEL}/v", f"{MODEL}: is used as a file and named as a folder"),
        (f"model: {MODEL}", f"model: {MODEL}/x.tflite", f"model '{MODEL}/x.tflite' leads through a file"),
        (f"model: {MODEL}", "model: models/digits", "model 'models/digits' is a folder, not a file"),
    ],
)
def test_a_path_that_leads_through_a_file(sources: Project, old: str, new: str, said: str) -> None:
    """SCons knows a name as a file or as a folder, and has a traceback where it is both."""
    path = sources.path("variants.yaml")
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    errors = sources.run("digits-n6", code=2).errors
    assert said in errors[0] and len(errors) == 2, errors


def test_a_folder_in_the_place_of_the_list_for_editors(built: Project) -> None:
    built.path("compile_commands.json").unlink()
    built.path("compile_commands.json").mkdir()
    done = built.run("--no-stamps", "digits-n6")
    assert done.errors[0].startswith("neuralart: note: compile_commands.json stays as it is: "), done.err


def test_an_odd_name_of_the_model_works(built: Project) -> None:
    name = "$(odd) modèle été.tflite"
    built.path(MODEL).rename(built.path(name))
    text = built.path("variants.yaml").read_text("utf-8").replace(MODEL, f"'{name}'")
    built.path("variants.yaml").write_text(text, "utf-8")
    assert "NETWORK" in built.run("digits-n6").tags
    built.up_to_date("digits-n6")


def test_missing_toolchain(sources: Project) -> None:
    failed = sources.run("digits-n6", code=2, env={"NEURALART_TOOLCHAIN": str(sources.root / "nowhere")})
    assert any("no arm-none-eabi-gcc found" in line and "variants.yaml:" in line for line in failed.errors), failed.err


def test_other_version_wanted(sources: Project) -> None:
    text = sources.path("variants.yaml").read_text("utf-8")
    text = text.replace("    board: stm32n6570-dk\n", '    board: stm32n6570-dk\n    toolchain: {version: "99"}\n')
    sources.path("variants.yaml").write_text(text, "utf-8")
    failed = sources.run("digits-n6", code=2)
    assert any("wanted 99" in line for line in failed.errors), failed.err


FLASH_AND_PSRAM = """
{"memory": {"mem_file_prefix": "atonbuf", "mempools": [
  {"fname": "xSPI1", "name": "hyperRAM", "fformat": "FORMAT_RAW", "prop": {"rights": "ACC_WRITE"},
   "offset": {"value": "0x90000000", "magnitude": "BYTES"}, "size": {"value": "16", "magnitude": "MBYTES"}},
  {"fname": "xSPI2", "name": "octoFlash", "fformat": "FORMAT_RAW", "prop": {"rights": "ACC_READ"},
   "offset": {"value": "0x70380000", "magnitude": "BYTES"}, "size": {"value": "1", "magnitude": "MBYTES"}}]}}
"""


def test_memory_that_nothing_turns_on(sources: Project) -> None:
    """Activations in the PSRAM: nothing here initializes it, so the image must not be built as if it worked."""
    sources.path("psram.mpool").write_text(FLASH_AND_PSRAM, "utf-8")
    sources.edit("variants.yaml", "  digits:\n    model:", "  digits:\n    mpool: psram.mpool\n    model:")
    failed = sources.run("digits-n6", code=2)
    said = [line for line in failed.errors if "pool xSPI1 of network digits" in line]
    assert len(said) == 1 and "does not answer after reset" in said[0], failed.err
    assert not sources.path("build/digits-n6/firmware.elf").exists()


def test_activations_in_flash(sources: Project) -> None:
    """A wrong address: the network would write into a memory that cannot be written."""
    sources.edit("models/digits/pools/internal.mpool", "0x34200000", "0x70400000")
    failed = sources.run("digits-n6-internal", code=2)
    (said,) = [line for line in failed.errors if "bytes of activations" in line]
    assert "internal.mpool:11:7: pool AXISRAM3 of network digits holds 2560 bytes of activations" in said
    assert "but 0x70400000 is in xSPI2, which is flash" in said
    assert not sources.path("build/digits-n6-internal/firmware.elf").exists()


def test_application_that_does_not_fit_its_slot(built: Project) -> None:
    """It fits what the boot loader copies, but something else was put behind its first sector."""
    built.edit("variants.yaml", "  digits-n6:\n", "  digits-n6:\n    slots: {descriptor: 0x70110000}\n")
    assert "PLAN" in built.run("digits-n6").tags
    ballast = (
        "const unsigned char ballast[70000] = {1};\n\nint main(void) {\n"
        "  (void)*(const volatile unsigned char *)ballast;\n"
    )
    built.edit("firmware/app/main.c", "int main(void) {\n", ballast)
    failed = built.run("flash-digits-n6", code=2)
    (said,) = [line for line in failed.errors if "slot application" in line]
    assert "[0x70100000, 0x70110000) has 65536 bytes, " in said and "behind it is identity descriptor" in said
    assert "FLASH" not in failed.tags


def test_options_that_the_build_says_itself(sources: Project) -> None:
    for option in ("--name", "--output=x", "-m", "--no-report", "--st-neural-art"):
        with pytest.raises(NeuralArtError, match="is not allowed here"):
            option_words(NetworkConfig("digits", MODEL, options=(option,)))
    sources.edit("variants.yaml", "    vectors:", f"    options: ['{option}']\n    vectors:")
    failed = sources.run("digits-n6", code=2)
    assert any("variants.yaml:" in line and "is not allowed here" in line for line in failed.errors), failed.err


def test_dynamic_shape(sources: Project) -> None:
    from tflite_writer import ModelWriter

    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "int8", 0.5, signature=(1, -1))
    y = writer.tensor("y", (1, 4), "int8", 0.5)
    writer.op("RELU", [x], [y])
    sources.path(MODEL).write_bytes(writer.finish([x], [y]))
    failed = sources.run("digits-n6", code=2)
    assert any("dynamic shape" in line for line in failed.errors), failed.err
