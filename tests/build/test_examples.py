"""Other people's repositories: the tool from a wheel in an empty venv, and as a submodule."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from support.sconsproject import REPO, Project, copy_sources

pytestmark = [pytest.mark.arm, pytest.mark.long]


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
    assert (REPO / "examples/consumer-wheel/models/digits.tflite").read_bytes() == ours


@pytest.fixture(scope="module")
def wheel_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a venv that holds the built wheel and what it requires, and nothing else of ours."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(
        REPO, source, ignore=shutil.ignore_patterns(".git", ".venv", "build", ".*_cache", "__pycache__", ".sconsign*")
    )
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(source)],
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)],
        check=True,
        capture_output=True,
    )
    return python


def _scons(python: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(python), "-m", "SCons", "-Q", *args], cwd=folder, capture_output=True, text=True, env=env, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def doorbell(wheel_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = _copy("consumer-wheel", tmp_path_factory.mktemp("product") / "a product")
    _scons(wheel_python, folder)
    return folder


def test_wheel_needs_no_extra(wheel_python: Path) -> None:
    done = subprocess.run([str(wheel_python), "-m", "pip", "list", "--format=json"], capture_output=True, check=True)
    installed = {row["name"].lower() for row in json.loads(done.stdout)}
    assert {"scons", "pyyaml", "jinja2", "pyelftools", "packaging", "scons-neuralart"} <= installed
    assert not installed & {"numpy", "unicorn", "flatbuffers", "tflite", "ai-edge-litert"}


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
    process = subprocess.Popen(
        ["qemu-system-arm", "-M", "mps3-an547", "-nographic", "-monitor", "none", "-serial", "stdio"]
        + ["-kernel", str(doorbell / "build/doorbell.elf")]
        + [word for image in images for word in ("-device", f"loader,file={image}")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "doorbell: digit 7"
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def camera(tmp_path: Path) -> Project:
    """The example with this repository below third_party, as a submodule puts it there."""
    folder = _copy("consumer-submodule", tmp_path / "firmware")
    copy_sources(folder / "third_party" / "scons-neuralart")
    return Project(folder)


SUBMODULE = "submodule=third_party/scons-neuralart"


def test_submodule_consumer_builds_its_own_product(camera: Project) -> None:
    camera.run(SUBMODULE)
    for name in ("build/camera.elf", "build/camera.bin", "build/camera.elf.check.json", "build/memory/digits.xSPI2.hex"):
        assert camera.path(name).is_file(), name
    assert not camera.path("build/digits-n6").exists(), "their product, not our variants"
    assert _first_address(camera.path("build/memory/digits.xSPI2.hex")) == 0x71000000
    assert "AXISRAM5" in camera.path("build/memory/npu_memory_init.c").read_text("utf-8")
    camera.up_to_date(SUBMODULE)
    assert not list(camera.path("third_party").rglob("*.o")), "the submodule stays clean"


def test_submodule_consumer_runs(camera: Project) -> None:
    """On the virtual STM32N6, as a debugger would see it: stop at camera_done, read camera_result."""
    pytest.importorskip("unicorn")
    from support import camera_board

    camera.run(SUBMODULE)
    images = [(path.with_suffix(".bin"), _first_address(path)) for path in camera.path("build/memory").glob("*.hex")]
    assert len(images) == 2
    assert camera_board.run(camera.path("build/camera.elf"), images) == 7


def test_examples_build_in_their_own_folder(tmp_path: Path) -> None:
    """In a clone of this repository, from the example's folder, with plain scons."""
    clone = copy_sources(tmp_path / "clone").root
    _copy("consumer-submodule", clone / "examples" / "consumer-submodule")
    project = Project(clone / "examples" / "consumer-submodule")
    out = project.run().out
    assert re.search(r"build/camera\.elf", out)
    project.up_to_date()
