"""Invariants of the memory-pool table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from neuralart.memory.findings import Finding, error, warning
from neuralart.relocatable.format import flags
from neuralart.relocatable.format.addresses import ACTIV, COPY, MIXED, PARAM, RELOC, RESET, align8, ec_front
from neuralart.relocatable.format.types import ATTRIBUTES, DATA, TYPES, Image, PoolDescriptor

MOST_POOLS = 9
# Memory-mapped serial flash of the STM32N6: a copy there is a plain store to a NOR.
NOR_FLASH = range(0x70000000, 0x80000000)
_WRITE = 2
# type, data -> (id, writable) as the vendor's decision table makes them.
_COMBINATIONS = {
    (RELOC, PARAM): (0, False),
    (RELOC, ACTIV): (1, True),
    (RELOC, MIXED): (1, True),
    (COPY, MIXED): (0, True),
    (COPY, PARAM): (0, False),
    (RESET, ACTIV): (0, True),
}


def _name(number: int, pool: PoolDescriptor) -> str:
    return f"pool {number} ({pool.name}, 0x{pool.flags:08x})"


def _kind(number: int, pool: PoolDescriptor) -> Iterator[Finding]:
    who = _name(number, pool)
    if pool.type == 0:
        yield error("pools", f"{who} is unused, such pools are not in the table")
    elif pool.type not in TYPES:
        yield error("pools", f"{who} has the unknown type {pool.type}: a loader handles RELOC, COPY and RESET")
    elif pool.data not in DATA:
        yield error("pools", f"{who} has the unknown kind of data {pool.data}: known are PARAM, ACTIV and MIXED")
    elif pool.attributes not in ATTRIBUTES:
        yield error("pools", f"{who} has the attributes {pool.attributes}: known are 1, 2, 5 and 6")
    elif (pool.type, pool.data) not in _COMBINATIONS:
        yield error("pools", f"{who} is {TYPES[pool.type]}.{DATA[pool.data]}, which no pool can be")
    else:
        number_id, writable = _COMBINATIONS[pool.type, pool.data]
        if pool.id != number_id:
            yield error("pools", f"{who} has the id {pool.id}, {TYPES[pool.type]}.{DATA[pool.data]} has {number_id}")
        if bool(pool.attributes & _WRITE) != writable:
            need = "written" if writable else "read only"
            yield error("pools", f"{who} is {pool.notation}, a {TYPES[pool.type]}.{DATA[pool.data]} pool is {need}")
    if pool.size == 0:
        yield error("pools", f"{who} has no bytes, such pools are not in the table")


def _destination(image: Image, number: int, pool: PoolDescriptor) -> Iterator[Finding]:
    who, dst = _name(number, pool), pool.dst
    if pool.type == RELOC and dst:
        yield error("pools", f"{who} is relocated and has the fixed destination 0x{dst:08x}")
    if pool.type not in (COPY, RESET):
        return
    if not dst:
        yield error("pools", f"{who} has no destination")
    elif dst % 4:
        yield error("pools", f"{who} has the destination 0x{dst:08x}, not a multiple of 4")
    elif dst + align8(pool.size) > 1 << 32:
        yield error("pools", f"{who}: {pool.size} bytes from 0x{dst:08x} leave the address space")
    elif pool.type == COPY and dst in NOR_FLASH:
        yield error(
            "pools",
            f"{who} would be copied to 0x{dst:08x}, which is memory-mapped flash",
            "give the pool the mode USEMODE_RELATIVE in the .mpool and compile the network again",
        )
    elif dst >> 28 in (2, 3) and (dst >> 28 == 3) != flags.decode(image.header["flags"]).secure:
        state = ("non-secure", "secure")
        yield warning(
            "pools",
            f"{who} goes to 0x{dst:08x}, the {state[dst >> 28 == 3]} alias, the image is for the "
            f"{state[dst >> 28 == 2]} state",
        )


def _twice(image: Image) -> Iterator[Finding]:
    seen: dict[int, int] = {}
    for number, pool in enumerate(image.pools):
        if pool.type == RELOC and pool.id in seen:
            yield error("pools", f"pools {seen[pool.id]} and {number} are both relocated with id {pool.id}")
        elif pool.type == RELOC:
            seen[pool.id] = number
    fixed = [(n, pool) for n, pool in enumerate(image.pools) if pool.type in (COPY, RESET) and pool.dst]
    fixed.sort(key=lambda row: row[1].dst)
    for (first, low), (second, high) in itertools.pairwise(fixed):
        if low.dst + low.size > high.dst:
            yield error(
                "pools",
                f"pools {first} ({low.name}) and {second} ({high.name}) share {low.dst + low.size - high.dst} bytes "
                f"from 0x{high.dst:08x}",
            )


def _data_place(image: Image, number: int, pool: PoolDescriptor, front: int) -> Iterator[Finding]:
    """Where a pool's initial data begin."""
    who, start = _name(number, pool), pool.foff
    first = pool.type == RELOC and pool.data == PARAM
    if start % 8:
        yield error("pools", f"{who} has its data at params+0x{start:x}, not a multiple of 8")
    # PARAM_0 begins at the blobs themselves; the weights' addresses count them in.
    end = start + pool.size + (front if first else 0)
    if image.params is not None and end > len(image.params):
        yield error(
            "pools",
            f"{who}: data from params+0x{start:x} to 0x{end:x} leave the {len(image.params)} bytes of params",
        )
    elif first and start and front:
        yield error(
            "pools",
            f"{who} begins at params+0x{start:x}, but epoch-controller blobs in front need it at 0",
            "place the pool with the constants above the others, or keep the blobs in the code",
        )
    elif not first and start < front:
        yield error(
            "pools",
            f"{who} has its data at params+0x{start:x}, where epoch-controller blobs of {front} bytes stand",
            "some tools move COPY.PARAM pools only; build the image with this one",
        )


def _initial_data(image: Image) -> Iterator[Finding]:
    """Offsets into the params: inside, apart from each other, behind the blobs that precede the raw data."""
    front = ec_front(image)
    holders = [(n, pool) for n, pool in enumerate(image.pools) if pool.data in (PARAM, MIXED) and pool.size]
    for number, pool in holders:
        yield from _data_place(image, number, pool, front)
    holders.sort(key=lambda row: (row[1].foff, row[0]))
    for (first, low), (second, high) in itertools.pairwise(holders):
        if low.foff + low.size > high.foff:
            yield error(
                "pools",
                f"pools {first} ({low.name}) and {second} ({high.name}) share initial data at params+0x{high.foff:x}",
            )


def check(image: Image) -> Iterator[Finding]:
    """All of them."""
    if len(image.pools) > MOST_POOLS:
        yield error("pools", f"the table has {len(image.pools)} pools, a loader takes {MOST_POOLS}")
    for number, pool in enumerate(image.pools):
        yield from _kind(number, pool)
        yield from _destination(image, number, pool)
    yield from _twice(image)
    yield from _initial_data(image)
