"""The scheduler, compiled for this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from neuralart.resources import firmware_dir

pytestmark = pytest.mark.hostcc


def build(folder: Path, *flags: str) -> Path:
    runtime = firmware_dir() / "runtime"
    check = Path(__file__).parents[2] / "support" / "host_c" / "runtime_check.c"
    program = folder / "check"
    command = [str(shutil.which("cc")), "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, f"-I{runtime / 'include'}"]
    subprocess.run([*command, str(runtime / "ll_aton_runtime.c"), str(check), "-o", str(program)], check=True)
    return program


def test_the_scheduler_runs_and_refuses_as_documented(tmp_path):
    done = subprocess.run([build(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_running_what_was_refused_is_a_fault_and_never_silent(tmp_path):
    done = subprocess.run([build(tmp_path, "-DMISUSE")], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout == ""
