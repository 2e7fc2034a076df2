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

import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError
from neuralart.memory.layout.placements import Initializer
from neuralart.network.facts import Network

MAGIC = b"NAID"
VERSION = 1
HEADER_BYTES = 32
ENTRY_BYTES = 48
LONGEST_NAME = 23

_ENTRY = struct.Struct("<8s24sIIII")
_STAMP = re.compile(r"[0-9a-f]{16}")
_NAME = re.compile(rb"[\x21-\x7e]+")
_ADDRESS_SPACE = 1 << 32


@dataclass(frozen=True)
class Entry:
    """One initializer."""

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
    """A pool's name must fit into an entry. NeuralArtError: it does not."""
    if len(pool) > LONGEST_NAME or not pool.isascii() or not _NAME.fullmatch(pool.encode("ascii")):
        what = f"fname '{pool}' does not fit into the identity descriptor: {LONGEST_NAME} ASCII characters at most,"
        raise NeuralArtError(f"{what} this has {len(pool)}", where=where, hint="give the pool a shorter fname")


def build(entries: Sequence[Entry]) -> bytes:
    """The bytes of a descriptor.

    ``entries``: in the order of the layout's initializers. NeuralArtError: an entry cannot be written, or contradicts
    another.
    """
    _check(entries)
    body = bytes(16) + b"".join(
        _ENTRY.pack(
            bytes.fromhex(entry.abi_stamp),
            entry.pool.encode("ascii"),
            entry.load_address,
            entry.size,
            entry.crc32,
            entry.network,
        )
        for entry in entries
    )
    return struct.pack("<4sHHII", MAGIC, VERSION, len(entries), size_of(len(entries)), zlib.crc32(body)) + body


def _check(entries: Sequence[Entry]) -> None:
    if len(entries) > 0xFFFF:
        raise NeuralArtError(f"{len(entries)} entries, an identity descriptor has 65535 at most")
    stamps: dict[int, str] = {}
    seen: set[tuple[int, str]] = set()
    for position, entry in enumerate(entries):
        where = f"entry {position}"
        if not _STAMP.fullmatch(entry.abi_stamp):
            raise NeuralArtError(f"ABI stamp '{entry.abi_stamp}' is not 16 hexadecimal digits", where=where)
        check_name(entry.pool, where)
        for name, value in (
            ("load address", entry.load_address),
            ("size", entry.size),
            ("CRC", entry.crc32),
            ("network number", entry.network),
        ):
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

    Args:
        networks: In the order of the image.
        initializers: Those that the descriptor speaks of, in the order of the layout; empty ones are left out.
        raws: (network, pool) to (bytes, CRC-32) of its raw file.

    Returns:
        Empty when all raw files are empty: there is nothing to describe.

    Raises:
        NeuralArtError: An entry cannot be written.
    """
    number = {network.name: position for position, network in enumerate(networks)}
    entries = []
    for item in initializers:
        size, crc = raws[(item.network, item.pool)]
        if size:
            stamp = networks[number[item.network]].abi_stamp
            entries.append(Entry(stamp, item.pool, item.load_address, size, crc, number[item.network]))
    return build(entries) if entries else b""
