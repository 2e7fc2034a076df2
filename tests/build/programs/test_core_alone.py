"""The core works alone: a wheel made of it builds variants of recorded and of adopted networks to images."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.plugins import parts
from support.fake_apps import application
from support.projects import repositories, vendorproject
from support.projects.sconsproject import REPO, once

pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="rules of make and a made-up tool for a shell"),
    pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc") or not shutil.which("make"), reason="needs Arm gcc, make"),
]
# What the core depends on (pyproject.toml), with what that needs.
NEEDED = ("SCons", "elftools", "filelock", "jinja2", "markupsafe", "site_tools", "yaml")
OTHERS = [part.name for part in parts() if part.name != "neuralart"]
SCONSTRUCT = """\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.Tool("neuralart", toolpath=[PyPackageDir("neuralart").up()])
project = env.NeuralArtProject("variants.yaml")
project.build(COMMAND_LINE_TARGETS)
"""
RECORDED = """\
schema: 1
networks:
  net:
    model: net.tflite
    compiler: {recorded: rec}
    profile: blobs@na.json
variants:
  v:
    board: stm32n6570-dk
    machine: silicon
    network: net
    application:
      make: {folder: my app, directory: gcc, artefact: build/firmware.elf, stage: {"net*.*": Model/}}
"""


def _only_the_core(pyproject: str) -> str:
    """The project file of a wheel without the other packages: their entry points, and what has none left, go."""
    lines = [line for line in pyproject.splitlines() if not re.match(r'[\w"-]+ = "neuralart_\w+\.', line)]
    text = "\n".join(lines) + "\n"
    return text.replace(
        'only-include = ["site_scons", "firmware"]', 'only-include = ["site_scons/neuralart", "firmware"]'
    )


def _install(folder: Path) -> None:
    """A wheel of the core alone, unpacked as an installer does."""
    source = folder / "source"
    (source / "site_scons").mkdir(parents=True)
    shutil.copytree(
        REPO / "site_scons/neuralart", source / "site_scons/neuralart", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(REPO / "firmware", source / "firmware")
    shutil.copytree(REPO / "site_tools", source / "site_tools")
    for name in ("README.md", "LICENSE"):
        shutil.copy(REPO / name, source)
    (source / "pyproject.toml").write_text(_only_the_core((REPO / "pyproject.toml").read_text("utf-8")), "utf-8")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "../dist"]
    subprocess.run(words, cwd=source, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "installed")
    shutil.rmtree(source)
    # SCons is a link to another installation, which the tool cannot go into.
    shutil.rmtree(folder / "installed" / "SCons")
    for name in NEEDED:
        module = importlib.import_module(name)
        place = Path(str(module.__file__))
        place = place.parent if place.name == "__init__.py" else place
        (folder / "installed" / place.name).symlink_to(place)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a Python that has the core and the packages that it needs, and none of the others."""
    folder = once(tmp_path_factory, "core alone", _install) / "installed"
    assert [path.name for path in sorted(folder.glob("neuralart*"))] == ["neuralart"]
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def _python(core: dict[str, str], cwd: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-S", *words], cwd=cwd, env=core, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def _scons(core: dict[str, str], cwd: Path, *words: str, code: int = 0) -> str:
    # Commands of ours inherit the option that leaves .pth files alone.
    python = f"NEURALART_PYTHON=[{sys.executable!r}, '-S']"
    script = (cwd / "SConstruct").read_text("utf-8")
    if "NEURALART_PYTHON" not in script:
        (cwd / "SConstruct").write_text(script.replace(".up()])", f".up()], {python})"), "utf-8")
    return _python(core, cwd, "-m", "SCons", "-Q", *words, code=code)


def test_none_of_the_others_can_be_imported(core: dict[str, str], tmp_path: Path) -> None:
    assert OTHERS
    code = (
        f"import importlib.util as u, neuralart; print([n for n in {OTHERS!r} if u.find_spec(n)], neuralart.__file__)"
    )
    assert _python(core, tmp_path, "-c", code).startswith("[] ")
    assert "no command 'inspect'" in _python(core, tmp_path, "-m", "neuralart", "inspect", "x", code=2)
    listed = _python(core, tmp_path, "-m", "neuralart", "plugins", "commands", "compilers", "targets", "machines")
    assert "stedgeai" in listed and "flash-model" in listed
    assert "reference" not in listed and "unicorn" not in listed


def test_an_adopted_network(core: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repositories.two_boards(tmp_path / "repo")
    monkeypatch.chdir(root)
    assert cli.main(["adopt", ".", "-o", "variants.yaml", "--board", "stm32n6570-dk"]) == 0
    (root / "SConstruct").write_text(SCONSTRUCT)
    _scons(core, root, "repo")
    plan = json.loads((root / "build/repo/flash_plan.json").read_text())["writes"]
    assert {row["kind"] for row in plan} >= {"application", "model"}
    assert all((root / row["file"]).stat().st_size for row in plan)
    said = _scons(core, root, "run-repo", code=2)
    assert "stm32n6570-dk: no flash runner for real boards is installed" in said
    assert "up to date" in _scons(core, root, "repo")
    text = (root / "variants.yaml").read_text()
    (root / "variants.yaml").write_text(text.replace("    board:", "    patch: {aspect_ratio: crop}\n    board:"))
    assert "no package that patches applications is installed" in _scons(core, root, "repo", code=2)


def test_a_recorded_network(core: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = vendorproject.make(tmp_path / "tree", tmp_path / "st" / "4.0.1")
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("STEDGEAI_CORE_DIR", str(tmp_path / "st" / "4.0.1"))
    words = ["-m", "net.tflite", "-n", "net", "--target", "stm32n6", "--st-neural-art", "blobs@na.json"]
    assert cli.main(["record", *words, "--recording", "rec", "-o", str(tmp_path / "out")]) == 0
    application(project.path("my app"), "make")
    project.path("SConstruct").write_text(SCONSTRUCT, "utf-8")
    project.path("variants.yaml").write_text(RECORDED, "utf-8")
    shutil.rmtree(tmp_path / "st")
    core = {name: text for name, text in core.items() if not name.startswith("STEDGEAI")}
    _scons(core, project.root, "v")
    assert project.path("build/v/firmware.elf").read_bytes()[:4] == b"\x7fELF"
    assert project.path("build/v/application.bin").is_file()
    raw = next(project.path("build/networks").glob("*/net_atonbuf.xSPI2.raw")).read_bytes()
    assert project.path("build/v/net.xSPI2.bin").read_bytes() == raw
    assert "up to date" in _scons(core, project.root, "v")
    assert "no compiler 'reference'" in _python(
        core, project.root, "-m", "neuralart", "compile", "-m", "net.tflite", "--target", "stm32n6570-dk", code=1
    )
