"""Where the made-up compiler puts weights and activations."""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class Pool:
    """A memory pool of the pool file."""

    def __init__(self, fname, name, address, size, rights, fformat="FORMAT_RAW", mode="", preferred=False, fast=False):
        self.fname, self.name, self.address, self.size, self.rights = fname, name, address, size, rights
        self.fformat, self.relative = fformat, mode == "USEMODE_RELATIVE"
        self.preferred, self.fast = preferred, fast
        self.used = 0

    @property
    def writable(self) -> bool:
        return self.rights == "ACC_WRITE"


class Row(NamedTuple):
    """A buffer: one weight, an input, an output, or what lies between."""

    table: str
    name: str
    pool: str
    start: int
    end: int
    shape: tuple[int, ...]
    memory: tuple[int, ...]
    letter: str
    dtype: str
    bits: int
    quantized: bool
    user: str = ""


class Placed:
    """The result."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.raws: dict[str, bytes] = {}
        self.missing = 0
        self.virtual: list[tuple[str, str, int, int, list[str]]] = []


def read_pools(document: dict, units: dict[str, int]) -> tuple[str, list[Pool]]:
    memory = document["memory"]
    found = []
    for entry in memory["mempools"]:
        prop = entry["prop"]

        def amount(key: str, entry: dict = entry) -> int:
            return int(str(entry[key]["value"]), 0) * units[entry[key]["magnitude"]]

        preferred = prop.get("constants_preferred", prop.get("constantsPreferred", False)) in (True, "true")
        found.append(
            Pool(
                entry["fname"],
                entry.get("name", entry["fname"]),
                amount("offset"),
                amount("size"),
                prop["rights"],
                entry.get("fformat", "FORMAT_RAW"),
                entry.get("mode", ""),
                preferred,
                prop.get("throughput") == "HIGH",
            )
        )
    return memory.get("mem_file_prefix", memory.get("memFilePrefix", "atonbuf")), found


def stream(data: bytes, size: int) -> bytes:
    """Bytes that follow from the model's bytes."""
    blocks = -(-size // 32)
    return b"".join(hashlib.sha256(n.to_bytes(4, "little") + data).digest() for n in range(blocks))[:size]


def weight_sizes(data: bytes) -> list[int]:
    """Sizes that follow from the model's length alone: other weights of equal quantization give the same C."""
    total = 321 + min(len(data), 1 << 16) // 8
    first = total // 3 // 16 * 16
    return [first, total - first]


_DTYPE = {"int8": ("INT8", 8, True), "uint8": ("UINT8", 8, True), "float32": ("FLOAT", 32, False)}


def place(job, virtual: bool) -> Placed:
    placed = Placed()
    pools = [pool for pool in job.pools if pool.size]
    constant = [p for p in pools if p.preferred or not p.writable] or [p for p in pools if p.writable]
    writable = sorted((p for p in pools if p.writable), key=lambda pool: not pool.fast)
    if not writable:
        placed.missing = 4096
        return placed
    contents: dict[str, int] = {}
    for number, size in enumerate(weight_sizes(job.data)):
        order = [*constant, *writable]
        if job.failure == "spill" and number == 1:
            order = writable
        pool = next((p for p in order if p.used + size <= p.size), None)
        if pool is None:
            placed.missing += size
            continue
        start = -(-pool.used // 16) * 16
        shape = (size, 1, 1, 1)
        placed.rows.append(
            Row("param", f"w{number}", pool.fname, start, start + size, shape, shape, "L", "INT8", 8, True)
        )
        pool.used = start + size
        contents[pool.fname] = pool.used
    _activations(job, placed, writable)
    for pool in pools:
        if pool.fname in contents:
            # Of a pool that is written, too, the whole range in use.
            size = pool.used if pool.writable else contents[pool.fname]
            placed.raws[pool.fname] = stream(job.data + pool.fname.encode(), size)
    if virtual:
        _join(placed, pools)
    return placed


def _activations(job, placed: Placed, writable: list[Pool]) -> None:
    given = job.given
    first = given.get("--inputs-ch-position") == "chfirst"
    for kind, shape in (("input", (1, 8, 8, 3)), ("output", (1, 10))):
        dtype, bits, quantized = _DTYPE[given.get(f"--{kind}-data-type", "int8").split(",")[0]]
        size = bits // 8
        for extent in shape:
            size *= extent
        user = kind if f"--no-{kind}s-allocation" in given else ""
        letter = ("F" if first else "L") if kind == "input" else "U"
        memory = (1, 3, 8, 8) if letter == "F" else shape
        name = "Input_0_out_0" if kind == "input" else "Softmax_9_out_0"
        if user:
            placed.rows.append(Row(kind, name, "", 0, size, shape, memory, letter, dtype, bits, quantized, user))
            continue
        pool = next((p for p in writable if -(-p.used // 32) * 32 + size <= p.size), None)
        if pool is None:
            placed.missing += size
            return
        start = -(-pool.used // 32) * 32
        placed.rows.append(
            Row(kind, name, pool.fname, start, start + size, shape, memory, letter, dtype, bits, quantized)
        )
        pool.used = start + size
    if "--all-buffers-info" in job.options:
        pool = writable[0]
        start = -(-pool.used // 32) * 32
        if start + 1024 <= pool.size:
            shape = (1, 8, 8, 16)
            placed.rows.append(
                Row("internal", "Conv_2_out_0", pool.fname, start, start + 1024, shape, shape, "L", "INT8", 8, True)
            )
            pool.used = start + 1024


def _join(placed: Placed, pools: list[Pool]) -> None:
    """Pools that touch form another one."""
    ordered = sorted((pool for pool in pools if pool.writable and not pool.relative), key=lambda pool: pool.address)
    groups: list[list[Pool]] = []
    for pool in ordered:
        if groups and groups[-1][-1].address + groups[-1][-1].size == pool.address:
            groups[-1].append(pool)
        else:
            groups.append([pool])
    for group in groups:
        if len(group) > 1:
            names = [pool.fname for pool in group]
            size = group[-1].address + group[-1].size - group[0].address
            placed.virtual.append(("_".join(names), "_".join(p.name for p in group), group[0].address, size, names))
