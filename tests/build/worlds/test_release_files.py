"""The wheel of a release: the same bytes wherever and whenever it is built."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from support.projects.sconsproject import REPO
from support.projects.wheels import python_with_wheel, wheel

pytestmark = pytest.mark.long


def test_the_wheel_is_the_same_in_another_folder(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    """Of other names, times and permissions; what builds leave is not in it."""
    folder, copy = python_with_wheel(tmp_path_factory).parent, tmp_path / "Kopie für morgen"
    (first,) = folder.glob("*.whl")
    shutil.copytree(folder / f"source of {REPO.name}", copy)
    for path in copy.rglob("*"):
        if path.is_file():
            os.utime(path, (2e9, 2e9))
            path.chmod(path.stat().st_mode & 0o700)
    (copy / "site_scons/neuralart/left.o").write_bytes(b"left")
    again = wheel(copy, tmp_path)
    assert again.name == first.name and again.read_bytes() == first.read_bytes()
