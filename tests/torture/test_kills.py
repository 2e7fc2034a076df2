"""Commands that are killed at any moment behind their first write, or whose writes fail: the next one puts all right.

What is compared is every file of the folder that the command writes, hidden ones included: nothing half-made stays.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from neuralart.resources import package_parent
from support.projects.torture import COMMANDS, LONG, WRITERS, many

DRIVER = Path(__file__).resolve().parents[1] / "support" / "projects" / "torture.py"
pytestmark = [
    pytest.mark.torture,
    pytest.mark.long,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]
# What starts a tool, or needs a build: fewer of them.
KILLS = {"record": (0, 100), "export": (0, 200)}
FAILURES = {"record": (8, 1000), "export": (0, 1000)}


def cases(how: str, command: str, folder: Path, count: int) -> tuple[int, list[object]]:
    """How many were hit, and what went wrong."""
    environment = {**os.environ, "PYTHONPATH": str(package_parent()), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, str(DRIVER), how, command, str(folder), "0", str(count)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *wrong, (word, hits) = [json.loads(line) for line in done.stdout.splitlines()]
    assert word == "done"
    return hits, wrong


def chosen(commands: object, counts: dict[str, tuple[int, int]]) -> list[object]:
    """Commands of this run; an export needs a build, which the reduced part does not make."""
    marks = {"export": pytest.mark.arm}
    names = [name for name in commands if LONG or counts.get(name, (1, 1))[0]]  # type: ignore[attr-defined]
    return [pytest.param(name, marks=marks.get(name, ())) for name in names]


@pytest.mark.parametrize("command", chosen(COMMANDS, KILLS))
def test_killed_behind_its_first_write(command: str, tmp_path: Path, tell: Callable[[str], None]) -> None:
    count = many(*KILLS.get(command, (8, 200)))
    hits, wrong = cases("kill", command, tmp_path, count)
    tell(f"{command}: {hits} kills behind the first write, of {count}")
    assert wrong == []
    assert hits >= count // 8, "most of them came too late: this proves little"


@pytest.mark.parametrize("command", chosen(WRITERS, FAILURES))
def test_every_change_of_the_disk_fails_once(command: str, tmp_path: Path, tell: Callable[[str], None]) -> None:
    """ENOSPC, EACCES and EIO in turn; writes fail when half is written. One line, nothing half-written."""
    hits, wrong = cases("fail", command, tmp_path, many(*FAILURES.get(command, (48, 1000))))
    tell(f"{command}: {hits} changes of the disk failed")
    assert wrong == []
    assert hits >= (16 if LONG or command not in FAILURES else 4)
