"""What conftest.py skips for lack of something, and that it refuses to where everything has been installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.projects import lock_files
from support.projects.lock_files import ALL, REPO

TESTS = """import pytest

@pytest.mark.needs("no_such_module", "packaging")
def test_without(): assert False

@pytest.mark.needs("packaging")
def test_with(): pass
"""


def run(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """pytest with this repository's conftest.py, on two tests of which one needs what is nowhere."""
    (folder / "test_needs.py").write_text(TESTS, "utf-8")
    known = {name: value for name, value in os.environ.items() if not name.startswith(("NEURALART_", "PYTEST_"))}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        "-c",
        REPO / "pyproject.toml",
    ]
    command += [f"--rootdir={folder}", "-q", folder, *words]
    # pytest takes apart what it reads of paths at their spaces.
    known["PYTHONPATH"] = os.pathsep.join(str(REPO / name) for name in ("tests", "models"))
    return subprocess.run(command, env={**known, **env}, cwd=folder, capture_output=True, text=True, check=False)


def test_what_is_not_installed_is_a_reason_to_skip(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 skipped" in done.stdout
    assert "no_such_module not installed: ./sconsw test installs all" in done.stdout


@pytest.mark.parametrize("words", [(), ("-n", "1")])
def test_where_everything_was_installed_it_is_an_error(words: tuple[str, ...], tmp_path: Path) -> None:
    """The path has no qemu-system-arm, nor anything else."""
    done = run(tmp_path, *words, NEURALART_COMPLETE="1", PATH=str(tmp_path))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "NEURALART_COMPLETE is set, and no test may be skipped: " in done.stderr
    for name in ("qemu-system-arm", "make", "openocd"):
        assert f"{name} is not installed" in done.stderr
    assert "passed" not in done.stdout


def test_each_package_counts_in_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = ("pytest==0.1", "no-such-package==1.0", "no-such-package==2.0 ; sys_platform == 'nowhere'")
    monkeypatch.setattr(lock_files, "text_of", lambda file: "\n".join(f"{each} \\\n --hash=x" for each in entries))
    assert lock_files.not_installed("other.lock") == [
        f"pytest is {pytest.__version__}, not 0.1",
        "no-such-package 1.0 is not installed",
    ]


def test_what_this_environment_lacks_is_what_is_not_in_it() -> None:
    assert set(lock_files.not_installed(lock_files.BUILD)) <= set(lock_files.not_installed(ALL))
    if os.environ.get("NEURALART_COMPLETE"):
        assert lock_files.not_installed(ALL) == []
