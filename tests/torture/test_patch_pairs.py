"""Two ``neuralart tool patch --in-place`` in one tree at once: one waits for the other, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart.resources import package_parent
from support.projects.torture import many

DRIVER = Path(__file__).resolve().parents[1] / "support" / "projects" / "patch_pairs.py"


@pytest.mark.torture
@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_pairs_of_patches(tmp_path: Path) -> None:
    count = many(60, 400)
    environment = {**os.environ, "PYTHONPATH": str(package_parent())}
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path), "0", str(count)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    pairs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(pairs) == count
    bad = [
        (number, each)
        for number, each in enumerate(pairs)
        if each["ends"] != [0, 0] or each["version"] not in ("crop", "padding") or not each["restored"] or each["left"]
    ]
    assert bad == []
    assert {each["version"] for each in pairs} == {"crop", "padding"}
