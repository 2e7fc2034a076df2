"""``./sconsw`` installs the same packages tomorrow: real pips, and an index in which everything has a newer release."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.projects import lock_files
from support.projects.lock_files import ALL, BUILD, FAST, REPO
from support.projects.sconsproject import once
from support.projects.wheels import python_of
from support.servers.package_index import PackageIndex, newer

pytestmark = [pytest.mark.long, pytest.mark.skipif(os.name == "nt", reason="sconsw is a shell script")]
# That of Debian 12, and what the registry has.
OLD, NEWEST = "23.0.1", "newest"
DEBIAN = Path("/usr/share/python-wheels/pip-23.0.1-py3-none-any.whl")
CALLS = {BUILD: (), FAST: ("test", "--fast"), ALL: ("test", "tests/unit/test_x.py")}
# What sconsw looks for on a machine: nothing of it is installed here, nor started.
PROGRAMS = ("qemu-system-arm", "cc", "make", "gdb-multiarch", "chromium", "openocd")
LIST = "import json, importlib.metadata as m; print(json.dumps({d.name: d.version for d in m.distributions()}))"


@pytest.fixture(scope="module", params=[OLD, NEWEST])
def pip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a pip."""
    return pip_wheel(request.param, tmp_path_factory)


def pip_wheel(version: str, factory: pytest.TempPathFactory) -> Path:
    if version == OLD:
        if sys.version_info >= (3, 12):
            pytest.skip("pip 23.0.1 does not run with Python 3.12 and later")
        if DEBIAN.exists():
            return DEBIAN
    wanted = "pip" if version == NEWEST else f"pip=={version}"

    def download(folder: Path) -> None:
        folder.mkdir()
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (folder / "error").write_text(done.stderr if done.returncode else "", "utf-8")

    folder = once(factory, f"pip {version}", download)
    if error := (folder / "error").read_text("utf-8"):
        pytest.skip(f"no registry has {wanted}: {error.splitlines()[-1]}")
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def index() -> Iterator[PackageIndex]:
    packages = PackageIndex()
    with packages.served():
        yield packages


class Tree:
    """What sconsw needs of a clone, with a .venv that has nothing but a pip."""

    def __init__(self, root: Path, pip: Path, index: PackageIndex) -> None:
        self.root, self.index = root, index
        root.mkdir()
        for name in ("sconsw", "pyproject.toml"):
            shutil.copy2(REPO / name, root / name)
        for file in lock_files.EXTRAS:
            (root / file).write_text(index.lock_file(file), "utf-8")
        venv.create(root / ".venv", with_pip=False, symlinks=True)
        self.python = python_of(root / ".venv")
        (packages,) = (root / ".venv" / "lib").glob("python*/site-packages")
        with zipfile.ZipFile(pip) as archive:
            archive.extractall(packages)
        self.bin = root.with_name(f"{root.name}.bin")
        self.bin.mkdir()
        for name in PROGRAMS:
            self.program(name, "exit 1")
        self.program("arm-none-eabi-gcc", "echo /lib/picolibc.specs")
        self.program("apt-get", "echo apt-get was called >&2; exit 1")

    def program(self, name: str, body: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{body}\n", "utf-8")
        (self.bin / name).chmod(0o755)

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run something that knows no index but ours, whatever the machine and its user have set."""
        foreign = ("PIP_", "PYTHON", "NEURALART_", "UV_")
        known = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        known = {name: value for name, value in known.items() if not name.lower().endswith("_proxy")}
        env = {
            **{"PIP_INDEX_URL": self.index.url, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"},
            **{"PIP_RETRIES": "0", "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"},
        }
        return subprocess.run(words, env={**known, **env}, cwd=self.root, capture_output=True, text=True, check=False)

    def installed(self) -> dict[str, str]:
        return json.loads(self.run(self.python, "-I", "-c", LIST).stdout)


def expected(file: str, pip: Path) -> dict[str, str]:
    return {**lock_files.pins(file), "pip": pip.name.split("-")[1], "scons-neuralart": "1"}


@pytest.mark.parametrize("file", CALLS)
def test_what_is_locked_is_installed(file: str, pip: Path, index: PackageIndex, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "ein Ordner für Tests", pip, index)
    index.fetched.clear()
    done = tree.run(tree.root / "sconsw", *CALLS[file])
    assert done.returncode == 0 and done.stdout.startswith("started "), done.stderr
    assert tree.installed() == expected(file, pip)
    check = tree.run(tree.python, "-m", "pip", "--disable-pip-version-check", "check")
    assert check.returncode == 0, check.stdout
    assert len(index.fetched) == len(lock_files.pins(file)), "nothing but what is locked is even looked at"


def test_everything_has_a_newer_release(index: PackageIndex) -> None:
    """Else the others prove nothing."""
    index.lock_file(ALL)
    for name, version in lock_files.pins(ALL).items():
        page = (index.page(f"/simple/{name}/") or b"").decode()
        for release in (version, newer(version)):
            assert f"{name.replace('-', '_')}-{release}-py3-none-any.whl" in page


def test_a_pip_that_looks_for_dependencies_stops(
    tmp_path_factory: pytest.TempPathFactory, index: PackageIndex, tmp_path: Path
) -> None:
    """What happened: pytest-cov asks for ``coverage[toml]``, of which the index had a newer release than the lock."""
    pytest.importorskip("pytest_cov", reason="what pytest-cov asks for is not known: it is not installed")
    tree = Tree(tmp_path / "tree", pip_wheel(OLD, tmp_path_factory), index)
    script = tree.root / "sconsw"
    text = script.read_text("utf-8")
    script.write_text(text.replace("--no-deps --require-hashes", "--require-hashes"), "utf-8")
    assert script.read_text("utf-8") != text
    done = tree.run(script, *CALLS[ALL])
    assert done.returncode != 0
    assert "In --require-hashes mode, all requirements must have their versions pinned with ==" in done.stderr
    assert "coverage[toml]" in done.stderr
