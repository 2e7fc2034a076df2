"""The checkers are part of the suite: what they say is what the test says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).resolve().parents[3]
RUFF = pytest.mark.needs("ruff")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["ruff", "check", "--no-cache", "."], id="ruff check", marks=RUFF),
        pytest.param(["ruff", "format", "--no-cache", "--check", "--diff", "."], id="ruff format", marks=RUFF),
        pytest.param(["mypy"], id="mypy --strict", marks=[pytest.mark.needs("mypy"), pytest.mark.long]),
    ],
)
def test_checker(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *words], cwd=REPO, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"{' '.join(words)}:\n{done.stdout}\n{done.stderr}", pytrace=False)


def test_no_two_files_of_tests_have_one_name() -> None:
    """Else pytest runs one of them alone when it runs all."""
    names = [path.name for path in (REPO / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_marks_for_the_scanner_are_answered() -> None:
    """Each finding that a mark hides is in the table of docs/explanation/trust.md, and no other."""
    top = REPO / "site_scons"
    marked = {
        (code, path.relative_to(top).as_posix().removeprefix("neuralart/"))
        for path in top.rglob("*.py")
        for code in re.findall(r"# nosec (B\d+)", path.read_text("utf-8"))
    }
    table = (REPO / "docs/explanation/trust.md").read_text("utf-8").partition("## Findings of scanners")[2]
    rows = re.findall(r"^\| (B\d+), [^|]*\| `([\w/]+\.py)`", table, re.M)
    assert marked == set(rows) and len(rows) == len(marked) > 3


def test_the_workflow_is_one() -> None:
    """It is YAML, each step does one thing, and the scripts that it calls are there."""
    jobs = yaml.safe_load((REPO / ".github/workflows/ci.yml").read_text("utf-8"))["jobs"]
    assert {"linux", "lock", "refresh", "audit", "installed", "release"} <= jobs.keys()
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    words = [word for step in steps for word in str(step.get("run", "")).split() if word.startswith(".ci/")]
    assert len(words) > 5 and all(os.access(REPO / word, os.X_OK) for word in words)
