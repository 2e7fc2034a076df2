"""``neuralart adopt``: repositories of the shapes that public ones have become entries, or the true reason is said."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from neuralart import cli, config
from neuralart.config.types import AdoptedConfig
from support.models.vendor_network_c import Want
from support.projects import repositories
from support.projects.repositories import SHAPES, put

Adopt = Callable[..., tuple[int, str, str]]


@pytest.fixture
def adopt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Adopt:
    def run(shape: str, *words: str) -> tuple[int, str, str]:
        if shape in SHAPES and not (tmp_path / shape).exists():
            SHAPES[shape](tmp_path / shape)
        status = cli.main(["adopt", shape, *words])
        done = capsys.readouterr()
        return status, done.out, done.err

    monkeypatch.chdir(tmp_path)
    return run


def found(adopt: Adopt, shape: str) -> dict:
    status, out, err = adopt(shape, "--json")
    assert (status, err) == (0, "")
    made = json.loads(out)
    assert list(made) == ["networks", "board", "build", "linker_scripts", "flash", "notes"]
    notes = [line.removeprefix("note: ") for line in adopt(shape)[2].splitlines() if line.startswith("note: ")]
    assert made.pop("notes") == notes
    return made


def test_what_is_found(adopt: Adopt) -> None:
    made = found(adopt, "make")
    assert made["networks"] == [
        {
            "c_name": name,
            "runtime": "ll_aton",
            "c_file": f"Model/{board}/network.c",
            "initializers": {"xSPI2": f"Model/{board}/network_data.xSPI2.bin"},
        }
        for board, name in (("NUCLEO-N657X0-Q", "Default"), ("STM32N6570-DK", "network"))
    ]
    assert made["board"] == ["nucleo-n657x0-q", "stm32n6570-dk"]
    assert made["build"][0] == {"kind": "make", "file": "Application/NUCLEO-N657X0-Q/Makefile"}
    assert [each["kind"] for each in made["build"]] == ["make", "make", "cubeide", "cubeide"]
    assert made["linker_scripts"] == [f"Application/{board}/app.ld" for board in ("NUCLEO-N657X0-Q", "STM32N6570-DK")]
    assert made["flash"][:3] == [
        {"file": "FSBL/ai_fsbl.hex", "address": "0x70000000", "said_in": "README.md:3"},
        {"file": "build/Application/STM32N6570-DK/Project_sign.bin", "address": "0x70100000", "said_in": "README.md:4"},
        {"file": "Model/STM32N6570-DK/network_data.hex", "address": "0x71000000", "said_in": "README.md:5"},
    ]


@pytest.mark.parametrize(
    ("shape", "kind", "settings", "initializers"),
    [
        (
            "cmake",
            "cmake",
            {"directory": "Appli", "artefact": "cube_app.elf"},
            {"xSPI2": "cmake/network_atonbuf.xSPI2.raw"},
        ),
        ("cubeide", "cubeide", {"directory": "FSBL", "configuration": "Debug"}, {}),
        ("ei", "make", {"artefact": "build/out/Project.elf"}, {"xSPI2": "ei/Upload/network_data.hex"}),
        ("audio", "make", {"directory": "Projects/GS", "artefact": "BuildGCC/BM/GS_Audio.elf"}, {}),
    ],
)
def test_entries(
    adopt: Adopt, tmp_path: Path, shape: str, kind: str, settings: dict[str, str], initializers: dict[str, str]
) -> None:
    assert adopt(shape, "-o", "variants.yaml")[:2] == (0, "")
    variant = config.read(tmp_path / "variants.yaml").variant(shape)
    (network,) = variant.networks
    assert (variant.board, variant.machine, network.compiler, network.model) == (
        "stm32n6570-dk",
        "silicon",
        "adopted",
        "",
    )
    assert network.adopted is not None
    assert (tmp_path / network.adopted.folder / "network.c").is_file()
    assert dict(network.adopted.initializers) == initializers
    assert variant.application.kind == kind
    external = variant.application.external
    assert external is not None
    assert {key: getattr(external, key) for key in settings} == settings
    assert external.folder == shape
    assert external.preset == ("Debug" if kind == "cmake" else "")
    # Its own files stay where they are, and nothing else is put beside them.
    first, last = external.stage.rules[0], external.stage.rules[-1]
    assert (first.pattern, last.pattern, last.destination) == ("network.c", "*", "")
    assert (tmp_path / shape / first.destination / "network.c").is_file()
    assert dict(variant.slots) == ({"application": 0x70080000} if shape == "ei" else {})


def test_a_project_of_the_ide_that_it_has_not_built(adopt: Adopt, tmp_path: Path) -> None:
    """STM32CubeIDE leaves a makefile: without one it is not waited for."""
    SHAPES["cubeide"](tmp_path / "cubeide")
    assert "build: native" not in adopt("cubeide")[1]
    (tmp_path / "cubeide/FSBL/Debug/makefile").rename(tmp_path / "cubeide/FSBL/makefile.old")
    status, out, _ = adopt("cubeide")
    (tmp_path / "variants.yaml").write_text(out)
    external = config.read(tmp_path / "variants.yaml").variant("cubeide").application.external
    assert status == 0 and external is not None and external.build == "native"


@pytest.mark.parametrize(
    ("script", "origin", "boot"),
    [
        ("STM32N657XX_ROMxspi2.ld", "0x34000400", "xip"),
        ("mine.ld", "0x70080400", "xip"),
        ("mine.ld", "0x70100400", ""),
        ("STM32N657XX_LRUN.ld", "0x34000400", ""),
    ],
)
def test_what_is_executed_in_its_slot(adopt: Adopt, tmp_path: Path, script: str, origin: str, boot: str) -> None:
    """By the name of the linker script, or by vectors where the tree flashes its application."""
    root = SHAPES["ei"](tmp_path / "ei")
    (root / "app.ld").unlink()
    (root / script).write_text(repositories.LD.replace("0x34000400", origin))
    (root / "Makefile").write_text((root / "Makefile").read_text().replace("app.ld", script))
    (tmp_path / "variants.yaml").write_text(adopt("ei")[1])
    variant = config.read(tmp_path / "variants.yaml").variant("ei")
    assert (variant.boot, dict(variant.slots)) == (boot, {"application": 0x70080000})


def test_what_is_flashed_without_a_header(adopt: Adopt, tmp_path: Path) -> None:
    """Behind the place of the header: the slot is the board's, or the one in front of the vectors."""
    root = SHAPES["ei"](tmp_path / "ei")
    script = (root / "flash.sh").read_text()
    put(root, {"flash.bat": "", "flash.sh": script.replace("0x70080000", "0x70100400")})
    (tmp_path / "variants.yaml").write_text(adopt("ei")[1])
    assert not config.read(tmp_path / "variants.yaml").variant("ei").slots
    told = (
        "note: flash.sh:3 writes build/app.bin without a header to 0x70100400: the flash plan writes application.bin to"
    )
    assert f"{told} 0x70100000, its program behind the header to the same address" in adopt("ei")[2]
    put(root, {"flash.sh": script.replace("0x70080000", "0x70080400")})
    assert config_slots(adopt, tmp_path) == {"application": 0x70080400}
    put(root, {"app.ld": repositories.LD.replace("0x34000400", "0x70080400")})
    assert config_slots(adopt, tmp_path) == {"application": 0x70080000}
    # The vectors are behind a header at that address: it is the slot.
    put(root, {"flash.sh": script.replace("0x70080000", "0x70100400")})
    put(root, {"app.ld": repositories.LD.replace("0x34000400", "0x70100800")})
    assert config_slots(adopt, tmp_path) == {"application": 0x70100400}
    assert "without a header" not in adopt("ei")[2]


@pytest.mark.parametrize("name", ["x_sign.bin", "x_signed.bin", "x-trusted.bin", "x-Trusted.bin", "signed.bin"])
def test_a_signed_file_behind_the_place_of_a_header(adopt: Adopt, tmp_path: Path, name: str) -> None:
    """It begins with the header: its slot is where it is flashed. A program that is linked for there stays there."""
    root = SHAPES["ei"](tmp_path / "ei")
    script = (root / "flash.sh").read_text().replace("app.bin", name)
    said = f"note: flash.sh:3 writes build/{name}, signed by its name, behind the place of a header to 0x70100400: "
    plan = "the flash plan writes application.bin to 0x70100400, its program behind the header"
    put(root, {"flash.bat": "", "flash.sh": script.replace("0x70080000", "0x70100400")})
    assert config_slots(adopt, tmp_path) == {"application": 0x70100400}
    assert f"{said}{plan}" in adopt("ei")[2].splitlines() and "without a header" not in adopt("ei")[2]
    put(root, {"app.ld": repositories.LD.replace("0x34000400", "0x70100400")})
    assert config_slots(adopt, tmp_path) == {}
    plan = plan.replace("0x70100400", "0x70100000") + " to the same address"
    assert f"{said}{plan}" in adopt("ei")[2].splitlines() and "without a header" not in adopt("ei")[2]
    put(root, {"app.ld": repositories.LD, "flash.sh": script.replace("0x70080000", "0x70100000")})
    assert config_slots(adopt, tmp_path) == {} and "signed by" not in adopt("ei")[2]


@pytest.mark.parametrize("name", ["unsigned.bin", "design.bin", "signed/app.bin", "app_signal.bin"])
def test_a_name_that_does_not_say_signed(adopt: Adopt, tmp_path: Path, name: str) -> None:
    root = SHAPES["ei"](tmp_path / "ei")
    script = (root / "flash.sh").read_text().replace("app.bin", name)
    put(root, {"flash.bat": "", "flash.sh": script.replace("0x70080000", "0x70100400")})
    assert config_slots(adopt, tmp_path) == {}
    assert f"note: flash.sh:3 writes build/{name} without a header to 0x70100400: " in adopt("ei")[2]


def config_slots(adopt: Adopt, folder: Path) -> dict[str, int]:
    """What ``slots`` of the entries for ``ei`` has."""
    (folder / "variants.yaml").write_text(adopt("ei")[1])
    return dict(config.read(folder / "variants.yaml").variant("ei").slots)


def test_one_program_of_several(adopt: Adopt, tmp_path: Path) -> None:
    """A Makefile for four programs links the one that the variant is about; with one program, no target is named."""
    root = SHAPES["audio"](tmp_path / "audio")
    assert "target:" not in adopt("audio")[1]
    rule = (root / "Projects/GS/bm.mk").read_text()
    more = {f"Projects/GS/{name}.mk": rule.replace("BM", name.upper()) for name in ("bm_lp", "rtos", "rtos_lp")}
    includes = "".join(f"include {name}.mk\n" for name in ("bm_lp", "rtos", "rtos_lp"))
    put(root, {**more, "Projects/GS/Makefile": (root / "Projects/GS/Makefile").read_text() + includes})
    (tmp_path / "variants.yaml").write_text(adopt("audio")[1])
    external = config.read(tmp_path / "variants.yaml").variant("audio").application.external
    assert external is not None
    assert external.target == external.artefact == "BuildGCC/BM/GS_Audio.elf"


FOUR = """CC = arm-none-eabi-gcc
OUT := ./out
COMMON := Src/main.c
DOOR = $(COMMON)
DOOR += {variable}
DOOR_OBJECTS = $(addprefix $(OUT)/,$(notdir $(DOOR:.c=.o)))
all: out/selftest.elf out/boot.elf out/doorbell.elf out/factory.elf
out/selftest.elf out/boot.elf: $(COMMON)
\t$(CC) -T app.ld $^ -o $@
$(OUT)/doorbell.elf: $(DOOR_OBJECTS) {direct} | out
\t$(CC) -T app.ld $^ {recipe} -o $@
out/doorbell.o: {below}
out/%.elf: {pattern}
out/factory.elf: out/boot.elf out/doorbell.elf Src/factory.c {factory}
\tcat $^ > $@
out:
\tmkdir -p $@ # not Model/network.c
"""
_EMPTY = dict.fromkeys(("variable", "direct", "recipe", "below", "pattern", "factory"), "")


def four(adopt: Adopt, folder: Path, **where: str) -> tuple[str, str, list[str]]:
    """Artefact, target and questions for a Makefile of four programs; ``where`` it names the network's C."""
    root = SHAPES["ei"](folder / "ei")
    put(root, {"Makefile": FOUR.format(**{**_EMPTY, **where})})
    status, out, err = adopt("ei")
    assert status == 0
    (folder / "variants.yaml").write_text(out)
    external = config.read(folder / "variants.yaml").variant("ei").application.external
    assert external is not None
    return external.artefact, external.target, [line for line in err.splitlines() if "may be the program" in line]


@pytest.mark.parametrize(
    "where",
    [
        {"direct": "Model/network.c"},
        {"variable": "Model/network.c"},
        {"recipe": "Model/network.c"},
        {"direct": "out/network.o"},
        {"direct": "out/doorbell.o", "below": "Model/network.c"},
    ],
    ids=lambda where: "-".join(where),
)
def test_the_program_that_has_the_network(adopt: Adopt, tmp_path: Path, where: dict[str, str]) -> None:
    """Not the first program of the Makefile, nor one that is made of the program with the network."""
    assert four(adopt, tmp_path, **where) == ("out/doorbell.elf", "out/doorbell.elf", [])


@pytest.mark.parametrize(
    ("where", "may", "taken"),
    [
        ({}, "out/selftest.elf, out/boot.elf, out/doorbell.elf, out/factory.elf", "out/selftest.elf"),
        (
            {"direct": "my_network.c network.cc"},
            "out/selftest.elf, out/boot.elf, out/doorbell.elf, out/factory.elf",
            "",
        ),
        (
            {"direct": "Model/network.c", "factory": "Model/network.c"},
            "out/doorbell.elf, out/factory.elf",
            "out/doorbell.elf",
        ),
        ({"pattern": "Model/network.c"}, "out/selftest.elf, out/boot.elf, out/doorbell.elf, out/factory.elf", ""),
    ],
    ids=["none", "other", "several", "pattern"],
)
def test_which_program_has_the_network_cannot_be_told(
    adopt: Adopt, tmp_path: Path, where: dict[str, str], may: str, taken: str
) -> None:
    taken = taken or "out/selftest.elf"
    question = f"note: Makefile: {may} may be the program with Model/network.c: {taken} is taken"
    assert four(adopt, tmp_path, **where) == (taken, taken, [f"{question} (another one: artefact and target)"])


PROGRAMS = """project(reid C)
# arm-none-eabi
set(COMMON Src/main.c Src/it.c)
set(MORE ${{COMMON}} {in_list})
add_library(parts STATIC Src/parts.c {in_library})
add_library(other ALIAS parts)
add_executable(selftest ${{COMMON}})
add_executable(${{PROJECT_NAME}}-door
  "${{MORE}}"  # its sources
)
add_executable(host::tool ALIAS selftest)
target_sources(
  reid-door PRIVATE {in_sources})
target_link_libraries(reid-door PRIVATE parts)
add_executable(factory Src/factory.c {in_factory})
{suffix}
"""
CHAIN_WITHOUT_SUFFIX = "set(CMAKE_SYSTEM_NAME Generic)\n"
_NO_PLACE = dict.fromkeys(("in_list", "in_library", "in_sources", "in_factory", "suffix"), "")


def cmake_programs(adopt: Adopt, folder: Path, **where: str) -> tuple[str, str, list[str]]:
    """As :func:`four`, for three executables of CMake."""
    root = SHAPES["reid"](folder / "reid")
    text = PROGRAMS.format(**{**_NO_PLACE, **where})
    (root / "Makefile").unlink()
    put(root, {"CMakeLists.txt": text, "cmake/gcc-arm-none-eabi.cmake": CHAIN_WITHOUT_SUFFIX})
    status, out, err = adopt("reid")
    assert status == 0, err
    (folder / "variants.yaml").write_text(out)
    external = config.read(folder / "variants.yaml").variant("reid").application.external
    assert external is not None
    return external.artefact, external.target, [line for line in err.splitlines() if "may be the program" in line]


@pytest.mark.parametrize(
    "where",
    [
        {"in_list": "Model/reid.c"},
        {"in_library": "Model/reid.c"},
        {"in_sources": "${CMAKE_CURRENT_SOURCE_DIR}/Model/reid.c"},
    ],
    ids=lambda where: "-".join(where),
)
def test_the_executable_of_cmake_that_has_the_network(adopt: Adopt, tmp_path: Path, where: dict[str, str]) -> None:
    assert cmake_programs(adopt, tmp_path, **where) == ("reid-door", "reid-door", [])


def test_the_file_of_an_executable_has_its_suffix(adopt: Adopt, tmp_path: Path) -> None:
    suffix = 'set(CMAKE_EXECUTABLE_SUFFIX ".elf")'
    made = cmake_programs(adopt, tmp_path, in_factory="Model/reid.c", suffix=suffix)
    assert made == ("factory.elf", "factory", [])


@pytest.mark.parametrize(
    ("where", "may", "networks", "taken"),
    [
        ({}, "selftest, reid-door, factory", "Model/od.c, Model/reid.c", "selftest"),
        (dict.fromkeys(("in_list", "in_factory"), "Model/reid.c"), "reid-door, factory", "Model/reid.c", "reid-door"),
    ],
    ids=["none", "several"],
)
def test_which_executable_of_cmake_cannot_be_told(
    adopt: Adopt, tmp_path: Path, where: dict[str, str], may: str, networks: str, taken: str
) -> None:
    question = f"note: CMakeLists.txt: {may} may be the program with {networks}: {taken} is taken"
    made = cmake_programs(adopt, tmp_path, **where)
    assert made == (taken, taken, [f"{question} (another one: artefact and target)"])


def test_comments_of_cmake_name_no_source(adopt: Adopt, tmp_path: Path) -> None:
    """A ``#`` in quotes, in brackets or behind a backslash begins no comment."""
    root = SHAPES["cmake"](tmp_path / "cmake")
    test = repositories.network("Appli/X-CUBE-AI/App", Want(version="3.0", name="test"), "test_atonbuf.xSPI2.raw")
    put(root, {path.replace("App/network", "App/test"): data for path, data in test.items()})
    cmake = (root / "Appli/CMakeLists.txt").read_text()

    def networks(sources: str) -> list[str]:
        put(root, {"Appli/CMakeLists.txt": f"{cmake}target_sources(app PRIVATE App/network.c {sources})\n"})
        (tmp_path / "variants.yaml").write_text(adopt("cmake")[1])
        return [each.name for each in config.read(tmp_path / "variants.yaml").variant("cmake").networks]

    for comment in ("# App/test.c is not used\n", "#[[ a\nApp/test.c ]]", "#[=[ ]] App/test.c\n]=]", '# "\n'):
        assert networks(comment) == ["network"], comment
    for source in (
        '"a#b" App/test.c',
        "[[ # ]] App/test.c",
        "a\\#b App/test.c",
        '#[[ " ]] App/test.c',
        '"\\"#" App/test.c',
    ):
        assert networks(source) == ["network", "test"], source
    put(root, {"Appli/CMakeLists.txt": f"#[[\n{cmake}]]\n"})
    assert "build: cmake" not in adopt("cmake")[2]


def test_a_network_that_the_build_leaves_out(adopt: Adopt, tmp_path: Path) -> None:
    """CMake names the C of one network: the other one is no part of the program. Patterns of files tell nothing."""
    root = SHAPES["cmake"](tmp_path / "cmake")
    test = repositories.network("Appli/X-CUBE-AI/App", Want(version="3.0", name="test"), "test_atonbuf.xSPI2.raw")
    put(root, {path.replace("App/network", "App/test"): data for path, data in test.items()})
    put(root, {"Middlewares/ST/AI/Npu/ll_aton_reloc_test.c": "int a;\n"})
    cmake = (root / "Appli/CMakeLists.txt").read_text()
    note = "note: no entry for Appli/X-CUBE-AI/App/test.c: Appli/CMakeLists.txt compiles Appli/X-CUBE-AI/App/network.c"
    both = ["network", "test"]

    def networks() -> list[str]:
        (tmp_path / "variants.yaml").write_text(adopt("cmake")[1])
        return [each.name for each in config.read(tmp_path / "variants.yaml").variant("cmake").networks]

    assert networks() == both, "no file is named"
    sources = "target_sources(${CMAKE_PROJECT_NAME} PRIVATE ../X/ll_aton_reloc_test.c ../App/network.c)\n"
    put(root, {"Appli/mx-generated.cmake": sources, "Appli/CMakeLists.txt": f'{cmake}include("mx-generated.cmake")\n'})
    assert networks() == ["network"] and f"{note}, and this one not" in adopt("cmake")[2]
    put(root, {"Appli/mx-generated.cmake": sources + "file(GLOB MORE ../App/*.c)\n"})
    assert networks() == both
    put(root, {"Appli/mx-generated.cmake": "include(mx-generated.cmake)\ninclude(../CMakeLists.txt)\n"})
    assert networks() == both, "files that include each other"


def test_two_boards_are_two_variants(adopt: Adopt, tmp_path: Path) -> None:
    status, out, _ = adopt("make")
    assert status == 0
    (tmp_path / "variants.yaml").write_text(out)
    project = config.read(tmp_path / "variants.yaml")
    assert list(project.config.titles) == ["make-nucleo-n657x0-q", "make-stm32n6570-dk"]
    variant = project.variant("make-nucleo-n657x0-q")
    assert variant.networks[0].name == "network_nucleo_n657x0_q"
    external = variant.application.external
    assert external is not None
    assert external.directory == "Application/NUCLEO-N657X0-Q"
    assert external.artefact == "build/Application/NUCLEO-N657X0-Q/Project.elf"
    status, out, err = adopt("make", "--board", "stm32n6570-dk")
    assert "nucleo" not in out
    assert "note: no entry for Model/NUCLEO-N657X0-Q/network.c: the tree is for stm32n6570-dk" in err


def test_two_networks_of_a_program(adopt: Adopt, tmp_path: Path) -> None:
    status, out, err = adopt("reid")
    assert status == 0
    (tmp_path / "variants.yaml").write_text(out)
    variant = config.read(tmp_path / "variants.yaml").variant("reid")
    assert [(network.name, network.adopted) for network in variant.networks] == [
        (name, AdoptedConfig("reid/Model", f"{name}.c")) for name in ("od", "reid")
    ]
    assert "note: no entry for converted/reid.c: Model/reid.c is network reid of Makefile" in err
    external = variant.application.external
    assert external is not None
    assert [rule.pattern for rule in external.stage.rules] == ["od.c", "reid.c", "*"]
    names = {each["c_name"]: each["initializers"] for each in found(adopt, "reid")["networks"]}
    assert names["od"] == {"xSPI2": "Model/od_atonbuf.xSPI2.bin"}


@pytest.mark.parametrize(
    ("glob", "compiled"),
    [
        ("file(GLOB MODELS Model/*.c)", True),
        ('file(GLOB_RECURSE MODELS CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/Model/o*.c")', True),
        ("file(GLOB MODELS\n  Src/*.c\n  ./Src/../M*/*.c)", True),
        ("file(GLOB MODELS Model/*/*.c *.c)", False),
        ("file(GLOB MODELS ${OTHER}/Model/*.c ${OTHER}/*.c)", False),
        ("# file(GLOB MODELS Model/*.c)", False),
    ],
)
def test_a_pattern_of_cmake_that_finds_a_network(adopt: Adopt, tmp_path: Path, glob: str, compiled: bool) -> None:
    """A network without constants is in the program as if the CMake named it."""
    root = SHAPES["reid"](tmp_path / "reid")
    for name in ("Makefile", "Model/od_atonbuf.xSPI2.bin"):
        (root / name).unlink()
    put(root, {"CMakeLists.txt": f"{repositories.CMAKE}{glob}\n", "cmake/gcc-arm-none-eabi.cmake": repositories.CHAIN})
    status, _, err = adopt("reid")
    note = "note: CMakeLists.txt compiles Model/od.c too: the flash plan of reid lacks its constants"
    assert (status, note in err.splitlines()) == (0, compiled)


def test_a_program_with_constants_that_are_nowhere(adopt: Adopt, tmp_path: Path) -> None:
    """Its flash plan would be incomplete without a word."""
    (SHAPES["reid"](tmp_path / "reid") / "Model/od_atonbuf.xSPI2.bin").unlink()
    status, out, err = adopt("reid")
    notes = [line for line in err.splitlines() if line.startswith("note: ") and "od.c" in line]
    assert status == 0 and "c_file: reid.c" in out and len(notes) == 2
    assert notes[0].startswith("note: no entry for Model/od.c: ") and notes[0].endswith(" no file holds them")
    assert notes[1] == "note: Makefile compiles Model/od.c too: the flash plan of reid lacks its constants"


def test_two_networks_whose_files_have_one_name(adopt: Adopt, tmp_path: Path) -> None:
    """No rule by the name of a file tells them apart: they stay where the tree has them."""
    root = SHAPES["ei"](tmp_path / "ei")
    put(root, repositories.network("Second", Want(name="other"), "kws.bin"))
    (tmp_path / "variants.yaml").write_text(adopt("ei")[1])
    variant = config.read(tmp_path / "variants.yaml").variant("ei")
    assert [each.adopted.folder for each in variant.networks if each.adopted] == ["ei/Model", "ei/Second"]
    external = variant.application.external
    assert external is not None and [(rule.pattern, rule.destination) for rule in external.stage.rules] == [("*", "")]


def test_an_application_of_a_core(adopt: Adopt, tmp_path: Path) -> None:
    SHAPES["h747"](tmp_path / "h7")
    (tmp_path / "h7/CM7/.project").write_text("<projectDescription><name>app</name></projectDescription>")
    status, out, _ = adopt("h7")
    assert status == 0
    (tmp_path / "variants.yaml").write_text(out)
    variant = config.read(tmp_path / "variants.yaml").variant("h7")
    external = variant.application.external
    assert (variant.board, variant.application.kind) == ("stm32h747i-disco", "cubeide") and external is not None
    assert external.directory == "CM7" and external.stage.rules[0].destination == "CM7/X-CUBE-AI/App/"


def test_a_project_of_two_cores(adopt: Adopt, tmp_path: Path) -> None:
    """X-CUBE-AI's choice between networks is no network; a network has the build of its core; runs are copies."""
    root = SHAPES["h747"](tmp_path / "h7")
    (root / "CM7/.cproject").unlink()
    for core in ("CM4", "CM7"):
        name = f"STM32CubeIDE/{core}"
        project = "<projectDescription><name>app</name></projectDescription>"
        put(root, {f"{name}/.cproject": repositories.CPROJECT.format(name="Debug"), f"{name}/.project": project})
    choice = """/* X-CUBE-AI C code generator */
ai_error ai_mnetwork_create(const char *name, ai_handle* network, const ai_buffer* config) { }
stai_return_code stai_mnetwork_init(const char *name, stai_ptr* network) { }
"""
    put(root, {"CM7/X-CUBE-AI/App/app_x-cube-ai.c": choice, ".ai/run/CM7/network.c": repositories.H747_C})
    assert [each["c_file"] for each in found(adopt, "h7")["networks"]] == ["CM7/X-CUBE-AI/App/network.c"]
    (tmp_path / "variants.yaml").write_text(adopt("h7")[1])
    variant = config.read(tmp_path / "variants.yaml").variant("h7")
    external = variant.application.external
    assert external is not None and external.directory == "STM32CubeIDE/CM7"
    assert variant.networks[0].adopted == AdoptedConfig("h7/CM7/X-CUBE-AI/App")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and pipes")
def test_what_cannot_be_read_is_no_part_of_a_tree(adopt: Adopt, tmp_path: Path) -> None:
    root = SHAPES["audio"](tmp_path / "audio")
    before = adopt("audio")
    for name in ("Makefile", "network.c", "README.txt", "a.hex", "x.ld"):
        (root / name).symlink_to("nowhere")
    os.mkfifo(root / "flash.sh")
    assert adopt("audio") == before


def test_why_there_is_no_entry(adopt: Adopt, tmp_path: Path) -> None:
    for shape, why in (
        ("xip", "Appli/AI/App/network.c: pool xSPI2 is relative"),
        ("h747", "no entry for CM7/X-CUBE-AI/App/network.c: CM7/.cproject: there is no .project beside it"),
    ):
        status, out, err = adopt(shape)
        assert (status, out) == (1, ""), shape
        assert why in err
        assert err.splitlines()[-1] == (
            f"neuralart adopt: error: {shape}: no variant can be made of it (the notes above say what is missing)"
        )
    made = found(adopt, "h747")
    assert (made["networks"][0]["runtime"], made["networks"][0]["initializers"]) == ("network_runtime", {})
    assert made["board"] == "stm32h747i-disco"
    assert found(adopt, "xip")["linker_scripts"][0] == "Appli/STM32N657XX_ROMxspi2.ld"
    SHAPES["cubeide"](tmp_path / "bare")
    (tmp_path / "bare/README.md").unlink()
    assert "nothing names a board that is known (--board NAME)" in adopt("bare")[2]
    assert "networks of stm32h747i-disco on the core" in adopt("bare", "--board", "stm32h747i-disco")[2]
    (tmp_path / "bare/FSBL/.cproject").unlink()
    assert "there is no build of its program" in adopt("bare", "--board", "stm32n6570-dk")[2]
    assert "no board 'dk'" in adopt("bare", "--board", "dk")[2]


def test_a_tree_that_is_not_understood(adopt: Adopt, tmp_path: Path) -> None:
    put(tmp_path / "other", {"src/main.c": "int main(void) { return 0; }\n", "Makefile": "all:\n\tcc src/main.c\n"})
    status, out, err = adopt("other")
    assert (status, out) == (1, "")
    assert [re.sub(":.*", "", line) for line in err.splitlines() if line.startswith("looked")] == [
        f"looked for {what}" for what in ("networks", "constants", "builds", "linker scripts", "flash addresses")
    ]
    assert "LL_ATON_EpochBlockItems_<name>" in err
    assert "neuralart adopt: error: other: no generated network is in it" in err
    assert found(adopt, "other") == {"networks": [], "board": None, "build": [], "linker_scripts": [], "flash": []}
    assert "no such folder" in adopt("nowhere")[2]


def test_a_file_that_is_there_stays(adopt: Adopt, tmp_path: Path) -> None:
    (tmp_path / "variants.yaml").write_text("mine\n")
    status, _, err = adopt("make", "-o", "variants.yaml")
    assert (status, (tmp_path / "variants.yaml").read_text()) == (1, "mine\n")
    assert "variants.yaml: is there already (another name, or --force to replace it)" in err
    assert adopt("make", "-o", "variants.yaml", "--force")[0] == 0
    assert config.read(tmp_path / "variants.yaml").config.default


def test_json_and_a_file(adopt: Adopt, tmp_path: Path) -> None:
    """``-o`` writes the entries beside the JSON; without entries the command fails and leaves no file."""
    status, out, err = adopt("ei", "--json", "-o", "variants.yaml")
    assert (status, json.loads(out)) == (0, json.loads(adopt("ei", "--json")[1]))
    assert err.splitlines()[-1] == "variants.yaml: 1 networks, 1 variants"
    assert (tmp_path / "variants.yaml").read_text() == adopt("ei")[1]
    assert adopt("ei", "--json", "-o", "variants.yaml")[0] == 1, "it is there"
    status, out, err = adopt("xip", "--json", "-o", "none.yaml")
    assert status == 1 and json.loads(out)["networks"] and err.splitlines()[-1].startswith("neuralart adopt: error: ")
    assert not (tmp_path / "none.yaml").exists()


def test_the_reference_has_the_keys_of_the_json(adopt: Adopt) -> None:
    text = (Path(__file__).parents[3] / "docs/reference/adopt.md").read_text()
    said, made = json.loads(text.split("```json\n")[1].split("```")[0]), json.loads(adopt("ei", "--json")[1])
    assert list(said) == list(made) and "| `notes` |" in text
    assert [list(said[key][0]) for key in ("networks", "flash")] == [
        list(made[key][0]) for key in ("networks", "flash")
    ]


def test_constants_that_cannot_be_right(adopt: Adopt, tmp_path: Path) -> None:
    """At another address, in several places, flashed elsewhere than they are read."""
    made = repositories.network("Model", Want(), "network_data.hex", at=0x70380000)
    put(tmp_path / "wrong", {**made, "README.md": "STM32N6570-DK\n"})
    err = adopt("wrong")[2]
    assert "Model/network_data.hex: its bytes belong to 0x70380000, pool xSPI2 of network.c is at 0x71000000" in err
    raw = "network_atonbuf.xSPI2.raw"
    made = repositories.network("Model", Want(), f"/a/{raw}")
    put(tmp_path / "twice", {**made, f"b/{raw}": made[f"a/{raw}"] + b"\0", "README.md": "STM32N6570-DK\n"})
    assert f"a/{raw}, b/{raw} may be it" in adopt("twice")[2]
    pointer = SHAPES["audio"](tmp_path / "audio") / "Projects/X-CUBE-AI/models/aed_weights.bin"
    pointer.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 1297\n")
    assert f"{pointer.relative_to(tmp_path / 'audio')}: a Git LFS pointer" in adopt("audio")[2]
    SHAPES["ei"](tmp_path / "moved")
    script = tmp_path / "moved/flash.sh"
    script.write_text(script.read_text() + f"{repositories.FLASH_CLI} -w Upload/network_data.hex 0x70180000\n")
    assert (
        "note: flash.sh:5 writes Upload/network_data.hex to 0x70180000, Model/network.c reads pool xSPI2 at 0x71000000"
        in adopt("moved")[2]
    )


def test_a_runtime_of_another_release(adopt: Adopt, tmp_path: Path) -> None:
    """The tree's own header is compared with what the network was made for."""
    SHAPES["ei"](tmp_path / "ei")
    header = "Middlewares/ST/AI/Npu/ll_aton/ll_aton_version.h"
    parts = dict.fromkeys(("MAJOR", "MINOR", "MICRO", "DEV"), 1)
    put(tmp_path / "ei", {header: "".join(f"#define LL_ATON_VERSION_{part} {n}\n" for part, n in parts.items())})
    (note,) = [line for line in adopt("ei")[2].splitlines() if "is made for runtime" in line]
    assert note.startswith(f"note: Model/network.c is made for runtime 1.0.0.16, {header}:1 is 1.1.1.1: its build is")


def _pools(move: str = "") -> str:
    """The pool file of the network of ``ei``, as its C says; a pool may be elsewhere."""
    from neuralart.vendor.generated.files import find

    rows = []
    for pool in find(Path("ei/Model")).pools.enabled:
        place = pool.address + (4096 if pool.fname == move else 0)
        offset = {"value": f"0x{place:08x}", "magnitude": "BYTES"}
        size = {"value": str(pool.size - (4096 if move else 0)), "magnitude": "BYTES"}
        prop = {"rights": pool.rights}
        rows.append({"fname": pool.fname, "name": pool.name, "offset": offset, "size": size, "prop": prop})
    return json.dumps({"memory": {"mempools": rows}})


def test_the_pool_file_beside_a_network(adopt: Adopt, tmp_path: Path) -> None:
    """One that agrees is named; several, a wrong one and a damaged one are notes."""
    root = SHAPES["ei"](tmp_path / "ei")
    without, before = adopt("ei"), found(adopt, "ei")
    assert "mpool" not in without[1]

    def written(*names: str, text: str) -> tuple[str, list[str]]:
        put(root, dict.fromkeys(names, text))
        status, out, err = adopt("ei")
        assert status == 0 and found(adopt, "ei") == before, "the keys of --json stay"
        (tmp_path / "variants.yaml").write_text(out)
        (network,) = config.read(tmp_path / "variants.yaml").variant("ei").networks
        return network.mpool, [line for line in err.splitlines() if line.startswith("note: ") and "mpool" in line]

    assert written("elsewhere/a.mpool", text=_pools()) == ("", [])
    assert written("Model/my.mpool", text=_pools()) == ("ei/Model/my.mpool", [])
    assert "  pool file: Model/my.mpool" in adopt("ei")[2].splitlines()
    mpool, (note,) = written("Model/my.mpool", text=_pools("xSPI2"))
    assert mpool == "" and note.startswith("note: Model/my.mpool:1:")
    assert note.endswith(
        ": pool xSPI2 of Model/network.c at 0x71000000 is at 0x71001000 there: Model/my.mpool is not taken"
    )
    mpool, (note,) = written("Model/my.mpool", text="{")
    assert mpool == "" and note.startswith("note: Model/my.mpool:1:") and note.endswith("Model/my.mpool is not taken")
    mpool, (note,) = written("Model/my.mpool", "Model/other.mpool", text=_pools())
    both = "(Model/my.mpool, Model/other.mpool)"
    assert (mpool, note) == ("", f"note: Model/network.c: several pool files are beside it {both}: none is taken")


def test_few_files_are_read(adopt: Adopt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sources only the beginning, of libraries nothing."""
    SHAPES["make"](tmp_path / "make")
    put(tmp_path / "make", {f"Drivers/HAL/hal_{number}.c": "int a;\n" for number in range(50)})
    opened: list[str] = []
    real = Path.open

    def counted(path: Path, *args: object, **named: object) -> object:
        opened.append(path.as_posix())
        return real(path, *args, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", counted)
    assert adopt("make", "--json")[0] == 0
    assert not [path for path in opened if "/Drivers/" in path]
