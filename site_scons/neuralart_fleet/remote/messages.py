"""Messages of the Remote Execution API: what caches keep, over HTTP as well, and what farms are asked. So few fields of
protocol buffers need neither generated code nor a package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

DAMAGED = (ValueError, LookupError, TypeError, AttributeError)
"""What reading raises for bytes that are no such message."""
_FIXED = {1: 8, 5: 4}


class UnansweredError(Exception):
    """The server did not answer, too late, or with an error of its own."""


class DeniedError(UnansweredError):
    """The server does not let us: asking again makes no sense."""


class AbsentError(UnansweredError):
    """What is asked for is not there."""


def _varint(number: int) -> bytes:
    head = [number >> shift & 0x7F | 0x80 for shift in range(0, max(number.bit_length() - 1, 0) // 7 * 7, 7)]
    return bytes([*head, number >> 7 * len(head)])


def message(*fields: tuple[int, int | bytes | str | Sequence[bytes | str]]) -> bytes:
    """A message of (number, value or list of them); as in proto3, a number 0 and an empty text are left out."""
    made = b""
    for number, value in fields:
        if isinstance(value, int):
            made += _varint(number << 3) + _varint(value) if value else b""
            continue
        for each in [value] * bool(value) if isinstance(value, bytes | str) else value:
            data = each.encode() if isinstance(each, str) else each
            made += _varint(number << 3 | 2) + _varint(len(data)) + data
    return made


def parse(data: bytes) -> dict[int, list[Any]]:
    """The values of each field: numbers, and bytes of texts and inner messages. Raises one of ``DAMAGED``."""
    found: dict[int, list[Any]] = {}
    at = 0

    def number() -> int:
        nonlocal at
        start = at
        while data[at] & 0x80:
            at += 1
        at += 1
        return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(data[start:at][:10]))

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            value: int | bytes = number()
        else:
            size = number() if tag & 7 == 2 else _FIXED[tag & 7]
            value, at = data[at : at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    if at > len(data):
        raise ValueError("it is cut off")
    return found


class Digest(NamedTuple):
    """Names bytes by what they are."""

    hash: str  # SHA-256, 64 hex digits
    size: int

    @classmethod
    def of_file(cls, path: Path) -> Digest:
        """Of a file. OSError: it cannot be read."""
        with path.open("rb") as file:
            return cls(hashlib.file_digest(file, "sha256").hexdigest(), file.tell())

    @classmethod
    def read(cls, data: bytes) -> Digest:
        """From a ``Digest`` of the API. Raises one of ``DAMAGED``: it is none."""
        fields = parse(data)
        return cls(fields[1][0].decode(), fields.get(2, [0])[0])

    @property
    def written(self) -> bytes:
        """As a ``Digest`` of the API."""
        return message((1, self.hash), (2, self.size))


def files_of(fields: Mapping[int, list[Any]]) -> list[tuple[str, Digest, bool]]:
    """Files of an ``ActionResult``. Raises one of ``DAMAGED``: it is none."""
    return [(one[1][0].decode(), Digest.read(one[2][0]), 4 in one) for one in map(parse, fields.get(2, ()))]


def tree(files: Mapping[str, Digest], made: dict[Digest, Callable[[], bytes]]) -> Digest:
    """The ``Directory`` with some files (by path), whose messages are added to ``made``."""
    entries: dict[str, dict[str, Digest]] = {}
    for path, digest in files.items():
        name, _, rest = path.partition("/")
        entries.setdefault(name, {})[rest] = digest
    rows: dict[bool, list[bytes]] = {True: [], False: []}  # Of files, whose path ends here, and of folders
    for name, below in sorted(entries.items()):
        rows["" in below].append(message((1, name), (2, (below.get("") or tree(below, made)).written)))
    return kept(made, (1, rows[True]), (2, rows[False]))


def kept(made: dict[Digest, Callable[[], bytes]], *fields: tuple[int, Any]) -> Digest:
    """The digest of a message, which is added to ``made``."""
    digest = Digest(hashlib.sha256(data := message(*fields)).hexdigest(), len(data))
    made[digest] = lambda: data
    return digest


class StepResult(NamedTuple):
    """Files that a step has made, and how long it took."""

    files: Sequence[tuple[str, Digest, bool]]  # Path from the top folder, contents, whether it can be executed
    milliseconds: int = 0

    def written(self, key: str) -> bytes:
        """As an ``ActionResult``. The time is a span from the beginning of time: no date is in it."""
        files = ((2, message((1, path), (2, digest.written), (4, int(runs)))) for path, digest, runs in self.files)
        end = message((1, self.milliseconds // 1000), (2, self.milliseconds % 1000 * 1_000_000))
        made = message(*files, (9, message((8, end))))
        # It is not named by its contents. A step's own output is not kept: its place is free for a checksum.
        return made + message((5, hashlib.sha256(key.encode() + made).hexdigest()))

    @classmethod
    def read(cls, data: bytes, key: str) -> StepResult:
        """From an ``ActionResult``. Raises one of ``DAMAGED``: it is none, or of another key."""
        fields = parse(data)
        end = parse(parse(fields.get(9, [b""])[0]).get(8, [b""])[0])
        made = cls(files_of(fields), end.get(1, [0])[0] * 1000 + end.get(2, [0])[0] // 1_000_000)
        if fields[5] != parse(made.written(key))[5] or 4 in fields:
            raise ValueError("its checksum is wrong")
        return made
