"""Packets of the GDB remote serial protocol: a pure codec (GDB manual, appendix "GDB Remote Serial Protocol")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

ACK, NACK, INTERRUPT, START = ord("+"), ord("-"), 0x03, ord("$")
# Bytes of the longest packet, framing included, that either side sends.
LONGEST = 0x4000
_ESCAPE, _FLIP, _RUN = ord("}"), 0x20, ord("*")
_SPECIAL = re.compile(rb"[#$}*]")
# A run of four or more. Its byte stands once, then the number of repeats + 29 as a character: at most 126.
_RUNS = re.compile(rb"([^#$}*])\1{3,97}", re.DOTALL)
_COUNT, _FEWEST, _MOST = 29, 3, 97


@dataclass(frozen=True)
class Packet:
    """A whole packet, without framing, escapes and runs."""

    payload: bytes  # What it says


@dataclass(frozen=True)
class Sign:
    """One byte between packets."""

    byte: int  # ``ACK``, ``NACK`` or ``INTERRUPT``


@dataclass(frozen=True)
class BadPacket:
    """Something that began like a packet and is none: the other side must send it again."""

    reason: str  # What is wrong


PacketEvent = Packet | Sign | BadPacket


def _shortened(match: re.Match[bytes]) -> bytes:
    repeats = len(match[0]) - 1
    # '#' and '$' must not stand for a number: the repeats that are too many follow as they are.
    rest = repeats - 5 if chr(repeats + _COUNT) in "#$" else 0
    return match[1] + bytes([_RUN, repeats - rest + _COUNT]) + match[1] * rest


def encode(payload: bytes) -> bytes:
    """A packet, with runs of equal bytes shortened."""
    parts = []
    at = 0
    for match in _SPECIAL.finditer(payload):
        parts += [_RUNS.sub(_shortened, payload[at : match.start()]), bytes([_ESCAPE, match[0][0] ^ _FLIP])]
        at = match.end()
    body = b"".join([*parts, _RUNS.sub(_shortened, payload[at:])])
    return b"$%b#%02x" % (body, sum(body) & 0xFF)


def expand(body: bytes) -> bytes:
    """What stands in a packet, escapes and runs resolved. ValueError: it ends early, or a run is none."""
    out = bytearray()
    at = 0
    while at < len(body):
        byte = body[at]
        at += 1
        if byte not in (_ESCAPE, _RUN):
            out.append(byte)
            continue
        if at == len(body):
            raise ValueError("the packet ends within an escape or a run")
        if byte == _ESCAPE:
            out.append(body[at] ^ _FLIP)
        else:
            repeats = body[at] - _COUNT
            if not out or not _FEWEST <= repeats <= _MOST:
                raise ValueError(f"no run: '*' in front of byte 0x{body[at]:02x}")
            out += out[-1:] * repeats
        at += 1
    return bytes(out)


class PacketReader:
    """Takes bytes in any portions, gives packets and signs in their order; noise between packets is dropped."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[PacketEvent]:
        """Yield what is complete now."""
        self._buffer += data
        while self._buffer:
            first = self._buffer[0]
            if first != START:
                del self._buffer[0]
                if first in (ACK, NACK, INTERRUPT):
                    yield Sign(first)
                continue
            end = self._buffer.find(b"#")
            if end < 0 or len(self._buffer) < end + 3:
                if len(self._buffer) > LONGEST:
                    del self._buffer[:]
                    yield BadPacket(f"more than {LONGEST} bytes without an end")
                return
            body, digits = bytes(self._buffer[1:end]), bytes(self._buffer[end + 1 : end + 3])
            del self._buffer[: end + 3]
            yield self._packet(body, digits)

    @staticmethod
    def _packet(body: bytes, digits: bytes) -> PacketEvent:
        # '$' stands in no packet: a second one is where the sender began again.
        body = body.rpartition(b"$")[2]
        if not re.fullmatch(rb"[0-9a-fA-F]{2}", digits) or int(digits, 16) != sum(body) & 0xFF:
            return BadPacket(f"checksum {digits!r}, computed {sum(body) & 0xFF:02x}")
        try:
            return Packet(expand(body))
        except ValueError as error:
            return BadPacket(str(error))
