"""Equal sources make equal bytes: in another folder and year, for another user, in another language."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from support.projects import compile_answers
from support.projects.sconsproject import Project, copy_sources
from support.projects.torture import LONG

pytestmark = [pytest.mark.torture, pytest.mark.long, pytest.mark.arm]
# Together they have a network, firmware, constants and a relocatable model with its store of objects.
VARIANTS = ("digits-n6-rel",)
MORE = ("digits-an547", "digits-n6", "digits-h747", "mobilenet-n6")
# Nobody's, on any system: no account has this number.
STRANGER = 54_321
_YEAR_2001 = 1_000_000_000


def build(project: Project, *words: str, mask: int = 0o022, front: Sequence[str] = (), **own: str) -> dict[str, bytes]:
    """What scons makes there, by name."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **own}
    environment.pop("SOURCE_DATE_EPOCH" if "SOURCE_DATE_EPOCH" not in own else "", None)
    command = [*front, sys.executable, "-W", "error", "-m", "SCons", "-Q", *words]
    with compile_answers.off():
        done = subprocess.run(command, cwd=project.root, env=environment, umask=mask, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        name: data
        for name, data in project.files("build").items()
        if not name.endswith(("toolchain.json", ".stamps.json"))
    }


def differences(first: dict[str, bytes], second: dict[str, bytes]) -> list[str]:
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


# It may read what only root may, such as a Python in root's home, and write nothing that is not its own.
AS_STRANGER = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
AS_STRANGER += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--"]


@pytest.fixture(scope="module")
def reason() -> str:
    """Why this process cannot work as another user; empty: it can."""
    if not hasattr(os, "geteuid") or os.geteuid():
        return "only root can work as another user"
    if not shutil.which(AS_STRANGER[0]):
        return "setpriv is not installed"
    asked = subprocess.run([*AS_STRANGER, sys.executable, "-c", "import SCons"], capture_output=True, text=True)
    return f"another user cannot start {sys.executable}: {asked.stderr}" if asked.returncode else ""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    variants = (*VARIANTS, *(MORE if LONG else ()))
    project = copy_sources(tmp_path_factory.mktemp("a"))
    # In C, Python does not start in an environment whose path has letters outside of ASCII.
    locale = "C" if sys.executable.isascii() else "C.UTF-8"
    return build(project, "-j1", *variants, PYTHONHASHSEED="1", TZ="UTC", LC_ALL=locale)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that every user may enter; those of pytest are of one user alone."""
    folder = Path(tempfile.mkdtemp(prefix="neuralart-elsewhere-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_everything_around_it_is_another(
    first: dict[str, bytes], elsewhere: Path, reason: str, tell: Callable[[str], None]
) -> None:
    """Of another user where that is possible, so that one build shows all of it."""
    variants = (*VARIANTS, *(MORE if LONG else ()))
    project = copy_sources(elsewhere / "another place" / "deeper")
    home = elsewhere / "home of another"
    home.mkdir()
    for path in (home, project.root, *project.root.rglob("*")):
        os.utime(path, (_YEAR_2001, _YEAR_2001))
        if not reason:
            os.chown(path, STRANGER, STRANGER)
    second = build(
        project,
        "-j4",
        *variants,
        mask=0o077,
        front=() if reason else AS_STRANGER,
        **{"HOME": str(home), "LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati"},
        **{"PYTHONHASHSEED": "4242", "USER": "somebody", "LOGNAME": "somebody", "SOURCE_DATE_EPOCH": "1"},
    )
    assert len(first) > 20
    assert differences(first, second) == []
    assert not [name for name in first if name.endswith((".part", ".lock"))]
    tell(f"reproducible: {len(first)} files of {len(variants)} variants, {'the same' if reason else 'another'} user")
    if not reason:
        assert {path.stat().st_uid for path in project.path("build").rglob("*")} == {STRANGER}


def test_a_second_user_was_there(reason: str) -> None:
    """Said where it was not: the test above then had one user."""
    if reason:
        pytest.skip(reason)
