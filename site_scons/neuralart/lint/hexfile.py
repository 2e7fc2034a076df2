"""Reading Intel HEX: as much as comparing its bytes takes."""

from __future__ import annotations

from neuralart.errors import NeuralArtError

_DATA, _END, _SEGMENT, _LINEAR = 0, 1, 2, 4


def parse(text: str, file: str) -> tuple[int, bytes] | None:
    """Address and bytes of a file of one piece; None if it has several pieces or none.

    Args:
        text: The file.
        file: Its name for messages.

    Raises:
        NeuralArtError: A line is no record; ``where`` is ``file:line``.
    """
    base, start, data = 0, None, bytearray()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        record = _record(line.strip(), f"{file}:{number}")
        kind, offset, body = record[3], int.from_bytes(record[1:3], "big"), record[4:-1]
        if kind == _END:
            break
        if kind == _LINEAR and len(body) == 2:
            base = int.from_bytes(body, "big") << 16
        elif kind == _SEGMENT and len(body) == 2:
            base = int.from_bytes(body, "big") << 4
        elif kind == _DATA and body:
            address = base + offset
            start = address if start is None else start
            if address != start + len(data):
                return None
            data += body
    return None if start is None else (start, bytes(data))


def _record(line: str, where: str) -> bytes:
    try:
        record = bytes.fromhex(line[1:]) if line.startswith(":") else b""
    except ValueError:
        record = b""
    if len(record) < 5 or len(record) != record[0] + 5:
        raise NeuralArtError("no record of Intel HEX", where=where, hint="is it an Intel HEX file, and complete?")
    if sum(record) & 0xFF:
        raise NeuralArtError("the checksum is wrong", where=where, hint="was the line edited?")
    return record
