"""The record of what a device holds, for runners whose device is no file. Schema 1::

    {"schema": 1, "runner": "acme", "probe": "0042", "board": "stm32n6570-dk", "holds": [
      {"name": "application", "kind": "application", "file": "build/x/application.bin", "address": 1880096768,
       "bytes": 81920, "sha256": "..."}, ...]}

It tells a reader what was written last. Nothing is skipped because of it: a runner compares with the device.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_text
from neuralart.flashing.plan import Write, parse

SCHEMA = 1


def after(held: Sequence[Write], writes: Sequence[Write]) -> tuple[Write, ...]:
    """What a device holds after some writes, by address: what they overlap is gone."""
    names = {write.name for write in writes}
    kept = [
        old
        for old in held
        if old.name not in names and not any(new.address < old.end and old.address < new.end for new in writes)
    ]
    return tuple(sorted((*kept, *writes), key=lambda write: write.address))


def save(path: Path, runner: str, probe: str, board: str, held: Sequence[Write]) -> None:
    """Write a record, whole or not at all. NeuralArtError: the place cannot be written."""
    rows = [dataclasses.asdict(write) for write in held]
    data = {"schema": SCHEMA, "runner": runner, "probe": probe, "board": board, "holds": rows}
    write_text(path, json.dumps(data, indent=1) + "\n")


def read(path: Path) -> tuple[Write, ...]:
    """Read a record. NeuralArtError: it is missing, or no record of this schema."""
    text = read_bytes(path).decode("utf-8", "replace")
    hint = "delete it; the next flash- compares with the device and writes it anew"
    try:
        data = jsontext.loads(text)
        board, rows, schema = data["board"], data["holds"], data["schema"]
    except (ValueError, TypeError, KeyError) as error:
        raise NeuralArtError("not a record of what a device holds", where=str(path), hint=hint) from error
    if schema != SCHEMA:
        raise NeuralArtError(f"schema {schema}, this version reads {SCHEMA}", where=str(path), hint=hint)
    plan = parse(json.dumps({"schema": 1, "board": board, "writes": rows}), str(path))
    return plan.writes


def remove(path: Path) -> None:
    """Remove a record, if there is one. NeuralArtError: it cannot be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise NeuralArtError(f"cannot remove: {error.strerror}", where=str(path)) from error
