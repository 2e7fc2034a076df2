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
@pytest.mark.parametrize("half", [0, 1])
def test_damage_is_one_line(half: int, tmp_path: Path) -> None:
    """A run that ends, or one line; never a traceback or a hang. Some are refused, some are not.

    One process for half of the kinds: it loads the readers of all of them.
    """
    kinds = of_npu.KINDS[half::2]
    (cost,) = {kind.cost for kind in kinds}
    command = [sys.executable, "-W", "error", "-m", "support.fuzz", str(tmp_path), "0", str(COUNT * cost)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*command, *(k.name for k in kinds)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["kind"] for row in rows] == [kind.name for kind in kinds]
    for row in rows:
        assert row["wrong"] == [] and row["accepted"] + row["refused"] == COUNT, row
        # Any bytes of the right length are values of a buffer.
        assert row["accepted"] and (row["refused"] or row["kind"] == "record.bin"), row
