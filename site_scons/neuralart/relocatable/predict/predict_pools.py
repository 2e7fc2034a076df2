"""What a loader does with the pools of the table, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.relocatable.format.addresses import ACTIV, COPY, MIXED, PARAM, RELOC, RESET, align8
from neuralart.relocatable.format.types import OFFSET, Image, PoolDescriptor
from neuralart.relocatable.predict.prediction import Call, Firmware, Refused
from neuralart.relocatable.verify.verify_pools import MOST_POOLS

# Caches serve accesses to external memory only.
CACHEABLE_ABOVE = 0x60000000
_CACHEABLE, _WRITE = 4, 2


def _own_checks(pool: PoolDescriptor, who: str, base: int, seen: set[int]) -> None:
    """What the reference runtime's loader asks of a pool beyond the vendor's."""
    if not 0 < pool.size <= OFFSET + 1:
        raise Refused(-8, f"{who} has {pool.size:,} bytes: it must have 1 to 256 MiB")
    if pool.data in (PARAM, MIXED) and base + pool.foff + align8(pool.size) > 1 << 32:
        raise Refused(-8, f"the data of {who} leave the address space")
    if pool.type == RELOC:
        if pool.id in seen:
            raise Refused(-8, f"{who} is the second one that is relocated with id {pool.id}")
        seen.add(pool.id)
        wanted: tuple[int, ...] = (PARAM,) if pool.id == 0 else (ACTIV, MIXED)
    elif pool.type in (COPY, RESET):
        wanted = (PARAM, MIXED) if pool.type == COPY else (ACTIV,)
        if not pool.dst or pool.dst + align8(pool.size) > 1 << 32:
            raise Refused(-8, f"{who} has no place: 0x{pool.dst:08x}")
    else:
        raise Refused(-8, f"{who} has the unknown type {pool.type}")
    if pool.id <= 1 and pool.data not in wanted:
        raise Refused(-8, f"{who} is {pool.notation}, which no pool can be")


def _relocated(pool: PoolDescriptor, number: int, base: int, call: Call) -> str:
    who = f"pool {number} ({pool.name})"
    if pool.id == 0:
        if pool.data == MIXED or pool.attributes & _WRITE:
            raise Refused(-8, f"{who} is {pool.notation}: the relocated pool of params must be read only")
        at = base + pool.foff
        if pool.attributes & _CACHEABLE and at <= CACHEABLE_ABOVE:
            raise Refused(
                -7,
                f"{who} is cacheable, its params at 0x{at:08x} must be above 0x{CACHEABLE_ABOVE:08x}",
                "place the params in external memory, or make the pool non-cacheable (cacheable OFF in the .mpool) and "
                "compile again",
            )
        return f"{who} {pool.notation}: used where it is, at 0x{at:08x}"
    if pool.id != 1:
        raise Refused(-8, f"{who} is relocated with id {pool.id}: known are 0 and 1")
    need = align8(pool.size)
    if call.ext_ram is None or not call.ext_ram.start:
        raise Refused(-2, f"{who} needs {need:,} bytes of external RAM, none is given", "give it with --ext-ram")
    room = call.ext_ram
    if room.start % 4:
        raise Refused(-2, f"external RAM at 0x{room.start:08x} is not on a multiple of 4")
    if room.size < need or room.start + need > 1 << 32:
        raise Refused(-2, f"external RAM has {room.size:,} bytes, {who} needs {need:,}", "give it more RAM")
    if pool.attributes & _CACHEABLE and room.start <= CACHEABLE_ABOVE:
        raise Refused(
            -7,
            f"{who} is cacheable, external RAM at 0x{room.start:08x} must be above 0x{CACHEABLE_ABOVE:08x}",
            "give it external memory, or make the pool non-cacheable (cacheable OFF in the .mpool) and compile again",
        )
    if pool.data == MIXED:
        done = f"copied from 0x{base + pool.foff:08x}"
    else:
        done = "cleared" if call.clear else "left as it is"
    return f"{who} {pool.notation}: {need:,} bytes at 0x{room.start:08x}, {done}"


def steps(image: Image, call: Call, firmware: Firmware, base: int) -> Iterator[str]:
    """One line for each pool.

    Args:
        image: The image.
        call: Arguments of the install.
        firmware: What loads it.
        base: Address of the params.

    Raises:
        Refused: Where the loader stops.
    """
    seen: set[int] = set()
    if len(image.pools) > MOST_POOLS:
        raise Refused(-1, f"the table has {len(image.pools)} pools, a loader takes {MOST_POOLS}")
    for number, pool in enumerate(image.pools):
        who = f"pool {number} ({pool.name})"
        if firmware.ours and pool.type:
            _own_checks(pool, who, base, seen)
        if pool.type == RELOC:
            yield _relocated(pool, number, base, call)
        elif pool.type == COPY:
            yield f"{who} {pool.notation}: {pool.size:,} bytes from 0x{base + pool.foff:08x} to 0x{pool.dst:08x}"
        elif pool.type == RESET:
            done = "cleared" if call.clear else "left as it is"
            yield f"{who} {pool.notation}: {pool.size:,} bytes at 0x{pool.dst:08x}, {done}"
