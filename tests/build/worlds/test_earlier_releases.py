"""What users of an earlier release have still builds: its descriptions and scripts, and what it has built before.

``tests/releases/<version>`` keeps what users have of that release: its scripts, its description of variants, and its
examples without models, which are those of today.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import test_cmake
import test_firmware_worlds
import test_forms_of_worlds

from support.projects.plugin_places import Places
from support.projects.sconsproject import REPO, Project, copy_built, unoptimized
from support.projects.wheels import python_of, run

pytestmark = [pytest.mark.arm, pytest.mark.long]
RELEASES = REPO / "tests" / "releases"
VARIANTS = ("digits-n6", "digits-an547", "digits-n6-rel")


def images(project: Project) -> dict[str, bytes]:
    """What is shipped of some variants; of the last one the model alone: its firmware has got another option since."""
    found = project.files(*(f"build/{variant}" for variant in VARIANTS[:-1]))
    model = f"build/{VARIANTS[-1]}/network_rel.bin"
    shipped = {name: data for name, data in found.items() if name.endswith((".bin", ".hex"))}
    return {**shipped, model: project.path(model).read_bytes()}


@pytest.mark.parametrize("version", sorted(path.name for path in RELEASES.iterdir()))
def test_a_project_of_a_release_builds_the_same_images(template: Project, tmp_path: Path, version: str) -> None:
    """Its build folder has what that release left: no hashes of what was made, no stamps, objects without a record,
    and another form of records.
    """
    project = copy_built(template, tmp_path / "tree")
    for name in ("SConstruct", "variants.yaml"):
        shutil.copy(RELEASES / version / name, project.path(name))
    for path in [*project.path("build").rglob("made.sha256"), *project.path("build").glob(".*")]:
        path.unlink() if path.is_file() else shutil.rmtree(path)
    project.path("build/digits-n6/application.bin").write_bytes(b"of another tool")
    # The store of objects has records of its form, in the places of some of ours.
    for record in (RELEASES / version / "left/objects").glob("*.json"):
        for path in project.path("build/relocatable/objects").glob("[a-c]*.json"):
            path.write_bytes(record.read_bytes())
    made = project.run(*VARIANTS)
    assert "build/digits-n6/app has no made.sha256: what was made in it is made again" in made.out + made.err
    assert images(project) == images(template)
    assert project.run(*VARIANTS).commands == set()
    for target in ("-h", "flash-digits-n6"):
        project.run(target)


def test_the_script_of_an_example_is_still_read(tmp_path: Path) -> None:
    """The form with a folder of tools, before the tool was found by its name alone."""
    for old in RELEASES.glob("*/*/SConstruct"):
        folder = tmp_path / old.parent.name
        shutil.copytree(REPO / "examples" / old.parent.name, folder, ignore=shutil.ignore_patterns("build"))
        shutil.copy(old, folder / "SConstruct")
        words = [sys.executable, "-W", "error", "-m", "SCons", "-Q", "-n"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "NETWORK " in done.stdout and "doorbell.elf" in done.stdout


def _cmake(examples: Path) -> str:
    if test_cmake.CMAKE is None or test_cmake.NINJA is None:
        pytest.skip("needs cmake and ninja (pip install cmake ninja)")
    test_cmake.configure(examples / "cmake")
    test_cmake.build(examples / "cmake")
    return test_cmake.said_by(examples / "cmake")


def _rt_thread(folder: Path, examples: Path) -> tuple[Path]:
    return (test_firmware_worlds.bsp(folder, examples) / "rtthread",)


def _form(world: Callable[[Path, Path], Sequence[Any]], examples: Path) -> str:
    """In the form of that world's scripts: RT-Thread, PlatformIO and modm need not be installed."""
    program, *_ = world(examples / "a bell", examples)
    test_firmware_worlds.scons(examples / "a bell")
    return subprocess.run([program], capture_output=True, text=True, timeout=20).stdout.strip()


def _scons(made: str, examples: Path) -> str:
    """Scripts that expect this repository around them are told where it is."""
    name, _, file = made.partition("/")
    unoptimized(Project(examples / name)).run(f"tool={REPO}", f"submodule={REPO}")
    return made if (examples / name / file).is_file() else ""


def _plugin(examples: Path) -> str:
    """As pip would install it, in an environment that has ours below it: its modules are found by its entry points."""
    product, site, home = examples / "plugin/product", examples / "plugin/src", examples / "venv"
    about = tomllib.loads((examples / "plugin/pyproject.toml").read_text("utf-8"))["project"]
    Places(product, site).install("neuralart_example", about["entry-points"])
    venv.create(home)
    both = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n{site}\n"
    Path(sysconfig.get_path("purelib", vars={"base": str(home)}), "both.pth").write_text(both, "utf-8")
    run(python_of(home), product, "SCons", "-Q", "flash-door")
    hashes, flash = (product / "build/networks").rglob("digits_hashes.h"), product / "build/door/flash-folder"
    return f"{len([*hashes])} header, {len([*flash.iterdir()])} images"


# Example -> where its model lies (empty: it takes the repository's), what builds it, what that says or makes.
KEPT: dict[str, tuple[str, Callable[[Path], str], str]] = {
    "cmake": ("models", _cmake, "doorbell: digit 7"),
    "consumer-submodule": ("", partial(_scons, made := "consumer-submodule/build/camera.bin"), made),
    "consumer-wheel": ("models", partial(_scons, made := "consumer-wheel/build/doorbell.elf"), made),
    "modm": (".", partial(_form, test_forms_of_worlds.modm), "doorbell: digit 7"),
    "plain-scons": ("", partial(_scons, made := "plain-scons/build/reader.elf"), made),
    "platformio": ("models", partial(_form, test_forms_of_worlds.platformio), "doorbell: digit 7"),
    "plugin": ("product/models", _plugin, "1 header, 3 images"),
    "rt-thread": (".", partial(_form, _rt_thread), "-109 -80 -103 -103 -96 -106 -109 -103 -111 -103"),
}


@pytest.mark.hostcc
@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("version", sorted({"1.0.0", *(path.parent.name for path in RELEASES.glob("*/examples"))}))
def test_an_example_of_a_release_builds(tmp_path: Path, version: str, name: str) -> None:
    examples = Path(shutil.copytree(RELEASES / version / "examples", tmp_path / "examples"))
    assert {path.name for path in examples.iterdir()} == set(KEPT)
    model, build, answer = KEPT[name]
    if model:
        (examples / name / model).mkdir(exist_ok=True)
        shutil.copy(REPO / "models/digits/digits.tflite", examples / name / model)
    assert build(examples) == answer
