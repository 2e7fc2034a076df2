"""Wheels of this repository, and empty virtual environments to install them in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from support.projects.sconsproject import REPO, once

_NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", ".sconsign*")


def wheel(source: Path, folder: Path) -> Path:
    """Build the wheel of a copy of a source tree; nothing is fetched."""
    copy = folder / f"source of {source.name}"

    def ignored(at: str, names: list[str]) -> set[str]:
        # What was built lies at the top; a room of the package may have that name.
        return {*_NOT_COPIED(at, names), *(["build"] if Path(at) == source else [])}

    shutil.copytree(source, copy, ignore=ignored)
    before = set(folder.glob("*.whl"))
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(copy)]
    subprocess.run(command, check=True, capture_output=True)
    (made,) = set(folder.glob("*.whl")) - before
    return made


def python_with_wheel(factory: pytest.TempPathFactory) -> Path:
    """Folder of a virtual environment that holds our wheel and what it requires, and nothing else; not to be changed.

    It is made once for all workers of the run of ``factory``.
    """

    def make(folder: Path) -> None:
        venv.create(folder / "venv")
        add(folder / "venv", wheel(REPO, folder))

    return once(factory, "python with the wheel", make) / "venv"


def add(folder: Path, file: Path) -> None:
    """Install a wheel, and what it requires that is not there yet; Python compiles what is imported, and no more."""
    pip(python_of(folder), "install", "--quiet", "--no-compile", str(file))


def pip(python: Path, *words: str) -> str:
    """What the pip of this process's environment does to another one, which need not have one of its own."""
    command = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def run(python: Path, folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a module of such an environment; the environment of this process says nothing to Python."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(python), "-m", *words], cwd=folder, capture_output=True, text=True, env=env, timeout=300, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done
