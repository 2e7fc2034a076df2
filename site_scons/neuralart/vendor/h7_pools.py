"""Memory pools for CPU targets (``--memory-pool``): the JSON that STM32H7 projects use.

Three spellings exist: sizes as texts with a unit (``"size": "128KB"``), as value and magnitude, and the latter with a
``usable_size`` besides. KB, KBYTES and their like are always 1024. Comments and trailing commas are taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from neuralart.files import read_bytes
from neuralart.text.json_values import JsonValue, parse_tolerant
from neuralart.text.sizes import amount

_POOL = {"address", "magnitude", "name", "offset", "prop", "rights", "size", "usable_size"}
_ADDRESS_SPACE = 1 << 32


@dataclass(frozen=True)
class CpuPool:
    """One pool."""

    name: str  # The network's activations get a C buffer of this name
    address: int | None  # Base; None if none is given. 0 stands for "the linker decides" in many files.
    size: int  # Bytes; 0 disables the pool
    usable: int  # Bytes of it that the network may use; the size if not given
    rights: str = ""  # ``ACC_READ`` or ``ACC_WRITE``; empty if not given
    throughput: str = ""  # ``LOW``, ``MID`` or ``HIGH``; empty if not given
    latency: str = ""  # The same
    where: str = ""  # ``file:line:column``


@dataclass(frozen=True)
class CpuPools:
    """A file of them."""

    file: str  # Its name as shown to the user
    version: str  # As written; empty if not given
    pools: tuple[CpuPool, ...]  # In its order
    where: str  # ``file:line:column`` of their list
    notes: tuple[str, ...] = ()  # ``line:column: what`` was not understood or is not plain JSON


def _pool(pool: JsonValue, number: int, notes: list[str]) -> CpuPool:
    name = pool.called(f"pool {number}").need("name").string()
    if not name:
        pool.need("name").fail(f"name of pool {number} is empty")
    what = f"pool {name}"
    members = pool.called(what).mapping()
    if "address" in members and "offset" in members:
        members["offset"].fail(f"{what} has both 'address' and 'offset'", "keep one")
    size = amount(pool.need("size"))
    place = pool.get("address") or pool.get("offset")
    prop = pool.get("prop")
    notes += pool.unknown(_POOL, what)
    return CpuPool(
        name=name,
        address=amount(place.called(f"address of {what}")) if place is not None else None,
        size=size,
        usable=amount(members["usable_size"]) if "usable_size" in members else size,
        rights=prop.string_at("rights") if prop else "",
        throughput=prop.string_at("throughput") if prop else "",
        latency=prop.string_at("latency") if prop else "",
        where=str(pool.where),
    )


def parse_cpu_pools(data: bytes, file: str) -> CpuPools:
    """Read the content of a pool file for CPU targets.

    Args:
        data: The file's bytes.
        file: Its name for messages.

    Raises:
        NeuralArtError: It is no such file, or a value is wrong; ``where`` is ``file:line:column``.
    """
    document, marks = parse_tolerant(data, file)
    memory = document.need("memory", 'it starts with {"memory": ...}').called("memory")
    listed = memory.need("mempools").called("mempools")
    if any(pool.is_mapping and pool.get("fname") for pool in listed.items()):
        listed.fail("a pool with 'fname': this is a memory-pool file of the Neural-ART compiler")
    notes: list[str] = []
    pools = tuple(_pool(pool, number, notes) for number, pool in enumerate(listed.items()))
    return CpuPools(file, document.string_at("version"), pools, str(listed.where), (*marks, *notes))


def read(path: Path, display: str = "") -> CpuPools:
    """Read a pool file for CPU targets.

    Raises:
        NeuralArtError: It cannot be read, or as :func:`parse_cpu_pools`.
    """
    return parse_cpu_pools(read_bytes(path), display or str(path))


def check(pools: CpuPools) -> tuple[str, ...]:
    """What does not go together: findings, none if all is well."""
    findings = []
    names = [pool.name for pool in pools.pools]
    findings += [f"pool {name} is listed twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    for pool in pools.pools:
        if not re.fullmatch(r"[A-Za-z_]\w*", pool.name, re.ASCII):
            findings.append(f"pool '{pool.name}' cannot name a C buffer and a section: letters, digits and _")
        if pool.usable > pool.size:
            findings.append(f"pool {pool.name}: {pool.usable} bytes are usable of {pool.size}")
        if pool.address is not None and pool.address + pool.size > _ADDRESS_SPACE:
            findings.append(f"pool {pool.name} ends at 0x{pool.address + pool.size:x}, behind the 32-bit address space")
    placed = sorted((pool for pool in pools.pools if pool.address and pool.size), key=lambda pool: pool.address or 0)
    for before, after in pairwise(placed):
        overlap = (before.address or 0) + before.size - (after.address or 0)
        if overlap > 0:
            findings.append(f"pools {before.name} and {after.name} overlap by {overlap} bytes")
    return tuple(findings)
