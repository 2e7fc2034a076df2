"""A read-only view of FlatBuffers data that trusts nothing.

The format (flatbuffers.dev, "FlatBuffers Internals"): little endian; a *table* begins with the signed distance
back to its *vtable*, which is u16 size of itself, u16 size of the table, then one u16 per field slot, the
field's distance from the table or 0 for "default"; strings, vectors and sub-tables are reached by unsigned
forward offsets; a vector is u32 length and its elements.

Offsets only lead forward, so data cannot contain itself; but many offsets may lead to the same place, so a small
file could ask for endless work. Hence all that is read is counted, and a multiple of the file's size is the end.
"""

from __future__ import annotations

import struct
from typing import Any, NoReturn

from neuralart.errors import NeuralArtError

_SCALARS = {
    "bool": struct.Struct("<B"),
    "int8": struct.Struct("<b"),
    "uint8": struct.Struct("<B"),
    "int32": struct.Struct("<i"),
    "uint32": struct.Struct("<I"),
    "int64": struct.Struct("<q"),
    "uint64": struct.Struct("<Q"),
    "float32": struct.Struct("<f"),
}
_U16 = struct.Struct("<H")
_U16_PAIR = struct.Struct("<HH")
_U32 = _SCALARS["uint32"]
_I32 = _SCALARS["int32"]

# Schemas nest a handful of tables; a chain longer than this is not data but an attack or damage.
_DEEPEST = 32
# How often everything in a file may be read on average, and a floor for tiny files.
_REREADS, _FLOOR = 16, 1 << 16
_TRUNCATED = "truncated or damaged"


class FlatBuffer:
    """The bytes of a file; ``display``: the file as messages name it."""

    __slots__ = ("_budget", "data", "display", "size")

    def __init__(self, data: bytes, display: str) -> None:
        self.data = memoryview(data)
        self.size = len(data)
        self.display = display
        self._budget = _REREADS * self.size + _FLOOR

    def fail(self, offset: int, what: str, hint: str = "") -> NoReturn:
        """Raise a NeuralArtError that points at a byte."""
        raise NeuralArtError(what, where=f"{self.display}@{offset:#x}", hint=hint)

    def damaged(self, offset: int, what: str, how: str = "damaged") -> NoReturn:
        """The same for what no sound file has."""
        self.fail(offset, what, f"is the file {how}?")

    def need(self, offset: int, count: int, what: str) -> None:
        """Check that bytes are inside of the file; NeuralArtError: they are not, or far more was read than it holds."""
        if offset < 0 or offset + count > self.size:
            said = f"{what}: {count} bytes lie outside of the file, which has {self.size} bytes"
            self.damaged(offset, said, _TRUNCATED)
        self._budget -= count
        if self._budget < 0:
            self.damaged(offset, f"{what}: the same bytes are used over and over")

    def follow(self, offset: int, what: str) -> int:
        """Where the forward offset stored at ``offset`` leads; NeuralArtError: it is 0 or leads out of the file."""
        self.need(offset, 4, what)
        (distance,) = _U32.unpack_from(self.data, offset)
        if distance == 0 or offset + distance + 4 > self.size:
            said = f"{what}: offset {distance:#x} leads outside of the file, which has {self.size} bytes"
            self.damaged(offset, said, _TRUNCATED)
        return offset + int(distance)

    def vector(self, offset: int, width: int, what: str) -> tuple[int, int]:
        """Where the elements of the vector at ``offset`` (of its length) begin, and how many of ``width`` bytes there
        are. Raises NeuralArtError: it does not fit into the file.
        """
        self.need(offset, 4, what)
        (count,) = _U32.unpack_from(self.data, offset)
        if offset + 4 + count * width > self.size:
            said = f"{count} elements of {width} bytes do not fit into the file, which has {self.size} bytes"
            self.damaged(offset, f"{what}: {said}", _TRUNCATED)
        self.need(offset + 4, count * width, what)
        return offset + 4, int(count)

    def root(self, what: str) -> Table:
        """The outermost table. Raises NeuralArtError: there is none."""
        return Table(self, self.follow(0, what), what, 0)


class Table:
    """A table of the data; ``what``: its name in messages, for example ``tensor 3``. A method that reads a field raises
    NeuralArtError where the field is not inside of the table, or what it leads to not inside of the file.
    """

    __slots__ = ("_depth", "_size", "_slots", "_vtable", "buffer", "offset", "what")

    def __init__(self, buffer: FlatBuffer, offset: int, what: str, depth: int) -> None:
        if depth > _DEEPEST:
            buffer.damaged(offset, f"{what}: tables are nested more than {_DEEPEST} deep")
        buffer.need(offset, 4, what)
        vtable = offset - _I32.unpack_from(buffer.data, offset)[0]
        if vtable < 0 or vtable + 4 > buffer.size:
            buffer.damaged(offset, f"{what}: its vtable would be at {vtable:#x}, outside of the file")
        length, size = _U16_PAIR.unpack_from(buffer.data, vtable)
        if length < 4 or length % 2:
            buffer.damaged(vtable, f"{what}: {length} is no possible size of a vtable")
        buffer.need(vtable, length, f"the vtable of {what}")
        if size < 4:
            buffer.damaged(vtable + 2, f"{what}: {size} is no possible size of a table")
        buffer.need(offset, size, what)
        self.buffer, self.offset, self.what, self._depth = buffer, offset, what, depth
        self._vtable, self._slots, self._size = vtable, (length - 4) // 2, size

    def fail(self, what: str, hint: str = "") -> NoReturn:
        """Raise a NeuralArtError that points at this table."""
        self.buffer.fail(self.offset, what, hint)

    def damaged(self, what: str) -> NoReturn:
        """The same for what no sound file has."""
        self.buffer.damaged(self.offset, what)

    def place(self, slot: int, width: int, name: str) -> int | None:
        """Where a field of ``width`` bytes is, or None when it is absent and has its default."""
        if slot >= self._slots:
            return None
        entry = self._vtable + 4 + 2 * slot
        (inside,) = _U16.unpack_from(self.buffer.data, entry)
        if inside == 0:
            return None
        if inside < 4 or inside + width > self._size:
            what = f"{name} of {self.what}: byte {inside} is not inside of its table of {self._size} bytes"
            self.buffer.damaged(entry, what)
        return self.offset + int(inside)

    def has(self, slot: int) -> bool:
        """Whether a field that is an offset is there."""
        return self.place(slot, 4, f"field {slot}") is not None

    def integer(self, slot: int, name: str, kind: str = "int32", default: int = 0) -> int:
        """An integer field (``kind``: ``int8`` ... ``uint64``, ``bool``)."""
        layout = _SCALARS[kind]
        place = self.place(slot, layout.size, name)
        return default if place is None else int(layout.unpack_from(self.buffer.data, place)[0])

    def flag(self, slot: int, name: str, default: bool = False) -> bool:
        """A boolean field."""
        return bool(self.integer(slot, name, "bool", int(default)))

    def real(self, slot: int, name: str, default: float = 0.0) -> float:
        """A float32 field."""
        place = self.place(slot, 4, name)
        return default if place is None else float(_SCALARS["float32"].unpack_from(self.buffer.data, place)[0])

    def text(self, slot: int, name: str) -> str:
        """A string; empty when it is absent. Bytes that are not UTF-8 become U+FFFD."""
        view = self.blob(slot, name)
        return "" if view is None else bytes(view).decode("utf-8", "replace")

    def blob(self, slot: int, name: str) -> memoryview | None:
        """Bytes, not copied; None when they are absent."""
        found = self.vector(slot, 1, name)
        return None if found is None else self.buffer.data[found[0] : found[0] + found[1]]

    def integers(self, slot: int, name: str, kind: str = "int32") -> tuple[int, ...]:
        """A vector of integers; empty when it is absent."""
        return self._numbers(slot, name, _SCALARS[kind])

    def reals(self, slot: int, name: str) -> tuple[float, ...]:
        """A vector of float32; empty when it is absent."""
        return self._numbers(slot, name, _SCALARS["float32"])

    def table(self, slot: int, name: str) -> Table | None:
        """A sub-table (or the value of a union); None when it is absent."""
        what = f"{name} of {self.what}"
        place = self.place(slot, 4, name)
        return None if place is None else Table(self.buffer, self.buffer.follow(place, what), what, self._depth + 1)

    def tables(self, slot: int, name: str, item: str) -> list[Table]:
        """A vector of tables, each named ``<item> <number>``; empty when it is absent."""
        found = self.vector(slot, 4, name)
        if found is None:
            return []
        buffer, depth = self.buffer, self._depth + 1
        result = []
        for number in range(found[1]):
            what = f"{item} {number}"
            result.append(Table(buffer, buffer.follow(found[0] + 4 * number, what), what, depth))
        return result

    def vector(self, slot: int, width: int, name: str) -> tuple[int, int] | None:
        """Where the elements of a vector begin and how many of ``width`` bytes; None when it is absent."""
        place = self.place(slot, 4, name)
        if place is None:
            return None
        what = f"{name} of {self.what}"
        return self.buffer.vector(self.buffer.follow(place, what), width, what)

    def _numbers(self, slot: int, name: str, layout: struct.Struct) -> tuple[Any, ...]:
        found = self.vector(slot, layout.size, name)
        if found is None:
            return ()
        return struct.unpack_from(f"<{found[1]}{layout.format[-1]}", self.buffer.data, found[0])
