"""What was written before a cable fell out: a line for each step, on the disk before the next one begins.

``flash-<runner>-<serial>.json.journal``, beside the record: JSON, a line each. The first line says how many steps there
are; the last one of a write that came to its end is ``{"ended": true}``. Nothing is skipped because of it: the device
itself is compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.flashing.runners import JOURNAL


@contextlib.contextmanager
def journal(record: Path, device: str, steps: int) -> Iterator[Callable[[str, int, bytes], None]]:
    """Begin one beside a record; it gives what notes a step (name, address, bytes). NeuralArtError: not written."""
    path = record.with_name(record.name + JOURNAL)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as stream:

            def line(row: dict[str, Any]) -> None:
                stream.write(json.dumps(row) + "\n")
                stream.flush()
                os.fsync(stream.fileno())

            def wrote(name: str, address: int, data: bytes) -> None:
                digest = hashlib.sha256(data).hexdigest()
                line({"write": name, "address": address, "bytes": len(data), "sha256": digest})

            line({"device": device, "steps": steps})
            yield wrote
            line({"ended": True})
    except OSError as error:
        raise NeuralArtError(f"cannot write: {error.strerror}", where=str(path)) from error
