"""The parts of an application's build: what is run, what its output says, what it left, what sources it has."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import files
from neuralart.applications import cli, commands, errorlines, external, runtime, sources, staging, version_lock
from neuralart.cli import main
from neuralart.config.application import ApplicationConfig, ExternalConfig, SourcesConfig
from neuralart.errors import NeuralArtError
from support.fake_stedgeai import middlewares
from support.models.stedgeai_case import refusal

APPS = Path(__file__).parents[2] / "support" / "fake_apps"


def config(kind: str, **fields) -> ApplicationConfig:
    given = ExternalConfig(**{"folder": "app", "artefact": "build/a.elf", **fields})
    return ApplicationConfig(kind, external=given, places={"": "v.yaml:3", "directory": "v.yaml:4"})


def put(folder: Path, *names: str, text: str = "") -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def run(given: ApplicationConfig, tree: Path, work: Path = Path("/w"), jobs: int = 3) -> commands.Commands:
    return commands.commands(given, lambda: Path("/bin/tool"), tree, work, jobs=jobs, what="app")


# What is run ----------------------------------------------------------------------------------------------------


def test_make(tmp_path: Path) -> None:
    tree = put(tmp_path, "gcc/Makefile")
    made = run(config("make", directory="gcc", target="all", variables=(("CONF", "N6 DK"), ("E", ""))), tree)
    assert made.lines == (("/bin/tool", "-j3", "all", "CONF=N6 DK", "E="),)
    assert (made.folder, made.artefact, made.private) == (tree / "gcc", tree / "gcc/build/a.elf", None)


def test_cmake(tmp_path: Path) -> None:
    tree = put(tmp_path, "CMakeLists.txt", "t/arm.cmake")
    work = Path("/w")
    given = config("cmake", generator="Ninja", toolchain_file="t/arm.cmake", options=("-DX=a b",), target="app")
    made = run(given, tree, work)
    place, build = str(tree), str(work / "cmake")
    assert made.lines == (
        (
            "/bin/tool",
            "-S",
            place,
            "-B",
            build,
            "-G",
            "Ninja",
            f"-DCMAKE_TOOLCHAIN_FILE={tree / 't/arm.cmake'}",
            "-DX=a b",
        ),
        ("/bin/tool", "--build", build, "--parallel", "3", "--target", "app"),
    )
    assert (made.artefact, made.private) == (work / "cmake/build/a.elf", work / "cmake")
    assert run(config("cmake"), tree, work).lines[0] == ("/bin/tool", "-S", place, "-B", build)
    # As STM32CubeMX lays it out: the toolchain file is beside the folder of the project.
    (tree / "Appli").mkdir()
    (tree / "Appli/CMakeLists.txt").write_text("")
    made = run(config("cmake", directory="Appli", toolchain_file="t/arm.cmake", preset="Debug"), tree, work)
    assert made.lines[0][-2:] == (f"-DCMAKE_TOOLCHAIN_FILE={tree / 't/arm.cmake'}", "--preset=Debug")


def test_cubeide() -> None:
    tree, work = APPS / "cube", Path("/w")
    made = run(config("cubeide", artefact="", configuration="N6-DK"), tree, work)
    ((program, *words),) = made.lines
    assert program == "/bin/tool"
    assert words == [
        *("--launcher.suppressErrors", "-nosplash"),
        *("-application", "org.eclipse.cdt.managedbuilder.core.headlessbuild"),
        *("-data", str(work / "workspace"), "-import", str(tree), "-build", "Doorbell/N6-DK"),
    ]
    assert (made.artefact, made.private) == (tree / "N6-DK/Doorbell.elf", work / "workspace")
    assert run(config("cubeide"), tree).artefact == tree / "build/a.elf"


@pytest.mark.parametrize(
    ("given", "files", "said"),
    [
        (config("make"), (), "v.yaml:4: there is no Makefile in app (directory: FOLDER below it)"),
        (config("make", directory="gcc"), (), "v.yaml:4: app has no folder gcc"),
        (config("cmake"), (), "v.yaml:4: there is no CMakeLists.txt in app"),
        (config("cmake", toolchain_file="x.cmake"), ("CMakeLists.txt",), "v.yaml:3: there is no x.cmake in app"),
        (config("cubeide"), (), "v.yaml:4: there is no .project in app (directory names the folder of the project)"),
        (config("cubeide"), (".project",), "is no XML: no element found"),
    ],
)
def test_what_is_missing(tmp_path: Path, given: ApplicationConfig, files: tuple[str, ...], said: str) -> None:
    assert said in refusal(run, given, put(tmp_path, *files))


@pytest.mark.parametrize(
    ("project", "said"),
    [
        ("<projectDescription/>", "names no project"),
        ("<projectDescription><name>a/b</name></projectDescription>", "names no project"),
        ("<projectDescription><name>Bell</name></projectDescription>", "there is no .cproject in app"),
    ],
)
def test_projects_that_are_none(tmp_path: Path, project: str, said: str) -> None:
    assert said in refusal(run, config("cubeide"), put(tmp_path, ".project", text=project))


def test_a_configuration_that_is_not_there() -> None:
    assert (
        "v.yaml:3: project Doorbell has no configuration 'N6-DX' (did you mean 'N6-DK'? known: Debug, N6-DK)"
        in refusal(run, config("cubeide", configuration="N6-DX"), APPS / "cube")
    )


def test_variables_that_take_something_away() -> None:
    makefiles = {"app/Makefile": "OPT = -Og\nOPT += -g\n", "app/more.mk": "CONF += x\n  OPT+=y\n"}
    assert commands.overruled((("OPT", "-O2"), ("CONF", "x"), ("C", "")), makefiles) == [
        "app/Makefile:2: make ignores this addition to OPT, which is given on its command line",
        "app/more.mk:1: make ignores this addition to CONF, which is given on its command line",
    ]


# Programs -------------------------------------------------------------------------------------------------------


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts here")
def test_where_programs_are_found(tmp_path: Path) -> None:
    gmake = script(tmp_path / "bin/gmake", "")
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    assert commands.find_program("make", "", tmp_path, environ) == gmake
    assert commands.find_program("cubeide", "bin/gmake", tmp_path, environ) == gmake
    assert commands.find_program("make", "gmake", tmp_path, environ) == gmake
    said = refusal(commands.find_program, "cmake", "", tmp_path, environ, "v.yaml:3")
    assert said == "v.yaml:3: no cmake found (PATH looked at) (install CMake, for example with pip install cmake)"
    said = refusal(commands.find_program, "make", "remake", tmp_path, environ)
    assert said.startswith("no remake found (PATH looked at)")
    said = refusal(commands.find_program, "cubeide", "ide/x", tmp_path, environ, "v.yaml:3")
    assert said.startswith(f"v.yaml:3: executable: no file {tmp_path / 'ide/x'}")
    said = refusal(commands.find_program, "cubeide", "", tmp_path, environ, platform="win32")
    assert "no stm32cubeidec or stm32cubeide found (PATH, C:/ST/STM32CubeIDE_*" in said


def test_the_environment_of_a_build() -> None:
    made = external.environment(
        {"PATH": "/usr/bin", "LC_ALL": "de_DE.UTF-8", "MAKEFLAGS": "-n", "MAKELEVEL": "1", "PYTHONPATH": "x", "A": "b"},
        Path("/opt/gcc/bin"),
    )
    assert made == {"PATH": f"/opt/gcc/bin{os.pathsep}/usr/bin", "LANG": "de_DE.UTF-8", "LC_MESSAGES": "C", "A": "b"}
    assert external.environment({})["LC_MESSAGES"] == "C"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[ 66%] Building C object x.c.obj", "66 %"),
        ("[3/12] Building x.c.obj", "3 of 12"),
        ("arm-none-eabi-gcc -c -o build/main.o ../Src/main.c", "main.c"),
        ('gcc -c "..\\Src\\main.c"', 'gcc -c "..\\Src\\main.c"'),
        ("CC Src/main.c", "main.c"),
        ("Linking", "Linking"),
        ("", ""),
    ],
)
def test_progress(line: str, said: str) -> None:
    assert external.progress(line) == said


def test_a_private_folder_of_other_arguments_goes(tmp_path: Path) -> None:
    def go(identity: str) -> None:
        line = (sys.executable, "-c", "print('done')")
        given = commands.Commands((line,), tmp_path, tmp_path / "a", tmp_path / "private", identity)
        assert external.run(given, tmp_path / "log.txt", os.environ).lines == ("done",)

    go("one")
    put(tmp_path / "private", "cache")
    go("one")
    assert (tmp_path / "private/cache").is_file()
    go("two")
    assert not (tmp_path / "private/cache").exists()


def test_the_log_and_the_first_failure(tmp_path: Path) -> None:
    lines = tuple((sys.executable, "-c", f"print({n}); raise SystemExit({n})") for n in (0, 7, 8))
    heard: list[str] = []
    outcome = external.run(commands.Commands(lines, tmp_path, tmp_path / "a"), tmp_path / "l", os.environ, heard.append)
    assert (outcome.status, outcome.lines) == (7, ("0", "7"))
    assert heard == ["0", "7"]
    text = (tmp_path / "l").read_text()
    assert text.count("$ ") == 2
    assert "raise SystemExit(7)" in text, "what was run can be repeated by hand"


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    given = commands.Commands(((str(tmp_path / "none"),),), tmp_path, tmp_path / "a")
    assert "cannot be started" in refusal(external.run, given, tmp_path / "log.txt", {})
    put(tmp_path, "file")
    given = commands.Commands(((sys.executable,),), tmp_path, tmp_path / "a")
    assert "cannot be written" in refusal(external.run, given, tmp_path / "file" / "log.txt", {})


# What the output says -------------------------------------------------------------------------------------------

MAKE_FAILS = "make: *** [Makefile:9: build/main.o] Error 1"


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (
            f"CC main.c\nsrc/main.c:4:1: warning: odd\nsrc/main.c:7:3: error: 'x' undeclared\n{MAKE_FAILS}",
            "src/main.c:7:3",
            "'x' undeclared",
        ),
        (
            f"main.c:1:10: fatal error: a.h: No such file or directory\n{MAKE_FAILS}",
            "main.c:1:10",
            "a.h: No such file or directory",
        ),
        ("C:/a b/main.c:7: error: no\n", "C:/a b/main.c:7", "no"),
        ("In file included from a.c:1:\nx/b.h:3:2: error: #error no\n", "x/b.h:3:2", "#error no"),
        (
            "start.s: Assembler messages:\nstart.s:12: Error: bad instruction `mvo'\n",
            "start.s:12",
            "bad instruction `mvo'",
        ),
        (
            "/usr/bin/ld: main.o: in function `main':\nmain.c:(.text+0x8): undefined reference to `f'\n",
            "",
            "main.c:(.text+0x8): undefined reference to `f'",
        ),
        (
            "/t/ld: /w/Src/main.c:9: undefined reference to `f'\ncollect2: error: ld returned 1",
            "/w/Src/main.c:9",
            "undefined reference to `f'",
        ),
        (
            "a/bin/ld: region `ROM' overflowed by 120 bytes\nld: undefined reference to `f'",
            "",
            "region `ROM' overflowed by 120 bytes",
        ),
        (
            "/usr/bin/ld: cannot find -l:NetworkRuntime1200_CM55_GCC.a\n",
            "",
            "cannot find -l:NetworkRuntime1200_CM55_GCC.a",
        ),
        (
            "ld.exe: cannot open linker script file x.ld: No such file\n",
            "",
            "cannot open linker script file x.ld: No such file",
        ),
        (
            "CMake Error at CMakeLists.txt:3 (include):\n  include could not find\n  requested file:\n\n    x.cmake\n",
            "CMakeLists.txt:3",
            "include could not find requested file:",
        ),
        ("CMake Error: The source directory is no\n", "", "The source directory is no"),
        ("/bin/sh: 1: arm-none-eabi-gcc: not found\nmake: *** [x] Error 127", "", "arm-none-eabi-gcc: not found"),
        (
            "make: arm-none-eabi-gcc: No such file or directory\nmake: *** [x] Error 127",
            "",
            "arm-none-eabi-gcc: No such file or directory",
        ),
        (
            "make: *** No rule to make target 'x.c', needed by 'x.o'.  Stop.\n",
            "",
            "No rule to make target 'x.c', needed by 'x.o'. Stop.",
        ),
        ("Makefile:7: *** missing separator.  Stop.\n", "Makefile:7", "missing separator. Stop."),
        ("ninja: error: loading 'build.ninja': none\n", "", "loading 'build.ninja': none"),
        ("Error: Could not import project\nBuild Failed. 3 errors\n", "", "Could not import project"),
        ("23:10:11 Build Finished\nBuild Failed. 3 errors, 1 warnings.\n", "", "Build Failed. 3 errors, 1 warnings."),
        (
            f"cc1: error: target CPU does not support ARMv8-M Security Extensions\n{MAKE_FAILS}",
            "",
            "target CPU does not support ARMv8-M Security Extensions",
        ),
        (f"arm-none-eabi-gcc: error: x.c: No such file\n{MAKE_FAILS}", "", "x.c: No such file"),
        (MAKE_FAILS, "", "[Makefile:9: build/main.o] Error 1"),
        ("one\ntwo\n\n", "", "its last words: two"),
        ("x" * 900, "", "its last words: " + "x" * 297 + "..."),
    ],
)
def test_the_line_that_says_why(text: str, where: str, what: str) -> None:
    found = errorlines.find(text.splitlines())
    assert found is not None
    assert (found.where, found.what) == (where, what)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "arm-none-eabi-gcc: error: unrecognized command-line option '-fcyclomatic-complexity'; did you mean '-x'?",
            "toolchain: {tolerate: ['-fcyclomatic-complexity']}",
        ),
        ("cc1: error: unrecognized command line option \u2018-fy\u2019", "toolchain: {tolerate: ['-fy']}"),
        ("arm-none-eabi-gcc: fatal error: cannot read spec file 'nano.specs': No such file", "install the C library"),
        ("a.c:3:3: error: unknown type name 'float_t'", "toolchain: {tolerate: ['+-fpermitted-flt-eval-methods=c11']}"),
        ("a.c:3:3: error: expected ')' before 'PRIx64'", "toolchain: {tolerate: ['+-D__int64_t_defined=1']}"),
    ],
)
def test_flags_that_gcc_refuses(text: str, hint: str) -> None:
    found = errorlines.find(["a.c:1:1: error: another", text])
    assert found is not None
    assert found.hint.startswith(hint)


def test_flags_are_left_out_and_added(tmp_path: Path) -> None:
    """Nothing in a flag is read by the shell."""
    chain, tools = tmp_path / "tool chain", tmp_path / "tools"
    chain.mkdir()
    (chain / "arm-none-eabi-gcc").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (chain / "arm-none-eabi-gcc").chmod(0o755)
    (chain / "gcc").write_text("the host's")
    given = ["-fbad", "*-specs=n*.specs", "-D$(x)*", "-['a]", "+-DX='$Y `z`'", "+-g"]
    if sys.platform != "win32":
        external.wrappers(given, chain, tools, "v.yaml:3")
        assert [path.name for path in tools.iterdir()] == ["arm-none-eabi-gcc"]
        words = [
            "-c",
            "-fbad",
            "--specs=nano.specs",
            "-specs=nosys.specs",
            "-D$(x)=1",
            "-['a]",
            "",
            "a b",
            "-fbad2",
            "*",
        ]
        done = subprocess.run([tools / "arm-none-eabi-gcc", *words], capture_output=True, text=True, check=True)
        assert done.stdout.split("\n") == ["-c", "", "a b", "-fbad2", "*", "-DX='$Y `z`'", "-g", ""]
        before = (tools / "arm-none-eabi-gcc").stat().st_mtime_ns
        external.wrappers(given, chain, tools, "v.yaml:3")
        assert (tools / "arm-none-eabi-gcc").stat().st_mtime_ns == before
        external.wrappers(["+-g"], chain, tools, "v.yaml:3")
        done = subprocess.run([tools / "arm-none-eabi-gcc", "x"], capture_output=True, text=True, check=True)
        assert done.stdout.split("\n") == ["x", "-g", ""]
    said = refusal(external.wrappers, given, chain, tools, "v.yaml:3", "win32")
    assert said == "v.yaml:3: toolchain: tolerate: this system runs no shell scripts"
    for folder in (None, tmp_path / "none"):
        said = refusal(external.wrappers, given, folder, tools, "v.yaml:3")
        assert said == "v.yaml:3: toolchain: tolerate: no compiler for Arm to put a script in front of"


def test_nothing_was_said() -> None:
    assert errorlines.find([]) is None
    assert errorlines.find(["", "  "]) is None


def test_hints_of_what_is_known() -> None:
    found = errorlines.find(['net.c:9:2: error: #error "Possible mismatch in ll_aton library used"'])
    assert found is not None
    assert "another version than the compiler of the network" in found.hint
    found = errorlines.find(["a.c:9:2: fatal error: net_ecblobs.h: No such file or directory"])
    assert found is not None
    assert "has no epoch controller" in found.hint


def test_the_folder_that_make_was_in() -> None:
    lines = [
        "make[1]: Entering directory '/w/tree/lib'",
        "make[1]: Leaving directory '/w/tree/lib'",
        "make[1]: Entering directory '/w/tree/app'",
        "main.c:3:1: error: no",
    ]
    seen = []
    errorlines.find(lines, lambda file, folder: seen.append((file, folder)) or file)
    assert seen == [("main.c", "/w/tree/app")]


MADE = """\
make[1]: Entering directory '/w/tree/app'
arm-none-eabi-gcc -c -O2 src/a.c -o a.o
src/a.c: In function 'main':
src/a.c:3:11: warning: unused variable 'y' [-Wunused-variable]
    3 |   int x, y;
      |          ^
src/a.c:4:7: error: 'z' undeclared (first use in this function)
    4 |   x = z;
      |       ^
src/a.h:9:1: note: declared here
    9 | int zz;
make[1]: *** [Makefile:7: a.o] Error 1
src/b.c:1:2: fatal error: no.h: No such file or directory
    1 | #include "no.h"
/usr/bin/arm-none-eabi-ld: b.o: in function `f':
./src/b.c:5: undefined reference to `gone'
/usr/bin/arm-none-eabi-ld: region `FLASH' overflowed by 12 bytes
main.c:(.text.main+0x4): undefined reference to `lost'
collect2: error: ld returned 1 exit status
CMake Error at CMakeLists.txt:3 (add_executable):
  Cannot find source file:

    none.c

-- Configuring incomplete, errors occurred!
""".splitlines()


def test_all_errors_are_shown_as_editors_find_them() -> None:
    shown = errorlines.diagnostics(MADE, lambda file, folder: f"mine/{file.removeprefix('./')}")
    assert shown == [
        "mine/src/a.c:4:7: error: 'z' undeclared (first use in this function)",
        *("    4 |   x = z;", "      |       ^"),
        *("mine/src/a.h:9:1: note: declared here", "    9 | int zz;"),
        "mine/src/b.c:1:2: fatal error: no.h: No such file or directory",
        '    1 | #include "no.h"',
        "/usr/bin/arm-none-eabi-ld: b.o: in function `f':",
        "mine/src/b.c:5: undefined reference to `gone'",
        "/usr/bin/arm-none-eabi-ld: region `FLASH' overflowed by 12 bytes",
        "main.c:(.text.main+0x4): undefined reference to `lost'",
        "CMake Error at CMakeLists.txt:3 (add_executable):",
        *("  Cannot find source file:", "", "    none.c", ""),
    ]
    many = errorlines.diagnostics(["a.c:1:1: error: x"] * 5000, lambda file, folder: file)
    assert len(many) == 201 and many[-1] == "... 4800 lines more"
    assert errorlines.diagnostics(["gcc -c a.c", "a.c:1:2: warning: w", "  1 | x", ""], lambda file, folder: file) == []


def test_odd_output_costs_no_time() -> None:
    import time

    start = time.process_time()
    for text in ("a:" * 50_000, "[" * 100_000, "make" * 50_000, "x " * 100_000, ("ld: " * 1000 + "\n") * 100):
        errorlines.find(text.splitlines())
        errorlines.diagnostics(text.splitlines(), lambda file, folder: file)
    assert time.process_time() - start < 5


# What was left --------------------------------------------------------------------------------------------------


def elf(machine: int = 40, bits: int = 1, kind: int = 2, mark: bytes = b"code") -> bytes:
    """The least that is a linked program: a header, a segment and its bytes."""
    header = b"\x7fELF" + bytes([bits, 1, 1]) + b"\0" * 9
    header += struct.pack("<HHIIIIIHHHHHH", kind, machine, 1, 0x34000401, 52, 0, 0x05000000, 52, 32, 1, 0, 0, 0)
    return header + struct.pack("<8I", 1, 84, 0x34000400, 0x34000400, len(mark), len(mark), 5, 4) + mark


NOTHING = external.Before()


def judge(folder: Path, before: external.Before = NOTHING, networks=(), since: int = 0) -> bytes:
    return external.judge(
        *(folder / "build/a.elf", before, networks),
        **{"shown": "build/a.elf", "folder": folder, "since": since, "where": "v.yaml:5", "log": "w/log.txt"},
    )


def made(folder: Path, data: bytes, name: str = "build/a.elf", time: int = 0) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if time:
        os.utime(path, ns=(time, time))
    return path


def test_a_program(tmp_path: Path) -> None:
    made(tmp_path, elf())
    assert judge(tmp_path) == elf()


def test_no_program_and_what_there_is_instead(tmp_path: Path) -> None:
    tmp_path.mkdir(exist_ok=True)
    assert refusal(judge, tmp_path) == (
        "v.yaml:5: the build ended without an error and there is no build/a.elf "
        "(does the target link it?; log: w/log.txt)"
    )
    made(tmp_path, elf(), "old/x.elf", time=5)
    made(tmp_path, b"text", "out/readme")
    made(tmp_path, elf(), "out/product.elf", time=20)
    said = refusal(judge, tmp_path, since=10)
    assert "there is no build/a.elf; it made out/product.elf (artefact: out/product.elf; log: w/log.txt)" in said
    (tmp_path / "build/a.elf").mkdir(parents=True)
    assert "there is no build/a.elf" in refusal(judge, tmp_path)


def test_a_program_that_is_older_than_its_network(tmp_path: Path) -> None:
    program = made(tmp_path, elf(), time=10**9)
    network = made(tmp_path, b"c", "Model/net.c", time=2 * 10**9)
    before = external.look(program)
    said = refusal(judge, tmp_path, before, [("net", network)])
    assert said.startswith(
        "v.yaml:5: the build ended without an error and did not make build/a.elf again, "
        "which is older than net.c of network net ("
    )
    assert "log: w/log.txt" in said
    # Other bytes are a new program whatever its time; so is one that was not there.
    made(tmp_path, elf(mark=b"news"), time=10**9)
    assert judge(tmp_path, before, [("net", network)])
    assert judge(tmp_path, external.Before(), [("net", network)])
    # The same bytes with a new time: linked again.
    made(tmp_path, elf(), time=3 * 10**9)
    assert judge(tmp_path, before, [("net", network)])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "build/a.elf is no ELF file: it begins with nothing (name the linked program"),
        (b":020000040800", "build/a.elf is no ELF file: it begins with 3a 30 32 30"),
        (
            elf(machine=62),
            "build/a.elf: EM_X86_64, 32 bits, little endian: not for a 32-bit little-endian Arm core (was it built",
        ),
        (elf(machine=183), "build/a.elf: EM_AARCH64"),
        (elf(kind=1), "build/a.elf: ET_REL: not a linked executable"),
        (elf()[:60], "build/a.elf: damaged ELF file"),
        (elf(mark=b""), "build/a.elf: nothing in it is to be loaded"),
    ],
)
def test_programs_that_are_none(tmp_path: Path, data: bytes, said: str) -> None:
    made(tmp_path, data)
    assert f"v.yaml:5: {said}" in refusal(judge, tmp_path)


# Arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--with", "make"], "--folder: is missing"),
        (["--with", "make", "--folder", "a"], "--artefact: is missing"),
        (["--with", "elf"], "--elf: is missing"),
        (["--with", "make", "--folder", "a", "--artefact", "../b"], "--artefact: '../b' leads out of the folder"),
        (["--with", "make", "--folder", "a", "--artefact", "b", "--variable", "x"], "--variable: 'x' is no NAME=VALUE"),
        (
            ["--with", "make", "--folder", "a", "--artefact", "b", "--stage", "x=/y"],
            "--stage: '/y' must be a path within",
        ),
        (["--with", "make", "--folder", "a", "--artefact", "b", "--generated", "x.c"], "'x.c' is no NETWORK:FILE"),
        (["--with", "make", "--folder", "a", "--artefact", "b", "--generated", "1:x.c"], "'1:x.c' is no NETWORK:FILE"),
        (["--with", "make", "--folder", "a", "--artefact", "b", "--generated", ":x.c"], "--generated: no file x.c"),
        (["--with", "make", "--folder", "a", "--artefact", "b", "--jobs", "0"], "--jobs: 0 is no number of compiles"),
        (["--with", "make", "--folder", "none", "--artefact", "b"], "--place none: no such folder"),
    ],
)
def test_wrong_arguments(words: list[str], said: str, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    code = main(["application", "build", *words, "--work", "w", "--output", "o.elf"])
    err = capsys.readouterr().err
    assert code == 1
    assert err.startswith("neuralart application: error: ")
    assert err.count("\n") == 1
    assert said.removeprefix("--place ") in err
    assert not (tmp_path / "o.elf").exists()


@pytest.mark.parametrize("words", [[], ["bild"], ["build"], ["build", "--with", "magic"], ["check"]])
def test_wrong_usage(words: list[str], capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["application", *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_program_that_is_linked_already(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    made(tmp_path, elf(), "given/x.elf")
    words = ["application", "build", *cli.words(ApplicationConfig("elf", elf="x.elf")), "--root", "given"]
    assert main([*words, "--work", "w", "--output", "out/firmware.elf"]) == 0
    assert (tmp_path / "out/firmware.elf").read_bytes() == elf()
    assert not (tmp_path / "w").exists()
    assert capsys.readouterr().out == "out/firmware.elf: 88 bytes\n"
    (tmp_path / "given/x.elf").write_bytes(elf(machine=62))
    assert main([*words, "--work", "w", "--output", "out/firmware.elf"]) == 1
    assert "--force to replace it" in capsys.readouterr().err and (tmp_path / "out/firmware.elf").read_bytes() == elf()
    words.append("--force")  # As builders say it
    assert main([*words, "--work", "w", "--output", "out/firmware.elf"]) == 1
    assert not (tmp_path / "out/firmware.elf").exists(), "no program of before under the name of this one"
    (tmp_path / "given/x.elf").unlink()
    assert main([*words, "--work", "w", "--output", "out/firmware.elf"]) == 1
    assert "no file given/x.elf (paths are relative to the project file)" in capsys.readouterr().err


def test_checking_by_hand(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    middlewares.add(tmp_path / "app", "3.0.0", runtime=(1, 1, 1, 14))
    assert main(["application", "check", "--folder", "app"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "1 error, 0 notes"
    assert out[0].startswith(
        "app/Middlewares/ST/AI/Lib/GCC/ARMCortexM55/NetworkRuntime1100_CM55_GCC.a: error: the headers are"
    )
    middlewares.add(tmp_path / "good", "3.0.0")
    assert main(["application", "check", "--folder", "good", "--core", "CM55"]) == 0
    assert capsys.readouterr().out == "0 errors, 0 notes\n"


# Sources and the user's own runtime -----------------------------------------------------------------------------


def collect(root: Path, **fields) -> sources.SourceSet:
    places = {"": "v.yaml:3", "files": "v.yaml:4"}
    return sources.collect(ApplicationConfig("sources", sources=SourcesConfig(**fields), places=places), root)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    names = ("src/main.c", "src/a/x.c", "src/a/old.c", "src/x.h", "start.s", "app.ld", "lib/x.a", "inc/y.h")
    return put(tmp_path / "a tree", *names)


def test_patterns_become_files(tree: Path) -> None:
    made = collect(
        tree,
        files=("start.s", "src/**/*.c", "src/*", "!src/*/old.c"),
        include_dirs=("inc",),
        defines=("A=1",),
        linker_script="app.ld",
        libraries=("m", "-lc", "lib/x.a"),
    )
    assert [path.relative_to(tree).as_posix() for path in made.files] == ["start.s", "src/a/x.c", "src/main.c"]
    assert (made.include_dirs, made.defines, made.linker_script) == ((tree / "inc",), ("A=1",), tree / "app.ld")
    assert (made.archives, made.libraries) == ((tree / "lib/x.a",), ("m", "c"))
    assert collect(tree, files=(f"{tree.as_posix()}/src/*.c",)).files == (tree / "src/main.c",)
    assert collect(tree / "inc", files=("../src/*.c",)).linker_script is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"files": ("src/mian.c",)}, "/src/mian.c (did you mean 'main.c'? known: main.c)"),
        ({"files": ("none/x.c",)}, "/none/x.c (none is known)"),
        ({"files": ("src/x.h",)}, "v.yaml:4: src/x.h is no source file (these are compiled: .c, .s"),
        ({"files": ("inc/*",)}, "v.yaml:4: 'inc/*' fits no file that can be compiled below"),
        ({"files": ("src/***/x.c",)}, "v.yaml:4: 'src/***/x.c' is no pattern"),
        ({"files": ("src/*.c", "!src/*")}, "v.yaml:4: every file is left out again"),
        ({"files": ("start.s",), "include_dirs": ("none",)}, "v.yaml:3: no folder "),
        ({"files": ("start.s",), "linker_script": "none.ld"}, "v.yaml:3: no file "),
        ({"files": ("start.s",), "libraries": ("lib/y.a",)}, "/lib/y.a (a name alone (m) is one of -lm)"),
    ],
)
def test_sources_that_are_not_there(tree: Path, fields, said: str) -> None:
    assert said in refusal(collect, tree, **fields)


def pack(root: Path, version: str = "4.0.1") -> Path:
    middlewares.add(root, version)
    ai = root / "Middlewares/ST/AI"
    names = ("ll_aton.c", "ll_aton_runtime.c", "ll_aton_reloc_callbacks.c", "ll_aton_osal_threadx.c")
    put(ai / "Npu/ll_aton", *names)
    put(ai, "Npu/Devices/STM32N6XX/npu_cache.c", "Npu/Devices/STM32H7PX/npu_cache.c", "Inc/stai.h")
    put(ai / "Lib/GCC/ARMCortexM55", "NetworkRuntime1201_CM55_GCC_PIC.a", "NetworkRuntime1201_CM55_IAR.a", "libx.a")
    return ai


@pytest.mark.parametrize("below", ["", "Middlewares/ST", "Middlewares/ST/AI"])
def test_the_users_runtime(tmp_path: Path, below: str) -> None:
    ai = pack(tmp_path)
    found = runtime.find(tmp_path / below)
    assert found.root == ai
    assert (found.header.version, found.header.where) == (
        (1, 1, 3, 275),
        (ai / "Npu/ll_aton/ll_aton_version.h").as_posix() + ":2",
    )
    assert found.include_dirs == (ai / "Npu/ll_aton", ai / "Npu/Devices/STM32N6XX", ai / "Inc")
    assert [path.name for path in found.sources] == ["ll_aton.c", "ll_aton_runtime.c", "npu_cache.c"]
    assert found.archive == ai / "Lib/GCC/ARMCortexM55/NetworkRuntime1200_CM55_GCC.a"
    assert runtime.find(tmp_path, "CM7").archive == ai / "Lib/GCC/ARMCortexM7/NetworkRuntime1200_CM7_GCC.a"
    assert runtime.find(tmp_path, "CM4").archive is None
    # Places that would win, if the file came there.
    places = {tmp_path / below / "Npu/ll_aton/ll_aton_version.h", ai / "Npu/Devices/STM32N6XX/mcu_cache.c"}
    assert {str(each) for each in places} <= files.noted.keys()


def test_the_newest_library_of_several(tmp_path: Path) -> None:
    ai = pack(tmp_path)
    put(ai / "Lib/GCC/ARMCortexM55", "NetworkRuntime1201_CM55_GCC.a", "NetworkRuntime910_CM55_GCC.a")
    found = runtime.find(tmp_path).archive
    assert found is not None
    name = runtime.parse_name(found.name)
    assert name is not None
    assert name.cube == (12, 0, 1)


def test_the_library_of_the_headers_release(tmp_path: Path) -> None:
    ai = pack(tmp_path, "3.0.0")
    put(ai / "Lib/GCC/ARMCortexM55", "NetworkRuntime1020_CM55_GCC.a", "NetworkRuntime1201_CM55_GCC.a")
    found = runtime.find(tmp_path).archive
    assert found is not None
    assert found.name == "NetworkRuntime1100_CM55_GCC.a"


def test_sources_and_a_runtime_that_does_not_fit(tree: Path, tmp_path: Path) -> None:
    network = put(tmp_path / "out", "net.c", text="".join(made_for((1, 1, 3, 275)))) / "net.c"
    files = [staging.Generated("net", network)]
    chosen = collect(tree, files=("start.s",), include_dirs=("inc",))
    pack(tmp_path / "good")
    (conflict,) = version_lock.check_sources(chosen, runtime.find(tmp_path / "good"), files, libc="newlib", core="CM55")
    assert conflict.level == "note"
    pack(tmp_path / "bad", "2.2.0")
    said = refusal(version_lock.check_sources, chosen, runtime.find(tmp_path / "bad"), files)
    assert said.startswith(f"{network.as_posix()}:1: network net is made for runtime 1.1.3.275 (ST Edge AI Core 4.0.1)")
    assert "1.1.1.14 (ST Edge AI Core 2.2.0) at " in said
    # The header that the user's own folder has in front of it counts as well.
    put(
        tree,
        "inc/ll_aton_version.h",
        text=(tmp_path / "bad/Middlewares/ST/AI/Npu/ll_aton/ll_aton_version.h").read_text(),
    )
    assert "a tree/inc/ll_aton_version.h:2" in refusal(version_lock.check_sources, chosen, None, files)


def made_for(version: tuple[int, ...]) -> list[str]:
    names = ("MAJOR", "MINOR", "MICRO", "DEV")
    tests = " || ".join(f"LL_ATON_VERSION_{name} != {n}" for name, n in zip(names, version, strict=True))
    return [f"#if {tests}\n", '#error "Possible mismatch in ll_aton library used"\n', "#endif\n"]


def test_no_runtime(tmp_path: Path) -> None:
    said = refusal(runtime.find, tmp_path / "none", where="v.yaml:9")
    assert said.startswith(f"v.yaml:9: runtime: {(tmp_path / 'none').as_posix()}: no such folder (name an installation")
    assert "has no Npu/ll_aton/ll_aton_version.h" in refusal(runtime.find, tmp_path)
    put(tmp_path / "Npu/ll_aton", "ll_aton_version.h", text="#define LL_ATON_VERSION_MAJOR 1\n")
    with pytest.raises(NeuralArtError, match="does not define LL_ATON_VERSION_MAJOR, MINOR"):
        runtime.find(tmp_path)
