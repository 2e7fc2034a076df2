"""Commands that are killed, and whose writes fail; started as a program of its own, which forks for each.

    torture.py kill|fail COMMAND FOLDER FIRST COUNT

Prints one JSON line for each case that went wrong, and a last one with what was done.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from neuralart import cli
from neuralart.flashing import plan as plans
from support import fake_stedgeai
from support.boards.h747_app import App, FakeNetwork, FakePool
from support.models import stedgeai_case
from support.projects import sconsproject

ROOT = Path(__file__).resolve().parents[3]
POOLS = ROOT / "site_scons/neuralart/boards/data/pools/stm32n6570-dk.mpool"
THREE = (FakePool("DTCMRAM", 18428, 1), FakePool("AXIRAM", 311996, 2), FakePool("SDRAM", 266256, 3))
ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO)
LONG = bool(os.environ.get("NEURALART_TORTURE"))


# Seconds after which the tests of builds begin no further step of the long run.
PATIENCE = float(os.environ.get("NEURALART_TORTURE_SECONDS", "inf"))
# Rounds of edits that an earlier run has done: a run that was cut short goes on behind them.
FIRST_ROUND = int(os.environ.get("NEURALART_TORTURE_ROUND", "0"))
BEGAN = time.monotonic()


def in_time() -> bool:
    """Is there time for another step?"""
    return time.monotonic() - BEGAN < PATIENCE


def progress(text: str) -> None:
    """Show what the long run has done; to be seen with ``pytest -s``."""
    if LONG:
        print(f"{time.monotonic() - BEGAN:7.0f} s: {text}", file=sys.__stderr__, flush=True)


def many(short: int, long: int) -> int:
    """So many cases: of the reduced part, or of the long run (``NEURALART_TORTURE=1``)."""
    return long if LONG else short


@dataclass
class Case:
    """A command in a folder of its own.

    Attributes:
        words: The command.
        place: What it may change; compared after it.
        before: Commands that make the state that it finds.
        after: A command and the state that it must bring about, once the first one has ended well.
        reads: It changes nothing: it is killed behind the first file that it opens below this folder.
    """

    words: list[str]
    place: Path
    before: list[list[str]] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    reads: Path | None = None


def _compile(folder: Path, again: bool) -> Case:
    def words(*more: str) -> list[str]:
        made = ["compile", "--quiet", "--model", str(ROOT / "models/digits/digits.tflite"), "--target", "stm32n6"]
        made += ["--mpool", str(POOLS), "--name", "net", "--output", str(folder / "out")]
        return [*made, *more]

    # Another set of files, and another content of one that both have.
    return Case(words("--no-report"), folder / "out", [words("--all-buffers-info")] if again else [])


def _flash(folder: Path, again: bool) -> Case:
    def words(number: int) -> list[str]:
        chance = random.Random(number)
        writes = []
        for name, kind, address in (("app", "application", 0x70100000), ("net", "model", 0x71000000)):
            path = folder / f"{name}{number}.bin"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(chance.randbytes(300_000))
            writes.append(plans.write_of(name, kind, path, address, path.name))
        plan = folder / f"plan{number}.json"
        plan.write_text(plans.make("stm32n6570-dk", writes), "utf-8")
        return ["flash", "--plan", str(plan), "--nor", str(folder / "out/flash.nor"), "--top", str(folder)]

    return Case(words(1), folder / "out", [words(0)] if again else [])


def _patch(folder: Path, again: bool, *more: str) -> Case:
    app = App(folder, FakeNetwork(THREE))

    def words(mode: str) -> list[str]:
        made = ["tool", "patch", str(app.folder), "--network", str(app.network), "--aspect-ratio", mode]
        return [*made, *(more or ("--output", str(folder / "copies")))]

    place = app.folder if more else folder / "copies"
    after = ["tool", "patch", str(app.folder), "--restore"] if more else []
    return Case(words("padding"), place, [words("crop")] if again else [], after)


def _restore(folder: Path, again: bool) -> Case:
    case = _patch(folder, again, "--in-place")
    return Case(["tool", "patch", str(case.place), "--restore"], case.place, [*case.before, case.words])


def _verify(folder: Path, again: bool) -> Case:
    case = _flash(folder, again)
    words = ["verify", *case.words[1:]]
    return Case(words, case.place, [*case.before, case.words], reads=folder)


def _record(folder: Path, again: bool) -> Case:
    inputs, tool = folder.parent / "inputs", folder.parent / "tool"
    if not inputs.exists():
        stedgeai_case.make(inputs)
        fake_stedgeai.install(tool)
    own = {"STEDGEAI_CORE_DIR": tool, "NEURALART_STEDGEAI_ROOTS": inputs / "none", "NEURALART_CACHE_DIR": inputs / "c"}
    os.environ.update({name: str(path) for name, path in own.items()})
    # What the user calls the files is recorded.
    os.chdir(inputs)

    def words(*more: str) -> list[str]:
        made = ["record", "--quiet", "-m", "net.tflite", "-n", "net", "--target", "stm32n6"]
        made += ["--recording", str(folder / "out/rec"), "--output", str(folder / "made")]
        return [*made, "--st-neural-art", "blobs@na.json", *more]

    return Case(words(), folder / "out", [words("--input-data-type", "uint8", "--no-report")] if again else [])


def _export(folder: Path, again: bool) -> Case:
    """Of variants that were really built, once for all cases."""
    project = sconsproject.Project(folder.parent / "project")
    if not project.root.exists():
        sconsproject.copy_sources(project.root).run("-j2", "digits-n6", "digits-n6-link")

    def words(variant: str) -> list[str]:
        file = project.path("variants.yaml")
        return ["export", variant, "--quiet", "--file", str(file), "--to", str(folder / "out/export")]

    return Case(words("digits-n6"), folder / "out", [words("digits-n6-link")] if again else [])


COMMANDS: dict[str, Callable[[Path, bool], Case]] = {
    "compile": _compile,
    "flash": _flash,
    "patch-in-place": lambda folder, again: _patch(folder, again, "--in-place"),
    "patch-copies": _patch,
    "restore": _restore,
    "verify": _verify,
    "record": _record,
    "export": _export,
}
# Those that change nothing have no change that could fail.
WRITERS = tuple(name for name in COMMANDS if name != "verify")


def state(place: Path) -> dict[str, bytes]:
    """All files, hidden ones and what should not be there included."""
    files = sorted(path for path in place.rglob("*") if path.is_file()) if place.exists() else []
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in files}


def _quiet(words: list[str]) -> tuple[int, str]:
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = cli.main(words)
    return code, said.getvalue()


class Files:
    """Between a command and the disk: tells of the first change below a folder, and lets one of them fail.

    Attributes:
        at: Number of the change that fails; None: none does.
        code: Its ``errno``.
        done: Changes so far.
        first: Called at the first one, or when a file below ``reads`` is opened.
    """

    def __init__(self, case: Case, at: int | None, code: int = 0, first: Callable[[], object] = lambda: None) -> None:
        self.place, self.at, self.code, self.done, self.first = str(case.place), at, code, 0, first
        self.reads = str(case.reads or "")

    def _step(self, *paths: Any) -> bool:
        """A change begins; is it the one that fails?"""
        # The folder itself and what lies beside it under its name (a lock) count.
        if not any(isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self.place) for path in paths):
            return False
        if self.done == 0:
            self.first()
        self.done += 1
        return self.done - 1 == self.at

    def _fail(self, path: Any) -> OSError:
        return OSError(self.code, os.strerror(self.code), os.fspath(path))

    def install(self) -> None:
        """For the rest of this process."""
        for name in ("replace", "rename", "mkdir", "unlink", "rmdir", "chmod"):
            setattr(os, name, self._call(getattr(os, name)))
        real_open, io_open = os.open, io.open

        def low(path: Any, flags: int, *rest: Any, **more: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and self._step(path):
                raise self._fail(path)
            return real_open(path, flags, *rest, **more)

        def high(path: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
            if self.reads and str(path).startswith(self.reads):
                self.reads = ""
                self.first()
            if not set(mode) & set("wax+") or not self._step(path):
                return io_open(path, mode, *rest, **more)
            return Half(io_open(path, mode, *rest, **more), self._fail(path))

        os.open, io.open = low, high  # type: ignore[assignment]

    def _call(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*paths: Any, **more: Any) -> Any:
            if self._step(*paths):
                raise self._fail(paths[0])
            return real(*paths, **more)

        return call


class Half:
    """A file on a disk that is full after half of what is written."""

    def __init__(self, real: Any, error: OSError) -> None:
        self.real, self.error = real, error

    def __enter__(self) -> Half:
        return self

    def __exit__(self, *_: object) -> None:
        self.real.close()

    def write(self, data: Any) -> int:
        self.real.write(data[: len(data) // 2])
        self.real.flush()
        raise self.error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def _forked(work: Callable[[], int]) -> int:
    """Run in a process group of its own."""
    child = os.fork()
    if child:
        return child
    status = 99
    try:
        os.setpgid(0, 0)
        status = work()
    finally:
        os._exit(status)


def _ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@dataclass
class Known:
    """What a command does when nothing goes wrong: state before and after it, seconds from its first change on."""

    before: dict[str, bytes]
    after: dict[str, bytes]
    restored: dict[str, bytes]
    seconds: float


def _prepared(command: str, folder: Path, again: bool) -> Case:
    shutil.rmtree(folder, ignore_errors=True)
    case = COMMANDS[command](folder, again)
    for words in case.before:
        assert _quiet(words)[0] == 0, words
    return case


def _known(command: str, folder: Path, again: bool) -> Known:
    case = _prepared(command, folder, again)
    before = state(case.place)
    assert _ended(_forked(lambda: _quiet(case.words)[0])) == 0
    shutil.rmtree(folder)
    case = _prepared(command, folder, again)
    reader, writer = os.pipe()

    def work() -> int:
        Files(case, None, first=lambda: os.write(writer, b"!")).install()
        return _quiet(case.words)[0]

    child = _forked(work)
    os.read(reader, 1)
    began = time.monotonic()
    assert _ended(child) == 0
    seconds = time.monotonic() - began
    after = state(case.place)
    restored = {}
    if case.after:
        assert _quiet(case.after)[0] == 0
        restored = state(case.place)
    return Known(before, after, restored, seconds)


def _again(case: Case, known: Known) -> Iterator[str]:
    """The next call does what the first should have done, and leaves nothing else."""
    code, said = _quiet(case.words)
    if code:
        yield f"the next call ends with {code}: {said}"
    if state(case.place) != known.after:
        names = {*known.after, *state(case.place)}
        now = state(case.place)
        yield f"after the next call, these differ: {sorted(n for n in names if now.get(n) != known.after.get(n))}"
    if case.after:
        code, said = _quiet(case.after)
        if code or state(case.place) != known.restored:
            yield f"what follows ends with {code}, or differs: {said}"


def kill(command: str, folder: Path, number: int, known: dict[bool, Known]) -> tuple[list[str], bool]:
    """One kill at a random moment behind the first change; was it in time?"""
    chance = random.Random(f"{command} {number}")
    again = bool(number % 2)
    case = _prepared(command, folder, again)
    delay = max(chance.random() * known[again].seconds, 1e-6)

    def work() -> int:
        # Its own clock ends it: on a busy machine, others would come when it has ended.
        Files(case, None, first=lambda: signal.setitimer(signal.ITIMER_REAL, delay)).install()
        return _quiet(case.words)[0]

    child = _forked(work)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    # Until somebody has asked how it ended, the system still knows its number. What it has started ends, too.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    killed = _ended(child) == -signal.SIGALRM
    if not killed:  # It takes less time than was measured.
        known[again].seconds = delay
    return list(_again(case, known[again])), killed


def _unfinished(name: str, data: bytes) -> bool:
    """An export lists first what it will write, in a whole manifest that says that it has not come to its end; and a
    compile notes the hashes of its files.
    """
    if name.rpartition("/")[2] == ".neuralart-unfinished":
        return re.fullmatch(rb"(?:[0-9a-f]{64}\n)+", data) is not None
    try:
        return name == "export/manifest.json" and json.loads(data)["unfinished"] is True
    except (ValueError, KeyError):
        return False


def fail(command: str, folder: Path, number: int, known: dict[bool, Known]) -> tuple[list[str], bool]:
    """One change that fails; was there one of that number?"""
    again, at = bool(number % 2), number // 2
    case = _prepared(command, folder, again)
    code = ERRORS[at % len(ERRORS)]
    reader, writer = os.pipe()

    def work() -> int:
        files = Files(case, at, code)
        files.install()
        status, said = _quiet(case.words)
        os.write(writer, json.dumps([files.done > at, said]).encode()[:60_000])
        return status

    child = _forked(work)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        text = stream.read()
    status = _ended(child)
    if not text:
        return [f"a traceback, or worse: status {status}"], True
    hit, said = json.loads(text)
    problems, expected = [], known[again]
    # What a journal holds is no file of anybody's; a lock whose deletion fails is in nobody's way, and goes next time.
    now = {
        n: d for n, d in state(case.place).items() if ".neuralart-patch/change/" not in n and not n.endswith(".lock")
    }
    states = (expected.before, expected.after)
    halves = [n for n, d in now.items() if all(d != each.get(n) for each in states) and not _unfinished(n, d)]
    if halves:
        problems.append(f"neither as before nor as after: {halves}")
    if status == 0 and now != expected.after:
        problems.append("ends with 0, and did not do it")
    if status not in (0, 1) or (status == 1 and (said.count("\n") != 1 or ": error: " not in said)):
        problems.append(f"status {status}: {said}")
    return [*problems, *_again(case, expected)], bool(hit)


def main() -> None:
    """Run cases; those that fail calls end with the command's last change."""
    how, command, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    first, count = int(sys.argv[4]), int(sys.argv[5])
    os.fsync = lambda _file: None  # type: ignore[assignment]
    # What a command loads is loaded by the one before it, here: no later one takes the time for it.
    known = {again: _known(command, folder / "known", again) for again in (True, False)}
    gc.freeze()
    work = kill if how == "kill" else fail
    hits = 0
    misses = [False, False]
    for number in range(first, first + count):
        problems, hit = work(command, folder / "case", number, known)
        hits += hit
        if problems:
            print(json.dumps([number, problems]), flush=True)
        misses[number % 2] = misses[number % 2] or not hit
        if how == "fail" and all(misses):
            break
    print(json.dumps(["done", hits]), flush=True)


if __name__ == "__main__":
    main()
