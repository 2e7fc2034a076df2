"""Users' own applications: their make, CMake and STM32CubeIDE builds around a network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from neuralart import toolchain
from neuralart.config.types import ToolchainConfig
from neuralart.files import alone_with
from neuralart.memory.image import code_checks, elf_facts
from neuralart.resources import package_parent
from support.fake_apps import application, compile_again, generated, network
from support.fake_stedgeai import middlewares
from support.projects.repositories import cube_app
from support.servers.messages import flat

pytestmark = [
    pytest.mark.arm,
    pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script"),
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]
# Programs that pip has installed for this Python come last.
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
needs_cmake = pytest.mark.skipif(
    shutil.which("cmake", path=PATH) is None, reason="cmake is not installed (pip install cmake)"
)
MAKE = ("--with=make", "--folder=my app", "--directory=gcc", "--artefact=build/firmware.elf", "--stage=net*.*=Model/")
CMAKE = ("--with=cmake", "--folder=my app", "--artefact=product.elf", "--toolchain-file=arm.cmake")
CUBE = ("--with=cubeide", "--folder=my app", "--configuration=N6-DK", "--executable=ide/headless")


def compiler_folder() -> str:
    return toolchain.find(ToolchainConfig(), os.environ).folder


@dataclass
class Place:
    """A user's folder with an application and a compiled network."""

    root: Path
    base: tuple[str, ...]
    files: list[str] = field(default_factory=list)
    shown: str = ""

    def build(self, *words: str, code: int = 0, base: tuple[str, ...] = (), **environ: str) -> tuple[str, str]:
        command = [sys.executable, "-W", "error", "-m", "neuralart", "application", "build", *(base or self.base)]
        command += [*self.files, "--work=work", "--output=out/firmware.elf", f"--toolchain={compiler_folder()}", *words]
        env = {**os.environ, "PATH": PATH, "PYTHONPATH": str(package_parent()), **environ}
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, env=env)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout, done.stderr

    def refused(self, *words: str, base: tuple[str, ...] = (), **environ: str) -> str:
        """The one line of a failure; no program is left, whatever was there before."""
        out, err = self.build(*words, code=1, base=base, **environ)
        assert out == ""
        # In front of it is what the build printed about its errors.
        self.shown, _, line = err.rpartition("neuralart application: error: ")
        assert line and not self.elf.exists()
        return flat(line.rstrip("\n"))

    @property
    def elf(self) -> Path:
        return self.root / "out/firmware.elf"

    @property
    def app(self) -> Path:
        return self.root / "my app"

    @property
    def log(self) -> str:
        return (self.root / "work/log.txt").read_text()

    def compiled(self) -> list[str]:
        """Sources that the last build compiled."""
        lines = [line for line in self.log.splitlines() if " -c " in line]
        return sorted(Path(line.split()[-1]).name for line in lines)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.app / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def user_files(self) -> dict[str, tuple[bytes, int]]:
        return {
            p.relative_to(self.app).as_posix(): (p.read_bytes(), p.stat().st_mtime_ns)
            for p in self.app.rglob("*")
            if p.is_file()
        }


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One compile for all tests that do not change it."""
    folder = tmp_path_factory.mktemp("net")
    network(folder)
    return folder


def make_place(tmp_path: Path, net: Path, base: tuple[str, ...], kind: str) -> Place:
    root = tmp_path / "w"
    shutil.copytree(net, root / "net")
    application(root / "my app", kind)
    return Place(root, base, generated(root / "net/model/out"))


@pytest.fixture
def place(tmp_path: Path, net: Path) -> Place:
    return make_place(tmp_path, net, MAKE, "make")


@pytest.fixture(scope="module")
def once_built(tmp_path_factory: pytest.TempPathFactory, net: Path) -> Place:
    place = make_place(tmp_path_factory.mktemp("built"), net, MAKE, "make")
    place.build()
    return place


@pytest.fixture
def built(once_built: Place, tmp_path: Path) -> Place:
    """The same after its first build, in another folder."""
    root = tmp_path / "w"
    shutil.copytree(once_built.root, root, symlinks=True)
    return Place(root, MAKE, generated(root / "net/model/out"))


def symbols(elf: Path) -> dict[str, int]:
    facts = elf_facts.read(elf, elf.read_bytes())
    return {**facts.symbols, **{name: start for start, _, name in facts.functions}}


# make -----------------------------------------------------------------------------------------------------------


def test_make_from_a_model_to_a_program(place: Place) -> None:
    before = place.user_files()
    out, _ = place.build()
    assert out.startswith("out/firmware.elf: ")
    found = symbols(place.elf)
    assert found["LL_ATON_EpochBlockItems_net"] >= 0x34000400
    assert place.compiled() == ["main.c", "net.c", "startup.c"]
    assert place.user_files() == before, "the user's tree is never edited"
    tree = place.root / "work/tree"
    assert (tree / "Model/net.c").read_bytes() == (place.root / "net/model/out/net.c").read_bytes()
    assert (tree / "Model/net_atonbuf.xSPI2.raw").is_file()
    assert (tree / "neuralart/net/stai_net.c").is_file(), "what no rule is about has a folder for its network"


def test_make_stays_incremental(built: Place) -> None:
    first = built.elf.read_bytes()
    built.build()
    assert built.compiled() == []
    assert built.elf.read_bytes() == first
    built.edit("Src/settings.h", "LEVEL 1", "LEVEL 2")
    built.build()
    assert built.compiled() == ["main.c"]
    assert built.elf.read_bytes() != first
    built.edit("Src/settings.h", "LEVEL 2", "LEVEL 1")
    built.build("--variable=EXTRA=-DLEVEL=1")
    assert built.elf.read_bytes() == first, "equal inputs, equal bytes"
    assert len(built.compiled()) == 3, "make does not look at variables"
    # A new time alone is nothing new.
    for path in built.app.rglob("*.c"):
        os.utime(path)
    built.build("--variable=EXTRA=-DLEVEL=1", "--target=all", "--jobs=2")
    assert built.compiled() == []
    built.build("--variable=EXTRA=-DLEVEL=1", "--made-with=another gcc in the same place")
    assert len(built.compiled()) == 3


def test_a_new_network_compiles_that_alone(built: Place) -> None:
    model = built.root / "net/model/net.tflite"
    model.write_bytes(model.read_bytes() + bytes(4096))
    built.files = compile_again(built.root / "net/model", built.root / "net/st")
    built.build()
    assert built.compiled() in ([], ["net.c"])
    path = built.root / "net/model/out/net.c"
    path.write_text(path.read_text() + "int another_one;\n")
    built.build()
    assert built.compiled() == ["net.c"]


def test_blobs_that_the_network_does_not_have_any_more(tmp_path: Path) -> None:
    """With the epoch controller and then without: the old header is not left for the application to include."""
    root = tmp_path / "w"
    place = Place(root, MAKE, network(root / "net", profile="blobs"))
    application(root / "my app", "make")
    place.build()
    assert (root / "work/tree/Model/net_ecblobs.h").is_file()
    place.files = compile_again(root / "net/model", root / "net/st", "default")
    place.build()
    assert not (root / "work/tree/Model/net_ecblobs.h").exists()
    # One that the user committed beside a network of their own is of another compile, too.
    (place.app / "Model").mkdir()
    (place.app / "Model/net_ecblobs.h").write_text("/* old */\n")
    (place.app / "Model/net.c").write_text("#error old\n")
    _, err = place.build()
    assert (
        "note: my app/Model/net_ecblobs.h is of another compile of the network that is put beside it: left out" in err
    )
    assert not (root / "work/tree/Model/net_ecblobs.h").exists()


def test_a_file_that_the_user_removed(place: Place) -> None:
    (place.app / "Src/extra.h").write_text("#define EXTRA 1\n")
    place.build()
    (place.app / "Src/extra.h").unlink()
    place.edit("Src/main.c", '#include "settings.h"', '#include "settings.h"\n#include "extra.h"')
    said = place.refused()
    assert said.startswith("my app/Src/main.c:4:10: make ended with status 2: extra.h: No such file or directory")


def test_variables_and_targets(place: Place) -> None:
    place.build("--target=all", "--variable=EXTRA=-DLEVEL=7 -g0")
    data = place.elf.read_bytes()
    assert "-DLEVEL=7 -g0" in place.log
    _, err = place.build("--variable=SOURCES=$(TOP)/Src/main.c $(TOP)/Src/startup.c $(TOP)/Model/net.c")
    assert "ignores" not in err
    place.edit("gcc/Makefile", "LIB :=", "EXTRA += -g\nLIB :=")
    _, err = place.build("--variable=EXTRA=-DLEVEL=7 -g0")
    assert "my app/gcc/Makefile:7: make ignores this addition to EXTRA, which is given on its command line" in err
    assert place.elf.stat().st_size == len(data)


def test_a_make_around_us_does_not_reach_the_one_below(place: Place) -> None:
    place.build(MAKEFLAGS="-n", MAKELEVEL="3", LC_ALL="C.UTF-8")
    assert place.elf.is_file()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("Src/main.c", "for (;;)", "fro (;;)", "my app/Src/main.c:"),
        (
            "Src/settings.h",
            "#define LEVEL 1",
            '#error "no level"',
            'my app/Src/settings.h:2:2: make ended with status 2: #error "no level"',
        ),
        ("Src/startup.c", "main();", "mian();", "implicit declaration"),
        ("gcc/Makefile", "Src/startup.c", "Src/started.c", "No rule to make target 'build/Src/started.o'"),
        ("gcc/Makefile", "-l:$(LIB)", "-l:libnone.a", "cannot find -l:libnone.a"),
        ("gcc/Makefile", "all: build/firmware.elf", "all build/firmware.elf", "my app/gcc/Makefile:"),
        ("gcc/Makefile", "CC := arm-none-eabi-gcc", "CC := arm-none-eabi-none", "arm-none-eabi-none: No such file"),
        ("app.ld", "LENGTH = 1023K", "LENGTH = 16", "overflowed by"),
        (
            "Src/main.c",
            "LL_ATON_EpochBlockItems_net",
            "LL_ATON_EpochBlockItems_Default",
            "undefined reference to `LL_ATON_EpochBlockItems_Default'",
        ),
    ],
)
def test_a_build_that_fails(built: Place, file: str, old: str, new: str, said: str) -> None:
    built.edit("gcc/Makefile", "-O1", "-O1 -Werror=implicit-function-declaration")
    built.edit(file, old, new)
    line = built.refused()
    assert said in line
    assert "log: work/log.txt" in line
    assert "status 2" in line
    if file.endswith((".c", ".h")):
        compiled = re.search(rf"^my app/{file}:\d+:\d+: error: .*\n +\d+ \| .*\n +\| .*\^", built.shown, re.M)
        assert compiled or ": undefined reference to " in built.shown, "the line of the source, and its caret"
    built.edit(file, new, old)
    built.build()


def test_an_error_in_generated_c_names_the_generated_file(place: Place) -> None:
    path = place.root / "net/model/out/net.c"
    path.write_text(path.read_text() + "#error mine\n")
    assert place.refused().startswith(f"{path.as_posix()}:")


def test_no_program(place: Place) -> None:
    assert place.refused("--target=nothing").startswith(
        "application.make.artefact: the build ended without an error and there is no build/firmware.elf (does the "
    )
    said = place.refused("--target=other", "--place=artefact=variants.yaml:9")
    assert said.startswith("variants.yaml:9: ")
    assert "it made build/product.elf (artefact: build/product.elf; log: work/log.txt)" in said


def test_a_program_of_before(built: Place) -> None:
    """make ends well and the program is that of the network before: the target does not link it."""
    path = built.root / "net/model/out/net.c"
    path.write_text(path.read_text() + "int another_one;\n")
    said = built.refused("--target=nothing")
    assert "did not make build/firmware.elf again, which is older than net.c of network net" in said
    built.refused("--target=nothing")
    built.build()


def test_a_program_that_the_user_committed(built: Place) -> None:
    committed = built.app / "Binary/firmware.elf"
    committed.parent.mkdir()
    shutil.copy(built.elf, committed)
    said = built.refused("--target=nothing", base=(*MAKE[:3], "--artefact=../x.elf", *MAKE[4:]))
    assert "'../x.elf' leads out of the folder" in said
    shutil.rmtree(built.root / "work")
    base = (*MAKE[:2], "--artefact=Binary/firmware.elf", "--stage=net*.*=Model/")
    (built.app / "Makefile").write_text("nothing:\n\t@true\n")
    assert "did not make Binary/firmware.elf again" in built.refused(base=base)


@pytest.mark.hostcc
def test_a_program_for_another_machine(place: Place) -> None:
    place.edit(
        "gcc/Makefile",
        "CC := arm-none-eabi-gcc",
        "CC := cc\nall: host\nhost:\n\t@mkdir -p build; cp /bin/true build/firmware.elf\nX :=",
    )
    said = place.refused("--target=host")
    assert "build/firmware.elf: EM_" in said
    assert "not for a 32-bit little-endian Arm core (was it built by the host's compiler?)" in said


def test_a_binary_instead_of_the_program(place: Place) -> None:
    place.edit(
        "gcc/Makefile",
        "nothing:",
        "flat: all\n\tarm-none-eabi-objcopy -O ihex build/firmware.elf build/x.elf\nnothing:",
    )
    said = place.refused("--target=flat", base=(*MAKE[:3], "--artefact=build/x.elf", *MAKE[4:]))
    assert "build/x.elf is no ELF file: it begins with 3a 30 32 30" in said


@pytest.mark.parametrize("version", ["2.2.0", "3.0.0", "4.0.0"])
def test_another_runtime_is_refused_before_anything_is_compiled(tmp_path: Path, net: Path, version: str) -> None:
    place = make_place(tmp_path, net, MAKE, "make")
    shutil.rmtree(place.app / "Middlewares")
    middlewares.add(place.app, version)
    said = place.refused()
    assert "network net is made for runtime 1.1.3.275 (ST Edge AI Core 4.0.1), the application has" in said
    assert f"(ST Edge AI Core {version}) at my app/Middlewares/ST/AI/Npu/ll_aton/ll_aton_version.h:2" in said
    assert "net/model/out/net.c:" in said
    assert not (place.root / "work/tree").exists(), "nothing was copied, nothing was run"
    assert not (place.root / "work/log.txt").exists()


def test_another_library_is_refused(place: Place) -> None:
    place.edit("gcc/Makefile", "NetworkRuntime1200", "NetworkRuntime1100")
    said = place.refused()
    assert said.startswith("my app/gcc/Makefile:7: network net is made by ST Edge AI Core 4.0.1 (")
    assert "the library is NetworkRuntime1100_CM55_GCC.a (ST Edge AI Core 3.0.0)" in said


def test_every_version_builds_with_its_own_runtime(tmp_path: Path) -> None:
    for version, library in (("2.0.0", "1000"), ("2.2.0", "1020"), ("3.0.0", "1100"), ("4.0.0", "1200")):
        root = tmp_path / version
        application(root / "my app", "make", version)
        place = Place(root, MAKE, network(root / "net", version))
        place.edit("gcc/Makefile", "NetworkRuntime1200", f"NetworkRuntime{library}")
        _, err = place.build()
        assert err == ""


# CMake ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def cmake(tmp_path: Path, net: Path) -> Place:
    return make_place(tmp_path, net, CMAKE, "cmake")


@needs_cmake
def test_cmake_from_a_model_to_a_program(cmake: Place) -> None:
    before = cmake.user_files()
    cmake.build()
    first = cmake.elf.read_bytes()
    assert "LL_ATON_EpochBlockItems_net" in symbols(cmake.elf)
    assert cmake.user_files() == before
    cmake.build()
    assert "Building" not in cmake.log
    assert cmake.elf.read_bytes() == first
    cmake.edit("src/main.c", "for (;;)", "found = 0;\n  for (;;)")
    cmake.build()
    assert "main.c" in cmake.log and "net.c.o" not in cmake.log
    assert cmake.elf.read_bytes() != first
    cmake.build("--option=-DCMAKE_BUILD_TYPE=Release", "--target=product")
    assert "Check for working C compiler" in cmake.log, "other arguments, another build folder"


@needs_cmake
def test_a_new_network_is_a_new_file_for_cmake(cmake: Place) -> None:
    """The project globs; its configuration runs each time, so what is new is seen."""
    cmake.build()
    other = cmake.root / "net/other.c"
    other.write_text("int other_network;\n")
    cmake.build(f"--generated=other:{other}")
    assert "other.c" in cmake.log


@needs_cmake
def test_cmake_that_fails(cmake: Place) -> None:
    cmake.edit("CMakeLists.txt", "project(product C)", "project(product C)\ninclude(nothing.cmake)")
    said = cmake.refused()
    assert said.startswith("my app/CMakeLists.txt:3: cmake ended with status 1: include could not find")
    cmake.edit("CMakeLists.txt", "include(nothing.cmake)", "")
    cmake.edit("src/main.c", "found = ", "fuond = ")
    assert cmake.refused().startswith("my app/src/main.c:9:3: cmake ended with status ")
    cmake.edit("src/main.c", "fuond = ", "found = ")
    said = cmake.refused(base=(*CMAKE[:2], "--artefact=out/product.elf", CMAKE[3]))
    assert "there is no out/product.elf; it made product.elf (artefact: product.elf" in said
    assert "there is no none.cmake in my app" in cmake.refused(base=(*CMAKE[:3], "--toolchain-file=none.cmake"))
    cmake.build()


@needs_cmake
def test_cmake_for_this_machine(cmake: Place) -> None:
    """Without its toolchain file the project is configured for the host, whose compiler does not know the core."""
    cmake.edit("CMakeLists.txt", "-mcpu=cortex-m55 -mfloat-abi=hard -mthumb", "")
    line = cmake.refused(base=CMAKE[:3])
    assert "cmake ended with status" in line or "not for a 32-bit little-endian Arm core" in line


# STM32CubeIDE ---------------------------------------------------------------------------------------------------

HEADLESS = """\
#!/bin/sh
# Stands for STM32CubeIDE without its window: notes how it was called, makes what the project would.
root={root}
for word in "$@"; do printf '%s\\n' "$word"; done > "$root/argv.txt"
echo "Create."
{more}
while [ $# -gt 0 ]; do
  case "$1" in
  -import) project=$2; shift;;
  -build) name=${{2%%/*}}; configuration=${{2##*/}}; shift;;
  esac
  shift
done
cd "$project" || exit 3
mkdir -p "$configuration"
arm-none-eabi-gcc -mcpu=cortex-m55 -mthumb -mfloat-abi=hard -ffreestanding -IMiddlewares/ST/AI/Npu/ll_aton -nostdlib \\
  -Wl,-e,Reset_Handler -Wl,--defsym=_estack=0x30020000 -Wl,-Ttext=0x34000400 -o "$configuration/$name.elf" \\
  Core/main.c neuralart/net/net.c || {{ echo "Build Failed. 1 errors, 0 warnings."; exit {status}; }}
echo "Build Finished. 0 errors, 0 warnings."
"""


@pytest.fixture
def cube(tmp_path: Path, net: Path) -> Place:
    place = make_place(tmp_path, net, CUBE, "cube")
    headless(place)
    return place


def headless(place: Place, more: str = ":", status: int = 1) -> None:
    path = place.root / "ide/headless"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEADLESS.format(root=f"'{place.root}'", more=more, status=status))
    path.chmod(0o755)


def test_cubeide_without_its_window(cube: Place) -> None:
    (cube.app / "N6-DK").mkdir()
    (cube.app / "N6-DK/Doorbell.elf").write_bytes(b"of the user's own build")
    before = cube.user_files()
    cube.build()
    assert "LL_ATON_EpochBlockItems_net" in symbols(cube.elf)
    assert cube.user_files() == before
    work = cube.root / "work"
    assert (cube.root / "argv.txt").read_text().splitlines() == [
        *("--launcher.suppressErrors", "-nosplash"),
        *("-application", "org.eclipse.cdt.managedbuilder.core.headlessbuild"),
        *("-data", str(work / "workspace"), "-import", str(work / "tree"), "-build", "Doorbell/N6-DK"),
    ]
    (cube.root / "argv.txt").unlink()
    said = cube.refused("--configuration=Release")
    assert "project Doorbell has no configuration 'Release' (known: Debug, N6-DK)" in said
    assert not (cube.root / "argv.txt").exists()


@pytest.mark.parametrize("status", [0, 1])
def test_cubeide_that_fails(cube: Place, status: int) -> None:
    """Its exit status is not to be trusted: what it leaves decides, too."""
    headless(cube, status=status)
    cube.build()
    cube.edit("Core/main.c", "for (;;)", "fro (;;)")
    path = cube.root / "net/model/out/net.c"
    path.write_text(path.read_text() + "int another_one;\n")
    said = cube.refused()
    if status:
        assert said.startswith("my app/Core/main.c:")
        assert "headless ended with status 1: " in said
    else:
        assert "did not make N6-DK/Doorbell.elf again" in said


def test_cubeide_that_is_not_there(cube: Place) -> None:
    said = cube.refused("--executable=ide/none", "--place=executable=variants.yaml:8")
    assert said.startswith("variants.yaml:8: executable: no file ")
    assert "install STM32CubeIDE of ST" in said
    headless(cube, more="echo 'Error: Could not import project'; exit 9")
    assert "headless ended with status 9: Could not import project" in cube.refused()
    headless(cube, more="kill -9 $$")
    assert "headless was killed by signal 9: " in cube.refused()


# The rest -------------------------------------------------------------------------------------------------------


def test_it_works_in_a_tree_that_was_moved(built: Place, tmp_path: Path) -> None:
    first = built.elf.read_bytes()
    moved = tmp_path / "another place"
    built.root.rename(moved)
    other = Place(moved, MAKE, generated(moved / "net/model/out"))
    other.build()
    assert other.compiled() == []
    assert other.elf.read_bytes() == first


def test_the_folder_that_is_built_in_may_lie_in_the_application(tmp_path: Path, net: Path) -> None:
    root = tmp_path / "app"
    application(root, "make")
    place = Place(root, ("--with=make", "--folder=.", *MAKE[2:]), generated(net / "model/out"))
    for _ in range(2):
        place.build()
        record = json.loads((root / "work/overlay.json").read_text())
        assert not [name for name in record["files"] if name.startswith("work/")]


def test_two_at_once_do_not_mix(place: Place) -> None:
    (place.root / "work").mkdir()
    command = [sys.executable, "-c"]
    command += [
        "import neuralart.files as f; f.alone_with.__wrapped__.__defaults__ = (0.1,);"
        "from neuralart.cli import main; main()"
    ]
    words = ["application", "build", *MAKE, *place.files, "--work=work", "--output=out/firmware.elf"]
    env = {**os.environ, "PYTHONPATH": str(package_parent())}
    with alone_with(place.root / "work/overlay.json"):
        done = subprocess.run([*command, *words], cwd=place.root, capture_output=True, text=True, env=env)
    assert "another process has been changing it" in done.stderr
    assert not place.elf.exists()
    place.build()


NATIVE = ("--with=cubeide", "--folder=my app", "--directory=App/STM32CubeIDE", "--build=native", "--core=CM55")


def test_a_project_of_cubeide_without_cubeide(tmp_path: Path) -> None:
    """Its flags want newlib-nano, which is not installed everywhere: tolerate: does without."""
    cube_app(tmp_path / "my app")
    place = Place(
        tmp_path,
        (*NATIVE, "--tolerate=*-specs=nano.s*", "--tolerate=-lc", "--tolerate=-lm", "--tolerate=+-DADDED='x y'"),
    )

    def built() -> list[str]:
        return sorted(line.split()[2] for line in place.log.splitlines() if " -c " in line)

    before = place.user_files()
    _, err = place.build()
    assert "my app/App/STM32CubeIDE/.cproject: options of Core/main.c alone are not taken over" in err
    assert place.user_files() == before
    assert len(built()) == 6
    assert {"main", "one", "Reset_Handler"} <= symbols(place.elf).keys()
    said = code_checks.of_program(place.elf)
    assert said.startswith("gcc 1")
    assert said.endswith(", C library not told, Armv8.1-M mainline, hard float ABI, -Os")
    link_map = place.elf.parent / "application/link.map"
    link_map.parent.mkdir()
    assert "LOAD ../../../Library/libx.a" in (place.root / "work/link.map").read_text()
    for name, libc in (("/a/libc_nano.a", "newlib-nano"), ("/picolibc/x/libc.a", "picolibc"), ("/a/libc.a", "newlib")):
        link_map.write_text(f"LOAD x.o\nLOAD {name}\n{name}(lib_a-exit.o)\n")
        assert f", {libc}, Armv8.1" in code_checks.of_program(place.elf)
    first = place.elf.read_bytes()
    place.build()
    assert (built(), place.elf.read_bytes()) == ([], first)
    place.edit("App/STM32CubeIDE/Inc/settings.h", "LEVEL 1", "LEVEL 2")
    place.build()
    assert built() == ["../Core/main.c"], "a header builds what includes it"
    assert place.elf.read_bytes() != first
    place.edit("App/STM32CubeIDE/.cproject", "-Wextra", "-DWIDE")
    place.build()
    assert len(built()) == 5, "new flags of C, none of the assembler"
