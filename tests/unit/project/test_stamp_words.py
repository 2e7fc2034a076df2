"""Which words of a command line, and of SCONSFLAGS, leave the answer to SCons; what ``neuralart build`` hands on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neuralart import cli, intact


@pytest.fixture
def stamped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which ``plain`` is intact for any of the command lines below, with and without SCONSFLAGS."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCONSFLAGS", raising=False)
    (tmp_path / "SConstruct").touch()
    _stamp([])
    return tmp_path


def _stamp(words: list[str]) -> None:
    world = {"default": ["plain"], "words": words, "environ": intact.environment(os.environ), "groups": []}
    data: dict[str, Any] = {"format": intact.FORMAT, "remembered": [], "worlds": {"w": world}}
    data |= {"variants": {"plain": {"world": "w", "groups": []}}, "groups": []}
    Path("build").mkdir(exist_ok=True)
    Path("build", intact.NAME).write_text(intact.with_checksum(json.dumps(data)), "utf-8")


@pytest.mark.parametrize(
    "flags",
    [
        *("--no-stamps", "-Q --junit=r.xml", "--shard 1/2", "--tree=all", "--tree", "--debug=explain"),
        *("--debug explain", "--interactive", "--config=force", "--cache-populate", "--max-drift=1", "--site-dir=x"),
        *("--implicit-cache", "-f Other", "-f -", "-f-", "--file=-", "-C sub", "-Csub", "-u", "-D", "-Y ../other"),
        *("-n", "-q", "-c", "-h", "-i", "-jx", "-kj4", "--", "-", "run-plain", "build/plain/firmware.elf", "--like a"),
    ],
)
def test_scons_answers_what_only_it_knows(stamped: Path, flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = flags.split()
    assert intact.say("build", ["plain"]) and intact.say("build", ["-j2", "-Q", "--jobs", "3", "-k", "--jobs=4"])
    assert intact.words_of([*words, "plain"], ["plain"]) is None
    assert not intact.say("build", [*words, "plain"])
    monkeypatch.setenv("SCONSFLAGS", flags)
    assert not intact.say("build", ["plain"])
    monkeypatch.setenv("SCONSFLAGS", "-k -j3")
    assert intact.say("build", ["plain"])


def test_flags_of_scons_are_words(
    stamped: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before those of the command line."""
    monkeypatch.setenv("SCONSFLAGS", "X=1 plain -s")
    assert intact.words_of(["X=2"], ["plain"]) == ["X=1", "X=2"]
    assert not intact.say("build", [])
    _stamp(["X=1"])
    assert intact.say("build", []) and not capsys.readouterr().out


@pytest.fixture
def called(stamped: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words with which scons was called."""
    found: list[str] = []
    monkeypatch.setattr(subprocess, "call", lambda words: found.extend(words[1:]) or 7)
    return found


@pytest.mark.parametrize(
    "words",
    [["-j2", "plain"], ["-k", "plain"], ["--no-stamps", "plain"], ["plain", "-n", "X=1"], ["--", "plain"], ["a", "-h"]],
)
def test_build_hands_options_on(called: list[str], words: list[str]) -> None:
    assert cli.main(["build", *words]) == 7
    assert called == ["-m", "SCons", "-Q", f"-j{os.cpu_count() or 1}", *words]


@pytest.mark.parametrize(
    ("flags", "own"), [("--junit=r.xml", True), ("-k --no-jk", True), ("-k -j3", False), ("--jobs=3", False)]
)
def test_build_leaves_jobs_that_are_set(
    called: list[str], monkeypatch: pytest.MonkeyPatch, flags: str, own: bool
) -> None:
    monkeypatch.setenv("SCONSFLAGS", flags)
    assert cli.main(["build", "-k", "plain"]) == 7
    assert called[3:] == [*([f"-j{os.cpu_count() or 1}"] if own else []), "-k", "plain"]


@pytest.mark.parametrize(
    "words", [["-C", "sub"], ["-Csub"], ["-f", "Other"], ["--file=Other"], ["--directory=sub", "plain"], ["-u"]]
)
def test_build_leaves_it_to_scons_where_the_script_is(called: list[str], words: list[str]) -> None:
    Path("SConstruct").unlink()
    assert cli.main(["build", *words]) == 7
    assert called[4:] == words


def test_build_without_a_script(called: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("SConstruct").unlink()
    assert cli.main(["build", "-k", "plain"]) == 1
    assert "no SConstruct" in capsys.readouterr().err and not called
    for word in ("-h", "--help"):
        with pytest.raises(SystemExit) as ended:
            cli.main(["build", word])
        assert ended.value.code == 0 and "usage: neuralart build" in capsys.readouterr().out


def test_nothing_is_loaded_to_know_the_words(stamped: Path) -> None:
    """SCONSFLAGS is looked at before SCons, and before most of Python."""
    call = [sys.executable, "-I", "-S", intact.__file__, "build", "plain"]
    done = subprocess.run(call, env={**os.environ, "SCONSFLAGS": "--no-stamps"}, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (intact.ASK, "", "")


def test_the_last_of_equal_names_counts() -> None:
    words = ["X=1", "plain", "-j2", "X=2"]
    assert intact.words_of(words, ["plain"]) == ["X=1", "X=2"] != intact.words_of(words[::-1], ["plain"])


def test_what_is_built_when_nothing_is_named_is_that_of_the_command_line(stamped: Path) -> None:
    path = Path("build", intact.NAME)
    data: Any = intact.load(str(path))
    other = {**data["worlds"]["w"], "words": ["X=1"], "default": []}
    data["worlds"] = {"other": other, **data["worlds"]}
    for world in ("other", "w"):
        data["variants"]["plain"]["world"] = world
        path.write_text(intact.with_checksum(json.dumps(data)), "utf-8")
        assert intact.say("build", []) == (world == "w")
        assert not intact.say("build", ["X=1"])
        assert intact.say("build", ["X=1", "plain"]) == (world == "other")


def test_another_python_has_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = intact.environment({})
    monkeypatch.setattr(sys, "executable", str(Path(sys.executable).with_name("python-of-another-name")))
    assert intact.environment({}) == sums
    monkeypatch.setattr(sys, "executable", "/elsewhere/bin/python")
    assert intact.environment({}) != sums
