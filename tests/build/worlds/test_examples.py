"""Other people's repositories: the tool from a wheel in an empty venv, and as a submodule."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from neuralart import toolchain
from neuralart.config.types import ToolchainConfig
from support.boards.plain_qemu import run_in_qemu
from support.projects.sconsproject import REPO, TOOL, Project, copy_sources, plain_scons
from support.projects.wheels import python_of, python_with_wheel, run

pytestmark = [pytest.mark.arm, pytest.mark.long]
SUBMODULE = "submodule=third_party/scons-neuralart"


def _copy(name: str, target: Path) -> Path:
    shutil.copytree(REPO / "examples" / name, target, ignore=shutil.ignore_patterns("build", ".sconsign*"))
    return target


def _first_address(hex_file: Path) -> int:
    """Address of the first data byte of an Intel HEX file."""
    upper = 0
    for line in hex_file.read_text("ascii").splitlines():
        kind = int(line[7:9], 16)
        if kind == 4:
            upper = int(line[9:13], 16)
        elif kind == 0:
            return upper << 16 | int(line[3:7], 16)
    raise AssertionError(f"no data in {hex_file}")


def test_the_copied_model_is_the_real_one() -> None:
    ours = (REPO / "models/digits/digits.tflite").read_bytes()
    for folder in ("consumer-wheel", "plugin/product", "cmake"):
        assert (REPO / "examples" / folder / "models/digits.tflite").read_bytes() == ours


@pytest.fixture(scope="module")
def wheel_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a venv that holds the built wheel and what it requires, and nothing else of ours."""
    return python_of(python_with_wheel(tmp_path_factory))


def _scons(python: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return run(python, folder, "SCons", "-Q", *args)


@pytest.fixture(scope="module")
def doorbell(wheel_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = _copy("consumer-wheel", tmp_path_factory.mktemp("product") / "a product")
    _scons(wheel_python, folder)
    return folder


def _installed(python: Path) -> dict[str, metadata.Distribution]:
    (folder,) = python.parents[1].rglob("site-packages")
    return {each.name.lower(): each for each in metadata.distributions(path=[str(folder)])}


def test_wheel_needs_no_extra(wheel_python: Path) -> None:
    installed = set(_installed(wheel_python))
    assert {"scons", "pyyaml", "jinja2", "pyelftools", "packaging", "scons-neuralart"} <= installed
    assert not installed & {"numpy", "unicorn", "flatbuffers", "tflite", "ai-edge-litert"}


def test_the_wheel_adds_one_file_to_scons(wheel_python: Path) -> None:
    """Neither pip overwrites a file of the other's when it installs, updates or removes SCons or this package."""
    ours, theirs = (
        {str(file) for file in _installed(wheel_python)[name].files or () if "SCons/" in str(file)}
        for name in ("scons-neuralart", "scons")
    )
    assert ours == {"SCons/Tool/neuralart.py"}
    assert "SCons/Tool/gcc.py" in theirs and not ours & theirs


def test_the_snippets_for_a_sconstruct_build(wheel_python: Path, tmp_path: Path) -> None:
    """docs/how-to/add-to-a-repository.md, for a board with an NPU and for one without."""
    page = (REPO / "docs/how-to/add-to-a-repository.md").read_text("utf-8")
    npu, cpu = re.findall(r"^```python\n(env\.Tool.*?)^```$", page, re.M | re.S)
    tools = "env = Environment(tools=['cc', 'link'], CC='arm-none-eabi-gcc', LINK='arm-none-eabi-gcc', OBJSUFFIX='.o')"
    words = ["-mcpu=cortex-m7", "-mthumb", *toolchain.find(ToolchainConfig(), os.environ).libc_flags]
    flags = f"env.Append(CCFLAGS={words}, LINKFLAGS={[*words, '-nostartfiles']})"
    use = "ai_handle net; int main(void) { return ai_doorbell_create_and_init(&net, 0, 0).type; }"
    shutil.copy(REPO / "models/digits/digits.tflite", tmp_path / "doorbell.tflite")
    (tmp_path / "main.c").write_text(f'#include "doorbell.h"\n{use}\nvoid _start(void) {{ main(); }}\n', "utf-8")
    (tmp_path / "SConstruct").write_text("\n".join([tools, flags, cpu]), "utf-8")
    assert "NETWORK " in _scons(wheel_python, tmp_path, "app.elf").stdout
    (tmp_path / "SConstruct").write_text("\n".join([tools, npu]), "utf-8")
    assert "NETWORK " in _scons(wheel_python, tmp_path, "-n", "app.elf").stdout


def test_wheel_consumer_builds_its_own_product(doorbell: Path, wheel_python: Path) -> None:
    assert (doorbell / "build/doorbell.elf").is_file()
    assert list(doorbell.glob("build/initializers/*/digits.*.hex"))
    assert "is up to date" in _scons(wheel_python, doorbell).stdout
    # Nothing of the build landed beside the installed package.
    package = next(wheel_python.parents[1].rglob("site-packages/neuralart"))
    assert not list(package.rglob("*.o"))


@pytest.mark.qemu
def test_wheel_consumer_runs(doorbell: Path) -> None:
    images = sorted(doorbell.glob("build/initializers/*/*.hex"))
    assert [image.name for image in images] == ["descriptor.hex", "digits.DDRFLASH.hex"]
    assert run_in_qemu(doorbell / "build/doorbell.elf", images) == "doorbell: digit 7"


@pytest.fixture(scope="module")
def camera(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The example with this repository below third_party, as a submodule puts it there; built."""
    folder = _copy("consumer-submodule", tmp_path_factory.mktemp("camera") / "firmware")
    copy_sources(folder / "third_party" / "scons-neuralart", ["digits"])
    Project(folder).run(SUBMODULE)
    return Project(folder)


def test_submodule_consumer_builds_its_own_product(camera: Project) -> None:
    for name in (
        "build/camera.elf",
        "build/camera.bin",
        "build/camera.elf.check.json",
        "build/memory/digits.xSPI2.hex",
    ):
        assert camera.path(name).is_file(), name
    assert not camera.path("build/digits-n6").exists(), "their product, not our variants"
    assert _first_address(camera.path("build/memory/digits.xSPI2.hex")) == 0x71000000
    assert "AXISRAM5" in camera.path("build/memory/npu_memory_init.c").read_text("utf-8")
    camera.up_to_date(SUBMODULE)
    assert not list(camera.path("third_party").rglob("*.o")), "the submodule stays clean"


def test_submodule_consumer_runs(camera: Project) -> None:
    """On the virtual STM32N6, as a debugger would see it: stop at camera_done, read camera_result."""
    pytest.importorskip("unicorn")
    from support.boards import camera_board

    images = [(path.with_suffix(".bin"), _first_address(path)) for path in camera.path("build/memory").glob("*.hex")]
    assert len(images) == 2
    assert camera_board.run(camera.path("build/camera.elf"), images) == 7


def test_examples_build_in_their_own_folder(tmp_path: Path) -> None:
    """In a clone of this repository, from the example's folder, with plain scons."""
    clone = copy_sources(tmp_path / "clone", ["digits"]).root
    _copy("consumer-submodule", clone / "examples" / "consumer-submodule")
    project = Project(clone / "examples" / "consumer-submodule")
    assert "build/camera.elf" in project.run("-n").out
    # What is found from there; the rest is that of the other place.
    project.run("main.o", "build/memory")
    project.up_to_date("main.o", "build/memory")


@pytest.fixture
def reader(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Project:
    """The example of builders alone, built."""
    return plain_scons(tmp_path_factory, tmp_path / "a reader")


def test_plain_scons_builds_with_builders_alone(reader: Project) -> None:
    text = reader.path("SConstruct").read_text("utf-8")
    used = set(re.findall(r"\benv\.(\w+)\(", text))
    assert not used & {"Network", "MemoryInitializers", "NeuralArtProject", "NeuralArtVariant", "Command"}
    assert reader.path("build/reader.elf").is_file() and reader.path("build/digits.DDRFLASH.hex").is_file()
    reader.up_to_date(TOOL)
    assert "--all-buffers-info" in reader.path("build/provenance.txt").read_text("utf-8"), "its own flag"
    reader.path("build/digits_generate_report.txt").unlink()
    out = reader.run(TOOL, "reports").out
    assert "Compiling network build/digits.c" in out, "its own emitter, and its own message"
    reader.run(TOOL, "-c", ".")
    assert not [path for path in reader.path("build").rglob("*") if path.is_file()]


@pytest.mark.qemu
def test_plain_scons_runs(reader: Project) -> None:
    images = sorted(reader.path("build").glob("*.hex"))
    assert [image.name for image in images] == ["descriptor.hex", "digits.DDRFLASH.hex"]
    assert run_in_qemu(reader.path("build/reader.elf"), images) == "reader: digit 7"
