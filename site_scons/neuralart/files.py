"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import contextlib
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
    except OSError as error:
        raise NeuralArtError(f"cannot read: {error.strerror}", where=str(path)) from error
