"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from neuralart.errors import NeuralArtError


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file under a temporary name and rename it.

    Raises:
        NeuralArtError: The place cannot be written.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise NeuralArtError(
            f"cannot write: {error.strerror}", where=str(path), hint="is the folder writable, is the disk full?"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with LF line ends, as :func:`write_bytes` does.

    Raises:
        NeuralArtError: The place cannot be written.
    """
    write_bytes(path, text.encode("utf-8"))


def read_bytes(path: Path) -> bytes:
    """Read a user's file.

    Raises:
        NeuralArtError: It is not there or cannot be read.
    """
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        # ValueError: a name that no file can have (a zero byte, half a surrogate pair).
        raise NeuralArtError(
            f"cannot read: {getattr(error, 'strerror', None) or error}",
            where=str(path).encode("ascii", "backslashreplace").decode(),
        ) from error


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NeuralArtError(f"cannot make the folder: {error.strerror}", where=str(path.parent)) from error


@contextlib.contextmanager
def alone_with(path: Path, patience: float = 10.0) -> Iterator[None]:
    """Wait until no other process of ours changes a file, and keep others waiting meanwhile.

    Args:
        path: The file; while it is ours a file of the same name with ``.lock`` stands beside it.
        patience: Seconds to wait.

    Raises:
        NeuralArtError: The place cannot be written, or somebody else does not come to an end.
    """
    beside = path.with_name(f"{path.name}.lock")
    end = time.monotonic() + patience
    while True:
        try:
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError as error:
            if time.monotonic() > end:
                raise NeuralArtError(
                    "another process is changing it",
                    where=str(path),
                    hint=f"if none is (one was killed): delete {beside}",
                ) from error
            time.sleep(0.01)
        except FileNotFoundError:
            _make_folder(beside)
        except OSError as error:
            raise NeuralArtError(
                f"cannot lock: {error.strerror}", where=str(beside), hint="is the folder writable?"
            ) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
