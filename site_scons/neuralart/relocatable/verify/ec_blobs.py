"""Programs of the NPU's epoch controller inside an image.

A static blob is used where it stands. A relocatable one is wrapped: magic, table of relocations, blob; the network
copies it to RAM and adds the distance of each pool or buffer to the listed words. The header of the image does not list
either, so they are found by their magics at multiples of 8, in the read-only part and in front of the raw data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from neuralart.findings import Finding, error
from neuralart.quick import dataclass
from neuralart.relocatable.format.types import EC_BINARIES, EC_MAGICS, Image, ec_front

BLOB_MAGIC = EC_MAGICS[-1]
# Bytes of the shortest header of a wrapper: the one of 2.1 has no patch table.
_SHORTEST = 16
_TABLES = (16, 24)
_LONGEST_ID = 64


@dataclass(frozen=True)
class CheckedRelocation:
    """A list of words to move by one distance."""

    id: str  # a pool, or _user_io_input_0 and the like
    words: tuple[int, ...]  # their indexes behind the two words that head the blob


@dataclass(frozen=True)
class EcBlob:
    place: str  # FLASH or PARAM_0
    offset: int  # where it begins in that segment
    file_offset: int  # where it begins in the file that holds it
    blob_offset: int  # bytes from there to the blob; 0 for a static one
    words: int  # what the blob says of its length
    relocations: tuple[CheckedRelocation, ...]  # empty for a static one
    fault: str = ""  # why it cannot be used; empty if it can

    @property
    def relocatable(self) -> bool:
        """Whether it is copied to RAM and patched there."""
        return self.blob_offset > 0

    @property
    def patches(self) -> int:
        """Number of patched words."""
        return sum(len(relocation.words) for relocation in self.relocations)


class _Bad(Exception):
    """What is wrong with a wrapper."""


def _word(data: bytes, offset: int, what: str) -> int:
    if not 0 <= offset <= len(data) - 4:
        raise _Bad(f"{what} at +0x{offset:x} is behind the end of the segment")
    return int(struct.unpack_from("<I", data, offset)[0])


def _relocation(data: bytes, table: int, row: int, number: int) -> CheckedRelocation:
    id_at, count, list_at = (_word(data, row + 4 * word, f"relocation {number}") for word in range(3))
    end = data.find(b"\0", table + id_at, table + id_at + _LONGEST_ID + 1)
    name = data[table + id_at : end] if end >= 0 else b""
    if not name or not all(32 < byte < 127 for byte in name):
        raise _Bad(f"relocation {number} has no readable id at +0x{table + id_at:x}")
    if table + list_at + 4 * count > len(data):
        raise _Bad(f"the {count} patches of {name.decode()} are behind the end of the segment")
    return CheckedRelocation(name.decode(), struct.unpack_from(f"<{count}I", data, table + list_at))


def _wrapped(data: bytes) -> tuple[int, int, tuple[CheckedRelocation, ...]]:
    """Offset of the blob, its words, its relocations."""
    at = _word(data, 12 if _word(data, 0, "the magic") == EC_BINARIES[0] else 16, "the blob's offset")
    table = _word(data, 4, "the table's offset")
    if at % 8 or table % 4 or table < _SHORTEST or at < table + 4:
        raise _Bad(f"the blob's offset 0x{at:x} is not a multiple of 8 behind the table")
    if _word(data, at, "the blob") != BLOB_MAGIC:
        raise _Bad(f"the blob at +0x{at:x} does not begin with 0x{BLOB_MAGIC:08X}")
    words = _word(data, at + 4, "the blob's length")
    if at + 4 * words > len(data):
        raise _Bad(f"the blob's {words} words are behind the end of the segment")
    count = _word(data, table, "the table")
    if table + 4 + 12 * count > at:
        raise _Bad(f"the table's {count} relocations reach into the blob at +0x{at:x}")
    rows = range(table + 4, table + 4 + 12 * count, 12)
    relocations = tuple(_relocation(data, table, row, number) for number, row in enumerate(rows))
    for relocation in relocations:
        wrong = next((word for word in relocation.words if word >= words), None)
        if wrong is not None:
            raise _Bad(f"{relocation.id} patches word {wrong} of a blob of {words}")
    return at, words, relocations


def _hits(data: bytes, magics: Sequence[int]) -> list[tuple[int, int]]:
    """Where one of some magics stands at a multiple of 8, and the word behind it."""
    found = []
    for magic in magics:
        key = magic.to_bytes(4, "little")
        at = data.find(key)
        while at >= 0:
            if at % 8 == 0 and at + 8 <= len(data):
                found.append((at, int.from_bytes(data[at + 4 : at + 8], "little")))
            at = data.find(key, at + 4)
    return sorted(found)


def _find(data: bytes, place: str, base: int) -> list[EcBlob]:
    found: list[EcBlob] = []
    taken: list[tuple[int, int]] = []
    for at, table in _hits(data, EC_BINARIES):
        # The code that copies blobs compares with the same word: a constant among its instructions.
        if table not in _TABLES or any(start <= at < end for start, end in taken):
            continue
        try:
            blob, words, relocations = _wrapped(data[at:])
        except _Bad as bad:
            found.append(EcBlob(place, at, base + at, 0, 0, (), str(bad)))
            taken.append((at, at + _SHORTEST))
            continue
        found.append(EcBlob(place, at, base + at, blob, words, relocations))
        # The two words in front may or may not be counted.
        taken.append((at, at + blob + 8 + 4 * words))
    for at, words in _hits(data, (BLOB_MAGIC,)):
        # Without a wrapper there is no second sign: what does not fit is data that looks like one.
        if 0 < words <= (len(data) - at) // 4 and not any(start <= at < end for start, end in taken):
            found.append(EcBlob(place, at, base + at, 0, words, ()))
            taken.append((at, at + 8 + 4 * words))
    return sorted(found, key=lambda blob: blob.offset)


def find(image: Image) -> tuple[EcBlob, ...]:
    """All blobs of an image, by place."""
    front = (image.params or b"")[: ec_front(image)]
    base = image.header["params_offset"]
    return (*_find(image.data[: image.ro_size], "FLASH", 0), *_find(front, "PARAM_0", base))


def check(image: Image) -> Iterator[Finding]:
    """Report damaged epoch-controller blobs."""
    for blob in find(image):
        if blob.fault:
            what = f"the epoch-controller blob at {blob.place}+0x{blob.offset:x} is damaged: {blob.fault}"
            yield error("ec-blob", what)
