"""SCons gives back what it remembers of finished variants, and writes and finds the same as if it had kept it."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from SCons import dblite

from support.projects.sconsproject import Project, copy_built

pytestmark = [pytest.mark.arm, pytest.mark.long]

HEAD = """\
schema: 1
default: [one, two, three]
networks:
  digits: {model: models/digits/digits.tflite}
variants:
"""
VARIANT = "  {}: {{title: Digits, board: stm32n6570-dk, network: digits}}\n"
# SCons that keeps so many variants; at its end, how many files of each folder it still remembers.
PROGRAM = """\
import atexit, collections, json, sys
sys.path.insert(0, "site_scons")
from neuralart.scons import making
import SCons.Node.FS, SCons.Script
making._FEW = int(sys.argv.pop(1))

def count():
    every = SCons.Node.FS.get_default_fs().Top.root._lookupDict.values()
    nodes = [node for node in every if isinstance(node, SCons.Node.FS.File) and node.has_builder()]
    nodes = [node for node in nodes if "get_stored_info" in node._memo or hasattr(node, "binfo")]
    kept = ["/".join(node.get_internal_path().split("/")[:2]) for node in nodes]
    kept += [f"signatures/{node}" for node in every if getattr(node, "_sconsign", None)]
    with open("kept.json", "w") as file:
        json.dump(collections.Counter(kept), file)

atexit.register(count)
SCons.Script.main()
"""


def _built(project: Project, few: int, *words: str, given: str | None = None) -> tuple[str, dict[str, int]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(few), "-Q", "--no-stamps", *words],
        cwd=project.root,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr, json.loads(project.path("kept.json").read_text("ascii"))


def _remembered(project: Project) -> dict[str, Any]:
    """What SCons has written down of each file, but for times."""
    rows: dict[str, Any] = {}
    database = dblite.open(str(project.path(".sconsign")), "r")
    for folder in database.keys():  # noqa: SIM118 - it is no dict
        for name, entry in pickle.loads(database[folder]).items():
            of, row = entry.binfo, [getattr(entry.ninfo, "csig", None)]
            for kind in ("bsource", "bdepend", "bimplicit"):
                suffix = "" if kind == "bimplicit" else "s"
                row += [getattr(of, kind + suffix, None)]
                row += [[getattr(each, "csig", None) for each in getattr(of, f"{kind}sigs", ())]]
            rows[f"{folder}/{name}"] = [*row, getattr(of, "bactsig", None)]
    return rows


@pytest.fixture
def trees(template: Project, tmp_path: Path) -> list[Project]:
    projects = [copy_built(template, tmp_path / name / "tree") for name in ("kept", "released", "by two")]
    for project in projects:
        text = HEAD + "".join(map(VARIANT.format, ("one", "two", "three")))
        project.path("variants.yaml").write_text(text, "utf-8")
    return projects


def test_the_same_is_written(trees: list[Project]) -> None:
    kept, *others = trees
    _, most = _built(kept, 99)
    assert most["build/one"] > 10
    assert most["signatures/build/one"] == 1
    written = _remembered(kept)
    assert sum(name.startswith("build/one") for name in written) > 10
    up_to_date = "".join(f"scons: `{name}' is up to date.\n" for name in ("one", "two", "three"))
    for released, jobs in zip(others, ("-j1", "-j2"), strict=True):
        _, least = _built(released, 0, jobs)
        if jobs == "-j1":  # The last variant is not released: SCons ends
            assert not least.keys() & {"build/one", "build/two", "signatures/build/one", "signatures/build/two"}
            assert least["build/three"] == most["build/three"]
        assert _remembered(released) == written
        assert _built(released, 0, jobs)[0] == up_to_date
        assert _remembered(released) == written
    assert _built(kept, 0)[0] == up_to_date


def test_an_interactive_scons_keeps_all(trees: list[Project]) -> None:
    _, kept = _built(trees[0], 0, "--interactive", given="build\n")
    assert kept["signatures/build/one"] == 1
