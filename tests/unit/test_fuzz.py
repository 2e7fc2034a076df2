"""Damaged models, pool files and profiles: one line or a network; no traceback, no hang, no gigabytes, no half a file.

``NEURALART_FUZZ=10000`` runs so many of each kind; without it a few hundred are run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = int(os.environ.get("NEURALART_FUZZ", "300"))
PART = 250

pytestmark = [pytest.mark.fuzz, pytest.mark.long]


@pytest.mark.parametrize("first", range(0, COUNT, PART))
@pytest.mark.parametrize("kind", ["model", "pools", "profile"])
def test_damaged_files(kind: str, first: int, tmp_path: Path) -> None:
    count = min(PART, COUNT - first)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "support.fuzz", kind, str(first), str(count), str(tmp_path / "x")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=1800,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and rows[-1] == ["done", first, count], done.stderr[-3000:]
    assert rows[:-1] == []
