"""Equal sources make equal bytes: in another folder, for a user with another home, in another language."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.sconsproject import copy_sources
from support.torture import LONG

pytestmark = [pytest.mark.torture, pytest.mark.long, pytest.mark.arm]
# Together they have a network, firmware, constants and a relocatable model with its store of objects.
VARIANTS = ("digits-n6-rel",)
MORE = ("digits-an547", "digits-n6", "digits-h747", "mobilenet-n6")


def build(root: Path, *words: str, mask: int = 0o022, **changed: str) -> dict[str, bytes]:
    """What scons makes there, by name."""
    project = copy_sources(root)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **changed}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "SCons", "-Q", *words],
        cwd=root,
        env=environment,
        umask=mask,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: data for name, data in project.files("build").items() if name != "build/.toolchain.json"}


def differences(first: dict[str, bytes], second: dict[str, bytes]) -> list[str]:
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


def test_everything_around_it_is_another(tmp_path: Path) -> None:
    variants = (*VARIANTS, *(MORE if LONG else ()))
    home = tmp_path / "home of another"
    home.mkdir()
    first = build(tmp_path / "a", "-j1", *variants, PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    second = build(
        tmp_path / "another place" / "deeper",
        "-j4",
        *variants,
        mask=0o077,
        **{"HOME": str(home), "LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati"},
        **{"PYTHONHASHSEED": "4242", "USER": "somebody", "LOGNAME": "somebody", "SOURCE_DATE_EPOCH": "1"},
    )
    assert len(first) > 20
    assert differences(first, second) == []
    assert not [name for name in first if name.endswith((".part", ".lock"))]
