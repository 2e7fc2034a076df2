"""What users of an earlier release have still builds: its descriptions and scripts, and what it has built before.

``tests/releases/<version>`` keeps what users have of that release: its scripts and its description of variants.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.projects.sconsproject import REPO, Project, copy_built

pytestmark = [pytest.mark.arm, pytest.mark.long]
RELEASES = REPO / "tests" / "releases"
VARIANTS = ("digits-n6", "digits-an547", "digits-n6-rel")


def images(project: Project) -> dict[str, bytes]:
    """What is shipped of some variants; of the last one the model alone: its firmware has got another option since."""
    found = project.files(*(f"build/{variant}" for variant in VARIANTS[:-1]))
    model = f"build/{VARIANTS[-1]}/network_rel.bin"
    shipped = {name: data for name, data in found.items() if name.endswith((".bin", ".hex"))}
    return {**shipped, model: project.path(model).read_bytes()}


@pytest.mark.parametrize("version", sorted(path.name for path in RELEASES.iterdir()))
def test_a_project_of_a_release_builds_the_same_images(template: Project, tmp_path: Path, version: str) -> None:
    """Its build folder has what that release left: no hashes of what was made, no stamps, objects without a record,
    and another form of records.
    """
    project = copy_built(template, tmp_path / "tree")
    for name in ("SConstruct", "variants.yaml"):
        shutil.copy(RELEASES / version / name, project.path(name))
    for path in [*project.path("build").rglob("made.sha256"), *project.path("build").glob(".*")]:
        path.unlink() if path.is_file() else shutil.rmtree(path)
    project.path("build/digits-n6/application.bin").write_bytes(b"of another tool")
    # The store of objects has records of its form, in the places of ours.
    for record in (RELEASES / version / "left/objects").glob("*.json"):
        for path in project.path("build/relocatable/objects").glob("*.json"):
            path.write_bytes(record.read_bytes())
    made = project.run(*VARIANTS)
    assert "build/digits-n6/app has no made.sha256: what was made in it is made again" in made.out + made.err
    assert images(project) == images(template)
    assert project.run(*VARIANTS).commands == set()
    for target in ("-h", "flash-digits-n6"):
        project.run(target)


def test_the_script_of_an_example_is_still_read(tmp_path: Path) -> None:
    """The form with a folder of tools, before the tool was found by its name alone."""
    for old in RELEASES.glob("*/*/SConstruct"):
        folder = tmp_path / old.parent.name
        shutil.copytree(REPO / "examples" / old.parent.name, folder, ignore=shutil.ignore_patterns("build"))
        shutil.copy(old, folder / "SConstruct")
        words = [sys.executable, "-W", "error", "-m", "SCons", "-Q", "-n"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "NETWORK " in done.stdout and "doorbell.elf" in done.stdout
