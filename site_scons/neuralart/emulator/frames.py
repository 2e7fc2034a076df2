"""Frames of the host link: a pure codec (docs/reference/host-link.md).

A frame is 0x01, a type byte, the payload's length (u32 LE), the payload, and the CRC-32 of zlib over type, length and
payload (u32 LE). Text for people stands between frames; it never contains 0x01.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

START = 0x01
# Longer than any memory of a board: such a length is damage.
LONGEST = 1 << 28
_HEADER = struct.Struct("<BI")
_CRC = struct.Struct("<I")


@dataclass(frozen=True)
class Frame:
    """A whole frame.

    Attributes:
        type: One character.
        payload: Its bytes.
    """

    type: str
    payload: bytes


@dataclass(frozen=True)
class Text:
    """Bytes between frames."""

    data: bytes


@dataclass(frozen=True)
class Damaged:
    """Something that began like a frame and is none.

    Attributes:
        type: The type byte as a character.
        reason: What is wrong, with the numbers.
    """

    type: str
    reason: str


Event = Frame | Text | Damaged


def encode(frame: Frame) -> bytes:
    """Bytes of a frame."""
    body = _HEADER.pack(ord(frame.type), len(frame.payload)) + frame.payload
    return bytes([START]) + body + _CRC.pack(zlib.crc32(body))


class Decoder:
    """Takes bytes in any portions, gives frames and text in their order.

    After damage it goes on searching behind the start byte that was wrong, so the next whole frame is found.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def pending(self) -> bytes:
        """What has come of an unfinished frame."""
        return bytes(self._buffer)

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yields:
        What is complete now.
        """
        self._buffer += data
        while self._buffer:
            start = self._buffer.find(START)
            if start != 0:
                text = bytes(self._buffer[: len(self._buffer) if start < 0 else start])
                del self._buffer[: len(text)]
                yield Text(text)
                continue
            event = self._frame()
            if event is None:
                return
            yield event

    def _frame(self) -> Event | None:
        buffer = self._buffer
        head = 1 + _HEADER.size
        if len(buffer) < head:
            return None
        kind, length = _HEADER.unpack_from(buffer, 1)
        if length > LONGEST:
            return self._damaged(kind, f"length {length}")
        end = head + length
        if len(buffer) < end + _CRC.size:
            return None
        (received,) = _CRC.unpack_from(buffer, end)
        computed = zlib.crc32(memoryview(buffer)[1:end])
        if received != computed:
            return self._damaged(kind, f"CRC 0x{received:08x}, computed 0x{computed:08x} over {length} bytes")
        frame = Frame(chr(kind), bytes(buffer[head:end]))
        del buffer[: end + _CRC.size]
        return frame

    def _damaged(self, kind: int, reason: str) -> Damaged:
        # The rest may hold a whole frame: only the wrong start byte is given up.
        del self._buffer[:1]
        return Damaged(chr(kind), reason)
