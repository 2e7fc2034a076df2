"""Compiles in copies of a process that has loaded the compiler: as if each had started Python by itself."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from SCons.Platform.posix import escape as scons_escape
from SCons.Platform.posix import subprocess_spawn
from SCons.Subst import quote_spaces

from neuralart.resources import package_parent
from neuralart.scons import fork_server
from neuralart.scons.console import BuildConsole

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")

MODEL = Path(__file__).resolve().parents[3] / "models/digits/digits.tflite"
WORDS = [shlex.quote(sys.executable), "-m", "neuralart", "compile"]


@pytest.fixture
def env() -> Iterator[dict[str, str]]:
    yield {**os.environ, "PYTHONPATH": str(package_parent()), "PYTHONDONTWRITEBYTECODE": "1"}
    while fork_server._servers:
        fork_server._servers.pop().end()


def _words(*more: object) -> list[str]:
    return [*WORDS, *(shlex.quote(str(each)) for each in more)]


def _run(env: dict[str, str], *more: object) -> tuple[int, str]:
    """Exit code and what is written, both streams."""
    return _said(_words(*more), env)


def _said(words: list[str], env: dict[str, str]) -> tuple[int, str]:
    read, write = os.pipe()
    copy = fork_server.begin(words, env, (write, write))
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as file:
        text = file.read()
    assert copy is not None
    return copy.wait(), text


def test_however_it_is_quoted(env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By ``ESCAPE``, by SCons's own rule for words with blanks, or by the function that SCons has for POSIX."""
    python = sys.executable
    for name, quote in (
        ("it's $HOME", shlex.quote),
        ("it's $HOME, too", scons_escape),
        ("a folder \u00fc", quote_spaces),
        ("\u00fc", quote_spaces),
    ):
        interpreter = tmp_path / name / "python"
        interpreter.parent.mkdir()
        interpreter.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n', "utf-8")
        interpreter.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(interpreter))
        assert _said([quote(str(interpreter)), *WORDS[1:], "--help"], env)[0] == 0


def _plain(env: dict[str, str], *more: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "neuralart", "compile", *map(str, more)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_copy_is_the_command(env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--quiet", "-m", MODEL, "--target", "stm32n6570-dk", "-o"]
    assert _run(env, *asked, "one") == (0, "")
    assert _run(env, *asked, "two") == (0, "")
    made = {path.name: path.read_bytes() for path in Path("two").iterdir()}
    assert made == {path.name: path.read_bytes() for path in Path("one").iterdir()}
    assert "network.json" in made
    for wrong in (["-m", "missing.tflite", "-o", "three"], ["--no-such-option"], ["-m", MODEL, "--target", "stm32x"]):
        assert _run(env, *wrong) == _plain(env, *wrong)
    assert len(fork_server._servers) == 1, "one process is copied"
    # Its environment is that of the command, not that of the process.
    assert "\x1b" not in _run(env, "-m", MODEL, "--target", "stm32x")[1]
    assert "\x1b" in _run({**env, "CLICOLOR_FORCE": "1"}, "-m", MODEL, "--target", "stm32x")[1]


def test_what_only_a_shell_can_do(env: dict[str, str]) -> None:
    assert fork_server.begin(["true"], env) is None
    assert fork_server.begin([*WORDS[:3], "run"], env) is None
    for more in (["--help", ">", "file"], ["$HOME"], ["`pwd`"], ["*"]):
        assert fork_server.begin([*WORDS, *more], env) is None
    assert not fork_server._servers
    assert _run(env, "--help")[0] == 0
    # Python reads these when it starts.
    assert fork_server.begin([*WORDS, "--help"], {**env, "PYTHONWARNINGS": "error"}) is None


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="who is whose child is not to be seen")
def test_a_copy_that_dies_is_one_step_that_failed(env: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(env, "--help")[0] == 0
    server = fork_server._servers[0].process.pid
    # It waits until somebody reads.
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(write, bytes(4096)):
            pass
    os.set_blocking(write, True)
    children = Path(f"/proc/{server}/task/{server}/children")
    before = {*children.read_text("ascii").split()}
    copy = fork_server.begin(_words("--help"), env, (write, write))
    assert copy is not None
    while not (found := {*children.read_text("ascii").split()} - before):
        time.sleep(0.01)
    os.kill(int(found.pop()), signal.SIGKILL)
    assert copy.wait() == 1
    os.close(read)
    os.close(write)
    assert capfd.readouterr().err == "neuralart: the process that compiles was ended\n"
    assert _run(env, "--help")[0] == 0
    assert len(fork_server._servers) == 1
    # Nor does it matter if the process itself is gone.
    os.kill(server, signal.SIGKILL)
    fork_server._servers[0].process.wait()
    assert _run(env, "--help")[0] == 0
    assert len(fork_server._servers) == 2


def test_the_build_copies_what_scons_would_start(env: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """Also where it is no terminal; without the shell that SCons would start."""
    words = [*WORDS[:3], "run", "--elf", "missing.elf", "--board", "stm32n6570-dk"]
    fork_server.start(env)
    built = BuildConsole([], None)
    assert built._spawn(subprocess_spawn, "/no/such/shell", None, "", words, env) == 1
    assert "no network to run" in capfd.readouterr().err
    # What users put there is theirs, and gets everything.
    for built._captures in (False, True):
        assert built._spawn(lambda *said: len(said[3]), "", None, "", words, env) == len(words)


def test_everything_is_loaded_before(tmp_path: Path) -> None:
    code = (
        "import sys; from neuralart.scons import fork_server; fork_server.load(); before = set(sys.modules)\n"
        "from neuralart.cli import main; main(sys.argv[1:])\n"
        "print(*(name for name in set(sys.modules) - before if not name.startswith('encodings.')))"
    )
    words = ["compile", "--quiet", "-m", str(MODEL), "--target", "stm32n6570-dk", "-o", str(tmp_path / "out")]
    run = [sys.executable, "-c", code, *words]
    own = {**os.environ, "PYTHONPATH": str(package_parent())}
    assert subprocess.run(run, env=own, capture_output=True, text=True, check=True).stdout == "\n"


def test_a_process_that_is_there_anyway_copies_runs(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*WORDS[:3], "run", "--elf", "missing.elf", "--board", "stm32n6570-dk"]
    assert fork_server.begin(words, env) is None, "nothing is started for it"
    assert not fork_server._servers
    fork_server.start(env)
    plain = subprocess.run(
        [sys.executable, *words[1:]], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert _said(words, env) == (plain.returncode, plain.stdout)
    assert "no network to run" in plain.stdout
    assert _run(env, "--help")[0] == 0
    assert len(fork_server._servers) == 1
    # A copy of this process uses it too, and is not told when it ends.
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert _said(words, env)[0] == plain.returncode
    assert len(fork_server._servers) == 1
    monkeypatch.undo()
    fork_server.end()
    assert not fork_server._servers
