"""Messages of the validation protocol as dictionaries: encoder and decoder of the part of proto2 that they use.

No generated code: it must fit the installed version of the ``protobuf`` package, which accepts what a board must not
send (text where numbers belong) without a word of where it stands. ``messages.proto`` is read as it is.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

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
