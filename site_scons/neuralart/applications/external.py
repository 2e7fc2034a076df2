"""Run the user's own build, listen to it, and keep what it says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.applications.commands import Commands
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_text

LOG = "log.txt"
_IDENTITY = ".neuralart-arguments"
# Of a make that started us: its job server is not for the build below, and its -n or -k are none of that build's.
_NOT_FOR_IT = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "GNUMAKEFLAGS", "PYTHONPATH", "PYTHONHOME")
_PERCENT = re.compile(r"^\[\s*(\d{1,3})%\]")
_NINJA = re.compile(r"^\[(\d{1,6})/(\d{1,6})\]")
_LONGEST = 70


@dataclass(frozen=True)
class Outcome:
    """What a run was."""

    status: int  # exit status of the last program that ran; negative: killed by that signal
    program: str  # its name
    lines: tuple[str, ...] = field(repr=False)  # what all of them printed


def environment(environ: Mapping[str, str], first: Path | None = None) -> dict[str, str]:
    """The environment of the build: the user's, with messages in English and a folder in front of PATH.

    Args:
        environ: Of this process.
        first: Folder of the cross compiler; None: PATH as it is.
    """
    child = {name: value for name, value in environ.items() if name not in _NOT_FOR_IT}
    # Errors are looked for in what is printed. Only the language changes: file names keep their letters.
    everything = child.pop("LC_ALL", "")
    if everything:
        child["LANG"] = everything
    child["LC_MESSAGES"] = "C"
    child.pop("LANGUAGE", None)
    if first is not None:
        child["PATH"] = os.pathsep.join([str(first), *filter(None, [child.get("PATH", "")])])
    return child


def progress(line: str) -> str:
    """How far a line says a build is, or what it does."""
    percent, ninja = _PERCENT.match(line), _NINJA.match(line)
    if percent is not None:
        return f"{percent[1]} %"
    if ninja is not None:
        return f"{ninja[1]} of {ninja[2]}"
    words = line.split()
    source = next((word for word in words if word.endswith((".c", ".s", ".S", ".cpp"))), "")
    return source.replace("\\", "/").rpartition("/")[2][:_LONGEST] or " ".join(words)[:_LONGEST]


def _prepare(given: Commands) -> None:
    """A private folder that was made with other arguments would bring them back."""
    if given.private is None:
        return
    record = given.private / _IDENTITY
    known = read_bytes(record).decode("utf-8", "replace") if record.is_file() else None
    if known != given.identity and given.private.exists():
        shutil.rmtree(given.private, ignore_errors=True)
    write_text(record, given.identity)


def _one(
    words: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    log: Callable[[bytes], object],
    listen: Callable[[str], None],
) -> int:
    import subprocess

    try:
        process = subprocess.Popen(
            list(words),
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise NeuralArtError(f"cannot be started: {error.strerror}", where=words[0]) from error
    assert process.stdout is not None
    try:
        with process.stdout as stream:
            for line in stream:
                log(line)
                text = progress(line.decode("utf-8", "replace").rstrip())
                if text:
                    listen(text)
        return process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def run(
    given: Commands,
    log: Path,
    environ: Mapping[str, str],
    listen: Callable[[str], None] = lambda _text: None,
) -> Outcome:
    """Run the programs of a build, up to the first that fails.

    Args:
        given: What to run.
        log: File for everything that they print; it grows while they run.
        environ: Of the build (:func:`environment`).
        listen: Called with what a line says.

    Raises:
        NeuralArtError: A program cannot be started, or the log cannot be written.
    """
    status, program = 0, ""
    try:
        _prepare(given)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as stream:
            for words in given.lines:
                program = Path(words[0]).stem
                stream.write(f"$ {shlex.join(words)}\n".encode())
                stream.flush()

                def keep(line: bytes) -> None:
                    stream.write(line)
                    stream.flush()

                status = _one(words, given.folder, environ, keep, listen)
                if status:
                    break
    except OSError as error:
        raise NeuralArtError(f"cannot be written: {error.strerror}", where=str(error.filename or log)) from error
    text = read_bytes(log).decode("utf-8", "replace")
    return Outcome(status, program, tuple(line for line in text.splitlines() if not line.startswith("$ ")))
