"""Record of an Intel HEX file: which bytes it puts where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.inspect.tables import address, plural, table

_DATA, _END, _SEGMENT, _START_16, _LINEAR, _START_32 = range(6)
_UPPER = {_SEGMENT: 4, _LINEAR: 16}


def _line(line: str, where: str) -> bytes:
    """The bytes of a record behind its length, without the sum."""
    try:
        raw = bytes.fromhex(line.removeprefix(":"))
    except ValueError:
        raw = b""
    if not line.startswith(":") or len(raw) < 5 or len(raw) != raw[0] + 5:
        raise NeuralArtError(f"'{line[:24]}' is no record of an Intel HEX file", where=where)
    if sum(raw) & 0xFF:
        raise NeuralArtError("the checksum of this record is wrong", where=where, hint="the file is damaged")
    return raw[1:-1]


def segments(text: str, where: str) -> tuple[list[tuple[int, bytes]], int | None]:
    """Contiguous ranges in the order of the file, and the start address.

    Args:
        text: The file.
        where: Its name in messages.

    Raises:
        NeuralArtError: It is damaged, or has no end record.
    """
    parts: list[tuple[int, list[bytes], int]] = []
    upper, start, ended = 0, None, False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or ended:
            continue
        body = _line(line.strip(), f"{where}:{number}")
        offset, kind, data = int.from_bytes(body[:2], "big"), body[2], body[3:]
        if kind == _DATA and data:
            at = upper + offset
            if parts and parts[-1][0] + parts[-1][2] == at:
                first, pieces, size = parts[-1]
                pieces.append(data)
                parts[-1] = (first, pieces, size + len(data))
            else:
                parts.append((at, [data], len(data)))
        elif kind in _UPPER:
            upper = int.from_bytes(data, "big") << _UPPER[kind]
        elif kind == _START_32:
            start = int.from_bytes(data, "big")
        elif kind == _END:
            ended = True
        elif kind not in (_DATA, _START_16):
            raise NeuralArtError(f"record of kind {kind}", where=f"{where}:{number}", hint="kinds 0 to 5 exist")
    if not ended:
        raise NeuralArtError("no end record", where=where, hint="the file is cut off")
    return [(first, b"".join(pieces)) for first, pieces, _ in parts], start


def record(path: Path) -> dict[str, Any]:
    """Which bytes a HEX file puts where.

    Raises:
        NeuralArtError: It cannot be read or is damaged.
    """
    import zlib

    found, start = segments(read_bytes(path).decode("ascii", "replace"), str(path))
    return {
        "kind": "ihex",
        "segments": [{"address": at, "bytes": len(data), "crc32": zlib.crc32(data)} for at, data in found],
        "bytes": sum(len(data) for _, data in found),
        "start": start,
    }


def text(record: dict[str, Any]) -> str:
    """For people."""
    rows = (
        [
            address(part["address"]),
            address(part["address"] + part["bytes"] - 1),
            part["bytes"],
            f"0x{part['crc32']:08x}",
        ]
        for part in record["segments"]
    )
    lines = [f"Intel HEX: {record['bytes']:,} bytes in {plural(len(record['segments']), 'segment')}"]
    return "\n".join([*lines, *table(("first", "last", "bytes", "CRC-32"), rows)]) + "\n"
