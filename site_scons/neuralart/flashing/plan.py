"""``flash_plan.json``: what is written where, in which order, and the hash of each file when the plan was made.

Schema 1::

    {"schema": 1, "board": "stm32n6570-dk", "writes": [
      {"name": "application", "kind": "application", "file": "build/x/application.bin",
       "address": 1880096768, "bytes": 81920, "sha256": "..."}, ...]}

``file`` is relative to the top folder of the project. Kinds: ``fsbl`` (the first-stage boot loader), ``application``
(the image in its slot), ``model`` (an initializer, in place or staged), ``descriptor`` (which initializers are there).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart import jsontext, products
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes, write_text
from neuralart.quick import asdict, dataclass

SCHEMA = 1
KINDS = ("fsbl", "application", "model", "descriptor")
# What may be written alone. Initializers and their descriptor belong together: one without the other does not start.
PARTS = {"application": ("application",), "model": ("model", "descriptor")}
# The record of what a device holds, for runners whose device is no file. It tells a reader what was written last;
# nothing is skipped because of it. {"schema": 1, "runner": "acme", "probe": "0042", "board": "stm32n6570-dk", "holds":
# [rows as in a plan]}
RECORD_SCHEMA = 1


@dataclass(frozen=True)
class Write:
    """One file that goes into the flash."""

    name: str  # For messages; unique in its plan
    kind: str  # One of KINDS
    file: str  # Path relative to the top folder, with ``/``
    address: int  # Where its first byte goes
    bytes: int  # Size
    sha256: str  # Of its contents, 64 hex digits

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.address + self.bytes


@dataclass(frozen=True)
class FlashPlan:
    """What is written, in order."""

    board: str  # Name of the board
    writes: tuple[Write, ...]  # In the order of writing
    where: str = ""  # The file, for messages

    def chosen(self, only: str | None) -> tuple[Write, ...]:
        """The writes of one of :data:`PARTS`; None: all. NeuralArtError: no such part, or nothing of it is there."""
        if only is None:
            return self.writes
        if only not in PARTS:
            raise NeuralArtError(f"no part '{only}' of a flash plan", hint=nearest(only, list(PARTS)))
        chosen = tuple(write for write in self.writes if write.kind in PARTS[only])
        if not chosen:
            raise NeuralArtError(f"nothing of kind {' or '.join(PARTS[only])} is in it", where=self.where)
        return chosen


def write_of(name: str, kind: str, path: Path, address: int, file: str = "") -> Write:
    """Describe an existing file as a write; ``file``: its name in the plan, if not as in ``path``."""
    data = products.read(path)
    return Write(name, kind, file or path.as_posix(), address, len(data), hashlib.sha256(data).hexdigest())


def make(board_name: str, writes: Sequence[Write]) -> str:
    """Write a plan, without empty writes. NeuralArtError: a write is impossible, or two have one name."""
    rows = [asdict(write) for write in writes if write.bytes]
    text = json.dumps({"schema": SCHEMA, "board": board_name, "writes": rows}, indent=1) + "\n"
    parse(text, f"flash plan of {board_name}")
    return text


def _row(row: Any, where: str) -> Write:
    fields = {field.name: int if field.type == "int" else str for field in dataclasses.fields(Write)}
    if not isinstance(row, dict):
        raise NeuralArtError("not an object", where=where)
    for key in row:
        if key not in fields:
            raise NeuralArtError(f"unknown key '{key}'", where=where, hint=nearest(str(key), list(fields)))
    for key, kind in fields.items():
        if key not in row:
            raise NeuralArtError(f"'{key}' is missing", where=where)
        if type(row[key]) is not kind:
            raise NeuralArtError(f"'{key}' is {row[key]!r}, not a {kind.__name__}", where=where)
    write = Write(**row)
    if write.kind not in KINDS:
        raise NeuralArtError(f"kind '{write.kind}'", where=where, hint=nearest(write.kind, KINDS))
    if not write.name or not write.file:
        raise NeuralArtError("'name' and 'file' must not be empty", where=where)
    if not write.name.isprintable():
        raise NeuralArtError("'name' has a character that no terminal can show", where=where)
    if write.bytes <= 0 or write.address < 0 or write.end > 1 << 32:
        raise NeuralArtError(f"{write.bytes} bytes at {write.address:#x} are no place for data", where=where)
    if len(write.sha256) != 64 or set(write.sha256) - set("0123456789abcdef"):
        raise NeuralArtError(f"'sha256' is '{write.sha256}', not 64 hex digits", where=where)
    return write


def parse(text: str, where: str) -> FlashPlan:
    """Check the text of a plan. NeuralArtError: it is not a flash plan of this schema."""
    try:
        data = jsontext.loads(text)
    except ValueError as error:
        raise NeuralArtError(f"not a flash plan: {error}", where=where) from error
    if not isinstance(data, dict) or "schema" not in data:
        raise NeuralArtError("not a flash plan: it has no 'schema'", where=where)
    if data["schema"] != SCHEMA:
        hint = "a build of its variant makes it again"
        raise NeuralArtError(f"schema {data['schema']!r}, this version reads {SCHEMA}", where=where, hint=hint)
    unknown = sorted(set(data) - {"schema", "board", "writes"})
    if unknown:
        raise NeuralArtError(f"unknown key '{unknown[0]}'", where=where, hint=nearest(unknown[0], ["board", "writes"]))
    if not isinstance(data.get("board"), str) or not isinstance(data.get("writes"), list):
        raise NeuralArtError("not a flash plan: 'board' must be a text and 'writes' a list", where=where)
    writes = tuple(_row(row, f"{where}: writes[{number}]") for number, row in enumerate(data["writes"]))
    if not writes:
        raise NeuralArtError("it has no writes: there is nothing to flash", where=where, hint="build the variant again")
    names = [write.name for write in writes]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise NeuralArtError(f"two writes are called '{name}'", where=f"{where}: writes[{number}]")
    return FlashPlan(data["board"], writes, where)


def read(path: Path) -> FlashPlan:
    """Read a flash plan. NeuralArtError: it is missing, not a flash plan of this schema, or not as it was made."""
    return parse(products.read(path).decode("utf-8", "replace"), str(path))


def contents(plan: FlashPlan, writes: Sequence[Write], top: Path) -> list[bytes]:
    """Read files of a plan (below ``top``). NeuralArtError: one is missing, changed, or not what the build made."""
    found = []
    for write in writes:
        path = top / write.file
        data = read_bytes(path)
        digest = hashlib.sha256(data).hexdigest()
        products.check(path, digest)
        if len(data) != write.bytes or digest != write.sha256:
            what = f"'{write.name}' has changed since the plan was made ({len(data)} bytes, planned {write.bytes})"
            hint = f"build again: {plan.where or 'the plan'} and its files must be of one build"
            raise NeuralArtError(f"{what}: nothing was written", where=str(path), hint=hint)
        found.append(data)
    return found


def held_after(held: Sequence[Write], writes: Sequence[Write]) -> tuple[Write, ...]:
    """Compute what a device holds after some writes, by address; overwritten ones are gone."""

    def gone(old: Write) -> bool:
        return any(new.name == old.name or (new.address < old.end and old.address < new.end) for new in writes)

    return tuple(sorted((*(old for old in held if not gone(old)), *writes), key=lambda write: write.address))


def save_record(path: Path, runner: str, probe: str, board: str, held: Sequence[Write]) -> None:
    """Write a record, whole or not at all. NeuralArtError: the place cannot be written."""
    rows = [asdict(write) for write in held]
    data = {"schema": RECORD_SCHEMA, "runner": runner, "probe": probe, "board": board, "holds": rows}
    write_text(path, json.dumps(data, indent=1) + "\n")


def read_record(path: Path) -> tuple[Write, ...]:
    """Read a record. NeuralArtError: it is missing, or no record of this schema."""
    text = read_bytes(path).decode("utf-8", "replace")
    hint = "delete it; the next flash- compares with the device and writes it anew"
    try:
        data = jsontext.loads(text)
        board, rows, schema = data["board"], data["holds"], data["schema"]
    except (ValueError, TypeError, KeyError) as error:
        raise NeuralArtError("not a record of what a device holds", where=str(path), hint=hint) from error
    if schema != RECORD_SCHEMA:
        raise NeuralArtError(f"schema {schema}, this version reads {RECORD_SCHEMA}", where=str(path), hint=hint)
    return parse(json.dumps({"schema": SCHEMA, "board": board, "writes": rows}), str(path)).writes


def remove_record(path: Path) -> None:
    """Remove a record, if there is one. NeuralArtError: it cannot be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise NeuralArtError(f"cannot remove: {error.strerror}", where=str(path)) from error
