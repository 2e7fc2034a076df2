"""The identity descriptor: which weights are in flash, in an erase sector of its own beside them.

Firmware compares its own ABI stamp with it and the CRC of what it loaded, so new weights of the same network need no
new firmware, and other weights are found out before the first inference. Little endian:

====== ===== ==================================================================
offset bytes header
====== ===== ==================================================================
0      4     ``NAID``
4      2     version, 1
6      2     entries
8      4     bytes of header and entries
12     4     CRC-32 (as zlib computes it) of all bytes from 16 on
16     16    zero
====== ===== ==================================================================

Then for each initializer that is not empty and not linked into the image:

====== ===== ==================================================================
offset bytes entry
====== ===== ==================================================================
0      8     ABI stamp of the network: its 16 hexadecimal digits as bytes
8      24    fname of the pool, ASCII, the rest zero (at least one byte)
32     4     address in flash; 0: it is loaded by other means
36     4     bytes
40     4     CRC-32 of the bytes
44     4     number of the network in the image, from 0
====== ===== ==================================================================
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence

from neuralart.errors import NeuralArtError
from neuralart.memory.layout.strategies import Initializer
from neuralart.network.facts import Network
from neuralart.quick import dataclass, lazy_regex

MAGIC = b"NAID"
VERSION = 1
HEADER_BYTES = 32
ENTRY_BYTES = 48
LONGEST_NAME = 23

_HEADER = struct.Struct("<4sHHII16s")
_ENTRY = struct.Struct("<8s24sIIII")
_CHECKED_FROM = 16
_STAMP = lazy_regex(r"[0-9a-f]{16}")
_NAME = lazy_regex(rb"[\x21-\x7e]+")
_ADDRESS_SPACE = 1 << 32
_ERASED = 0xFF
_DAMAGED = "it is damaged: flash the model"


@dataclass(frozen=True)
class Entry:
    abi_stamp: str  # 16 hexadecimal digits, small letters
    pool: str  # fname of the pool
    load_address: int  # where it is in flash; 0: it is loaded by other means
    size: int  # bytes, more than 0
    crc32: int  # of these bytes, as crc32
    network: int  # number of the network in the image, from 0


def size_of(entries: int) -> int:
    """Bytes of a descriptor with so many entries."""
    return HEADER_BYTES + ENTRY_BYTES * entries


def check_name(pool: str, where: str) -> None:
    """Check that a pool's name fits into an entry. NeuralArtError: it does not."""
    if len(pool) > LONGEST_NAME or not pool.isascii() or not _NAME.fullmatch(pool.encode("ascii")):
        what = f"fname '{pool}' does not fit into the identity descriptor: {LONGEST_NAME} ASCII characters at most,"
        raise NeuralArtError(f"{what} this has {len(pool)}", where=where, hint="give the pool a shorter fname")


def build(entries: Sequence[Entry]) -> bytes:
    """The bytes of a descriptor; ``entries`` in the layout's order. NeuralArtError: one is unwritable, or clashes."""
    _check(entries, [f"entry {number}" for number in range(len(entries))])
    body = bytes(16)
    for entry in entries:
        names = bytes.fromhex(entry.abi_stamp), entry.pool.encode("ascii")
        body += _ENTRY.pack(*names, entry.load_address, entry.size, entry.crc32, entry.network)
    return struct.pack("<4sHHII", MAGIC, VERSION, len(entries), size_of(len(entries)), zlib.crc32(body)) + body


def parse(data: bytes, display: str = "descriptor") -> tuple[Entry, ...]:
    """Read a descriptor. ``data``: it and nothing else, or the sector it stands in: erased flash (0xff) may follow;
    ``display``: name of the file or place, for messages. NeuralArtError: it is not one, or damaged; ``where`` is
    ``display@0xOFFSET``.
    """

    def refuse(offset: int, what: str, hint: str = "") -> NeuralArtError:
        return NeuralArtError(what, where=f"{display}@0x{offset:x}", hint=hint)

    if len(data) < HEADER_BYTES:
        raise refuse(len(data), f"{len(data)} bytes, an identity descriptor has {HEADER_BYTES} at least")
    magic, version, count, total, crc, zero = _HEADER.unpack_from(data)
    if magic != MAGIC:
        erased = data[:HEADER_BYTES].count(_ERASED) == HEADER_BYTES
        message = "no identity descriptor: the flash is erased here" if erased else f"no identity descriptor: {magic!r}"
        raise refuse(0, message, "flash the model" if erased else "it begins with NAID")
    if version != VERSION:
        raise refuse(4, f"identity descriptor of version {version}, this program reads {VERSION}")
    if total != size_of(count):
        raise refuse(8, f"{count} entries are {size_of(count)} bytes, it says {total}", _DAMAGED)
    if total > len(data):
        raise refuse(len(data), f"{total} bytes announced, {len(data)} are there", "it was cut off")
    if zlib.crc32(data[_CHECKED_FROM:total]) != crc:
        raise refuse(12, f"CRC 0x{zlib.crc32(data[_CHECKED_FROM:total]):08x}, it says 0x{crc:08x}", _DAMAGED)
    if any(zero):
        raise refuse(16, "bytes 16 to 31 are not zero")
    for offset in range(total, len(data)):
        if data[offset] != _ERASED:
            raise refuse(offset, f"0x{data[offset]:02x} follows, erased flash is 0x{_ERASED:02x}")
    entries, places = [], []
    for number in range(count):
        at = HEADER_BYTES + ENTRY_BYTES * number
        stamp, name, address, size, check, network = _ENTRY.unpack_from(data, at)
        text = name.rstrip(b"\0")
        if not _NAME.fullmatch(text) or len(text) > LONGEST_NAME:
            raise refuse(at + 8, f"entry {number}: {name!r} is not the name of a pool")
        entries.append(Entry(stamp.hex(), text.decode("ascii"), address, size, check, network))
        places.append(f"{display}@0x{at:x}")
    _check(entries, places)
    return tuple(entries)


def _check(entries: Sequence[Entry], places: Sequence[str]) -> None:
    if len(entries) > 0xFFFF:
        raise NeuralArtError(f"{len(entries)} entries, an identity descriptor has 65535 at most")
    stamps: dict[int, str] = {}
    seen: set[tuple[int, str]] = set()
    for entry, where in zip(entries, places, strict=True):
        if not _STAMP.fullmatch(entry.abi_stamp):
            raise NeuralArtError(f"ABI stamp '{entry.abi_stamp}' is not 16 hexadecimal digits", where=where)
        check_name(entry.pool, where)
        numbers = ("load address", entry.load_address), ("size", entry.size), ("CRC", entry.crc32)
        for name, value in (*numbers, ("network number", entry.network)):
            if not 0 <= value < _ADDRESS_SPACE:
                raise NeuralArtError(f"{name} {value} of pool {entry.pool} is not a 32-bit number", where=where)
        if not entry.size:
            raise NeuralArtError(f"pool {entry.pool} has an entry of 0 bytes; what is empty has none", where=where)
        if entry.load_address + entry.size > _ADDRESS_SPACE:
            what = f"{entry.size} bytes of pool {entry.pool} at 0x{entry.load_address:08x} run over the address space"
            raise NeuralArtError(what, where=where)
        if stamps.setdefault(entry.network, entry.abi_stamp) != entry.abi_stamp:
            what = f"network {entry.network} has ABI stamp {entry.abi_stamp} here and {stamps[entry.network]} before"
            raise NeuralArtError(what, where=where)
        if (entry.network, entry.pool) in seen:
            raise NeuralArtError(f"pool {entry.pool} of network {entry.network} has two entries", where=where)
        seen.add((entry.network, entry.pool))


def describe(
    networks: Sequence[Network], initializers: Sequence[Initializer], raws: Mapping[tuple[str, str], tuple[int, int]]
) -> bytes:
    """The descriptor's bytes.

    ``networks``: in the order of the image; ``initializers``: those that the descriptor speaks of, in the order of the
    layout; empty ones are left out; ``raws``: (network, pool) to (bytes, CRC-32) of its raw file. Returns empty when
    all raw files are empty: there is nothing to describe. NeuralArtError: an entry cannot be written.
    """
    number = {network.name: position for position, network in enumerate(networks)}
    entries = []
    for item in initializers:
        size, crc = raws[(item.network, item.pool)]
        if size:
            stamp = networks[number[item.network]].abi_stamp
            entries.append(Entry(stamp, item.pool, item.load_address, size, crc, number[item.network]))
    return build(entries) if entries else b""
