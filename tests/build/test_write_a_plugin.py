"""The plugins of docs/how-to/write-a-plugin.md: a package of them is installed by pip, and each is used."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from neuralart import plugins
from support.sconsproject import REPO
from support.wheels import add, python_of, python_with_wheel, run, wheel
from tflite_writer import ModelWriter

PAGE = REPO / "docs" / "how-to" / "write-a-plugin.md"
MOST = 14
"""Lines of code of a module."""
PACKAGE = "door_plugins"

SCONSTRUCT = """\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.PrependENVPath("PATH", Dir("bin").abspath)
env.Tool("neuralart", toolpath=[PyPackageDir("neuralart").up()])
env.Checksum("build/digits.sha256", "digits.tflite")
env.NeuralArtProject("variants.yaml").main()
"""
VARIANTS = """\
schema: 1
networks:
  digits:
    model: digits.tflite
    compiler: sized
    strategies: {xSPI2: hextext}
    app_config: {use_case: gaze, model_type: two_angles, generation: n6-v2}
variants:
  door: {title: Door, board: door-camera, machine: lab, runner: folder, network: digits, deadline: 40}
"""
DEADLINE = "from neuralart import config\nprint(config.read('variants.yaml').variant('door').added)\n"


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
    """

    python: Path
    root: Path
    out: str

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
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", root)
    for name, text in {"SConstruct": SCONSTRUCT, "variants.yaml": VARIANTS}.items():
        (root / name).write_text(text, "utf-8")
    (root / "bin" / "lab-board").write_text('#!/bin/sh\necho "lab: $1 $2"\n', "utf-8")
    (root / "bin" / "lab-board").chmod(0o755)
    files, targets = ("build/digits.sha256", "build/release.txt"), ("sizes-door", "run-door", "flash-door")
    python = python_of(folder / "venv")
    return Built(python, root, run(python, root, "SCons", "-Q", "--release=spring", *files, *targets).stdout)


def test_each_module_is_short() -> None:
    for kind, text in _modules().items():
        assert len([line for line in text.splitlines() if line.strip()]) <= MOST, kind
        assert max(map(len, text.splitlines())) <= 100, kind
        ast.parse(text)


def test_the_entry_points_are_all_kinds() -> None:
    points = tomllib.loads(_block("A package", "toml"))["project"]["entry-points"]
    assert set(points) == {kind.group for kind in plugins.kinds().values()}
    for group, names in points.items():
        assert list(names.values()) == [f"{PACKAGE}.{group.partition('.')[2]}"]


@pytest.mark.arm
@pytest.mark.long
def test_pip_installs_them(built: Built) -> None:
    listed = json.loads(built.neuralart("plugins", "--added", "--json"))
    points = tomllib.loads(_block("A package", "toml"))["project"]["entry-points"]
    wanted = {(group.partition(".")[2], name) for group, names in points.items() for name in names}
    assert {(row["kind"], row["name"]) for row in listed["plugins"]} == wanted
    assert {(row["from"], row["version"]) for row in listed["plugins"]} == {("door-plugins", "1.0")}
    assert listed["errors"] == []
