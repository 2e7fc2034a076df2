"""``application: cmake`` and ``cubeide`` without STM32CubeIDE, on a board without an NPU, by a real ``scons``."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from neuralart import toolchain
from neuralart.config.types import ToolchainConfig
from neuralart.memory.image import elf_facts
from support.boards.h747_app import LINKER, ROOT, tree
from support.boards.h747_builds import CUBE, SERIAL_C, SETTINGS, write_builds
from support.projects.sconsproject import Project, copy_built

# Programs that pip has installed for this Python come last.
PATH = {"PATH": os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])}
needs_cmake = pytest.mark.skipif(
    shutil.which("cmake", path=PATH["PATH"]) is None, reason="cmake is not installed (pip install cmake)"
)
pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="the flags name Debian's compiler"),
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]
KINDS = [pytest.param("cm", marks=needs_cmake), "cube"]
# CMake names what it builds; of make's own commands the source comes first.
COMPILED = {"cm": re.compile(r"Building C object \S*?(\w+\.c)\.obj"), "cube": re.compile(r"gcc -c \S*?(\w+\.c) ")}
WIDTH = {"cm": 240, "cube": 320}


class Place(Project):
    """A project with the programs of pip on PATH."""

    def run(self, *args, env=None, **more):
        return super().run(*args, env={**PATH, **(env or {})}, **more)

    def compiled(self, name: str) -> set[str]:
        """Sources that the last build compiled."""
        return set(COMPILED[name].findall(self.path(f"build/{name}/application/log.txt").read_text("utf-8")))

    def said(self, name: str) -> str:
        """Our one line of a failure, behind all that compilers have said; SCons adds what is not made."""
        lines = self.run(name, code=2).errors
        lines = [line for line in lines if ": note: " not in line]
        ours = [line for line in lines if not re.match(r'scons: \*\*\* \[[^]]+\] Error \d+$|File ".*SConstruct"', line)]
        if ours[-1].endswith("application/log.txt)"):
            ours = ours[-1:]
        assert len(ours) == 1, lines
        return ours[0]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Both variants, nothing built."""
    found = toolchain.find(ToolchainConfig(), os.environ)
    root = tmp_path_factory.mktemp("builds") / "a project"
    return Place(write_builds(root, " ".join(found.libc_flags)).root)


@pytest.fixture(scope="module", params=KINDS)
def built(request: pytest.FixtureRequest, template: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """One variant, built in a tree of its own, whose name says which."""
    place = Place(copy_built(template, tmp_path_factory.mktemp("built") / request.param).root)
    before = tree(place.path("firm"))
    place.run("-j2", request.param)
    assert tree(place.path("firm")) == before, "no file of the user is touched"
    return place


def test_an_image_and_its_flash_plan(built: Place) -> None:
    name = built.root.name
    program = built.path(f"build/{name}/firmware.elf")
    assert 0x08000000 <= elf_facts.read(program, program.read_bytes()).symbols["vectors"] < 0x08200000
    plan = json.loads(built.path(f"build/{name}/flash_plan.json").read_text("utf-8"))
    places = [(row["kind"], row["address"]) for row in plan["writes"]]
    assert places == [("application", 0x08000000), ("application", 0x08100000)], "each bank by itself"
    for row in plan["writes"]:
        data = built.path(row["file"]).read_bytes()
        assert (row["bytes"], row["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    assert {"serial.c", "main.c", "app_network.c", "network.c", "legacy_network.c", "conv2d.c"} <= built.compiled(name)
    copy = built.path("build") / name / "application/tree" / ROOT / "Src/CM7/main.c"
    assert copy.read_bytes() != built.path(f"firm/app/{ROOT}/Src/CM7/main.c").read_bytes(), "the patched one"
    built.up_to_date(name)


def test_it_runs_on_the_virtual_board(built: Place) -> None:
    """Fitted to the network by the patched sources, which the program was built of."""
    pytest.importorskip("unicorn")
    name = built.root.name
    before = built.path("variants.yaml").read_text("utf-8")
    built.edit("variants.yaml", "    machine: silicon\n    allow_reference_on_hardware: true\n", "")
    result = built.run(f"run-{name}")
    built.path("variants.yaml").write_text(before, "utf-8")
    built.run(name)
    assert not result.tags & {"CMAKE", "CUBEIDE"}, "the program is the one of the board"
    lines = [line.strip() for line in result.out.splitlines()]
    shown = [line.removeprefix(f"{name} | ") for line in lines if line.startswith(f"{name} | ")]
    assert shown == [f"width {WIDTH[name]}", "input 66", "status 0"]


def test_a_header_builds_what_includes_it(built: Place) -> None:
    """Here and below the tree is changed in its place: one that was moved is configured and compiled anew."""
    name, place = built.root.name, built
    program = place.path(f"build/{name}/firmware.elf")
    before = program.read_bytes()
    os.utime(place.path(SETTINGS))
    place.up_to_date(name)
    place.edit(SETTINGS, "0x40011000u", "0x40011400u")
    users = tree(place.path("firm"))
    result = place.run(name)
    assert place.compiled(name) == {"serial.c"}
    assert "NETWORK" not in result.tags, result.commands
    assert tree(place.path("firm")) == users
    assert program.read_bytes() != before
    place.up_to_date(name)
    place.edit(SETTINGS, "0x40011400u", "0x40011000u")
    place.run(name)
    assert program.read_bytes() == before, "equal inputs, equal bytes"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("toolchain_file: arm.cmake", "toolchain_fil: arm.cmake", r"variants\.yaml:\d+: unknown key 'toolchain_fil'"),
        ("toolchain_file: arm.cmake", "toolchain_file: no.cmake", r"variants\.yaml:\d+: there is no no\.cmake in "),
        ("configuration: Release", "configuraton: Release", r"variants\.yaml:\d+: unknown key 'configuraton'"),
        (
            "configuration: Release",
            "configuration: Debug",
            r"variants\.yaml:\d+: project Camera has no config.* 'Debug'",
        ),
        (f"directory: {CUBE}", f"directory: {ROOT}", r"variants\.yaml:\d+: there is no \.project in "),
        ("build: native", "build: nativ", r"variants\.yaml:\d+: .*'nativ'"),
    ],
)
def test_keys_that_are_wrong(template: Place, tmp_path: Path, old: str, new: str, said: str) -> None:
    place = Place(copy_built(template, tmp_path / "w").root)
    place.edit("variants.yaml", old, new)
    assert re.search(said, place.said("cm" if "toolchain" in old else "cube"))
    assert not list(place.path("build").rglob("firmware.elf"))


def test_files_that_are_missing(built: Place) -> None:
    """The user's place in the error, not the copy's; and the program of before is gone."""
    name, place = built.root.name, built
    place.path(SETTINGS).unlink()
    line = place.said(name)
    assert line.startswith(f"neuralart application: error: {SERIAL_C}:1:10: ")
    assert "settings.h: No such file or directory" in line
    assert not place.path(f"build/{name}/firmware.elf").exists()
    place.path(SETTINGS).write_text("#define SERIAL_BASE 0x40011000u\n", "utf-8")
    place.path(f"firm/app/{ROOT}/{LINKER}").unlink()
    assert Path(LINKER).name in place.said(name)
