"""Two SCons in one tree: the second waits and says for whom, or fails at once where it may not wait."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.projects.sconsproject import Project, Result

pytestmark = [pytest.mark.arm, pytest.mark.long]

LOCKS = {".scons.lock", ".scons.owner"}


def started(project: Project, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-W", "error", "-m", "SCons", "-Q", "-j2", *words],
        cwd=project.root,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def owner(project: Project) -> Path:
    """The file that names who builds, as soon as somebody does."""
    path = project.path("build/.scons.owner")
    for _ in range(600):
        if path.is_file():
            return path
        time.sleep(0.05)
    raise AssertionError("nobody took the build folder")


def locks(project: Project) -> set[str]:
    return LOCKS & {path.name for path in project.path("build").iterdir()}


# Behind an SConstruct: a program is not finished before the test says so.
GATE = """
def _wait(target, source, env):
    import pathlib, time
    while not pathlib.Path("go").exists():
        time.sleep(0.02)

Depends("build/digits-n6/firmware.bin", env.Command("build/gate", [], [Action(_wait, "GATE"), Touch("$TARGET")]))
"""


@pytest.fixture
def gated(built: Project) -> Project:
    """A tree with something to do; whoever builds is at work until there is a file ``go``."""
    script = built.path("SConstruct")
    script.write_text(script.read_text("utf-8") + GATE, "utf-8")
    built.path("build/digits-n6/firmware.bin").unlink()
    return built


def test_the_second_waits_and_has_nothing_to_do(gated: Project) -> None:
    first = started(gated, "digits-n6")
    assert owner(gated).read_text("ascii") == f"{first.pid}\n"
    second = started(gated, "digits-n6")
    assert second.stdout is not None
    assert second.stdout.readline() == f"scons: waiting for process {first.pid}, which builds in build\n"
    gated.path("go").touch()
    built, _ = first.communicate()
    out, _ = second.communicate()
    assert (first.returncode, second.returncode) == (0, 0), built + out
    assert ("OBJCOPY", "build/digits-n6/firmware.bin") in Result(0, built, "").commands
    assert Result(0, out, "").commands == set() and "GATE" not in out, "the first has built everything"
    assert locks(gated) == set()


def test_who_may_not_wait_fails_at_once(gated: Project) -> None:
    first = started(gated, "digits-n6")
    owner(gated)
    refused = gated.run("WAIT=0", "digits-n6", code=2)
    looked = gated.run("-n", "digits-n6")
    assert first.poll() is None, "it was still at work"
    gated.path("go").touch()
    out, _ = first.communicate()
    assert first.returncode == 0, out
    assert re.fullmatch(
        rf"scons: \*\*\* another SCons is at work: process {first.pid}, which builds in build "
        r"\(wait until it has ended\)",
        refused.errors[0],
    )
    assert "waiting" not in looked.out, "who only looks waits for nobody"
    gated.run("WAIT=0", "digits-n6")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_killed_one_keeps_nobody_waiting(gated: Project) -> None:
    first = started(gated, "digits-n6")
    owner(gated)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    gated.path("go").touch()
    result = gated.run("WAIT=0", "digits-n6")
    assert "waiting" not in result.out and "OBJCOPY" in result.tags
    assert locks(gated) == set()


_COPIES = """\
env = Environment(tools=[])
env.Tool("neuralart", toolpath=["#site_scons"])
one = env.Command("build/one", "text", Copy("$TARGET", "$SOURCE"))
env.Command("build/two", one, "sleep 100")
env.Command("build/three", [], "sleep 100")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_what_killed_ones_built_is_doubted(sources: Project) -> None:
    """The sources get their old contents back, and SCons remembers only what it knew before the builds were killed."""
    text, one = sources.path("text"), sources.path("build/one")
    sources.path("SConstruct").write_text(_COPIES, "utf-8")
    text.write_text("old", "utf-8")
    sources.run("build/one")
    text.write_text("new", "utf-8")
    for target in ("build/two", "build/three"):
        killed = started(sources, target)
        assert killed.stdout is not None
        assert any("sleep" in line for line in killed.stdout)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
    assert one.read_text("utf-8") == "new"
    text.write_text("old", "utf-8")
    # What a killed step was writing goes; what a living one writes, and what is not ours, stays.
    parts = [sources.path(f"build/.one.{writer}.part") for writer in (f"{killed.pid}-1", f"{os.getpid()}-1", "old")]
    for each in parts:
        each.touch()
    sources.run("build/one")
    assert one.read_text("utf-8") == "old"
    assert [each.exists() for each in parts] == [False, True, True]
    sources.up_to_date("build/one")
