"""Constants, images and flashing in a consumer's SConstruct that knows SCons's conventions only."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from support.models.new_weights import new_weights
from support.projects.sconsproject import REPO, TOOL, Project, copy_built, plain_scons, prepare

NOR = "build/flash.nor"
ENV = f"""
env = Environment(
    tools=["install", "zip", "neuralart"],
    toolpath=[{str(REPO / "site_scons")!r}],
    NEURALART_BOARD="stm32n6570-dk",
    NEURALART_PYTHON=[{sys.executable!r}],
)
"""
NODES = """
net = env.NeuralArtNetwork("build/net/digits.c", "models/digits/digits.tflite")
memory = env.NeuralArtInitializers("build/npu_memory_init.c", net)
plan = env.NeuralArtFlashPlan("build/flash_plan.json", memory)
"""
FLASH = """
env.NeuralArtFlash("flash", plan)
env.NeuralArtFlash("verify", plan, NEURALART_FLASH_VERB="verify")
"""


def _project(tmp_path: Path, *texts: str) -> Project:
    root = tmp_path / "a consumer"
    shutil.copytree(REPO / "models" / "digits", root / "models" / "digits")
    (root / "SConstruct").write_text("".join(texts), "utf-8")
    return Project(root)


@pytest.fixture
def sources_only(tmp_path: Path) -> Project:
    """Nothing is built."""
    return _project(tmp_path, ENV, NODES, FLASH)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = _project(tmp_path_factory.mktemp("made"), ENV, NODES, FLASH)
    done = project.run()
    assert project.path("build/flash_plan.json").is_file()
    assert _effects(done.out) == [] and not project.path(NOR).exists(), "a bare call does not flash"
    return project


@pytest.fixture
def consumer(made: Project, tmp_path: Path) -> Project:
    """All is built, nothing is flashed."""
    return copy_built(made, tmp_path / "a consumer")


@pytest.fixture(scope="module")
def once_flashed(made: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_built(made, tmp_path_factory.mktemp("flashed") / "a consumer")
    project.run("flash")
    return project


@pytest.fixture
def flashed(once_flashed: Project, tmp_path: Path) -> Project:
    return copy_built(once_flashed, tmp_path / "a consumer")


def _effects(out: str) -> list[str]:
    return re.findall(r"^(?:FLASH|VERIFY) +(\S+)", out, re.M)


# ---- who flashes


@pytest.mark.parametrize("target", [(), (".",), ("build",), ("build/flash_plan.json",)])
def test_no_folder_flashes(consumer: Project, target: tuple[str, ...]) -> None:
    consumer.path("build/flash_plan.json").unlink()
    done = consumer.run(*target)
    assert consumer.path("build/flash_plan.json").is_file()
    assert _effects(done.out) == [] and not consumer.path(NOR).exists()


def test_an_alias_of_a_folder_and_a_flash(tmp_path: Path) -> None:
    """The record is in the folder, and nobody waits for it."""
    project = _project(tmp_path, ENV, NODES, FLASH, 'Alias("everything", ["build", "flash"])\n')
    assert "sector erased and written" in project.run("-j4", "everything").out
    assert "nothing was written" in project.run("everything").out


def test_no_name_of_a_file_flashes(consumer: Project) -> None:
    failed = consumer.run(NOR, code=2)
    assert "Do not know how to make File target" in failed.err and not consumer.path(NOR).exists()
    consumer.run("flash")
    before = consumer.path(NOR).stat().st_mtime_ns
    new_weights(consumer)
    consumer.run(NOR)
    consumer.run(".")
    assert consumer.path(NOR).stat().st_mtime_ns == before


def test_a_second_flash_writes_nothing_and_says_so(consumer: Project) -> None:
    done = consumer.run("-j4", "flash", "verify")
    assert _effects(done.out) == ["flash", "verify"] and "all as planned" in done.out
    before = consumer.path(NOR).stat().st_mtime_ns
    again = consumer.run("flash")
    assert f"{NOR}: nothing was written, it held all of this already" in again.out
    assert consumer.path(NOR).stat().st_mtime_ns == before
    consumer.up_to_date(".")


def test_order_of_the_command_line(flashed: Project) -> None:
    for _ in range(3):
        assert _effects(flashed.run("-j4", "verify", "flash").out) == ["verify", "flash"]
    new_weights(flashed)
    failed = flashed.run("-j4", "verify", "flash", code=2)
    assert "'digits.xSPI2' differs" in failed.err and _effects(failed.out) == ["verify"]


def test_dry_run_says_what_would_be_written(sources_only: Project) -> None:
    """Also where nothing is built yet."""
    done = sources_only.run("-n", "flash")
    lines = done.out.splitlines()
    at = lines.index("FLASH    flash on stm32n6570-dk")
    assert lines[at + 1 : at + 3] == [
        "         digits.xSPI2: build/digits.xSPI2.bin at 0x70380000",
        "         descriptor: build/descriptor.bin at 0x70200000",
    ]
    assert not sources_only.path("build").exists()


def test_question_and_clean(flashed: Project) -> None:
    before = flashed.path(NOR).read_bytes()
    assert flashed.run("-q", "flash", code=None).code == 1, "it always has something to do"
    assert flashed.path(NOR).read_bytes() == before
    flashed.run("-c", ".")
    assert flashed.path(NOR).exists(), "no folder cleans a device"
    flashed.run("-c", "flash")
    assert not flashed.path(NOR).exists()


def test_a_device_per_probe(tmp_path: Path) -> None:
    text = '[env.NeuralArtFlash(f"flash-{p}", plan, NEURALART_PROBE=p) for p in ("one", "two")]\n'
    project = _project(tmp_path, ENV, NODES, text, 'Alias("all", ["flash-one", "flash-two"])\n')
    project.run("-j4", "all")
    one, two = (project.path(f"build/flash-{name}.nor") for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    project.run("-c", "flash-two")
    assert one.exists() and not two.exists()


def test_many_at_once_are_one_after_the_other(tmp_path: Path) -> None:
    """One device, one at a time: no part is lost, however many jobs there are."""
    parts = "".join(
        f'env.NeuralArtFlash("f{n}", env.NeuralArtFlashPlan("build/p{n}.json", "data/{n}.bin", '
        f'NEURALART_WRITES={{"{n}.bin": ("model", {0x7100_0000 + n * 0x10000})}}))\n'
        for n in range(6)
    )
    project = _project(tmp_path, ENV, parts, 'Alias("all", [f"f{n}" for n in range(6)])\n')
    project.path("data").mkdir()
    for n in range(6):
        project.path(f"data/{n}.bin").write_bytes(bytes([n]) * 1000)
    project.run("-j6", "all")
    from neuralart.flashing import nor

    chip = nor.load(project.path(NOR))
    for n in range(6):
        assert chip.read(0x0100_0000 + n * 0x10000, 1000) == bytes([n]) * 1000


# ---- what is built


def test_new_weights_are_new_images_only(consumer: Project) -> None:
    new_weights(consumer)
    done = consumer.run("--debug=explain", ".")
    made = {target for tag, target in done.commands if tag != "NETWORK"}
    assert made == {
        *(f"build/{stem}.{kind}" for stem in ("digits.xSPI2", "descriptor") for kind in ("bin", "hex")),
        "build/flash_plan.json",
    }
    why = "scons: rebuilding `build/digits.xSPI2.bin' because `build/net/digits_atonbuf.xSPI2.raw' changed\n"
    assert why in done.out, "only what has changed"


def test_a_deleted_image_comes_back_alone(consumer: Project) -> None:
    consumer.path("build/digits.xSPI2.hex").unlink()
    assert consumer.run(".").commands == {("IMAGE", "build/digits.xSPI2.hex")}


@pytest.mark.parametrize("duplicate", [0, 1])
def test_variant_dir(tmp_path: Path, duplicate: int) -> None:
    project = _project(
        tmp_path, ENV, f'SConscript("product/SConscript", variant_dir="out", duplicate={duplicate}, exports="env")\n'
    )
    (project.root / "product").mkdir()
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", project.root / "product")
    (project.root / "product" / "SConscript").write_text(
        'Import("env")\n'
        + NODES.replace("build/", "").replace("models/digits/", "")
        + FLASH
        + 'env.NeuralArtFlash("flash-done", "done.json")\n',
        "utf-8",
    )
    before = set(project.files("product"))
    project.run(".")
    done = project.run("flash", "verify")
    assert _effects(done.out) == ["flash", "verify"]
    assert project.path("out/flash.nor").is_file()
    assert set(project.files("product")) == before, "nothing is written into the source tree"
    # A plan that somebody keeps among the sources: its images are those of the top folder.
    shutil.copy2(project.path("out/flash_plan.json"), project.path("product/done.json"))
    again = project.run("flash-done")
    assert "nothing was written" in again.out
    project.up_to_date("out/flash_plan.json")


def test_two_boards_and_an_override_in_one_build(tmp_path: Path) -> None:
    other = """
other = env.Clone(NEURALART_BOARD="mps3-an547")
net2 = other.NeuralArtNetwork("other/net/digits.c", "models/digits/digits.tflite")
plan2 = other.NeuralArtFlashPlan("other/flash_plan.json", other.NeuralArtInitializers("other/npu_memory_init.c", net2))
other.NeuralArtFlash("flash-other", plan2, NEURALART_FLASHCOMSTR="Writing $SOURCE")
"""
    project = _project(tmp_path, ENV, NODES, FLASH, other)
    done = project.run("-j2", "flash", "flash-other")
    assert "Writing other/flash_plan.json" in done.out and "FLASH    flash on stm32n6570-dk" in done.out
    assert project.path(NOR).exists() and project.path("other/flash.nor").exists()


def test_install_zip_and_glob(tmp_path: Path) -> None:
    text = """
images = [node for node in memory if node.name.endswith(".bin")]
env.Install("release", images + Glob("build/*.hex"))
env.Zip("release.zip", images + plan)
Command("sum.txt", Glob("build/*.bin"), "cat $SOURCES > $TARGET")
"""
    project = _project(tmp_path, ENV, NODES, text)
    project.run(".")
    names = ("descriptor.bin", "descriptor.hex", "digits.xSPI2.bin", "digits.xSPI2.hex")
    assert sorted(path.name for path in project.path("release").iterdir()) == sorted(names)
    import zipfile

    with zipfile.ZipFile(project.path("release.zip")) as archive:
        assert sorted(archive.namelist()) == ["build/descriptor.bin", "build/digits.xSPI2.bin", "build/flash_plan.json"]
    sizes = [project.path(f"build/{name}").stat().st_size for name in names if name.endswith(".bin")]
    assert project.path("sum.txt").stat().st_size == sum(sizes)
    project.up_to_date(".")


def test_a_record_never_comes_from_a_cache(tmp_path: Path) -> None:
    project = _project(tmp_path, ENV, 'env.CacheDir("cache")\n', NODES, FLASH)
    project.run("flash")
    built = project.files("build")
    shutil.rmtree(project.path("build"))
    project.path(".sconsign.dblite").unlink()
    done = project.run("flash")
    assert "Retrieved `build/digits.xSPI2.bin' from cache" in done.out
    assert "sector erased and written" in done.out, "the device is empty again, and is written"
    assert project.files("build") == built
    assert not [path for path in project.path("cache").rglob("*") if path.is_file() and b"NARNOR1" in path.read_bytes()]


def test_a_tree_shows_what_a_flash_needs(sources_only: Project) -> None:
    out = sources_only.run("--tree=derived,prune", "-n", "flash").out
    assert re.search(r"^\+-flash\n  \+-build/flash_plan.json\n  \| \+-build/digits.xSPI2.bin", out, re.M), out


# ---- what is wrong is one line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'env.NeuralArtFlash("x", plan, NEURALART_MACHINE="silicon", NEURALART_RUNNER="virtual")',
            "x: runner virtual writes a file",
        ),
        ('env.NeuralArtFlash("x", "image.bin")', "x: NeuralArtFlash takes a flash plan"),
        ('env.NeuralArtFlashPlan("p.json", "image.bin")', "image.bin: NeuralArtFlashPlan: nothing says where it goes"),
        ('env.NeuralArtInitializers("x.txt", net)', "x.txt: NeuralArtInitializers: start-up code is C"),
        ('env.NeuralArtFlash("flash", plan); env.NeuralArtFlash("flash", "other.json")', "Multiple ways to build the"),
        ('env.NeuralArtFlashPlan("build/flash_plan.json", memory[4])', "Multiple ways to build the same target"),
        ('env.NeuralArtImage("c.json", net)', "c.json: NeuralArtImage takes a linked program"),
    ],
)
def test_a_wrong_call_names_its_line(tmp_path: Path, text: str, said: str) -> None:
    project = _project(tmp_path, ENV, NODES, text, "\n")
    failed = project.run(code=2)
    first, second, *_ = failed.errors
    assert first.startswith(f"scons: *** {said}"), failed.err
    line = len((ENV + NODES).splitlines()) + 1
    assert second.startswith(f'File "{project.root / "SConstruct"}", line {line}, in <module>'), failed.err


def test_a_plan_that_is_none_is_one_line(tmp_path: Path) -> None:
    project = _project(tmp_path, ENV, 'env.NeuralArtFlash("flash", "mine.json")\n')
    project.path("mine.json").write_text("{}", "utf-8")
    failed = project.run("flash", code=2)
    assert failed.errors == [
        "neuralart flash: error: mine.json: not a flash plan: it has no 'schema'",
        "scons: *** [flash] Error 1",
    ]
    project.path("mine.json").unlink()
    assert "mine.json" in project.run("flash", code=2).err


def test_an_image_that_a_plan_names_is_missing(tmp_path: Path) -> None:
    from neuralart.flashing import plan

    project = _project(tmp_path, ENV, 'env.NeuralArtFlash("flash", "mine.json")\n')
    row = plan.Write("a", "model", "gone.bin", 0x7100_0000, 4, "0" * 64)
    project.path("mine.json").write_text(plan.make("stm32n6570-dk", [row]), "utf-8")
    failed = project.run("flash", code=2)
    assert "`gone.bin' not found, needed by target `flash'" in failed.err


# ---- a program


@pytest.mark.arm
def test_images_of_a_program(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    """The example of builders alone, and what its board boots from."""
    project = plain_scons(tmp_path_factory, tmp_path / "a reader")
    text = """
image = env.NeuralArtImage("build/check.json", [reader, "build/digits.c"], NEURALART_MACHINE="qemu")
plan = env.NeuralArtFlashPlan("build/flash_plan.json", [image, memory])
env.NeuralArtFlash("flash", plan)
env.NeuralArtImage("n6/check.json", reader, NEURALART_BOARD="stm32n6570-dk", NEURALART_MACHINE="unicorn")
env.Ignore(".", ["n6/check.json", "n6/reader.bin", "n6/reader.hex", "n6/application.bin"])
env.Ignore("n6", ["n6/check.json", "n6/reader.bin", "n6/reader.hex", "n6/application.bin"])
"""
    with project.path("SConstruct").open("a", encoding="utf-8") as file:
        file.write(text)
    done = project.run(TOOL, "flash", ".")
    assert {("CHECK", "build/reader.elf"), ("OBJCOPY", "build/reader.bin")} <= done.commands
    checked = json.loads(project.path("build/check.json").read_text("utf-8"))
    assert [network["name"] for network in checked["networks"]] == ["digits"], checked
    assert not project.path("build/application.bin").exists(), "this board has no boot chain"
    assert "digits.DDRFLASH: " in done.out and project.path(NOR).is_file()
    project.up_to_date(TOOL, ".")
    # Another board: nothing is made of a program that cannot start there.
    failed = project.run(TOOL, "n6/application.bin", code=2)
    assert re.search(r"scons: \*\*\* \[n6/check.json\] build/reader.elf: ", failed.err), failed.err
    assert not project.path("n6").exists() or not list(project.path("n6").iterdir())


@pytest.mark.arm
@pytest.mark.long
def test_aliases_for_a_model_that_is_loaded(sources: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A variant's firmware and plans under names of the consumer's own."""
    text = """
env = Environment(tools=[])
env.Tool("neuralart", toolpath=["#site_scons"])
project = env.NeuralArtProject("variants.yaml")
project.build(["digits-n6-rel"])
made = project.variants["digits-n6-rel"]
rel = env.NetworkRel(env.Network("digits", model="models/digits/digits.tflite", board="stm32n6570-dk"))
env.LoadAlias("mine", made.firmware.elf, rel, dict(made.flash.plans), vectors="models/digits/vectors")
env.FlashAlias("device", made.flash.plan, probe="mine")
"""
    sources.path("SConstruct").write_text(text, "utf-8")
    done = prepare(sources, tmp_path_factory, "-j2", "mine", "device")
    assert done.out.count("20 vectors bit-exact on unicorn") == 2, done.out
    assert done.out.index("bit-exact") < done.out.index("FLASH "), "in the order of the command line"
    assert sources.path("build/digits-n6-rel/flash-mine.nor").is_file()
    assert not sources.path("build/digits-n6-rel/flash.nor").exists()
