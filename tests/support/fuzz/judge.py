"""One damaged file of a kind, read as the package reads it: what must never happen and did."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from neuralart import cli
from neuralart.errors import NeuralArtError
from support.fuzz.damage import Damage

MEMORY = 1 << 30
"""Bytes that a process may grow by."""
SECONDS = 5
"""Of the processor's time; waiting may take longer where a machine is busy."""
WAITING = 60
LONGEST = (500, 810)
"""Letters of the lines of a message: 320 of what is wrong, the name of the command and the place in the case's folder;
800 of the hint."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    name: str
    good: Sequence[bytes]
    read: Callable[[Path], object]  # Given the damaged file: raises NeuralArtError, or returns what it read
    damage: Damage
    file: str = ""  # Its name; that of the kind unless given
    prepare: Callable[[Path], object] = lambda folder: None  # Other files that the reader wants, once
    # What is wrong with an accepted file, from the good one, the damaged one and what was read; empty: nothing
    accepted: Callable[[bytes, bytes, Any], str] = lambda good, bad, read: ""
    made: str = ""  # Name of what the reader writes; removed before each case
    cost: int = 1  # A short run reads one of so many cases: a compile takes a hundred times as long as most readers
    again: bool = False  # Another reader of a file that a kind of its own has: a long run reads one of so many, too


@dataclass
class Fates:
    """What became of the files of a kind."""

    accepted: int = 0
    refused: int = 0
    wrong: list[tuple[int, str]] = field(default_factory=list)


class Refused(Exception):
    """A command ended with 1; its message."""


class Hang(BaseException):
    """Time is up. No ``except Exception`` takes it for something else."""


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def said(words: Sequence[str]) -> Said:
    """A command in this process. Its output is as strict as that of a terminal."""
    raw = io.BytesIO()
    out, err = io.TextIOWrapper(raw, "utf-8", write_through=True), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(words)
    return Said(code, raw.getvalue().decode("utf-8"), err.getvalue())


def command(words: Callable[[Path], Sequence[str]], differs: bool = False) -> Callable[[Path], Said]:
    """A reader: a command with this file. ``differs``: 2 says that something was compared and is not equal."""

    def read(path: Path) -> Said:
        done = said([str(word) for word in words(path)])
        if done.code == 1:
            # Notes come first, and progress is no message.
            at = done.err.find(": error: ")
            raise Refused(done.err[done.err.rfind("\n", 0, at) + 1 :] if at >= 0 else done.err)
        if done.code not in (0, 2) or (done.code == 2 and not differs):
            raise AssertionError(f"exit {done.code}: {done.err}")
        return done

    return read


def findings(words: Callable[[Path], Sequence[str]]) -> Callable[[Path], Said]:
    """A reader: a command that lists what it found, and ends with 1 if there was any."""

    def read(path: Path) -> Said:
        done = said([str(word) for word in words(path)])
        if done.code not in (0, 1):
            raise AssertionError(f"exit {done.code}: {done.err}")
        if ": error: " in done.err or "Traceback" in done.err:
            raise Refused(done.err)
        return done

    return read


def of_message(text: str, folder: Path) -> str:
    """What is wrong with a message; empty if it has its form."""
    lines = text.removesuffix("\n").replace(str(folder), "").split("\n")
    if not text.strip():
        return "no message"
    if len(lines) > 2 or (len(lines) == 2 and not lines[1].startswith("  ")):
        return f"not one line and a hint: {text[:1500]!r}"
    if any(len(line) > most for line, most in zip(lines, LONGEST, strict=False)):
        return f"{max(map(len, lines))} letters: {text[:1500]!r}"
    return f"control characters: {text[:500]!r}" if _CONTROL.search("".join(lines)) else ""


def _listing(folder: str) -> dict[str, tuple[int, int]]:
    """Size and time by path; links are not followed."""
    found = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            state = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                found[entry.path] = (0, 0)
                found.update(_listing(entry.path))
            else:
                found[entry.path] = (state.st_size, state.st_mtime_ns)
    return found


def _ring(number: int, _frame: object) -> NoReturn:
    raise Hang(f"over {SECONDS} s of computing" if number == signal.SIGPROF else f"over {WAITING} s")


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    signal.signal(signal.SIGPROF, _ring)
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WAITING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def damaged(kind: Kind, seed: int) -> tuple[bytes, bytes]:
    """The good and the damaged file of a case."""
    rng = random.Random(f"{kind.name} {seed}")
    good = rng.choice(kind.good)
    return good, kind.damage(good, rng)


def _read(kind: Kind, path: Path, good: bytes, bad: bytes) -> tuple[str, str]:
    """``accepted`` or ``refused``, and what is wrong."""
    try:
        with _limited():
            read = kind.read(path)
            return "accepted", kind.accepted(good, bad, read)
    except Refused as refusal:
        wrong = of_message(str(refusal), path.parent)
        return "refused", wrong or ("" if ": error: " in str(refusal) else f"no error: {str(refusal)[:900]!r}")
    except NeuralArtError as error:
        return "refused", of_message(str(error), path.parent) or ("" if error.where else f"no place: {error}")
    except Hang as hang:
        return "wrong", f"{hang}: {''.join(traceback.format_tb(hang.__traceback__)[-4:])}"
    except (Exception, SystemExit):
        text = traceback.format_exc()
        return "wrong", text if len(text) < 3000 else f"{text[:2000]} ... {text[-600:]}"


def case(kind: Kind, seed: int, folder: Path, fates: Fates) -> None:
    """One case. The folder is prepared, and only cases of this kind use it."""
    path = folder / (kind.file or kind.name)
    made = folder / kind.made if kind.made else None
    if made is not None and os.path.lexists(made):
        shutil.rmtree(made) if made.is_dir() else made.unlink()
    good, bad = damaged(kind, seed)
    path.write_bytes(bad)
    before = _listing(str(folder))
    fate, wrong = _read(kind, path, good, bad)
    after = _listing(str(folder))
    left = [name for name in after if name.endswith((".part", ".lock"))]
    if not wrong and (left or (fate == "refused" and after != before)):
        wrong = f"left behind: {left or sorted(set(after.items()) ^ set(before.items()))}"
    if fate == "accepted":
        fates.accepted += 1
    elif fate == "refused":
        fates.refused += 1
    if wrong:
        kept = folder.parent / f"{kind.name}-{seed}-{path.name}"
        kept.write_bytes(bad)
        fates.wrong.append((seed, f"{kept}: {wrong}"))
