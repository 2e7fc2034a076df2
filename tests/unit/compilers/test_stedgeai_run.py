"""Starting the tool and listening to it."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

from neuralart.compilers.stedgeai import run
from neuralart.compilers.stedgeai.install import Install
from neuralart.compilers.stedgeai.run import command_text, execute, put, working_folder
from neuralart.vendor.releases import parse_core
from support.fake_stedgeai import install
from support.models.stedgeai_case import make, refusal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script")
VERSION = parse_core("4.0.1-20581 7ed50de05")


def installed(tmp_path, text="") -> Install:
    """The made-up tool, or a program of one's own in its place."""
    root = install(tmp_path / "st")
    program = next(root.glob("Utilities/*/stedgeai"))
    if text:
        program.write_text(f"#!/bin/sh\n{text}\n")
    return Install(program, root, VERSION, "here")


def test_progress_is_told_when_it_changes(tmp_path):
    heard = []
    words = ("generate", "--model", "net.tflite", "--target", "stm32n6", "--st-neural-art", "profile-default")
    with working_folder(tmp_path) as place:
        outcome = execute(installed(tmp_path), words, make(place / "w"), os.environ, heard.append)
    assert outcome.status == 0
    assert heard[-1] == "100 % (104/104)"
    assert len(heard) == len(set(heard))
    assert not [line for line in outcome.lines if "PASS:" in line]


@pytest.mark.parametrize(
    ("text", "status", "lines"),
    [
        ("echo out; echo err >&2; exit 3", 3, ("out", "err")),
        ("printf 'a\\377b'", 0, ("a\ufffdb",)),
        ("kill -9 $$", -9, ()),
        ("cat", 0, ()),  # nothing to read: it must not wait for a person
        ("echo $STEDGEAI_CORE_DIR $PYTHONPATH end", 0, None),
    ],
)
def test_what_a_program_may_do(tmp_path, text, status, lines):
    found = installed(tmp_path, text)
    outcome = execute(found, (), tmp_path, {**os.environ, "PYTHONPATH": "/x"})
    assert outcome.status == status
    assert outcome.lines == (lines if lines is not None else (f"{found.root} end",))


def test_a_program_that_takes_too_long_ends_with_what_it_started(tmp_path):
    text = "printf 'first\\n\\rPASS:  50%%|##  | 52/104 [00:01<00:00, 3.16s/it]\\r'"
    text += "; sleep 60 &\necho $! >child; sleep 60"
    started = time.monotonic()
    outcome = execute(installed(tmp_path, text), (), tmp_path, os.environ, seconds=0.5)
    assert time.monotonic() - started < 20, "the child has the pipe open for a minute"
    assert (outcome.late, outcome.status, outcome.lines) == (True, -9, ("first",))
    assert outcome.reached == "50 % (52/104)"
    child = Path("/proc") / (tmp_path / "child").read_text().strip() / "stat"

    def alive() -> bool:
        try:
            return ") Z " not in child.read_text()  # who inherits it may not have waited for it yet
        except OSError:
            return False

    while alive() and time.monotonic() - started < 20:
        time.sleep(0.02)
    assert not alive()


def test_a_program_that_is_in_time(tmp_path):
    outcome = execute(installed(tmp_path, "echo out; exit 3"), (), tmp_path, os.environ, seconds=60)
    assert (outcome.late, outcome.status, outcome.lines) == (False, 3, ("out",))


def test_a_program_that_cannot_be_started(tmp_path):
    found = installed(tmp_path)
    found.program.unlink()
    assert "stedgeai: cannot be started: No such file or directory" in refusal(execute, found, (), tmp_path, {})


@pytest.mark.parametrize(
    ("name", "inside"), [("plain", True), ("with blank", True), ("caf\u00e9", False), ("a@b", False)]
)
def test_where_it_runs(tmp_path, name, inside):
    output = tmp_path / name / "out"
    with working_folder(output) as folder:
        assert folder.is_dir()
        plain = str(tmp_path).isascii() and "@" not in str(tmp_path)
        assert (folder.parent == output.resolve()) == (inside and plain)
        assert str(folder).isascii()
        put(folder, {"a/b/c.txt": b"x"})
        assert (folder / "a/b/c.txt").read_bytes() == b"x"
    assert not folder.exists()
    assert list(output.iterdir()) == []


def test_nowhere_to_run(tmp_path, monkeypatch):
    odd = tmp_path / "caf\u00e9"
    odd.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    with working_folder(odd / "out") as folder:
        assert str(folder).isascii(), "where a TMPDIR does not help, /tmp does"
    monkeypatch.setattr(run, "_TEMPORARY", ())

    def enter():
        with working_folder(odd / "out"):
            raise AssertionError

    text = refusal(enter)
    assert f"{odd / 'out'}: ST Edge AI Core crashes below folders with '@' or letters outside ASCII" in text
    assert f"another TMPDIR than {odd}" in text
    assert list((odd / "out").iterdir()) == []


def test_the_folder_goes_when_something_fails(tmp_path):
    with pytest.raises(KeyboardInterrupt), working_folder(tmp_path / "out") as folder:
        put(folder, {"x": b""})
        raise KeyboardInterrupt
    assert not folder.exists()


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")

    def enter():
        with working_folder(tmp_path / "file"):
            raise AssertionError

    assert "file: cannot write: File exists" in refusal(enter)
    assert "cannot write" in refusal(put, tmp_path, {"file/x": b""})


def test_the_command_to_read_and_to_repeat(tmp_path):
    text = command_text(installed(tmp_path), ("generate", "--model", "a b.tflite"))
    assert text == "ST Edge AI Core 4.0.1-20581 7ed50de05\nstedgeai generate --model 'a b.tflite'\n"
