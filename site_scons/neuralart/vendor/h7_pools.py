"""Memory pools for CPU targets (``--memory-pool``): the JSON that STM32H7 projects use.

Three spellings exist: sizes as texts with a unit (``"size": "128KB"``), as value and magnitude, and the latter with a
``usable_size`` besides. KB, KBYTES and their like are always 1024. Comments and trailing commas are taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.jsonpos import Node, parse_tolerant

UNITS = {
    "B": 1,
    "BYTES": 1,
    "KB": 1024,
    "KBYTES": 1024,
    "MB": 1024**2,
    "MBYTES": 1024**2,
    "GB": 1024**3,
    "GBYTES": 1024**3,
}
_SIZE = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})\s*([A-Za-z]{0,8})")
_POOL = {"address", "magnitude", "name", "offset", "prop", "rights", "size", "usable_size"}
_ADDRESS_SPACE = 1 << 32


@dataclass(frozen=True)
class CpuPool:
    """One pool.

    Attributes:
        name: The network's activations get a C buffer of this name.
        address: Base; None if none is given. 0 stands for "the linker decides" in many files.
        size: Bytes; 0 disables the pool.
        usable: Bytes of it that the network may use; the size if not given.
        throughput: ``LOW``, ``MID`` or ``HIGH``; empty if not given.
        latency: The same.
        where: ``file:line:column``.
    """

    name: str
    address: int | None
    size: int
    usable: int
    throughput: str = ""
    latency: str = ""
    where: str = ""


@dataclass(frozen=True)
class CpuPools:
    """A file of them.

    Attributes:
        file: Its name as shown to the user.
        version: As written; empty if not given.
        pools: In its order.
        notes: ``line:column: what`` was not understood or is not plain JSON.
    """

    file: str
    version: str
    pools: tuple[CpuPool, ...]
    notes: tuple[str, ...] = ()


def bytes_of(text: str, where: str, what: str) -> int:
    """``128KB``, ``0x20000`` or ``8B`` in bytes.

    Raises:
        NeuralArtError: It is none of these.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise NeuralArtError(f"{what} is '{text[:40]}'", where=where, hint='a number with a unit: "128KB", "0x20000"')
    unit = found.group(2).upper() or "B"
    if unit not in UNITS:
        raise NeuralArtError(f"{what} has the unit '{found.group(2)}'", where=where, hint=nearest(unit, list(UNITS)))
    return int(found.group(1), 0 if found.group(1)[:2].lower() == "0x" else 10) * UNITS[unit]


def amount(node: Node, what: str) -> int:
    """A size or address in any of its spellings, in bytes.

    Raises:
        NeuralArtError: It is none; ``where`` is ``file:line:column``.
    """
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise NeuralArtError(f"{what} is negative: {value}", where=node.where)
        return value
    if isinstance(value, str):
        return bytes_of(value, node.where, what)
    if not isinstance(value, dict):
        raise NeuralArtError(
            f"{what} must be a number, a text or value and magnitude, not {node.kind}", where=node.where
        )
    for key in ("value", "magnitude"):
        if key not in value:
            raise NeuralArtError(f"{what} has no '{key}'", where=node.where)
    unit = value["magnitude"]
    if not isinstance(unit.value, str) or unit.value.upper() not in UNITS:
        shown = f"'{unit.value}'" if isinstance(unit.value, str) else unit.kind
        raise NeuralArtError(
            f"magnitude of {what} is {shown}", where=unit.where, hint=nearest(str(unit.value).upper(), list(UNITS))
        )
    inner = value["value"]
    if isinstance(inner.value, dict):
        raise NeuralArtError(f"value of {what} must be a number or a text, not {inner.kind}", where=inner.where)
    return amount(inner, f"value of {what}") * UNITS[unit.value.upper()]


def _text(node: Node | None, what: str) -> str:
    if node is None:
        return ""
    if not isinstance(node.value, str):
        raise NeuralArtError(f"{what} must be a text, not {node.kind}", where=node.where)
    return node.value


def _members(node: Node, what: str) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        raise NeuralArtError(f"{what} must be an object {{ }}, not {node.kind}", where=node.where)
    return node.value


def _pool(node: Node, number: int, notes: list[str]) -> CpuPool:
    members = _members(node, f"pool {number}")
    name = _text(members.get("name"), f"name of pool {number}")
    what = f"pool {name or number}"
    for key in ("name", "size"):
        if key not in members:
            raise NeuralArtError(f"{what} has no '{key}'", where=node.where)
    if not name:
        raise NeuralArtError(f"name of pool {number} is empty", where=members["name"].where)
    place = members.get("address") or members.get("offset")
    if "address" in members and "offset" in members:
        raise NeuralArtError(f"{what} has both 'address' and 'offset'", where=members["offset"].where, hint="keep one")
    size = amount(members["size"], f"size of {what}")
    prop = _members(members["prop"], f"prop of {what}") if "prop" in members else {}
    notes += [
        f"{child.line}:{child.column}: unknown key '{key}' in {what}"
        for key, child in members.items()
        if key not in _POOL and not key.startswith("_")
    ]
    return CpuPool(
        name=name,
        address=amount(place, f"address of {what}") if place is not None else None,
        size=size,
        usable=amount(members["usable_size"], f"usable_size of {what}") if "usable_size" in members else size,
        throughput=_text(prop.get("throughput"), f"throughput of {what}"),
        latency=_text(prop.get("latency"), f"latency of {what}"),
        where=node.where,
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
    top = _members(document, "the document")
    if "memory" not in top:
        raise NeuralArtError("there is no 'memory'", where=document.where, hint='it starts with {"memory": ...}')
    memory = _members(top["memory"], "memory")
    listed = memory.get("mempools")
    if listed is None:
        raise NeuralArtError("memory has no 'mempools'", where=top["memory"].where)
    if not isinstance(listed.value, list):
        raise NeuralArtError(f"mempools must be a list [ ], not {listed.kind}", where=listed.where)
    if any(isinstance(node.value, dict) and "fname" in node.value for node in listed.value):
        raise NeuralArtError(
            "a pool with 'fname': this is a memory-pool file of the Neural-ART compiler", where=listed.where
        )
    notes: list[str] = []
    pools = tuple(_pool(node, number, notes) for number, node in enumerate(listed.value))
    return CpuPools(file, _text(top.get("version"), "version"), pools, (*marks, *notes))


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
