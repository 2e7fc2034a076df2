"""Reads and writes Intel HEX: bytes with their addresses, for flash programmers."""

from __future__ import annotations

from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass

_DATA, _END, _SEGMENT, _START_16, _LINEAR, _START_32 = range(6)
_LENGTHS = {_END: 0, _SEGMENT: 2, _START_16: 4, _LINEAR: 2, _START_32: 4}
_ROW = 32
_PAGE = 1 << 16


@dataclass(frozen=True)
class HexFile:
    parts: tuple[tuple[int, bytes], ...]  # (address, bytes) of each contiguous range, in the order of the file
    start: int | None = None  # The start address; None if the file has none


def parse(data: bytes, file: str) -> HexFile:
    """Read an Intel HEX file; NeuralArtError at ``file:line``: no record, no end record, or something behind it."""
    parts: list[tuple[int, bytearray]] = []
    upper, start, ended, segmented = 0, None, False, False
    for number, line in enumerate(data.decode("ascii", "replace").splitlines(), 1):
        if not line.strip():
            continue
        where = f"{file}:{number}"
        if ended:
            raise NeuralArtError("a line behind the end record", where=where, hint="are these two files in one?")
        offset, kind, body = _fields(line.strip(), where)
        if kind == _DATA and body:
            if segmented and offset + len(body) > _PAGE:
                raise NeuralArtError("this record goes beyond the 64 KiB of its segment", where=where)
            at = upper + offset
            if parts and parts[-1][0] + len(parts[-1][1]) == at:
                parts[-1][1].extend(body)
            else:
                parts.append((at, bytearray(body)))
        elif kind in (_SEGMENT, _LINEAR):
            segmented = kind == _SEGMENT
            upper = int.from_bytes(body, "big") << (4 if segmented else 16)
        elif kind == _START_32:
            start = int.from_bytes(body, "big")
        ended = kind == _END
    if not ended:
        raise NeuralArtError("no end record", where=file, hint="the file is cut off")
    return HexFile(tuple((at, bytes(piece)) for at, piece in parts), start)


def _fields(line: str, where: str) -> tuple[int, int, bytes]:
    """Offset, kind and data of a record."""
    try:
        raw = bytes.fromhex(line[1:]) if line.startswith(":") else b""
    except ValueError:
        raw = b""
    if len(raw) < 5 or len(raw) != raw[0] + 5:
        raise NeuralArtError(f"'{line[:24]}' is no record of an Intel HEX file", where=where, hint="is it complete?")
    if sum(raw) & 0xFF:
        raise NeuralArtError("the checksum of this record is wrong", where=where, hint="was the line edited?")
    kind, body = raw[3], raw[4:-1]
    if kind != _DATA and kind not in _LENGTHS:
        raise NeuralArtError(f"record of kind {kind}", where=where, hint="kinds 0 to 5 exist")
    if len(body) != _LENGTHS.get(kind, len(body)):
        wanted = f"{_LENGTHS[kind]} bytes of data, not {len(body)}"
        raise NeuralArtError(f"a record of kind {kind} has {wanted}", where=where)
    return int.from_bytes(raw[1:3], "big"), kind, body


def _record(kind: int, offset: int, data: bytes) -> str:
    body = bytes([len(data), offset >> 8 & 0xFF, offset & 0xFF, kind]) + data
    return f":{(body + bytes([-sum(body) & 0xFF])).hex().upper()}\n"


def ihex(address: int, data: bytes) -> str:
    """Write bytes at a 32-bit address as Intel HEX (I32HEX); no bytes: only the end record."""
    lines = []
    upper = None
    at = 0
    while at < len(data):
        here = address + at
        if here >> 16 != upper:
            upper = here >> 16
            lines.append(_record(_LINEAR, 0, upper.to_bytes(2, "big")))
        # A row never crosses 64 KiB: its offset has 16 bits.
        row = data[at : at + min(_ROW, _PAGE - (here & 0xFFFF))]
        lines.append(_record(_DATA, here & 0xFFFF, row))
        at += len(row)
    return "".join([*lines, _record(_END, 0, b"")])
