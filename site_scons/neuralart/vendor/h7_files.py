"""JSON files of STM32H7 projects, with comments and trailing commas: memory pools and the project description.

Pools for CPU targets (``--memory-pool``) exist in three spellings: sizes as texts with a unit (``"size": "128KB"``), as
value and magnitude, and the latter with a ``usable_size`` besides. KB, KBYTES and their like are always 1024. The
project description (``stmaic_<board>.conf``) names the pool file, the flash that is left for weights, and how the
application is built and flashed.
"""

from __future__ import annotations

import re
from itertools import pairwise

from neuralart.files import of_file
from neuralart.quick import dataclass
from neuralart.text.json_values import JsonValue, parse_tolerant
from neuralart.text.sizes import amount

_POOL = {"address", "magnitude", "name", "offset", "prop", "rights", "size", "usable_size"}
_ADDRESS_SPACE = 1 << 32


@dataclass(frozen=True)
class CpuPool:
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
        where=str(pool.where),
        **{key: prop.string_at(key) for key in ("rights", "throughput", "latency") if prop},
    )


def parse_cpu_pools(data: bytes, file: str) -> CpuPools:
    """The content of a pool file for CPU targets; NeuralArtError with ``file:line:column`` if a value is wrong."""
    document, marks = parse_tolerant(data, file)
    memory = document.need("memory", 'it starts with {"memory": ...}').called("memory")
    listed = memory.need("mempools").called("mempools")
    if any(pool.is_mapping and pool.get("fname") for pool in listed.items()):
        listed.fail("a pool with 'fname': this is a memory-pool file of the Neural-ART compiler")
    notes: list[str] = []
    pools = tuple(_pool(pool, number, notes) for number, pool in enumerate(listed.items()))
    return CpuPools(file, document.string_at("version"), pools, str(listed.where), (*marks, *notes))


read_cpu_pools = of_file(parse_cpu_pools)


def check_cpu_pools(pools: CpuPools) -> tuple[str, ...]:
    """List findings about pools that do not fit together."""
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


VERSION = "0.1"
_MEMORY = ("internalFlash_size", "externalFlash_size", "application_size", "lib_size")
_TOP = {"board", "builder", "configurations", "description", "env", "memory_pool", "series", "templates", "version"}


@dataclass(frozen=True)
class CpuProject:
    file: str  # Its name as shown to the user
    version: str  # Of its format
    description: str  # For people
    series: str  # ``stm32h7``
    boards: tuple[str, ...]  # Their names
    builder: str  # ``stm32_cube_ide``...
    variables: dict[str, str]  # Name -> text with ``${name}`` as written
    # (from, to, how) of generated files; ``from`` is empty for a file of the same name
    copies: tuple[tuple[str, ...], ...]
    # ``internalFlash_size``, ``externalFlash_size``, ``application_size``, ``lib_size`` in bytes, if given
    sizes: dict[str, int]
    pool_file: str  # As written; empty if none
    configurations: tuple[str, ...]  # Name of each build
    notes: tuple[str, ...] = ()  # ``line:column: what`` was not understood


def _texts(value: JsonValue | None) -> tuple[str, ...]:
    """A list of texts, or one text."""
    if value is None or type(value.value) is str:
        return () if value is None else (value.string(),)
    return tuple(entry.string() for entry in value.items())


def parse_cpu_project(data: bytes, file: str) -> CpuProject:
    """The content of a project description; NeuralArtError with ``file:line:column`` if a value is wrong."""
    document, marks = parse_tolerant(data, file, relaxed=True)
    version = document.string_at("version")
    if document.get("configurations") is None and document.get("memory_pool") is None:
        document.fail("neither 'configurations' nor 'memory_pool' is there")
    notes = [note for note in marks if "trailing comma" not in note] + document.unknown(_TOP)
    if version != VERSION:
        notes.append(document.note(f"version '{version}', {VERSION} is known"))
    memory, variables = document.get("memory_pool"), document.get("env")
    sizes = memory.mapping() if memory else {}
    return CpuProject(
        file=file,
        version=version,
        description=document.string_at("description"),
        series=document.string_at("series"),
        boards=_texts(document.get("board")),
        builder=document.string_at("builder"),
        variables={name: value.string() for name, value in variables.mapping().items()} if variables else {},
        copies=tuple(_texts(value) for value in document.items_at("templates")),
        sizes={key: amount(sizes[key].called(key)) for key in _MEMORY if key in sizes},
        pool_file=memory.string_at("memory_pool_path") if memory else "",
        configurations=tuple(value.string_at("name") for value in document.items_at("configurations")),
        notes=tuple(notes),
    )


read_cpu_project = of_file(parse_cpu_project)
