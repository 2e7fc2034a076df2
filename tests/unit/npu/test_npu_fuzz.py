"""Damaged structures, programs and registers for the virtual NPU: 300 of each; NEURALART_FUZZ runs more elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.fuzz import of_npu

COUNT = 300


@pytest.mark.long
@pytest.mark.parametrize("kind", of_npu.KINDS, ids=lambda kind: kind.name)
def test_damage_is_one_line(kind: of_npu.Kind, tmp_path: Path) -> None:
    """A run that ends, or one line; never a traceback or a hang. Some are refused, some are not."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "support.fuzz",
        str(tmp_path),
        "0",
        str(COUNT * kind.cost),
        kind.name,
    ]
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    row = json.loads(done.stdout)
    assert row["wrong"] == [] and row["accepted"] + row["refused"] == COUNT
    # Any bytes of the right length are values of a buffer.
    assert row["accepted"] and (row["refused"] or kind.name == "record.bin")
