"""Runs the user's own build, keeps its output, and checks its program."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from neuralart.applications.commands import Commands
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_text
from neuralart.quick import dataclass, field

LOG = "log.txt"
_IDENTITY = ".neuralart-arguments"
# Of a make that started us: its job server is not for the build below, and its -n or -k are none of that build's.
_NOT_FOR_IT = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "GNUMAKEFLAGS", "PYTHONPATH", "PYTHONHOME")
_PERCENT = re.compile(r"^\[\s*(\d{1,3})%\]")
_NINJA = re.compile(r"^\[(\d{1,6})/(\d{1,6})\]")
_LONGEST = 70
_ELF = b"\x7fELF"
_SHOWN = 3


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    status: int  # exit status of the last program that ran; negative: killed by that signal
    program: str  # its name
    lines: tuple[str, ...] = field(repr=False)  # what all of them printed


def environment(environ: Mapping[str, str], first: Path | None = None) -> dict[str, str]:
    """Make a build's environment: the user's, in English; ``first``: the first folder of PATH, None: PATH stays."""
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
    """Read from a line how far a build is, or what it does."""
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
    words: Sequence[str], folder: Path, env: Mapping[str, str], log: BinaryIO, listen: Callable[[str], None]
) -> int:
    from subprocess import DEVNULL, PIPE, STDOUT, Popen

    log.write(f"$ {shlex.join(words)}\n".encode())
    log.flush()
    try:
        process = Popen(list(words), cwd=folder, env=dict(env), stdin=DEVNULL, stdout=PIPE, stderr=STDOUT)
    except OSError as error:
        raise NeuralArtError(f"cannot be started: {error.strerror}", where=words[0]) from error
    assert process.stdout is not None
    try:
        with process.stdout as stream:
            for line in stream:
                log.write(line)
                log.flush()
                text = progress(line.decode("utf-8", "replace").rstrip())
                if text:
                    listen(text)
        return process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def run(
    given: Commands, log: Path, environ: Mapping[str, str], listen: Callable[[str], None] = lambda _text: None
) -> Outcome:
    """Run the programs of a build until one fails. ``log``: file for their output; ``environ``: from
    :func:`environment`; ``listen``: gets the progress. NeuralArtError: a program cannot be started, or the log cannot
    be written.
    """
    status, program = 0, ""
    try:
        _prepare(given)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)  # never through a link
        with log.open("xb") as stream:
            for words in given.lines:
                program = Path(words[0]).stem
                status = _one(words, given.folder, environ, stream, listen)
                if status:
                    break
    except OSError as error:
        raise NeuralArtError(f"cannot be written: {error.strerror}", where=str(error.filename or log)) from error
    text = read_bytes(log).decode("utf-8", "replace")
    return Outcome(status, program, tuple(line for line in text.splitlines() if not line.startswith("$ ")))


@dataclass(frozen=True)
class Before:
    """Time and bytes of a file before the build; None: it did not exist."""

    time: int | None = None
    data: bytes | None = None


def look(path: Path) -> Before:
    """Note a file's state before a build."""
    return Before(path.stat().st_mtime_ns, read_bytes(path)) if path.is_file() else Before()


def _others(folder: Path, since: int) -> list[str]:
    """Programs that a build has made, by their paths below a folder."""
    found = []
    for path in sorted(folder.rglob("*"), key=lambda each: (each.parent, each.name)):
        old = path.is_symlink() or not path.is_file() or path.stat().st_mtime_ns < since
        if not old and (path.suffix in (".elf", ".axf", ".out") or not path.suffix):
            with path.open("rb") as stream:
                found += [path.relative_to(folder).as_posix()] if stream.read(len(_ELF)) == _ELF else []
    return found


def read_program(path: Path, shown: str, where: str) -> bytes:
    """Read a linked program for an Arm core. NeuralArtError: it is no such program."""
    from neuralart.memory.image import elf_facts

    data = read_bytes(path)
    if not data.startswith(_ELF):
        what = f"{shown} is no ELF file: it begins with {data[:4].hex(' ') or 'nothing'}"
        raise NeuralArtError(what, where=where, hint="name the linked program, not the .bin or .hex that is made of it")
    try:
        elf_facts.read(path, data)
    except NeuralArtError as error:
        raise NeuralArtError(f"{shown}: {error.what}", where=where, hint=error.hint) from error
    return data


def judge(
    path: Path,
    before: Before,
    networks: Sequence[tuple[str, Path]],
    *,
    shown: str,
    folder: Path,
    since: int,
    where: str,
    log: str,
) -> bytes:
    """The program that a build made.

    ``path``: where it must be; ``before``: what was there before; ``networks``: (name of a network, its C or programs
    in the tree): what it must not be older than; ``shown``: its name for messages; ``folder``: where to look for others
    if it is missing; ``since``: time at which the build began, in nanoseconds; ``where``: who names it; ``log``: what
    the build printed. NeuralArtError: it is missing, older than the networks in it, or no program for an Arm core.
    """
    if not path.is_file():
        others = _others(folder, since)
        made = f"; it made {', '.join(others[:_SHOWN])}" if others else ""
        what = f"the build ended without an error and there is no {shown}{made}"
        hint = f"artefact: {others[0]}" if others else "does the target link it?"
        raise NeuralArtError(what, where=where, hint=f"{hint}; log: {log}")
    data = read_program(path, shown, where)
    time = path.stat().st_mtime_ns
    for name, source in networks:
        if time < source.stat().st_mtime_ns and data == before.data:
            raise NeuralArtError(
                f"the build ended without an error and did not make {shown} again, which is older than "
                f"{source.name} of network {name}",
                where=where,
                hint=f"is that file compiled into it, and does the target link it? log: {log}",
            )
    return data


_DRIVERS = ("arm*-gcc", "arm*-g++", "arm*-c++")
# ``case`` compares whole words: nothing in them is ever read as shell.
_SCRIPT = """\
#!/bin/sh
for word do
    shift
    case "$word" in {patterns}) ;; *) set -- "$@" "$word" ;; esac
done
exec {program} "$@" {added}
"""


def wrappers(words: Sequence[str], toolchain: Path | None, tools: Path, where: str, system: str = sys.platform) -> None:
    """Write scripts (in ``tools``) with the names of the cross compiler's programs (in ``toolchain``).
    NeuralArtError: This system runs no shell scripts, there is no compiler in the folder, or a file cannot be written.
    """
    found = sorted({path for name in _DRIVERS for path in toolchain.glob(name)} if toolchain is not None else ())
    if system == "win32" or not found:
        missing = "this system runs no shell scripts" if found else "no compiler for Arm to put a script in front of"
        raise NeuralArtError(f"toolchain: tolerate: {missing}", where=where)
    patterns = "|".join("*".join(map(shlex.quote, word.split("*"))) for word in words if not word.startswith("+"))
    added = " ".join(shlex.quote(word[1:]) for word in words if word.startswith("+"))
    for path in found:
        program, made = shlex.quote(str(path.absolute())), tools / path.name
        text = _SCRIPT.format(patterns=patterns or "''", program=program, added=added)
        # The same again is left alone: CMake looks at the time of its compiler.
        if not made.is_file() or made.read_bytes() != text.encode():
            write_text(made, text)
        made.chmod(0o755)
