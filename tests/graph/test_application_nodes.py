"""``application:`` of a variant as nodes: arguments, dependencies, signatures, flags; nothing is built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import SCons.Errors

from neuralart.applications import content_cache as seen_files
from neuralart.applications.build import inputs
from neuralart.boards.types import Board
from neuralart.config.application import (
    CMAKE,
    CUBEIDE,
    ELF,
    KEYS,
    MAKE,
    SOURCES,
    ApplicationConfig,
    ExternalConfig,
    SourcesConfig,
    StageConfig,
    StageRule,
)
from neuralart.config.types import NetworkConfig, RelocatableConfig, ToolchainConfig, VariantConfig
from neuralart.scons.application.application import object_names
from neuralart.scons.registry import Registry
from neuralart.text.values import Location
from neuralart.toolchain import Toolchain
from support.fake_apps import HERE, application
from support.fake_stedgeai import install
from support.models.stedgeai_case import make
from support.projects import graphs

pytestmark = [pytest.mark.usefixtures("gcc"), pytest.mark.skipif(sys.platform == "win32", reason="a shell script")]
NET = NetworkConfig("net", "net.tflite", compiler="stedgeai", profile="blobs@na.json")
DIGITS = NetworkConfig("digits", "models/digits.tflite")


@pytest.fixture
def users(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An application in the tree, one beside it, and a tool that compiles for them."""
    monkeypatch.setenv("NEURALART_STEDGEAI_ROOTS", str(tmp_path / "nowhere"))
    monkeypatch.setenv("STEDGEAI_CORE_DIR", str(install(tmp_path / "st")))
    case = make(tmp_path / "case")
    shutil.copytree(case, tree, dirs_exist_ok=True)
    application(tree / "app", "make")
    application(tmp_path / "beside", "cmake")
    shutil.copytree(HERE / "own", tree / "own")
    return tree


def external(kind: str = MAKE, folder: str = "app", **changes: Any) -> ApplicationConfig:
    given: dict[str, Any] = {"artefact": "build/firmware.elf", "directory": "gcc", **changes}
    return ApplicationConfig(kind, external=ExternalConfig(folder, **given), places={"folder": "variants.yaml:9"})


def sources(files: tuple[str, ...] = ("own/*.c",), script: str = "own/app.ld", **changes: Any) -> ApplicationConfig:
    return ApplicationConfig(SOURCES, sources=SourcesConfig(files, linker_script=script, **changes))


def variant(app: ApplicationConfig, *networks: NetworkConfig, **changes: Any) -> VariantConfig:
    fields: dict[str, Any] = {
        "name": "v",
        "title": "V",
        "board": "stm32n6570-dk",
        "machine": "",
        "networks": networks or (NET,),
        "where": Location("variants.yaml", 9),
        "application": app,
        **changes,
    }
    return VariantConfig(**fields)


def program(env: Any, app: ApplicationConfig, *networks: NetworkConfig, **changes: Any) -> Any:
    return env.NeuralArtVariant(variant(app, *networks, **changes)).firmware.elf


def names(nodes: Any) -> set[str]:
    return {Path(str(node)).as_posix() for node in nodes}


# ---- builds of the user's own


def _seen(elf: Any) -> list[str]:
    """Hashes of trees among what a program depends on."""
    return [node.value for node in elf.depends if str(node).startswith("tree: ")]


def test_a_tree_counts_by_its_contents(env: Any, users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads it again opens only what was touched; times alone change nothing."""
    app = external()
    tree = inputs(app, users)
    record = users / "build/.seen-x.json"
    old = time.time_ns() - 10 * 10**9
    for path in tree.files.values():
        os.utime(path, ns=(old, old))
    monkeypatch.setattr(seen_files, "_TICK", -(10**12))  # as if all this were long ago
    opened: list[str] = []
    real = seen_files.read_bytes
    monkeypatch.setattr(seen_files, "read_bytes", lambda path: opened.append(path.name) or real(path))
    first = seen_files.digest(tree, record)
    assert len(opened) == len(tree.files)
    opened.clear()
    assert (seen_files.digest(tree, record), opened) == (first, [])
    header = users / "app/Src/settings.h"
    header.write_bytes(header.read_bytes())
    assert (seen_files.digest(tree, record), opened) == (first, ["settings.h"])
    header.write_text("int other;\n")
    assert seen_files.digest(tree, record) != first
    for damage in ("", "{", '{"schema": 1, "files": {"app.ld": [1]}}', '{"schema": 1, "files": []}'):
        record.write_text(damage)
        assert seen_files.digest(inputs(app, users), record) != first
    monkeypatch.setattr(seen_files, "_TICK", 10**18)
    record.unlink()
    opened.clear()
    seen_files.digest(tree, record)
    seen_files.digest(tree, record)
    assert len(opened) == 2 * len(tree.files), "what is new may change within the same tick"


def test_what_the_sconstruct_makes_in_a_tree_is_made_before(env: Any, users: Path) -> None:
    made = users / "app/Src/version.h"
    made.write_text("old")
    env.Command("app/Src/version.h", [], "make it")
    elf = program(env, external())
    assert "app/Src/version.h" in names(elf.sources)
    digest = _seen(elf)
    made.write_text("new")
    assert _seen(program(env, external(), name="w")) == digest


def test_a_tree_with_the_sconstruct_in_it(env: Any, users: Path) -> None:
    """What SCons writes there is no input, and nothing that git ignores."""
    git = shutil.which("git")
    assert git is not None
    top = users / "app"
    (top / ".gitignore").write_text("/Debug/\n*.log\n*.a\n/kept\n")
    of_scons = (".sconsign.dblite", "SConstruct", "variants.yaml", "sub/.sconsign5.dblite")
    for name in (*of_scons, "Debug/x.d", "a.log", "kept"):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text("x")
    subprocess.run([git, "init", "-q"], cwd=top, check=True)
    archive = "Middlewares/ST/AI/Lib/GCC/ARMCortexM55/NetworkRuntime1200_CM55_GCC.a"
    subprocess.run([git, "add", "-f", archive], cwd=top, check=True)
    found = inputs(external(), users).files
    assert archive in found, "git tracks it, whatever it ignores"
    assert not {".sconsign.dblite", "SConstruct", "variants.yaml", "Debug/x.d", "a.log", "kept"} & found.keys()
    assert not [name for name in found if "sconsign" in name]
    assert {"kept", "Debug/x.d"} <= inputs(external(exclude=("!/kept", "!/Debug/", "!x.d")), users).files.keys()
    # A repository within it has its own list.
    sub = top / "sub"
    (sub / ".gitignore").write_text("out/\n")
    for name in ("out/y.c", "y.c"):
        (sub / name).parent.mkdir(exist_ok=True)
        (sub / name).write_text("x")
    subprocess.run([git, "init", "-q"], cwd=sub, check=True)
    assert [name for name in inputs(external(), users).files if name.endswith("y.c")] == ["sub/y.c"]
    # A tree that a repository around it ignores is a tree all the same.
    shutil.rmtree(top / ".git")
    (users / ".gitignore").write_text("/app/\n")
    subprocess.run([git, "init", "-q"], cwd=users, check=True)
    assert archive in inputs(external(), users).files


def test_arguments_of_make(env: Any, users: Path, gcc: Toolchain) -> None:
    app = external(
        target="all",
        variables=(("EXTRA", "-DX=$(TOP) 'y'"),),
        exclude=("docs",),
        stage=StageConfig("gen", (StageRule("*.raw", "Model/", "variants.yaml:12"),)),
    )
    argv = graphs.command(program(env, app))
    assert argv[1:7] == ["-m", "neuralart", "application", "build", "--quiet", "--force"]
    words = argv[7:]
    assert words[:4] == ["--with=make", "--folder=app", "--directory=gcc", "--artefact=build/firmware.elf"]
    assert {"--target=all", "--variable=EXTRA=-DX=$(TOP) 'y'", "--exclude=docs", "--stage-folder=gen"} <= {*words}
    assert {"--stage=*.raw=Model/", "--place=folder=variants.yaml:9", "--place=stage:*.raw=variants.yaml:12"} <= {
        *words
    }
    made = [word for word in words if word.startswith("--generated=net:build/networks/net-stm32n6570-dk-")]
    suffixes = {Path(word).name for word in made}
    assert {"net.c", "net_ecblobs.h", "net_atonbuf.xSPI2.raw"} <= suffixes
    assert not {name for name in suffixes if name.endswith((".json", ".txt", ".onnx"))}
    assert "--generated=:build/v/npu_memory_init.c" in words and "--generated=:build/v/network_io.h" in words
    assert words[words.index("--core") :][:2] == ["--core", "CM55"]
    at = words.index("--root")
    assert words[at : at + 4] == ["--root", ".", "--toolchain", gcc.folder]
    assert words[words.index("--output") + 1] == "build/v/firmware.elf"
    assert "--libc" not in words


def test_the_c_library_of_the_variant_is_told(env: Any, users: Path) -> None:
    words = graphs.command(program(env, external(), toolchain=ToolchainConfig(libc="newlib")))
    assert words[words.index("--libc") + 1] == "newlib"
    assert "--place=libc=variants.yaml:9" in words


def test_it_depends_on_every_file_of_the_user(env: Any, users: Path) -> None:
    (users / "app/.git").mkdir()
    (users / "app/.git/HEAD").write_text("x")
    (users / "app/gcc/build").mkdir()
    (users / "app/gcc/build/main.o").write_text("x")
    (users / "app/Src/odd $HOME $(x).txt").write_text("x")
    elf = program(env, external())
    found = {*names(elf.sources), *(path.as_posix() for path in elf.attributes.neuralart_files)}
    found = {name.removeprefix(f"{users.as_posix()}/") for name in found}
    assert {"app/gcc/Makefile", "app/app.ld", "app/Src/settings.h", "app/Src/odd $HOME $(x).txt"} <= found
    assert "app/Middlewares/ST/AI/Lib/GCC/ARMCortexM55/NetworkRuntime1200_CM55_GCC.a" in found
    assert not {name for name in found if ".git" in name or name.startswith("app/gcc/build")}
    assert {"build/v/npu_memory_init.c", "build/v/network_io.h"} <= found
    # What they include is theirs as well: nothing looks into thousands of files for it.
    assert elf.get_found_includes(env, None, ()) == []
    elf.scan()
    assert not elf.implicit


@pytest.mark.parametrize("kind", [MAKE, CMAKE, CUBEIDE])
def test_the_signature_is_that_of_every_other_place(
    env: Any, make_env: Any, users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    found = []
    for place in (users, tmp_path / "another" / "deep"):
        if place != users:
            shutil.copytree(users, place)
            shutil.copytree(tmp_path / "beside", place.parent / "beside")
            monkeypatch.chdir(place)
            env = make_env()
        elf = program(env, external(kind, "../beside", directory=".", toolchain_file="arm.cmake"))
        found.append(graphs.signature(elf))
    assert found[0] == found[1]
    assert str(tmp_path).encode() not in found[0]
    assert b"--folder=../beside" in found[0]
    for secret in (b"--root", b"--toolchain ", b"--jobs", b"--place", sys.executable.encode()):
        assert secret not in found[0]


CHANGES: list[dict[str, Any]] = [
    {"artefact": "x.elf"},
    {"target": "x"},
    {"directory": "Src"},
    {"variables": (("A", "$(X) 1"),)},
    {"variables": (("A", "$(X) 2"),)},
    {"options": ("-DX=$",)},
    {"generator": "Ninja"},
    {"preset": "Debug"},
    {"exclude": ("docs",)},
    {"stage": StageConfig("x")},
    {"stage": StageConfig("neuralart", (StageRule("a", "b"),))},
    {"configuration": "Release"},
    {"build": "native"},
    {"executable": "gmake"},
]


def test_every_setting_counts(make_env: Any, users: Path) -> None:
    seen = {graphs.signature(program(make_env(), external(**change))) for change in [{}, *CHANGES]}
    assert len(seen) == len(CHANGES) + 1
    known = {key.name for kind in (MAKE, CMAKE, CUBEIDE) for key in KEYS[kind]} - {"folder", "toolchain_file"}
    assert known == {key for change in CHANGES for key in change}


def test_how_many_compiles_at_once_is_no_reason_to_build(
    make_env: Any, users: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make_env()
    one = graphs.signature(program(env, external()))
    env = make_env()
    monkeypatch.setattr(type(env), "GetOption", lambda _, name: {"num_jobs": 7}.get(name))
    elf = program(env, external())
    assert graphs.signature(elf) == one
    words = graphs.command(elf)
    assert words[words.index("--jobs") + 1] == "7"


def test_a_program_that_is_linked(env: Any, users: Path) -> None:
    (users / "linked.elf").write_bytes(b"x")
    elf = program(env, ApplicationConfig(ELF, elf="linked.elf"))
    assert names(elf.sources) == {"linked.elf"}
    argv = graphs.command(elf)
    assert {"--with=elf", "--elf=linked.elf"} <= {*argv}
    assert not [word for word in argv if word.startswith("--generated")]


def test_a_folder_that_is_not_there(env: Any, users: Path) -> None:
    with pytest.raises(SCons.Errors.UserError, match=r"^variants\.yaml:9: .*none: no such folder"):
        program(env, external(folder="none"))


# ---- the user's sources


def objects(elf: Any) -> dict[str, Any]:
    return {Path(str(node)).name: node for node in graphs.linked(elf) if str(node).endswith(".o")}


def test_flags_of_the_core_for_a_vendor_s_runtime(env: Any, users: Path) -> None:
    (users / "app/Middlewares/ST/AI/Npu/ll_aton/ll_aton_runtime.c").write_text("\n")
    app = sources(("app/Src/*.c",), "app/app.ld", runtime="app", include_dirs=("app/Src",))
    elf = program(env, app)
    made = objects(elf)
    assert {"main.o", "startup.o", "net.o", "ll_aton_runtime.o", "npu_memory_init.o", "banks.o"} <= made.keys()
    assert "conv2d.o" not in made, "kernels are the vendor's"
    argv = graphs.command(made["main.o"])
    assert {"-mcpu=cortex-m55", "-mfpu=fpv5-d16", "-DLL_ATON_PLATFORM=LL_ATON_PLAT_STM32N6"} <= {*argv}
    folders = [word.removeprefix("-I") for word in argv if word.startswith("-I")]
    assert folders[:2] == ["app/Src", "app/Middlewares/ST/AI/Npu/ll_aton"]
    link = graphs.command(elf)
    assert link[link.index("-T") + 1] == "app/app.ld"
    assert "app/Middlewares/ST/AI/Lib/GCC/ARMCortexM55/NetworkRuntime1200_CM55_GCC.a" in link
    # Before the first object: what does not fit is said first.
    (before,) = made["main.o"].prerequisites
    assert str(before) == "build/v/versions.txt"


def test_flags_of_the_machine_for_ours(env: Any, users: Path) -> None:
    board: Board = env["NEURALART_REGISTRY"].board("stm32n6570-dk")
    machine = next(iter(board.machines.values()))
    elf = program(env, sources(), DIGITS)
    argv = graphs.command(objects(elf)["main.o"])
    assert {*machine.cpu_flags} <= {*argv}
    assert "conv2d.o" in objects(elf)
    assert "own/app.ld" in names(elf.depends)
    # A linker script of the user's own goes with start-up code of the user's own.
    assert not {"startup_armv8m.o", "run_main.o"} & objects(elf).keys()
    assert "-Wl,--wrap=main" not in graphs.command(elf)


def test_a_plain_main_gets_what_stands_around_it(env: Any, users: Path) -> None:
    elf = program(env, sources(script=""), DIGITS)
    made = objects(elf)
    assert {"main.o", "startup_armv8m.o", "uart_stm32.o", "stdio.o", "run_main.o", "banks.o", "conv2d.o"} <= made.keys()
    argv = graphs.command(elf)
    assert "-Wl,--wrap=main" in argv and argv[argv.index("-T") + 1].endswith("firmware/boards/sections.ld")
    # Archives and the C library in one group, the user's objects in front: what they define is not taken from these.
    start, end = argv.index("-Wl,--start-group"), argv.index("-Wl,--end-group")
    inside = [Path(word).name for word in argv[start + 1 : end]]
    assert inside == ["libruntime.a", "libkernels-c.a", "libprogram.a", "-lc"]
    assert argv.index("build/v/obj/main.o") < start
    assert {*inside[:3]} <= {Path(name).name for name in names(elf.depends)}


def test_a_plain_main_is_run_until_it_returns(env: Any, users: Path) -> None:
    own = env.NeuralArtVariant(variant(sources(script=""), DIGITS))
    (action,) = graphs.actions(own.run[0])
    words = [str(word) for word in graphs.command(own.run[0])]
    assert action and "--program" in words and "--random" not in words and "--labels" not in words


def test_what_is_compiled_does_not_depend_on_the_place(
    env: Any, make_env: Any, users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(users / "own", users.parent / "own")
    application(users.parent / "vendor", "make")
    app = sources(("../own/*.c", "../own/*.S", "../own/*.cpp"), "../own/app.ld", include_dirs=("../own",))
    found = []
    for parent in (users.parent, tmp_path / "another"):
        if parent != users.parent:
            for name in (users.name, "own", "vendor"):
                shutil.copytree(users.parent / name, parent / name)
            monkeypatch.chdir(parent / users.name)
            env = make_env()
        made = objects(program(env, app, DIGITS))
        found.append([graphs.signature(made[name]) for name in ("main.o", "low.o", "more.o", "digits.o")])
        assert f"-ffile-prefix-map={parent}=.." in graphs.command(made["main.o"])
        assert f"-fdebug-prefix-map={parent}=.." in graphs.command(made["low.o"])
    assert found[0] == found[1]


def test_languages(env: Any, users: Path) -> None:
    made = objects(program(env, sources(("own/*",), defines=("A=$(B) c",)), DIGITS))
    c, cxx, assembler = (graphs.command(made[name]) for name in ("main.o", "more.o", "low.o"))
    assert (c[0], cxx[0], assembler[0]) == ("arm-none-eabi-gcc", "arm-none-eabi-g++", "arm-none-eabi-gcc")
    assert "-std=gnu11" in c and "-std=gnu11" not in (*cxx, *assembler)
    assert "-fno-exceptions" in cxx and "-fno-exceptions" not in (*c, *assembler)
    for argv in (c, cxx, assembler):
        assert "-DA=$(B) c" in argv and "-O2" in argv


def test_names_of_objects() -> None:
    paths = ["a/x.c", "b/x.c", "b/x.2.c", "c/X.s", "d/x.3.c", "e/y.c"]
    made = object_names([Path(path) for path in paths])
    assert made == ["x", "x.2", "x.2.2", "X.3", "x.3.2", "y"]
    assert len({name.casefold() for name in made}) == len(made)


def test_shared_objects_know_nothing_of_the_user(env: Any, users: Path) -> None:
    """Of two variants with equal flags the one without a linker script may be declared first."""
    program(env, sources(script="", include_dirs=("own",)), DIGITS)
    env.NeuralArtVariant(VariantConfig("ref", "R", "stm32n6570-dk", "", (DIGITS,), where=Location("v.yaml", 1)))
    registry: Registry = env["NEURALART_REGISTRY"]
    nodes = graphs.built_nodes([registry.base.Alias("ref")[0]])
    shared = [node for node in nodes if str(node).startswith("build/firmware/") and str(node).endswith(".o")]
    assert shared
    assert not [node for node in shared if "-Iown" in graphs.command(node)]


def test_in_a_folder_below(env: Any, users: Path) -> None:
    """A SConscript of a folder: SCons stands there while it is read."""
    below = users / "fw"
    shutil.copytree(users / "own", below / "own")
    config = variant(sources(("own/*.c",), "own/app.ld"), DIGITS, folder="fw")
    here = Path.cwd()
    os.chdir(below)
    try:
        elf = env.NeuralArtVariant(config).firmware.elf
    finally:
        os.chdir(here)
    link = graphs.command(elf)
    assert link[link.index("-T") + 1] == "fw/own/app.ld"
    assert "fw/own/main.c" in graphs.command(objects(elf)["main.o"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"relocatable": RelocatableConfig(exec_ram=1 << 20)},
            r"^variants\.yaml:9: relocatable: 'exec_ram' is about a firmware of this project, and 'application' names",
        ),
        ({"relocatable": RelocatableConfig(also_on=("mps3-an547",))}, r"^variants\.yaml:9: relocatable: 'also_on' is"),
        ({"kernels": "mve"}, r"^variants\.yaml:9: kernels: mve, but the application brings its own"),
    ],
)
def test_settings_of_the_reference_application(env: Any, users: Path, settings: Any, said: str) -> None:
    for app in (external(), sources(runtime="app")):
        with pytest.raises(SCons.Errors.UserError, match=said):
            program(env, app, DIGITS, **settings)


def test_an_application_that_loads_its_model(env: Any, users: Path) -> None:
    """The network is in the model: the tree gets the start-up code of the memories, and the model as C if asked for."""
    config = variant(external(), DIGITS, relocatable=RelocatableConfig(gen_c_file=True))
    made = env.NeuralArtVariant(config)
    words = graphs.command(made.firmware.elf)
    given = [word.partition("=:")[2] for word in words if word.startswith("--generated=")]
    ours = ("npu_memory_init.h", "network_io.h", "npu_memory_init.c")
    assert given == [*(f"build/v/{name}" for name in ours), "build/v/digits_rel.c", "build/v/digits_rel.h"]
    assert made.flash is not None and made.model is not None
    assert names(made.firmware.elf.sources).isdisjoint(names([made.model.image])), "new weights link nothing"
    assert graphs.names(made.flash.plans.values()) == ["build/v/flash_plan.json", "build/v/flash_plan.copy.json"]
    assert "build/v/application.bin" in names(made.flash.plan.sources)


def test_sources_that_load_their_model(env: Any, users: Path) -> None:
    """The vendor's runtime with its loader, which is compiled for models."""
    loader = users / "app/Middlewares/ST/AI/Npu/ll_aton/ll_aton_reloc_network.c"
    for name in (loader.name, "ll_aton_reloc_callbacks.c"):
        loader.with_name(name).write_text("int loader;\n")
    elf = program(env, sources(runtime="app"), DIGITS, relocatable=RelocatableConfig(debug_info=False))
    mine = objects(elf)
    assert {"main.o", "npu_memory_init.o", "ll_aton_reloc_network.o"} <= mine.keys()
    assert not {"digits.o", "ll_aton_reloc_callbacks.o"} & mine.keys()
    command = graphs.command(mine["ll_aton_reloc_network.o"])
    assert "-DLL_ATON_RT_RELOC" in command and "-DLL_ATON_EB_DBG_INFO" not in command
    assert "ll_aton_reloc_network.o" not in objects(program(env, sources(runtime="app"), DIGITS, name="w"))


def test_kernels_of_a_program_of_the_user_s(env: Any, users: Path) -> None:
    elf = program(env, sources(script=""), DIGITS, board="mps3-an547", kernels="mve")
    assert [name for name in names(elf.depends) if name.endswith("/libkernels-mve.a")]


@pytest.mark.parametrize(
    ("app", "networks", "said"),
    [
        (
            sources(("app/Src/*.c",), "app/app.ld"),
            (NET,),
            "network net needs runtime ll_aton, and the application names",
        ),
        (
            sources(("app/Src/*.c",), "", runtime="app"),
            (NET,),
            "a program with the vendor's runtime needs a linker script",
        ),
        (sources(("app/Src/none.c",)), (DIGITS,), r"no file .*none\.c \(did you mean|no file .*none\.c"),
        (sources(script="own/none.ld"), (DIGITS,), r"no file .*own/none\.ld"),
    ],
)
def test_what_is_refused_while_reading(env: Any, users: Path, app: Any, networks: Any, said: str) -> None:
    with pytest.raises(SCons.Errors.UserError, match=said) as caught:
        program(env, app, *networks)
    assert "\n" not in str(caught.value)
