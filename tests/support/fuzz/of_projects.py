"""Kinds of files that users write: projects, boards, settings, applications."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuralart import boards, config
from neuralart.app_config import application
from neuralart.applications import cube_project, errorlines, link_errors, lock_facts, version_lock
from neuralart.compilers import adopted
from neuralart.compilers.stedgeai import failures
from neuralart.config import app_config as app_configs
from neuralart.errors import NeuralArtError
from neuralart.network import facts
from neuralart.text import yaml_values
from neuralart.vendor.generated import files
from neuralart_bring.adopt import builds, flash
from neuralart_bring.adopt import networks as adopt_networks
from neuralart_bring.adopt import tree as adopt_tree
from neuralart_bring.linker_script import read as linker_script
from neuralart_bring.model_zoo import convert, tree
from neuralart_bring.patching import patchlist
from support.boards import firmware
from support.boards.h747_app import FILES, LINKER, LINKER_TEXT, App, FakeNetwork, FakePool
from support.boards.h747_app import ROOT as APP_ROOT
from support.cases.variants_text import GOOD
from support.fuzz import ROOT
from support.fuzz.damage import json_tree, text
from support.fuzz.judge import Kind, command, findings
from support.models import app_configs as headers
from support.models.vendor_network_c import Want
from support.models.vendor_network_c import make as vendor_network
from support.projects import repositories

_DATA = ROOT / "site_scons/neuralart/boards/data"
_NAMES = boards.names(())
_BOARDS = [path.read_bytes() for path in sorted(_DATA.glob("*.yaml"))]
_THREE = (FakePool("DTCMRAM", 18428, 1), FakePool("AXIRAM", 311996, 2), FakePool("SDRAM", 266256, 3))

VARIANTS = GOOD.replace("models/vectors\n", "models/vectors\n    budgets: {max_weights: 1M}\n").encode()
_LINKER = b"""\
arm-none-eabi/bin/ld: build/v/obj/main.o: in function `helper':
./src/main.c:7: undefined reference to `LL_ATON_RT_RuntimInit'
arm-none-eabi/bin/ld: b.o: in function `f':
./b.c:1: multiple definition of `f'; a.o:./a.c:3: first defined here
arm-none-eabi/bin/ld: region `CODE' overflowed by 10140 bytes
arm-none-eabi/bin/ld: cannot find -lx: No such file or directory
collect2: error: ld returned 1 exit status
"""
_MAP = b"""\
Memory Configuration

Name             Origin             Length             Attributes
CODE             0x00000000         0x00000400         xr
DATA             0x30000000         0x00020000         rw

Linker script and memory map

 .text.helper   0x00000080       0x20 build/v/obj/main.o
 .text.a_function_with_a_long_name
                0x000000a0      0x800 /usr/lib/libc.a(libc_printf.c.o)
 .bss.x         0x30000000   0x124f80 build/v/obj/main.o
"""
_OWN_VARIANTS = (ROOT / "variants.yaml").read_bytes()
_APP_CONFIG = b"""\
schema: 1
app_config:
  use_case: pose_estimation
  model_type: movenet
  confidence_thresh: 0.4
"""
_ZOO = b"""\
general:
  project_name: pose
  model_type: heatmaps_spe
  model_path: ../zoo/pose_estimation/heat.tflite   # a comment
  gpu_memory_limit: 8
operation_mode: deployment
dataset: {name: persons, keypoints: 13, class_names: [cup, plate]}
preprocessing:
  rescaling: {scale: 1/127.5, offset: -1}
  resizing: {interpolation: bilinear, aspect_ratio: crop}
  color_mode: rgb
postprocessing: {kpts_conf_thresh: 0.3, confidence_thresh: 0.4, NMS_thresh: 0.1, max_detection_boxes: 10}
tools:
  stedgeai: {version: 10.0.0, optimization: balanced, on_cloud: True, path_to_stedgeai: C:/x/stedgeai.exe}
deployment:
  c_project_path: ../../stm32ai_application_code/pose_estimation/
  IDE: GCC
  verbosity: 1
  hardware_setup: {serie: STM32N6, board: STM32N6570-DK}
"""
_SCRIPT = b"""\
INCLUDE other.ld
STACK = DEFINED(BIG) ? 4K : 2K;
MEMORY { RAM (xrw) : ORIGIN = 0x20000000, LENGTH = 64K - STACK
 ROM (rx): org = 0x08000000, len = 1M / 2 + (1 << 10) B (rw!x) : o = ORIGIN(RAM) + LENGTH(RAM), l = MAX(4, 8) }
SECTIONS {
 .text : ALIGN(4) { *(.text*) KEEP(*(.x)) . = ALIGN(8); _e = .; } > ROM
 .data : { *(.data .data.*) } > RAM AT> ROM
 OVERLAY : { .a { *(.a) } .b { *(.b) } } > B
 /DISCARD/ : { *(*) }
}
PROVIDE(_estack = ORIGIN(RAM) + LENGTH(RAM)); ASSERT(_e > 0, "text")
"""
_ERRORS = b"""\
make: Entering directory '/w/app'
../Src/main.c:12:3: error: 'x' undeclared (first use in this function)
   12 |   x = 1;
/usr/bin/ld: main.o: in function `main': main.c:(.text+0x4): undefined reference to `f'
region `RAM' overflowed by 4096 bytes
collect2: error: ld returned 1 exit status
CMake Error at CMakeLists.txt:3 (add_executable): nothing
"""
_PROJECT = b'<?xml version="1.0"?>\n<projectDescription><name>app_CM7</name><comment/></projectDescription>\n'
_CPROJECT = b"""<?xml version="1.0" encoding="UTF-8"?>
<cproject><storageModule><cconfiguration id="a">
<configuration artifactName="${ProjName}" buildProperties="" name="Debug"/></cconfiguration>
<configuration artifactName="x" name="Release"/></storageModule></cproject>
"""
_LIST = b"""\
schema: 1
title: mine
target: stm32f7
linker_script: my.ld
marker: {start: "// <gen>", stop: "// </gen>"}
camera: {resolutions: [{constant: RES_B, width: 400, height: 300, width_symbol: W_B, height_symbol: H_B}]}
activations: {section: ".act_{pool}", symbol: "act_{pool}"}
files:
  - path: src/config.h
    operations:
      - {macro: GRAB, value: "{{ camera.constant }}"}
      - {macro: GRAB_W, value: "{{ camera.width }}"}
"""


def _variants(path: Path) -> object:
    project = config.read(path, path.name)
    for name in project.config.titles:
        with contextlib.suppress(NeuralArtError):
            project.variant(name)
    return project


def _pools(folder: Path) -> None:
    for name in ("pools", "profiles", "openocd"):
        (folder / name).symlink_to(_DATA / name)


def _import(path: Path) -> object:
    imported = convert.convert(tree.read(path), convert.Wishes(), _NAMES)
    made = convert.text(convert.relocated(imported, path, None, model_is_named=False), path.name)
    # What it writes is read again.
    parsed = yaml_values.parse(made.encode(), "made")
    assert parsed.mapping()["networks"].mapping(), made
    return imported


def _models(folder: Path) -> None:
    (folder / "models").symlink_to(ROOT / "models")


def _appconfig(network: str = "", settings: str = "") -> Any:
    def line(path: Path) -> list[object]:
        here = path.parent
        words = [
            "tool",
            "appconfig",
            "--network",
            here / (network or path.name),
            "--config",
            here / (settings or path.name),
        ]
        return [*words, "--generation", "n6-v1", "-o", here / "made"]

    return command(line)


def _pose_info() -> bytes:
    def buffer(number: int, shape: list[int], kind: str) -> dict[str, object]:
        names = ["BATCH", "H", "W", "CH"]
        return {"id": number, "name": f"t{number}", "shape": shape, "shape_map": names, "format": f"STAI_FORMAT_{kind}"}

    buffers = [buffer(1, [1, 192, 192, 3], "U8"), buffer(2, [1, 48, 48, 13], "FLOAT")]
    graph = {"name": "network", "inputs": [1], "outputs": [2]}
    return json.dumps({"json_schema_version": "2.0", "buffers": buffers, "graphs": [graph]}).encode()


def _settings(folder: Path) -> None:
    (folder / "app.yaml").write_bytes(_APP_CONFIG)
    (folder / "network_c_info.json").write_bytes(_pose_info())


def _wrapper(path: Path) -> object:
    return application.find(path.parent)


def _patch(*more: str) -> Any:
    def line(path: Path) -> list[object]:
        here = next(each for each in path.parents if (each / "network").is_dir())
        return [
            "tool",
            "patch",
            here / "app",
            "--network",
            here / "network",
            "--aspect-ratio",
            "crop",
            "--output",
            here / "made",
            *more,
        ]

    return command(line)


def _app(folder: Path) -> None:
    App(folder, FakeNetwork(_THREE))


def _app_text(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        app = App(Path(folder), FakeNetwork(_THREE))
        return (app.root / name).read_bytes() if not name.startswith("network/") else (Path(folder) / name).read_bytes()


def _script(path: Path) -> object:
    made = linker_script.read(path)
    for each in (made, made.complete()):
        for section in (".text", ".data.x", ".NN_Activation_Buffer_AXIRAM"):
            with contextlib.suppress(NeuralArtError):
                each.place(section)
        each.stack()
        each.value("_estack", "STACK")
    return made


def _xml(path: Path) -> object:
    return cube_project.project_name(path.parent, "app", "variants.yaml:3")


def _configurations(path: Path) -> object:
    return cube_project.configurations(path.parent, "Release", "app", "variants.yaml:3")


def _lock(path: Path) -> object:
    found = lock_facts.gather((), {path.name: path})
    return version_lock.conflicts(found)


_FAILURES = b"""\
schema: 1
failures:
  - id: no-room
    pattern: '^E(?P<code>[0-9]{3}): no room for (?P<what>\\w+) in (?P<pool>[^:]+)$'
    cause: '{what} does not fit into {pool}'
    hint: 'a larger pool ({code})'
warnings:
  - {id: slow, pattern: 'slow (?:path|way) (\\d+)', text: '{count} slow paths: {names}'}
"""


def _shape(name: str) -> tuple[Callable[[Path], object], Callable[[str], bytes]]:
    """Other files of a repository, and one of its own."""

    def content(path: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            return (repositories.SHAPES[name](Path(folder)) / path).read_bytes()

    return repositories.SHAPES[name], content


def _adopted(path: Path) -> object:
    """A repository with one damaged file: everything that is found in it."""
    found = adopt_tree.look(path.parent, "tree")
    made = builds.builds(found)
    return made, builds.linker_scripts(found, made), flash.commands(found), adopt_networks.networks(found)


_EI, _EI_FILE = _shape("ei")
_CMAKE, _CMAKE_FILE = _shape("cmake")


def _network(name: str, constants: str) -> Kind:
    """A file of an adopted network."""
    files = repositories.network("x", Want(), constants)
    plain = {path.removeprefix("x/"): data for path, data in files.items()}
    return Kind(
        f"{name}.adopted",
        [plain[name]],
        lambda path: adopted.adopt(adopted.plan(path.parent), "net", path.parent / "out"),
        text,
        file=name,
        prepare=lambda folder: repositories.put(folder, plain),
        cost=10,
    )


KINDS = [
    _network("network.c", "network_data.hex"),
    _network("network_data.hex", "network_data.hex"),
    *(
        Kind(f"{name}.adopted", [_EI_FILE(name)], _adopted, text, file=name, prepare=_EI, cost=5)
        for name in ("Makefile", "flash.sh", "flash.bat")
    ),
    Kind("app.ioc.adopted", [_CMAKE_FILE("app.ioc")], _adopted, text, file="app.ioc", prepare=_CMAKE, cost=5),
    Kind(
        "CMakeLists.txt.adopted",
        [_CMAKE_FILE("Appli/CMakeLists.txt")],
        _adopted,
        text,
        file="CMakeLists.txt",
        prepare=_CMAKE,
        cost=5,
    ),
    Kind(
        "network.h.adopted",
        [repositories.H747_H.encode()],
        lambda path: files.parse([path.read_text("utf-8", "replace")], "network"),
        text,
        file="network.h",
    ),
    Kind("variants.yaml", [VARIANTS, _OWN_VARIANTS], _variants, text),
    Kind(
        "planned.yaml",
        [_OWN_VARIANTS],
        command(lambda p: ["plan", "--file", p, "digits-n6"]),
        text,
        prepare=_models,
        cost=20,
    ),
    Kind("board.yaml", _BOARDS, lambda p: boards.load("board", [p]), text, prepare=_pools),
    Kind(
        "shown_board.yaml",
        _BOARDS,
        command(lambda p: ["boards", "--board-file", p, "shown_board", "--json"]),
        text,
        prepare=_pools,
        cost=20,
    ),
    Kind("user_config.yaml", [_ZOO], _import, text),
    Kind(
        "imported.yaml",
        [_ZOO],
        command(lambda p: ["import", p, "-o", p.parent / "made", "--lossy"]),
        text,
        made="made",
        cost=20,
    ),
    Kind("app_config.yaml", [_APP_CONFIG], lambda p: app_configs.read(p, str(p)), text),
    Kind("app.yaml", [_APP_CONFIG], _appconfig("network_c_info.json"), text, prepare=_settings, made="made", cost=10),
    Kind(
        "network_c_info.json.app",
        [_pose_info()],
        _appconfig("", "app.yaml"),
        json_tree,
        prepare=_settings,
        made="made",
        file="n_c_info.json",
        cost=10,
    ),
    Kind(
        "app_postprocess.h",
        [headers.wrapper_header(each).encode() for each in ("n6-v1", "n6-v3", "h7")],
        _wrapper,
        text,
    ),
    Kind(
        "patch_list.yaml",
        [_LIST, (ROOT / "site_scons/neuralart_bring/patching/data/stm32h747i-disco.yaml").read_bytes()],
        patchlist.read,
        text,
    ),
    Kind("script.ld", [_SCRIPT, LINKER_TEXT.encode()], _script, text),
    Kind(
        "patched-c_info",
        [_app_text("network/network_c_info.json")],
        _patch(),
        json_tree,
        prepare=_app,
        made="made",
        file="network/network_c_info.json",
        cost=10,
    ),
    Kind(
        "patched-params",
        [_app_text("network/network_data_params.h")],
        _patch(),
        text,
        prepare=_app,
        made="made",
        file="network/network_data_params.h",
        cost=10,
    ),
    *(
        Kind(
            f"patched-{Path(name).name}",
            [_app_text(name)],
            _patch(),
            text,
            prepare=_app,
            made="made",
            file=f"app/{APP_ROOT}/{name}",
            cost=10,
        )
        for name in (*FILES, LINKER)
    ),
    Kind("compiler-output", [_ERRORS], lambda p: errorlines.find(p.read_text("utf-8", "replace").splitlines()), text),
    Kind("linker-output", [_LINKER], lambda p: str(link_errors.of_link(p.read_text("utf-8", "replace"))), text),
    Kind("firmware.map", [_MAP], lambda p: link_errors.users(p.read_text("utf-8", "replace"), "CODE"), text),
    Kind(".project", [_PROJECT], _xml, text),
    Kind(".cproject", [_CPROJECT], _configurations, text),
    Kind("linted.ld", [_SCRIPT], findings(lambda p: ["lint", "--board", "stm32n6570-dk", p]), text, cost=10),
    Kind(
        "linted.c",
        [vendor_network(Want(version="4.0.1", ec=True)).files["network.c"]],
        findings(lambda p: ["lint", "--board", "stm32n6570-dk", p]),
        text,
        cost=20,
    ),
    Kind(
        "linted.json",
        [facts.to_json(firmware.facts()).encode()],
        findings(lambda p: ["lint", "--board", "stm32n6570-dk", p]),
        json_tree,
        cost=10,
    ),
    Kind(
        "Makefile",
        [b"CFLAGS = -O2 -DX=1 \\\n  -mcpu=cortex-m55\nLIBS = NetworkRuntime1000_CM55_GCC.a\n"],
        findings(lambda p: ["lint", "--board", "stm32n6570-dk", p]),
        text,
        cost=10,
    ),
    Kind("failures.yaml", [_FAILURES], failures.load, text),
    Kind("ll_aton_version.h", [(ROOT / "firmware/runtime/include/ll_aton_version.h").read_bytes()], _lock, text),
    Kind(
        "CMakeLists.txt",
        [b"add_executable(a a.c)\ntarget_link_libraries(a NetworkRuntime1201_CM55_GCC.a --specs=nano.specs)\n"],
        _lock,
        text,
    ),
]
