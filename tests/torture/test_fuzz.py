"""Damaged files of every kind that is read: a result or one line; no traceback, no hang, no gigabyte, no half a file.

The kinds are in tests/support/fuzz/kinds.py. ``NEURALART_FUZZ=10000`` runs so many of each; without it a few are run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = int(os.environ.get("NEURALART_FUZZ", "40"))
# Importing everything takes a second: few files are read in one process.
PARTS = 8 if COUNT >= 1000 else 1

pytestmark = [pytest.mark.fuzz, pytest.mark.long]


@pytest.mark.parametrize("part", range(PARTS))
def test_damaged_files(part: int, tmp_path: Path) -> None:
    words = [str(tmp_path), "0", str(COUNT), f"{part}/{PARTS}"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "support.fuzz", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    now = tmp_path / "now"
    assert done.returncode == 0, f"{now.read_text() if now.exists() else ''}: {done.stderr[-3000:]}"
    assert {row["kind"]: row["wrong"][:3] for row in rows if row["wrong"]} == {}
    assert len(rows) >= 60 // PARTS
    if COUNT >= 10_000:
        # Damage that is always refused, or never, would prove little.
        assert [row["kind"] for row in rows if not row["accepted"]] == []
        assert [row["kind"] for row in rows if not row["refused"] and row["kind"] not in TOLERANT] == []


# What does not matter when it is damaged: it is made again; it becomes a finding; or its reader looks for a few words.
TOLERANT = {
    *("index.json", "object-list", "owner-manifest", "patched.json", "stedgeai-cache", "toolchain-cache", "stamps"),
    *("copied-tree", "linted.c", "linted.ld", "Makefile", "network.raw"),
    # A recorded tensor of another size is counted as one that is no buffer of the network.
    "record.bin",
    # Of texts that lie in a repository to be adopted, what cannot be understood is left out.
    *("Makefile.adopted", "flash.sh.adopted", "flash.bat.adopted", "app.ioc.adopted", "CMakeLists.txt.adopted"),
    "network.h.adopted",
    *(
        "CMakeLists.txt",
        "app_postprocess.h",
        "compiler-output",
        "linker-output",
        "firmware.map",
        "ll_aton_version.h",
        "report-c_info",
    ),
}
