"""Reads and writes files; a reader never sees half of one."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Protocol, TypeVar

from neuralart.errors import NeuralArtError, closest, one_line

LOG = b"# Log of neuralart\n"
_Made = TypeVar("_Made", covariant=True)
_LONGEST_NAME = 255
"""Letters of a file's name, on any system."""

noted: dict[str, bool] = {}
"""Files that this process has read by :func:`read_bytes` (true) or looked for: results may depend on them."""
noted_folders: dict[str, bool] = {}
"""Folders that it has searched for files; true: with all folders below them."""


def note(*paths: object) -> None:
    """Note files that results may depend on: they may come, go or change."""
    for path in paths:
        noted.setdefault(sys.intern(str(path)), False)


def searched(folder: Path, *, deep: bool = False) -> Path:
    """Note a folder that is searched; ``deep``: with all below it. Returns the folder."""
    noted_folders[str(folder)] = deep or noted_folders.get(str(folder), False)
    return folder


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file (never through a link) by a temporary name and a rename. NeuralArtError: it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        hint = "is the folder writable, is the disk full?"
        raise NeuralArtError(f"cannot write: {error.strerror}", where=str(path), hint=hint) from error


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Open a temporary file that no other process uses. It is renamed to ``path`` on success and deleted on failure.
    OSError: the folder cannot be written, or the name cannot be taken.
    """
    head, tail = f".{path.name}.", ".part"
    for each in _named(path.parent, head, tail):
        # Left by a process that was killed; what a living one writes is left alone.
        if not _runs(each.name[len(head) : -len(tail)]):
            each.unlink(missing_ok=True)
    temporary = path.with_name(f"{head}{os.getpid()}-{threading.get_ident()}{tail}")
    # Never an existing file, and never through a link.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _named(folder: Path, head: str, tail: str) -> list[Path]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(head) and entry.name.endswith(tail)]
    return [folder / name for name in names]


def _runs(writer: str) -> bool:
    """Is who writes under this name still there? This very thread says no: it writes one file once at a time."""
    pid, _, thread = writer.partition("-")
    if not pid.isdecimal():
        return False
    if int(pid) == os.getpid():
        return thread != str(threading.get_ident())
    if os.name != "posix":
        return True  # os.kill would end it
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def is_abandoned(name: str) -> bool:
    """Whether a file has a name that :func:`new_file` gives, and the process that wrote it is gone."""
    head, _, writer = name.removesuffix(".part").rpartition(".")
    named = head[:1] == "." and name.endswith(".part") and all(map(str.isdecimal, writer.split("-", 1)))
    return named and "-" in writer and not _runs(writer)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with LF line ends, as :func:`write_bytes` does. NeuralArtError: the place cannot be written."""
    write_bytes(path, utf8(text))


def utf8(text: str) -> bytes:
    """Encode text; half surrogates, which stand for bytes of file names that are not UTF-8, become Python's escapes."""
    return text.encode("utf-8", "backslashreplace")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a log, which says whose it is. NeuralArtError: the place cannot be written."""
    write_bytes(path, LOG + log(lines))


def log(lines: Iterable[str]) -> bytes:
    """Encode lines for people: no line can look like two, or steer a terminal."""
    return utf8("".join(f"{one_line(line)}\n" for line in lines))


def read_bytes(path: Path, hint: str = "", display: str = "") -> bytes:
    """Read a user's file; ``display``: its name in messages, without it the path. NeuralArtError, with
    the hint: it is not there or cannot be read.
    """
    note(path)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        # ValueError: a name that no file can have (a zero byte, half a surrogate pair).
        what = f"cannot read: {getattr(error, 'strerror', None) or error}"
        where = display or str(path).encode("utf-8", "backslashreplace").decode()
        raise NeuralArtError(what, where=where, hint=hint) from error
    noted[str(path)] = True
    return data


class FileReader(Protocol[_Made]):
    """Reads a file; ``display``: its name in messages, without it the path. NeuralArtError: it
    cannot be read, or its parser refuses it.
    """

    def __call__(self, path: Path, display: str = "") -> _Made: ...


def of_file(parse: Callable[[bytes, str], _Made]) -> FileReader[_Made]:
    """Make a reader of files from a parser of (bytes, name of the file)."""
    return lambda path, display="": parse(read_bytes(path), display or str(path))


def is_file(path: Path) -> bool:
    """Whether a file exists; False also for impossible names (too long, a zero byte)."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def nearest_file(path: Path) -> str:
    """Propose the most similar file of the same extension: ``did you mean 'models/net.tflite'?``. Misspelled folders on
    the way are corrected, too. Empty: the path exists, or nothing is similar.
    """
    try:
        whole = Path(path.anchor)
        for part in () if path.exists() else path.parent.relative_to(whole).parts:
            folders = () if (whole / part).is_dir() else (each.name for each in whole.iterdir() if each.is_dir())
            whole /= next(iter(closest(part, folders)), part)
        names = [] if path.exists() else [each.name for each in whole.iterdir() if each.suffix == path.suffix]
        found = closest(path.name, names, cutoff=0.0)
    except (OSError, ValueError):
        return ""
    return f"did you mean '{(whole / found[0]).as_posix()}'?" if found else ""


def is_within(path: str) -> bool:
    """Whether an untrusted path is valid and stays below the folder that it starts from."""
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts and all(len(part) <= _LONGEST_NAME for part in pure.parts)


@contextlib.contextmanager
def alone_with(path: Path, patience: float = 10.0) -> Iterator[None]:
    """Hold a lock on a file or folder; wait ``patience`` seconds for another process of ours that has it. The lock is a
    file ``NAME.lock`` beside it, which the operating system frees when its holder ends. NeuralArtError: the place
    cannot be written, or the other process keeps the lock.
    """
    from filelock import FileLock, Timeout

    beside = path.with_name(f"{path.name}.lock")
    lock = FileLock(beside, timeout=patience, poll_interval=0.01)
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        what = f"another process has been changing it for more than {patience:g} s"
        raise NeuralArtError(what, where=str(path), hint="wait until it has ended, then try again") from error
    except OSError as error:
        hint = "is the folder writable?"
        raise NeuralArtError(f"cannot write: {error.strerror or error}", where=str(beside), hint=hint) from error
    try:
        yield
    finally:
        # Deleted while it is locked: a process that waits for this file sees that it lost its name, and starts anew.
        with contextlib.suppress(OSError):
            beside.unlink()
        lock.release()
