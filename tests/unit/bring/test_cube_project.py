"""Projects of STM32CubeIDE, read and built without it: sources with links, flags, and the makefile that is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.applications import commands, cube_project
from neuralart.config.application import ApplicationConfig, ExternalConfig
from support.models.stedgeai_case import refusal
from support.projects.repositories import cube_app

WHERE = "v.yaml:5"
Compare = Callable[..., tuple[int, list[str], str]]


def read(top: Path, configuration: str = "Debug") -> cube_project.CubeProject:
    return cube_project.read(top / "App/STM32CubeIDE", top, configuration, "cortex-m55", "app", WHERE)


def test_what_a_configuration_compiles(tmp_path: Path) -> None:
    made = read(cube_app(tmp_path))
    assert made.sources == {
        "Core/main.c": "../Core/main.c",
        "Core/sub/more.c": "../Core/sub/more.c",
        "Core/start.S": "../Core/start.S",
        "Drivers/hal one.c": "../../../Drivers/Src/hal one.c",
        "Drivers/hal_two.c": "../../../Drivers/Src/hal_two.c",
        "Lib/deep/lib.c": "../../../Library/deep/lib.c",
    }, "excluded files, other configurations and virtual folders are left out"
    assert made.flags["c"] == (
        *("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16", "--specs=nano.specs", "-g3"),
        *("-DDEBUG", '-DTITLE="a b"', "-I../Core", "-I../../../Drivers/Inc", "-I../Inc"),
        *("-std=gnu11", "-Wall", "-Os", "-fdata-sections", "-mcmse", "-Wextra"),
    )
    assert made.flags["asm"][5:] == ("-g3", "-x", "assembler-with-cpp")
    assert made.script == "../app.ld"
    assert made.link[5:7] == ("-T", "../app.ld")
    assert made.link[7:] == (
        *("-Wl,-Map=Bell.map", "-Wl,--gc-sections", "-static", "-Wl,-u,_printf_float", "-nostdlib"),
        *("-L../../../Library", "-Wl,--start-group", "-l:libx.a", "-lc", "-lm", "-Wl,--end-group"),
    )
    assert made.notes == ("app/.cproject: options of Core/main.c alone are not taken over",)
    path = tmp_path / "App/STM32CubeIDE/.cproject"
    part = '<folderInfo resourcePath="Core"><toolChain><tool><option value="x"/></tool></toolChain></folderInfo>'
    path.write_text(path.read_text().replace("<fileInfo", f"{part}<fileInfo"))
    assert read(tmp_path).notes[1] == "app/.cproject: options of Core alone are not taken over"


def test_a_release(tmp_path: Path) -> None:
    made = read(cube_app(tmp_path), "Release")
    assert {"-Os", "-g0"} <= set(made.flags["c"])
    assert "--specs=nano.specs" not in made.flags["c"]
    assert "--specs=nosys.specs" in made.link
    assert "Excluded/never.c" in made.sources, "without entries all of the project is compiled"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("../Core", "${workspace_loc:/Other/Inc}", "'${workspace_loc:/Other/Inc}' is a place that only STM32CubeIDE"),
        ('resourcePath=""', 'resourcePath="x"', "app/.cproject: configuration 'Debug' has no tools"),
        ("option.script", "option.other", "app/.cproject: configuration 'Debug' names no linker script"),
    ],
)
def test_what_cannot_be_built(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = cube_app(tmp_path) / "App/STM32CubeIDE/.cproject"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert said in refusal(read, tmp_path)


@pytest.mark.parametrize(
    "uri", ["PARENT-3-PROJECT_LOC/", "/", "file:/etc", "$%7BPARENT-9-PROJECT_LOC%7D/x.c", "WHERE/x"]
)
def test_links_out_of_the_tree(tmp_path: Path, uri: str) -> None:
    path = cube_app(tmp_path) / "App/STM32CubeIDE/.project"
    path.write_text(path.read_text().replace("PARENT-2-PROJECT_LOC/Library", uri))
    assert "app/.cproject: Lib is linked from out of the folder" in refusal(read, tmp_path)


def test_the_makefile_is_left_alone_where_nothing_is_new(tmp_path: Path) -> None:
    made = read(cube_app(tmp_path))
    commands.write_makefile(made)
    folder = tmp_path / "App/STM32CubeIDE/Debug"
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*") if path.is_file()}
    assert len(before) == 6
    commands.write_makefile(read(tmp_path))
    assert {path: path.stat().st_mtime_ns for path in before} == before
    text = (folder / "makefile").read_text()
    assert "Drivers/hal\\ one.c.o: ../../../Drivers/Src/hal\\ one.c flags-c.txt\n" in text
    assert "Bell.elf: Core/main.c.o " in text
    assert "../../../Library/libx.a link.txt\n" in text, "an archive that changes is linked again"
    (tmp_path / "App/STM32CubeIDE/app.ld").unlink()
    assert "app/.cproject: there is no linker script ../app.ld" in refusal(commands.write_makefile, made)


def test_the_core_is_asked_for(tmp_path: Path) -> None:
    given = ExternalConfig("app", directory="App/STM32CubeIDE", build="native")
    config = ApplicationConfig("cubeide", external=given, places={"build": WHERE})

    def run(core: str) -> commands.Commands:
        return commands.commands(config, lambda: Path("/bin/make"), cube_app(tmp_path), Path("/w"), jobs=3, core=core)

    assert "v.yaml:5: build: native needs the core (--core CM55)" in refusal(run, "")
    made = run("CM55")
    assert made.lines == (("/bin/make", "-j3"),)
    assert made.artefact == made.folder / "Bell.elf"


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Compare:
    """``neuralart application compare`` of the project with lines that a make in App printed."""

    def run(lines: Sequence[str], *words: str) -> tuple[int, list[str], str]:
        (tmp_path / "log.txt").write_text("\n".join(lines))
        given = ["--folder", "app", "--directory", "App/STM32CubeIDE", "--core", "CM55", "--ran-in", "app/App"]
        status = cli.main(["application", "compare", *given, "--commands", "log.txt", *words])
        said = capsys.readouterr()
        return status, said.out.splitlines(), said.err

    cube_app(tmp_path / "app")
    monkeypatch.chdir(tmp_path)
    return run


SOURCES = ("STM32CubeIDE/Core/main.c", "STM32CubeIDE/Core/sub/more.c", "'../Drivers/Src/hal one.c'")
OTHERS = ("../Drivers/Src/hal_two.c", "../Library/deep/lib.c")


def commands_of(top: Path, sources: Sequence[str]) -> list[str]:
    made = read(top)
    flags = f"{' '.join(made.flags['c'][:6])} -DDEBUG '-DTITLE=\"a b\"' -Os -fdata-sections -mcmse -std=gnu11"
    flags = flags.replace("--specs", "-specs") + " -ISTM32CubeIDE/Core -I../Drivers/Inc \\\n -ISTM32CubeIDE/Inc"
    return [f"arm-none-eabi-gcc -c {flags} -MMD -MF x.d {source} -o x.o" for source in sources]


def test_differences_from_a_makefile(tmp_path: Path, compare: Compare) -> None:
    lines = commands_of(tmp_path / "app", (*SOURCES, "own.c"))
    status, out, err = compare([*lines, "mkdir -p x", "echo 'half"])
    assert (status, err) == (1, "")
    assert out == [
        "app/App/STM32CubeIDE/.cproject: options of Core/main.c alone are not taken over",
        "only the project compiles App/STM32CubeIDE/Core/start.S",
        "only the project compiles Drivers/Src/hal_two.c",
        "only the project compiles Library/deep/lib.c",
        "only the makefile compiles App/own.c",
        "3 sources in both, 4 differences",
    ]
    lines[0] += " -DMORE"
    assert compare(lines)[1][-2] == "only the makefile has -DMORE"


def test_no_difference_from_a_makefile(tmp_path: Path, compare: Compare) -> None:
    top = tmp_path / "app"
    (top / "App/STM32CubeIDE/Core/start.S").unlink()
    status, out, err = compare(commands_of(top, (*SOURCES, *OTHERS)))
    assert (status, out[-1], err) == (0, "5 sources in both, 0 differences", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--commands: no line is a command with -c and one source (make -n -B prints them"),
        (("--commands", "none"), "none: cannot read"),
        (("--configuration", "Debgu"), "--configuration: project Bell has no configuration 'Debgu' (did you mean"),
        (("--directory", ".."), "--directory: '..' leads out of the folder"),
        (("--directory", "Drivers"), "--configuration: there is no .cproject in app/Drivers (directory names"),
    ],
)
def test_what_cannot_be_compared(compare: Compare, words: tuple[str, ...], said: str) -> None:
    status, out, err = compare(["nothing"], *words)
    assert (status, out) == (1, []) and err.count("\n") == 1 and said in err
