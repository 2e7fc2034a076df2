"""Messages of the validation protocol, and their framing: from bytes of a port to dictionaries.

Encoder and decoder are of the part of proto2 that the messages use. No generated code: it must fit the installed
version of the ``protobuf`` package, which accepts what a board must not send (text where numbers belong) without a word
of where it stands. ``messages.proto`` is read as it is.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from neuralart.errors import NeuralArtError

Fields = dict[str, Any]
_VARINT, _WIDE, _BYTES, _FLOAT = 0, 1, 2, 5  # Wire types
_SCALARS = {"uint32": _VARINT, "uint64": _VARINT, "int32": _VARINT, "float": _FLOAT}
_MESSAGE = re.compile(r"message (\w+) \{(.*?)\}", re.DOTALL)
_FIELD = re.compile(r"(required|optional|repeated) (\w+) (\w+) = (\d+);")


def damaged(what: str, hint: str = "") -> NeuralArtError:
    """What a board must not do."""
    return NeuralArtError(what, where="validation protocol", hint=hint)


def dtype(word: int) -> str:
    """``int8``, ``uint16``, ``float32``, ``bool``: the type of a tensor's elements, by its format word."""
    kind = {1: "float", 2: "int", 3: "bool", 15: "fxp"}.get(word >> 17 & 15, "?")
    sign = "u" if kind in ("int", "fxp") and not word >> 23 & 1 else ""
    return kind if kind == "bool" else f"{sign}{kind}{word >> 7 & 0x7F}"


@dataclass(frozen=True)
class _WireField:
    label: str  # required, optional or repeated
    kind: str  # A scalar type, string, bytes, or the name of a message
    name: str
    number: int

    @property
    def wire(self) -> int:
        return _SCALARS.get(self.kind, _BYTES)


@cache
def _schema() -> dict[str, dict[int, _WireField]]:
    text = Path(__file__).with_name("messages.proto").read_text("utf-8")
    return {
        name: {int(number): _WireField(label, kind, field, int(number)) for label, kind, field, number in fields}
        for name, body in _MESSAGE.findall(re.sub("//.*", "", text))
        for fields in [_FIELD.findall(body)]
    }


def varint(value: int) -> bytes:
    """A number below 2**64, seven bits a byte."""
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def _encoded(field: _WireField, value: Any) -> bytes:
    if field.kind == "float":
        return struct.pack("<f", value)
    if field.wire == _VARINT:
        return varint(value & 0xFFFF_FFFF_FFFF_FFFF)  # A negative number takes ten bytes
    data = value if field.kind == "bytes" else value.encode() if field.kind == "string" else encode(field.kind, value)
    return varint(len(data)) + data


def encode(message: str, fields: Fields) -> bytes:
    """Bytes of a message, whose required fields are all given."""
    out = b""
    for field in _schema()[message].values():
        if field.label == "required" or field.name in fields:
            values = fields[field.name] if field.label == "repeated" else [fields[field.name]]
            out += b"".join(varint(field.number << 3 | field.wire) + _encoded(field, each) for each in values)
    return out


class _Bytes:
    """Takes fields off a message, and says where it is damaged."""

    def __init__(self, data: bytes, message: str) -> None:
        self._data, self._message, self.at = data, message, 0

    def wrong(self, what: str) -> NeuralArtError:
        return damaged(f"a message '{self._message}' of the board is damaged at byte {self.at}: {what}")

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self.at:
            raise self.wrong(f"{count} bytes are announced, {len(self._data) - self.at} are left")
        self.at += count
        return self._data[self.at - count : self.at]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF
        raise self.wrong("a number has more than 10 bytes")

    def value(self, wire: int) -> int | bytes:
        """The value behind a tag: a number, or bytes."""
        if wire == _VARINT:
            return self.varint()
        if wire not in (_WIDE, _BYTES, _FLOAT):
            raise self.wrong(f"wire type {wire}")
        return self.take(self.varint() if wire == _BYTES else 8 if wire == _WIDE else 4)


def _decoded(field: _WireField, value: int | bytes) -> Any:
    if isinstance(value, int):
        word = value & 0xFFFF_FFFF
        return value if field.kind == "uint64" else word - (1 << 32) if field.kind == "int32" and word >> 31 else word
    if field.kind == "float":
        return struct.unpack("<f", value)[0]
    if field.kind == "string":
        return value.decode("utf-8", "replace")
    return value if field.kind == "bytes" else decode(field.kind, value)


def decode(message: str, data: bytes) -> Fields:
    """Fields of a message by name; repeated ones are lists. NeuralArtError: damaged, or a required field is missing."""
    schema, reader = _schema()[message], _Bytes(data, message)
    found: Fields = {field.name: [] for field in schema.values() if field.label == "repeated"}
    while reader.at < len(data):
        tag = reader.varint()
        value, field = reader.value(tag & 7), schema.get(tag >> 3)
        if field is None:
            continue  # A newer board
        if tag & 7 != field.wire:
            raise reader.wrong(f"field '{field.name}' has wire type {tag & 7}, not {field.wire}")
        if field.label == "repeated":
            found[field.name].append(_decoded(field, value))
        else:
            found[field.name] = _decoded(field, value)
    if missing := [f.name for f in schema.values() if f.label == "required" and f.name not in found]:
        raise reader.wrong(f"field '{missing[0]}' is missing")
    return found


SMALLEST, LARGEST = 32, 4094
"""Bytes of a packet's payload: until the board announces more, and the most that it may announce."""
_LONGEST = 1 << 26  # No message of a board is longer: that would be damage
_NEXT = b"\xaa"  # The board wants the next packet of a message
_TRIES, _ZEROS = 3, 80


class ByteStream(Protocol):
    """Bytes to and from a board. NeuralArtError of each: the port fails."""

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def read(self, seconds: float) -> bytes:
        """Some bytes; empty when none came in time."""


class PacketLink:
    """Sends and receives whole messages. Waiting is counted in vain reads, so a busy computer changes nothing."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.header = 2  # Bytes of a packet's header: 1 with clients of 3.1, 2 with those of 3.2
        self.size = SMALLEST
        self._buffer = b""

    def drain(self, silence: float = 0.05) -> bytes:
        """Drop what comes until nothing comes: the last portion. NeuralArtError: it never ends."""
        self._buffer = last = b""
        for _ in range(1000):
            if not (more := self.stream.read(silence)):
                return last
            last = more
        raise damaged("the board never stops talking", "is this its port, and its baud rate?")

    def _take(self, count: int, seconds: float) -> bytes:
        """So many bytes; fewer if so many seconds pass without any."""
        waited = 0.0
        while len(self._buffer) < count and waited < seconds:
            step = min(seconds, 0.1)
            more = self.stream.read(step)
            waited = 0.0 if more else waited + step
            self._buffer += more
        data, self._buffer = self._buffer[:count], self._buffer[count:]
        return data

    def send(self, message: bytes) -> None:
        """Send a message. NeuralArtError: the board does not take it."""
        data, at = varint(len(message)) + message, 0
        while True:
            part = data[at : at + self.size]
            self.stream.write(len(part).to_bytes(self.header, "big") + part.ljust(self.size, b"\0"))
            at += len(part)
            if at >= len(data):
                return
            if (said := self._take(1, 5.0)) != _NEXT:
                what = f"says 0x{said.hex()}" if said else "says nothing for 5 s"
                raise damaged(f"the board {what} after {at} of {len(data)} bytes of a message, 0xaa is due")

    def receive(self, seconds: float, what: str) -> bytes:
        """The next message. NeuralArtError: none came in time, or it is damaged."""
        header, message = self.header, bytearray()
        while True:
            packet = self._take(header + self.size, seconds)
            if len(packet) < header + self.size:
                some = f" ({len(message) + len(packet)} bytes of one)" if packet or message else ""
                raise damaged(f"no answer of the board in {seconds:g} s{some}: {what}", "reset it if that stays so")
            end, length = packet[0] & 0x80, int.from_bytes([packet[0] & 0x7F, *packet[1:header]], "big")
            if not end:
                message += packet[header:]  # It is full, whatever length it says
                if len(message) > _LONGEST:
                    raise damaged(f"a message of the board is longer than {_LONGEST} bytes")
                continue
            if length > self.size:
                raise damaged(f"a packet of {self.size} bytes says that it has {length}", "bytes were lost")
            return bytes(message + packet[header : header + length])

    def find(self) -> Fields:
        """Find the framing of the board, stuck or not: its answer to SYNC. NeuralArtError: it has none."""
        for attempt in range(_TRIES):
            self.size = SMALLEST
            self.drain()
            # The first answer may be that to a request in which the board was stuck: the second one tells.
            if self._probe(2 + attempt) and (answer := self._probe(5 + attempt)):
                return answer
            if attempt:
                # Perhaps packets are as large as another program and the board had agreed.
                self.stream.write(bytes(LARGEST))
                self.drain()
            for _ in range(_ZEROS):  # Zeros fill the packet that the board is stuck in, until it wants another one
                self.stream.write(b"\0")
                if self.drain(0.004).endswith(_NEXT):
                    break
        hint = "is it the right port and baud rate, and does the firmware speak the protocol? reset the board"
        raise damaged("no board answers in either framing", hint)

    def _probe(self, number: int) -> Fields | None:
        """SYNC in the framing of 3.2, whose last padding byte is the header of a packet of 3.1. A board of 3.1 sees an
        empty packet first, asks for more, and gets the rest of the packet whose header it has.
        """
        request = encode("Request", {"id": number, "command": 0, "param": 0, "name": "", "option": 0})
        sync = varint(len(request)) + request
        self.header = 2
        self.stream.write(bytes([0, len(sync)]) + sync.ljust(SMALLEST - 1, b"\0") + bytes([len(sync)]))
        first = self._take(1, 0.3)
        if first == _NEXT:
            self.header = 1
            self.stream.write(sync.ljust(SMALLEST, b"\0"))
            first = self._take(1, 0.3)
        self._buffer = first + self._buffer
        if not first or first[0] < 0x80:
            return None
        try:
            answer = decode("Response", self.receive(0.3, "SYNC"))
        except NeuralArtError:
            return None  # Whatever this was, the next attempt begins with silence
        return answer if "sync" in answer and answer["id"] == number else None
