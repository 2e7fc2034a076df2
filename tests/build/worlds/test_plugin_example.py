"""Somebody's plugins: as a wheel beside ours in an empty venv, and as files of a project."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from support.projects.plugin_places import EXAMPLE
from support.projects.sconsproject import REPO, Project
from support.projects.wheels import add, python_of, python_with_wheel, run, wheel

pytestmark = [pytest.mark.arm, pytest.mark.long]
PRODUCT = REPO / "examples" / "plugin" / "product"


def _product(folder: Path) -> Path:
    shutil.copytree(PRODUCT, folder, ignore=shutil.ignore_patterns("build", ".sconsign*"))
    return folder


def _hashes(folder: Path) -> None:
    """The compiler of the plugin did it: its header says what the constants are."""
    (header,) = folder.glob("build/networks/*/digits_hashes.h")
    (raw,) = header.parent.glob("*.raw")
    said = re.findall(r'^#define (\w+) "(\w+)"$', header.read_text("utf-8"), re.M)
    assert said == [("DIGITS_XSPI2_SHA256", hashlib.sha256(raw.read_bytes()).hexdigest())]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    # An environment of its own: a test changes what is installed.
    shutil.copytree(python_with_wheel(tmp_path_factory), folder / "venv", symlinks=True)
    add(folder / "venv", wheel(REPO / "examples" / "plugin", folder))
    return python_of(folder / "venv")


@pytest.fixture(scope="module")
def product(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = _product(tmp_path_factory.mktemp("product") / "a door")
    # No test looks at the code of the runtime: it is compiled in a quarter of the time.
    Project(folder).edit("variants.yaml", "    network: digits\n", "    network: digits\n    optimization: -O0\n")
    run(python, folder, "SCons", "-Q")
    return folder


def test_a_product_uses_them(product: Path, python: Path) -> None:
    _hashes(product)
    plan = json.loads((product / "build/door/flash_plan.json").read_text("utf-8"))
    assert plan["board"] == "door-camera"
    assert "is up to date" in run(python, product, "SCons", "-Q").stdout
    assert "update-room" in run(python, product, "neuralart", "lint", "--rules").stdout
    assert run(python, product, "neuralart", "lint").stdout == "0 errors, 0 warnings, 0 notes\n"


def test_its_runner_writes_what_the_plan_says(product: Path, python: Path) -> None:
    assert "70180000" in run(python, product, "SCons", "-Q", "flash-door").stdout
    assert "nothing was written" in run(python, product, "SCons", "-Q", "flash-door").stdout
    assert len(list(product.glob("build/door/flash-folder/*.bin"))) == 3
    run(python, product, "SCons", "-Q", "verify-door")
    words = ("--runner", "folder", "--record", "build/out.json", "--plan", "build/door/flash_plan.json")
    first = run(python, product, "neuralart", "flash", *words).stdout
    assert "application: " in first and "70180000" in first
    written = {path.stem: path.read_bytes() for path in product.glob("build/out/*.bin")}
    plan = json.loads((product / "build/door/flash_plan.json").read_text("utf-8"))
    assert {f"{write['address']:08x}" for write in plan["writes"]} == set(written)
    assert "nothing was written" in run(python, product, "neuralart", "flash", *words).stdout
    run(python, product, "neuralart", "verify", *words)
    damaged = product / "build/out/70180000.bin"
    damaged.write_bytes(b"x" + damaged.read_bytes()[1:])
    run(python, product, "neuralart", "verify", *words, code=2)


def test_another_plugin_compiles_again(product: Path, python: Path, tmp_path: Path) -> None:
    """The plugin's code is part of what it makes; its lint rule is part of the same package, so it counts, too."""
    package = next(python.parents[1].rglob("site-packages/neuralart_example"))
    compiler = package / "compiler.py"
    before = compiler.read_text("utf-8")
    compiler.write_text(before.replace("Generated.", "Made."), "utf-8")
    try:
        assert "NETWORK" in run(python, product, "SCons", "-Q", "build/door/summary.txt").stdout
        (header,) = product.glob("build/networks/*/digits_hashes.h")
        assert "Made." in header.read_text("utf-8")
    finally:
        compiler.write_text(before, "utf-8")


def test_the_same_files_in_a_project(tmp_path: Path) -> None:
    project = Project(_product(tmp_path / "a door"))
    shutil.copytree(
        EXAMPLE,
        project.path("site_scons/neuralart_plugins"),
        ignore=shutil.ignore_patterns("__init__.py", "__pycache__"),
    )
    project.edit("SConstruct", 'PyPackageDir("neuralart").up()', f'"{(REPO / "site_scons").as_posix()}"')
    project.run()
    _hashes(project.root)
    project.up_to_date()
    project.edit("site_scons/neuralart_plugins/lint_rule.py", "A lint rule", "One lint rule")
    project.up_to_date()
    project.edit("site_scons/neuralart_plugins/compiler.py", "Generated.", "Made.")
    assert "NETWORK" in project.run().tags
    project.edit("site_scons/neuralart_plugins/compiler.py", "write(replace", 'raise KeyError("x")  # write(replace')
    done = project.run(code=2)
    (line,) = [line for line in done.errors if "compiler.py" in line]
    assert re.fullmatch(
        r"neuralart compile: error: site_scons/neuralart_plugins/compiler\.py:\d+: compiler 'hashed' failed in "
        r"compile: KeyError: 'x' \(repair it\)",
        line,
    )
    project.edit("site_scons/neuralart_plugins/compiler.py", "import hashlib", "import hashlib_of_nobody")
    done = project.run(code=2)
    assert "site_scons/neuralart_plugins/compiler.py:8: compiler cannot be loaded: ModuleNotFoundError" in done.err
    assert len([line for line in done.errors if "compiler.py" in line]) == 1
