"""The plugins of docs/how-to/write-a-plugin.md: a package of them is installed by pip, and each is used."""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import re
import shutil
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from neuralart import plugins
from support.projects.sconsproject import REPO
from support.projects.wheels import add, python_of, python_with_wheel, run, wheel
from tflite_writer import ModelWriter

pytestmark = [pytest.mark.arm, pytest.mark.long]
PAGE = REPO / "docs" / "how-to" / "write-a-plugin.md"
MOST = 14
"""Lines of code of a module."""
PACKAGE = "door_plugins"

SCONSTRUCT = """\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.PrependENVPath("PATH", Dir("bin").abspath)
env.Tool("neuralart", toolpath=[PyPackageDir("neuralart").up()])
env.Checksum("build/people.sha256", "people.tflite")
env.NeuralArtProject("variants.yaml").main()
"""
VARIANTS = """\
schema: 1
networks:
  people:
    model: people.tflite
    input_data_type: uint8
    compiler: sized
    strategies: {xSPI2: hextext}
    app_config: {use_case: gaze, model_type: two_angles, generation: n6-v2}
variants:
  door: {board: door-camera, machine: lab, runner: folder, network: people, deadline: 40, optimization: -O0}
"""


@cache
def _sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)\n", PAGE.read_text("utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _block(section: str, language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", _sections()[section], re.M | re.S)
    return str(block)


def _modules() -> dict[str, str]:
    """The module of each kind."""
    return {kind: _block(kind, "python") for kind in plugins.kinds()}


def _write_package(folder: Path) -> Path:
    package = folder / PACKAGE
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(_block("A package", "toml"), "utf-8")
    for kind, text in {"__init__": "", **_modules()}.items():
        (package / f"{kind}.py").write_text(text, "utf-8")
    page = PAGE.read_text("utf-8")
    for name, text in re.findall(r"^`([\w.-]+)`, beside the module[^:]*:\n\n```\w+\n(.*?)^```", page, re.M | re.S):
        (package / name).write_text(text, "utf-8")
    return folder


@dataclass(frozen=True)
class Built:
    """A product that all plugins took part in.

    Attributes:
        python: The interpreter that they are installed for.
        root: Folder of the product.
        out: What scons printed.
        help: What ``scons -h`` prints.
    """

    python: Path
    root: Path
    out: str
    help: str

    def neuralart(self, *words: str) -> str:
        """What a command prints."""
        return run(self.python, self.root, "neuralart", *words).stdout

    def text(self, pattern: str) -> str:
        """The text of the only such file."""
        (path,) = self.root.glob(pattern)
        return path.read_text("utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("door")
    # An environment of its own: other tests share the one with our wheel alone.
    shutil.copytree(python_with_wheel(tmp_path_factory), folder / "venv", symlinks=True)
    add(folder / "venv", wheel(_write_package(folder / "package"), folder))
    root = folder / "product"
    (root / "bin").mkdir(parents=True)
    shutil.copy2(REPO / "models" / "mobilenet" / "mobilenet.tflite", root / "people.tflite")
    for name, text in {"SConstruct": SCONSTRUCT, "variants.yaml": VARIANTS}.items():
        (root / name).write_text(text, "utf-8")
    (root / "bin" / "lab-board").write_text('#!/bin/sh\necho "lab: $*"\n', "utf-8")
    (root / "bin" / "lab-board").chmod(0o755)
    files, targets = ("build/people.sha256", "build/release.txt"), ("door", "sizes-door", "run-door", "flash-door")
    python = python_of(folder / "venv")
    out = run(python, root, "SCons", "-Q", "--release=spring", *files, *targets).stdout
    return Built(python, root, out, run(python, root, "SCons", "-h").stdout)


def test_each_module_is_short() -> None:
    assert set(USES) == set(plugins.kinds())
    for kind, text in _modules().items():
        assert len([line for line in text.splitlines() if line.strip()]) <= MOST, kind
        assert max(map(len, text.splitlines())) <= 100, kind
        ast.parse(text)


def test_the_entry_points_are_all_kinds() -> None:
    points = tomllib.loads(_block("A package", "toml"))["project"]["entry-points"]
    assert set(points) == {kind.group for kind in plugins.kinds().values()}
    for group, names in points.items():
        assert list(names.values()) == [f"{PACKAGE}.{group.partition('.')[2]}"]


def _command(product: Built) -> None:
    assert "AXISRAM3: 458752 bytes at 0x34200000\n" in product.neuralart("memories", "nucleo-n657x0-q")
    assert "list the memories of a board" in product.neuralart("--help")


def _compiler(product: Built) -> None:
    sizes = dict(line.rsplit(" ", 1) for line in product.text("build/networks/*/sizes.txt").splitlines())
    assert sizes["people.c"] == str(len(product.text("build/networks/*/people.c").encode()))
    assert "sized; firmware by" in product.text("build/door/summary.txt")


def _reader_and_operator(product: Built) -> None:
    """A packed model of one cosine: neither is known without the plugins."""
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "int8", 0.5) for name in ("x", "y"))
    writer.op("STABLEHLO_COSINE", [x], [y])
    (product.root / "cos.tflite.gz").write_bytes(gzip.compress(writer.finish([x], [y], "cos"), mtime=0))
    product.neuralart("compile", "-m", "cos.tflite.gz", "--target", "stm32n6", "-n", "cos", "-o", "cos")
    assert "na_table_s8(" in product.text("cos/cos.c")
    assert product.neuralart("operators", "STABLEHLO_COSINE").startswith("STABLEHLO_COSINE  int8, by table\n")


def _runner(product: Built) -> None:
    plan = json.loads(product.text("build/door/flash_plan.json"))
    files = {path.stem: path.read_bytes() for path in product.root.glob("build/door/flash-folder/*.bin")}
    assert {name: hashlib.sha256(data).hexdigest() for name, data in files.items()} == {
        f"{write['address']:08x}": write["sha256"] for write in plan["writes"]
    }


def _target(product: Built) -> None:
    size = (product.root / "build/door/application.bin").stat().st_size
    assert f"\napplication.bin: {size} bytes\n" in product.out
    assert "scons sizes-VARIANT" in product.help


def _machine(product: Built) -> None:
    assert "\nlab: run build/door/firmware.elf 40\n" in product.out
    assert "machine lab: Armv8.1-M; -mcpu=cortex-m55" in product.neuralart("boards", "door-camera")
    assert '"lab"' in product.neuralart("tool", "schema", "variants")
    assert '"lab"' in product.neuralart("tool", "schema", "board")


def _builder(product: Built) -> None:
    model = (product.root / "people.tflite").read_bytes()
    assert product.text("build/people.sha256") == hashlib.sha256(model).hexdigest()


def _extension(product: Built) -> None:
    assert product.text("build/release.txt") == "spring"
    assert "scons --release=NAME" in product.help


def _key(product: Built) -> None:
    """Its value reaches the machine, which passes it on."""
    assert "/firmware.elf 40\n" in product.out
    assert "milliseconds that a frame may take" in product.neuralart("tool", "schema", "variants")
    (product.root / "wrong.yaml").write_text(VARIANTS.replace("deadline: 40", "deadline: 0"), "utf-8")
    refused = run(product.python, product.root, "neuralart", "plan", "door", "--file", "wrong.yaml", code=1).stderr
    assert "wrong.yaml:10: variants.door.deadline: 0 is out of range, allowed: 1 to 1000" in refused


def _board(product: Built) -> None:
    assert json.loads(product.text("build/door/flash_plan.json"))["board"] == "door-camera"
    assert "70180000" in {path.stem for path in product.root.glob("build/door/flash-folder/*.bin")}
    assert product.neuralart("boards", "door-camera").startswith("door-camera: Door camera\n")


def _use_case(product: Built) -> None:
    header = product.text("build/door/app_config.h")
    assert header == '#define GAZE_NETWORK "people"\n#define GAZE_OUTPUTS 1\n'


def _strategy(product: Built) -> None:
    constants = (product.root / "build/door/people.xSPI2.bin").read_bytes()
    assert product.text("build/door/people.xSPI2.hextext") == f"0x70380000 {constants.hex()}\n"


def _lint(product: Built) -> None:
    found = json.loads(product.neuralart("lint", "--json"))["findings"]
    assert [(each["rule"], each["level"]) for each in found] == [("activation-room", "warning")]
    assert product.neuralart("lint", "--ignore", "activation-room") == "0 errors, 0 warnings, 0 notes\n"


def _inspect(product: Built) -> None:
    size = (product.root / "build/door/people.xSPI2.bin").stat().st_size
    shown = product.neuralart("inspect", "build/door/people.xSPI2.hextext")
    assert shown == f"{size} bytes for 0x70380000\n"


USES: Mapping[str, Callable[[Built], None]] = {
    "commands": _command,
    "compilers": _compiler,
    "readers": _reader_and_operator,
    "runners": _runner,
    "targets": _target,
    "machines": _machine,
    "builders": _builder,
    "extensions": _extension,
    "keys": _key,
    "boards": _board,
    "use_cases": _use_case,
    "strategies": _strategy,
    "operators": _reader_and_operator,
    "lint": _lint,
    "inspect": _inspect,
}
"""What shows that the plugin of a kind works."""


def test_pip_installs_them(built: Built) -> None:
    listed = json.loads(built.neuralart("plugins", "--added", "--json"))
    points = tomllib.loads(_block("A package", "toml"))["project"]["entry-points"]
    wanted = {(group.partition(".")[2], name) for group, names in points.items() for name in names}
    assert {(row["kind"], row["name"]) for row in listed["plugins"]} == wanted
    assert {(row["from"], row["version"]) for row in listed["plugins"]} == {("door-plugins", "1.0")}
    assert listed["errors"] == []


@pytest.mark.parametrize("use", dict.fromkeys(USES.values()), ids=lambda use: use.__name__.strip("_"))
def test_each_works(built: Built, use: Callable[[Built], None]) -> None:
    use(built)
