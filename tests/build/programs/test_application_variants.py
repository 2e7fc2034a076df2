"""``application:`` of variants, from models to flash plans, by a real ``scons``; the user's trees lie elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from neuralart import toolchain
from neuralart.config.types import ToolchainConfig
from neuralart.memory.image import elf_facts
from support.fake_apps import HERE, application
from support.fake_stedgeai import install, middlewares
from support.models import stedgeai_case
from support.projects import compile_answers
from support.projects.sconsproject import REPO, Result
from support.projects.vendorproject import VendorProject, new_weights

pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script"),
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]
# Programs that pip has installed for this Python come last.
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
CMAKE = shutil.which("cmake", path=PATH)
needs_cmake = pytest.mark.skipif(CMAKE is None, reason="cmake is not installed (pip install cmake)")
SCONSTRUCT = f"""\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.Tool("neuralart", toolpath=[{str(REPO / "site_scons")!r}])
project = env.NeuralArtProject("variants.yaml")
project.check_targets(BUILD_TARGETS)
project.build(COMMAND_LINE_TARGETS)
"""
VARIANTS = """\
schema: 1
default: [mk, own]
defaults:
  variant: {board: stm32n6570-dk}
networks:
  net:
    model: net.tflite
    compiler: {stedgeai: "4.0.*"}
    profile: blobs@na.json
  digits: {model: digits.tflite}
variants:
  mk:
    network: net
    machine: silicon
    application:
      make:
        folder: ../my app
        directory: gcc
        artefact: build/firmware.elf
        variables: {EXTRA: "-DTOP=$(TOP)"}
        stage: {"net*.*": Model/}
  cm:
    network: net
    machine: silicon
    application:
      cmake: {folder: ../my cmake app, toolchain_file: arm.cmake, artefact: product.elf}
  rt:
    network: net
    machine: silicon
    application:
      sources:
        files: ["../my app/Src/*.c"]
        include_dirs: ["../my app/Src"]
        linker_script: ../my app/app.ld
        runtime: ../my app
  own:
    network: digits
    application:
      sources:
        files: ["../own/**/*", "!../own/left/not*"]
        include_dirs: [../own]
        defines: [FROM_THE_PROJECT=5]
        linker_script: ../own/app.ld
        libraries: [m]
  done:
    network: net
    machine: silicon
    application: {elf: ../my app/linked.elf}
"""
ALL = ("mk", "rt", "own", "done", *(["cm"] if CMAKE else []))
# What follows a new program, whoever linked it.
AFTER = {"CHECK", "OBJCOPY", "IMAGE", "PLAN", "SUMMARY"}
APP, CM, OWN = "../my app", "../my cmake app", "../own"


@dataclass(frozen=True)
class Place(VendorProject):
    """A project beside the applications of its variants."""

    def run(self, *args: str, code: int | None = 0, env: dict[str, str] | None = None, timeout: float = 300) -> Result:
        return super().run(*args, code=code, env={"PATH": PATH, **(env or {})}, timeout=timeout)

    def said(self, *args: str, env: dict[str, str] | None = None) -> str:
        """Our one line of a failure, behind what compilers say; SCons adds where it was, or what is not made."""
        failed = self.run(*args, code=2, env=env)
        lines = [line for line in failed.errors if ": note: " not in line]
        ours = [line for line in lines if not re.match(r'scons: \*\*\* \[[^]]+\] Error \d+$|File ".*SConstruct"', line)]
        if ours[-1].endswith("application/log.txt)"):
            ours = ours[-1:]
        assert len(ours) == 1 and lines[-2:].count(ours[0]) == 1, failed.err
        return ours[0]

    def users(self) -> dict[str, str]:
        """Hashes of all files of the user's trees, with their times."""
        return {
            path.relative_to(self.root.parent).as_posix(): f"{_hash(path)} {path.stat().st_mtime_ns}"
            for name in ("my app", "my cmake app", "own")
            for path in sorted(self.root.parent.joinpath(name).rglob("*"))
            if path.is_file()
        }

    def compiled(self, name: str = "mk") -> list[str]:
        """Sources that the last build of make compiled."""
        log = self.path(f"build/{name}/application/log.txt").read_text("utf-8")
        return sorted(Path(line.split()[-1]).name for line in log.splitlines() if " -c " in line)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make(folder: Path, core: Path) -> Place:
    """Nothing is built; ``linked.elf`` is not there yet."""
    root = stedgeai_case.make(folder / "a project")
    shutil.copy(REPO / "models/digits/digits.tflite", root)
    (root / "SConstruct").write_text(SCONSTRUCT, "utf-8")
    (root / "variants.yaml").write_text(VARIANTS, "utf-8")
    runtime = application(folder / "my app", "make") / "Middlewares/ST/AI/Npu/ll_aton"
    # Of a real runtime the C is compiled, too, but for what is for others.
    (runtime / "ll_aton_runtime.c").write_text(
        '#include "ll_aton.h"\n#if LL_ATON_OSAL != LL_ATON_OSAL_BARE_METAL || !__ARM_FEATURE_MVE\n#error not as it is\n'
        "#endif\nint aton_runtime;\n"
    )
    (runtime / "ll_aton_osal_freertos.c").write_text("#error another one\n")
    application(folder / "my cmake app", "cmake")
    shutil.copytree(HERE / "own", folder / "own")
    (folder / "own/left/not_this.c").write_text("#error not this one\n")
    return Place(root, core)


def copy(place: Place, folder: Path) -> Place:
    shutil.copytree(place.root.parent, folder, symlinks=True)
    return Place(folder / place.root.name, place.core)


def build(place: Place) -> None:
    place.run("mk")
    shutil.copy(place.path("build/mk/firmware.elf"), place.path(f"{APP}/linked.elf"))
    place.run("-j2", *ALL)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """All variants, built once."""
    folder = tmp_path_factory.mktemp("applications")
    place = make(folder / "w", install(folder / "st"))
    before = place.users()
    build(place)
    after = place.users()
    assert after.pop("my app/linked.elf")
    assert after == before, "the user's trees are never written"
    return place


@pytest.fixture
def built(template: Place, tmp_path: Path) -> Place:
    """All of it to change."""
    return copy(template, tmp_path / "w")


def symbols(place: Place, name: str) -> dict[str, int]:
    path = place.path(f"build/{name}/firmware.elf")
    facts = elf_facts.read(path, path.read_bytes())
    return {**facts.symbols, **{function: start for start, _, function in facts.functions}}


def only(place: Place, *names: str) -> None:
    """Leave away the variants that a test is not about."""
    head, _, rest = VARIANTS.partition("variants:\n")
    parts = re.findall(r"  \w+:\n(?:    .*\n)+", rest)
    kept = "".join(part for part in parts if part.split(":")[0].strip() in names)
    head = head.replace("default: [mk, own]", f"default: [{', '.join(names)}]")
    place.path("variants.yaml").write_text(f"{head}variants:\n{kept}", "utf-8")


# ---- from model to image


@pytest.mark.parametrize("name", ["mk", "rt", "own", "done", pytest.param("cm", marks=needs_cmake)])
def test_from_model_to_flash_plan(template: Place, name: str) -> None:
    network = "digits" if name == "own" else "net"
    assert symbols(template, name)[f"LL_ATON_EpochBlockItems_{network}"] & ~1 >= 0x3400_0400
    plan = json.loads(template.path(f"build/{name}/flash_plan.json").read_text("utf-8"))
    reader = "npu_memory_check_descriptor" in symbols(template, name)
    assert reader or name in ("mk", "cm", "rt", "done"), "what calls npu_memory_init() reads the descriptor"
    assert [write["kind"] for write in plan["writes"]] == ["application", "model", *["descriptor"] * reader]
    for write in plan["writes"]:
        data = template.path(write["file"]).read_bytes()
        assert (write["bytes"], write["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    index = json.loads(template.path(f"build/{name}/index.json").read_text("utf-8"))
    assert all(template.path(each).is_file() for each in index["artefacts"])
    assert f"build/{name}/firmware.elf" in index["artefacts"]
    # The slot holds the program behind its header.
    image, program = (template.path(f"build/{name}/{each}.bin").read_bytes() for each in ("application", "firmware"))
    assert program in image


def test_nothing_changed(built: Place, tmp_path: Path) -> None:
    built.up_to_date(*ALL)
    copy(built, tmp_path / "moved" / "deep").up_to_date(*ALL)
    for path in built.path(APP).rglob("*"):
        os.utime(path)
    built.up_to_date("mk", "rt")


def test_two_places_give_equal_bytes(template: Place, tmp_path: Path) -> None:
    """Neither the folder of the project nor that of the user's sources is in the programs."""
    other = copy(template, tmp_path / "somewhere else" / "w")
    # All but the reference's runtime, of which tests/build/steps/test_incremental.py holds the same.
    for path in other.path("build").iterdir():
        if path.name != "firmware":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with compile_answers.off():
        build(other)
    for name in ALL:
        below = f"build/{name}"
        ours, theirs = template.files(below), other.files(below)
        # The map says where the library was that lies outside the project.
        no = ("/application/", "rt/firmware.map")
        ours, theirs = ({k: v for k, v in all_.items() if not any(n in k for n in no)} for all_ in (ours, theirs))
        assert sorted(ours) == sorted(theirs)
        # So is its hash another one.
        for files in (ours, theirs):
            files[f"{below}/made.sha256"] = re.sub(rb"(?m)^\w+(?=  firmware\.map$)", b"", files[f"{below}/made.sha256"])
        assert [key for key in ours if ours[key] != theirs[key]] == []
        assert not any(str(template.root.parent).encode() in data for data in ours.values())


def test_languages_and_equal_names(template: Place) -> None:
    objects = {path.name for path in template.path("build/own/obj").iterdir()}
    assert {"main.o", "low.o", "more.o", "side.o", "side.2.o"} <= objects
    assert "not_this.o" not in objects
    found = symbols(template, "own")
    assert {"low", "more", "left", "right"} <= found.keys()


def test_clean(built: Place) -> None:
    built.run("-c", *ALL)
    assert not built.path("build").exists(), built.files("build")
    assert built.path(f"{APP}/linked.elf").is_file()


# ---- what a change builds again


def test_a_source_of_the_user(built: Place) -> None:
    built.edit(f"{APP}/Src/main.c", "int main(void) {", "int main(void) {\n  level++;")
    before = built.users()
    result = built.run("mk")
    assert result.tags <= {"MAKE", *AFTER} and "MAKE" in result.tags, result.commands
    assert built.compiled() == ["main.c"]
    result = built.run("rt")
    assert [each for each in result.commands if each[0] == "CC"] == [("CC", "build/rt/obj/main.o")]
    assert result.tags <= {"CC", "LINK", *AFTER}
    assert built.users() == before
    built.up_to_date("mk", "rt")


def test_a_source_that_the_last_build_did_not_read(built: Place) -> None:
    """What is known by its times is not opened; a change of it after that build is noticed all the same."""
    old = time.time() - 60  # young files are always read
    for path in built.path(APP).rglob("*"):
        os.utime(path, (old, old))
    built.edit(f"{APP}/Src/settings.h", "LEVEL 1", "LEVEL 2")
    built.run("mk")
    built.edit(f"{APP}/Src/settings.h", "LEVEL 2", "LEVEL 3")
    built.run("mk")
    built.up_to_date("mk")
    built.edit(f"{APP}/Src/main.c", "int main(void) {", "int main(void) {\n  level++;")
    assert "MAKE" in built.run("mk").tags


def test_a_remark_in_a_source_stops_at_the_program(built: Place) -> None:
    built.edit(f"{APP}/Src/settings.h", "#ifndef", "/* a remark */\n#ifndef")
    assert built.run("mk").tags == {"MAKE"}
    assert built.compiled() == ["main.c"]


def test_new_weights(built: Place) -> None:
    """make is asked and has nothing to do; nothing is compiled and no program is new."""
    before = {name: built.path(f"build/{name}/application.bin").read_bytes() for name in ALL}
    new_weights(built.path("net.tflite"))
    result = built.run(*ALL)
    assert {"NETWORK", "MAKE", "IMAGE", "PLAN"} <= result.tags
    assert not result.tags & {"CC", "CXX", "AS", "LINK", "CHECK", "OBJCOPY", "VERSIONS"}, result.commands
    assert built.compiled() == []
    assert before == {name: built.path(f"build/{name}/application.bin").read_bytes() for name in ALL}
    data = built.path("build/rt/net.xSPI2.bin").read_bytes()
    assert hashlib.sha256(data).hexdigest() in built.path("build/rt/flash_plan.json").read_text("utf-8")
    built.up_to_date(*ALL)


def test_files_that_come_and_go(built: Place) -> None:
    before = built.path("build/own/firmware.elf").read_bytes()
    built.path(f"{OWN}/right/more.c").write_text(
        "int right(void);\nint (*kept)(void) = right;\nint new = 8;\n", "utf-8"
    )
    built.path(f"{APP}/Src/unused.h").write_text("\n", "utf-8")
    result = built.run("own", "mk")
    assert ("LINK", "build/own/firmware.elf") in result.commands
    assert [path.name for path in built.path("build/own/obj").glob("more*")] != ["more.o"]
    assert "MAKE" in result.tags
    built.path(f"{OWN}/right/more.c").unlink()
    built.path(f"{APP}/Src/unused.h").unlink()
    built.run("own", "mk")
    assert built.path("build/own/firmware.elf").read_bytes() == before
    built.up_to_date("own", "mk")
    built.path(f"{OWN}/right/side.c").unlink()
    assert "nothing defines 'right', which main uses" in built.run("own", code=2).err


@pytest.mark.parametrize(
    ("name", "old", "new", "tags", "objects"),
    [
        (f"{OWN}/settings.h", "LEVEL 1", "LEVEL 2", {"CC", "AS", "LINK"}, {"main.o", "low.o"}),
        (f"{OWN}/more.cpp", "<2>", "<7>", {"CXX", "LINK"}, {"more.o"}),
        (f"{OWN}/app.ld", "512K", "500K", {"LINK"}, set()),
        ("variants.yaml", "[m]", "[]", {"LINK"}, set()),
        ("variants.yaml", "PROJECT=5", "PROJECT=6", {"CC", "CXX", "AS", "LINK"}, None),
    ],
)
def test_what_a_change_of_sources_compiles(
    built: Place, name: str, old: str, new: str, tags: set[str], objects: set[str] | None
) -> None:
    built.edit(name, old, new)
    result = built.run("own")
    assert result.tags - AFTER == tags, result.commands
    made = {Path(target).name for tag, target in result.commands if tag in ("CC", "AS", "CXX")}
    assert objects is None or made == objects
    built.up_to_date("own")


def test_variables_are_make_s_own_words(built: Place) -> None:
    assert "'EXTRA=-DTOP=$(TOP)'" in built.path("build/mk/application/log.txt").read_text("utf-8")
    built.edit("variants.yaml", "-DTOP=$(TOP)", "-DTOP=$(TOP)/x")
    assert "MAKE" in built.run("mk").tags, "what is behind the bracket counts"
    assert built.compiled() == ["main.c", "net.c", "startup.c"], "make itself does not look at variables"
    built.edit("variants.yaml", "-DTOP=$(TOP)/x", "$) -DTOP=$(TOP")
    assert "variables.EXTRA: '$) -DTOP=$(TOP': make takes only $(NAME)" in built.said("mk")


def test_a_program_that_somebody_linked(built: Place) -> None:
    built.edit(f"{APP}/Src/settings.h", "LEVEL 1", "LEVEL 9")
    built.run("mk")
    shutil.copy(built.path("build/mk/firmware.elf"), built.path(f"{APP}/linked.elf"))
    result = built.run("done")
    assert ("IMAGE", "build/done/application.bin") in result.commands
    assert built.path("build/done/firmware.elf").read_bytes() == built.path("build/mk/firmware.elf").read_bytes()
    built.path(f"{APP}/linked.elf").write_bytes(b"no program")
    assert built.said("done").startswith(
        "neuralart application: error: variants.yaml:48: ../my app/linked.elf is no ELF"
    )
    assert not built.path("build/done/firmware.elf").exists()
    built.path(f"{APP}/linked.elf").unlink()
    assert "linked.elf" in built.said("done")


# ---- what fails


def test_a_make_that_fails(built: Place) -> None:
    before = {name: data for name, data in built.files("build/mk").items() if "/application/" not in name}
    built.edit(f"{APP}/Src/main.c", "for (;;)", "fro (;;)")
    line = built.said("mk")
    assert line.startswith("neuralart application: error: ../my app/Src/main.c:")
    assert "  14 |   fro (;;) {\n" in built.run("mk", code=2).err, "with the source"
    assert "make ended with status 2: " in line and line.endswith("log: build/mk/application/log.txt)")
    left = {name: data for name, data in built.files("build/mk").items() if "/application/" not in name}
    assert before.keys() - left.keys() == {"build/mk/firmware.elf"}, "nothing takes the program of before for a new one"
    listed = "build/mk/made.sha256"
    gone = set(before[listed].splitlines()) - set(left[listed].splitlines())
    assert [row.split()[1] for row in gone] == [b"firmware.elf"], "nor is it a product any more"
    assert {**left, listed: b""} == {name: before[name] if name != listed else b"" for name in left}
    assert built.said("mk") == line, "asking again is no success"
    assert built.run("-q", "mk", code=None).code == 1
    # What does not need it is built with -k, and writing it to flash is refused.
    built.edit(f"{OWN}/settings.h", "LEVEL 1", "LEVEL 3")
    failed = built.run("-k", "mk", "own", code=2)
    assert ("LINK", "build/own/firmware.elf") in failed.commands and "PLAN" not in {
        tag for tag, target in failed.commands if "/mk/" in target
    }
    built.edit(f"{APP}/Src/main.c", "fro (;;)", "for (;;)")
    assert built.run("mk").tags == {"MAKE"}
    assert {name: built.path(name).read_bytes() for name in before} == before


def test_a_program_that_is_not_made(built: Place) -> None:
    built.edit("variants.yaml", "artefact: build/firmware.elf", "artefact: build/firmware.axf")
    built.edit(f"{APP}/Src/settings.h", "LEVEL 1", "LEVEL 4")
    line = built.said("mk")
    assert line.startswith(
        "neuralart application: error: variants.yaml:19: the build ended without an error and there is"
    )
    assert "it made build/firmware.elf" in line
    assert not built.path("build/mk/firmware.elf").exists()
    built.edit("variants.yaml", "artefact: build/firmware.axf", "target: nothing, artefact: build/firmware.elf")
    built.edit("variants.yaml", "target: nothing, ", "target: nothing\n        ")
    shutil.rmtree(built.path("build/mk/application"))
    assert "there is no build/firmware.elf" in built.said("mk")
    assert not built.path("build/mk/firmware.elf").exists()


@needs_cmake
def test_a_cmake_build(built: Place) -> None:
    before = built.path("build/cm/firmware.elf").read_bytes()
    built.edit(f"{CM}/src/main.c", "for (;;)", "fro (;;)")
    users = built.users()
    assert built.said("cm").startswith("neuralart application: error: ../my cmake app/src/main.c:")
    assert not built.path("build/cm/firmware.elf").exists()
    assert built.users() == users
    built.edit(f"{CM}/src/main.c", "fro (;;)", "for (;;)")
    built.run("cm")
    assert built.path("build/cm/firmware.elf").read_bytes() == before


def test_another_runtime(built: Place) -> None:
    """Refused before anything is compiled, with both places; in the copy of the tree and where SCons compiles."""
    shutil.rmtree(built.path(f"{APP}/Middlewares"))
    middlewares.add(built.path(APP), "3.0.0")
    log = built.path("build/mk/application/log.txt").read_bytes()
    line = built.said("mk")
    c = next(built.path("build/networks").glob("net-*")).relative_to(built.root) / "net.c"
    assert line.startswith(f"neuralart application: error: {c.as_posix()}:")
    assert "network net is made for runtime 1.1.3.275 (ST Edge AI Core 4.0.1), the application has 1.1.3.8" in line
    assert "at ../my app/Middlewares/ST/AI/Npu/ll_aton/ll_aton_version.h:2" in line
    assert built.path("build/mk/application/log.txt").read_bytes() == log, "nothing ran"
    assert not built.path("build/mk/firmware.elf").exists()
    for _ in range(2):
        failed = built.run("rt", code=2)
        assert failed.tags <= {"VERSIONS"}, failed.commands
        (line,) = failed.errors
        assert line.startswith(f"scons: *** [build/rt/versions.txt] {c.as_posix()}:")
        assert "the application has 1.1.3.8 (ST Edge AI Core 3.0.0) at " in line
        assert "my app/Middlewares/ST/AI/Npu/ll_aton/ll_aton_version.h:2" in line
    shutil.rmtree(built.path("build/rt"))
    assert built.run("rt", code=2).tags <= {"VERSIONS", "MEMORY", "SOURCES"}
    assert not built.path("build/rt/obj").exists()


def test_a_library_for_another_c_library(built: Place) -> None:
    """Also if only the user's word on the C library is new."""
    found = toolchain.find(ToolchainConfig(), os.environ)
    symbol, wants = ("_impure_ptr", "newlib") if found.libc == "picolibc" else ("errno", "picolibc")
    folder = built.path(f"{APP}/Middlewares/ST/AI/Lib/GCC/ARMCortexM55")
    (library,) = folder.glob("*.a")
    source = folder / "x.c"
    source.write_text(f"extern int {symbol};\nint kernel(void) {{ return {symbol}; }}\n", "utf-8")
    tools = f"{found.folder}/{found.prefix}"
    flags = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-c"]
    subprocess.run([f"{tools}gcc", *flags, str(source), "-o", str(folder / "x.o")], check=True)
    library.unlink()
    subprocess.run([f"{tools}ar", "rc", str(library), str(folder / "x.o")], check=True)
    failed = built.run("rt", code=2)
    assert failed.tags == {"VERSIONS"}
    assert f"is compiled for {wants} (x.o needs {symbol})" in failed.errors[0]
    assert f"toolchain: {{libc: {wants}}}" in failed.errors[0]


def test_a_library_of_the_user_s_own(built: Place) -> None:
    built.edit("variants.yaml", "libraries: [m]", "libraries: [../own/none.a]")
    line = built.said("own")
    assert line.startswith("scons: *** variants.yaml:") and "own/none.a" in line


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("        runtime: ../my app\n", "", "network net needs runtime ll_aton, and the application names none"),
        ("        runtime: ../my app\n", "        runtime: ../own\n", "has no Npu/ll_aton/ll_aton_version.h"),
        (
            "        linker_script: ../my app/app.ld\n",
            "",
            "a program with the vendor's runtime needs a linker script of its own",
        ),
        ("../my app/Src/*.c", "../my app/Source/*.c", "fits no file that can be compiled"),
        ('["../my app/Src"]', '["../my app/Scr"]', "no folder "),
    ],
)
def test_what_does_not_go_together(template: Place, tmp_path: Path, old: str, new: str, said: str) -> None:
    place = make(tmp_path / "w", template.core)
    place.edit("variants.yaml", old, new)
    line = place.said("rt")
    assert re.match(r"scons: \*\*\* variants\.yaml:\d+: ", line) and said in line
    assert not place.path("build/networks").exists(), "nothing was started"


def test_no_tree(built: Place) -> None:
    shutil.rmtree(built.path(APP))
    line = built.said("mk")
    assert line.startswith("scons: *** variants.yaml:17: ") and "my app" in line


def test_nothing_here_runs_them(built: Place) -> None:
    line = built.said("run-mk")
    assert (
        "run-mk: network net is made for runtime ll_aton, which is not executed here (a variant of this network with "
        in line
    )
    assert "BOOT     mk on " in built.run("-n", "boot-mk").out, "a real board is its own business"
    for verb in ("run", "boot"):
        line = built.said(f"{verb}-own")
        assert f"{verb}-own: its application starts by itself, on hardware that no virtual board has" in line
    # A real board would start it.
    assert "runner cubeprogrammer: no STM32_Programmer_CLI: " in built.said("boot-mk")
    assert "application: " in built.run("flash-own").out


def test_without_the_tool_nothing_is_half_built(template: Place, tmp_path: Path) -> None:
    place = make(tmp_path / "w", template.core)
    line = place.said("mk", "rt", env={"STEDGEAI_CORE_DIR": ""})
    assert line.startswith("scons: *** variants.yaml:8: no ST Edge AI Core 4.0.* found; looked at STEDGEAI_CORE_DIR: ")
    assert "not set; PATH: none; " in line and "nowhere: none (install it, or " in line
    assert place.files("build") == {}
    # What needs no such tool is built.
    only(place, "own")
    place.run("own", "-n", env={"STEDGEAI_CORE_DIR": ""})


def test_the_boards_linker_script(built: Place) -> None:
    """Without one of the user's own the program goes where the board's images go."""
    only(built, "own")
    built.edit("variants.yaml", "        linker_script: ../own/app.ld\n", "")
    built.edit(f"{OWN}/main.c", "void Reset_Handler(void) {", _START)
    built.edit(f"{OWN}/main.c", "&__bss_start; word != &__bss_end", "&__bss_start; word < &__bss_end")
    assert "LINK" in built.run().tags
    found = symbols(built, "own")
    assert found["reset_handler"] & ~1 >= 0x3400_0400
    assert "__stack_top" in found
    assert "undefined" not in built.run("-n").err


_START = """\
void reset_handler(void);
extern unsigned __stack_top;
__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {&__stack_top, (void *)reset_handler};

void reset_handler(void) {"""


def test_what_a_linker_script_includes(built: Place) -> None:
    """From the top folder on, and what that includes."""
    script = built.path(f"{OWN}/app.ld")
    script.write_text(f"INCLUDE one.ld\n{script.read_text()}")
    built.path("one.ld").write_text('INCLUDE "and two.ld"\n')
    for value in (1, 2):
        built.path("and two.ld").write_text(f"of_two = {value};\n")
        assert "LINK" in built.run("own").tags
        assert symbols(built, "own")["of_two"] == value


def test_what_a_source_takes_in_without_the_preprocessor(built: Place) -> None:
    """From the top folder on, then from the include path: by the assembler, in ``asm()``, and behind a macro."""
    built.path(f"{OWN}/blobs.s").write_text('.section .rodata.blobs\n.include "part.inc"\n')
    built.path("part.inc").write_text('.incbin "first.bin"\n')
    built.path(f"{OWN}/second.c").write_text('asm(".section .rodata.second\\n.incbin \\"second.bin\\"\\n.text");\n')
    macro = '#define INCBIN(file) asm(".section .rodata.third\\n.incbin \\"" file "\\"\\n.text")\n'
    built.path(f"{OWN}/third.c").write_text(f'{macro}INCBIN("data/third.bin");\n')
    blobs = {"first.bin": "blobs", f"{OWN}/second.bin": "second", "data/third.bin": "third"}
    built.path("data").mkdir()
    for blob in blobs:
        built.path(blob).write_text("as it was\n")
    built.run("own")
    for blob, name in blobs.items():
        built.path(blob).write_text("something else\n")
        assert built.run("own").commands >= {("AS" if name == "blobs" else "CC", f"build/own/obj/{name}.o")}, blob
        assert b"something else" in built.path(f"build/own/obj/{name}.o").read_bytes()
    built.up_to_date("own")
