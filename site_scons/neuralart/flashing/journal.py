"""What was written before a cable fell out: a line for each step, on the disk before the next one begins."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from neuralart.errors import NeuralArtError

SUFFIX = ".journal"


class Journal:
    """``flash-<runner>-<serial>.journal``, beside the record: JSON, a line each.

    The first line says how many steps there are, the last one of a write that came to its end is ``{"ended": true}``.
    Nothing is skipped because of it: the device itself is compared.
    """

    def __init__(self, record: Path, device: str, steps: int) -> None:
        """Begin a new one beside the record."""
        self._path = record.with_name(record.name + SUFFIX)
        self._first = {"device": device, "steps": steps}
        self._stream: TextIO | None = None

    def __enter__(self) -> Journal:
        """NeuralArtError: the place cannot be written."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.unlink(missing_ok=True)
            self._stream = self._path.open("x", encoding="utf-8", newline="\n")
            self._line(self._first)
        except OSError as error:
            raise NeuralArtError(f"cannot write: {error.strerror}", where=str(self._path)) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; it stays."""
        if self._stream is not None:
            self._stream.close()

    def _line(self, row: dict[str, Any]) -> None:
        assert self._stream is not None
        self._stream.write(json.dumps(row) + "\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def wrote(self, name: str, address: int, data: bytes) -> None:
        """A step is done."""
        digest = hashlib.sha256(data).hexdigest()
        self._line({"write": name, "address": address, "bytes": len(data), "sha256": digest})

    def ended(self) -> None:
        """All of them are."""
        self._line({"ended": True})
