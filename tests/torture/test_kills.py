"""Commands that are killed at any moment behind their first write, or whose writes fail: the next one puts all right.

What is compared is every file of the folder that the command writes, hidden ones included: nothing half-made stays.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart.resources import package_parent
from support.torture import COMMANDS, many

DRIVER = Path(__file__).resolve().parents[1] / "support" / "torture.py"
pytestmark = [
    pytest.mark.torture,
    pytest.mark.long,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]


def cases(how: str, command: str, folder: Path, count: int) -> tuple[int, list[object]]:
    """How many were hit, and what went wrong."""
    environment = {**os.environ, "PYTHONPATH": str(package_parent()), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, str(DRIVER), how, command, str(folder), "0", str(count)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *wrong, (word, hits) = [json.loads(line) for line in done.stdout.splitlines()]
    assert word == "done"
    return hits, wrong


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_behind_its_first_write(command: str, tmp_path: Path) -> None:
    count = many(8, 200)
    hits, wrong = cases("kill", command, tmp_path, count)
    assert wrong == []
    assert hits >= count // 8, "most of them came too late: this proves little"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_change_of_the_disk_fails_once(command: str, tmp_path: Path) -> None:
    """ENOSPC, EACCES and EIO in turn; writes fail when half is written. One line, nothing half-written."""
    hits, wrong = cases("fail", command, tmp_path, many(48, 1000))
    assert wrong == []
    assert hits >= 16
