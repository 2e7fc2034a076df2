"""The comments of network.c that name the pools: tools read addresses, sizes and rights from them."""

from __future__ import annotations

from neuralart.compilers.reference.emit.ctext import in_comment, kilobytes
from neuralart.compilers.reference.emit.emission import Emission, score
from neuralart.network.pools import MemoryPool
from neuralart.network.relative import symbol


def _lines(index: int, pool: MemoryPool, fname: str, name: str, size: int, used: int, *, virtual: bool) -> list[str]:
    words = [
        f"index={index}",
        f"file postfix={fname}",
        f"name={in_comment(name)}",
        f"offset=0x{pool.address:08x} ",
        "relative_mode" if pool.mode == "USEMODE_RELATIVE" else "absolute_mode",
        f"size={size}",
        *(["vpool"] if virtual else []),
        "READ_WRITE" if pool.writable else "READ_ONLY",
        f"THROUGHPUT={pool.throughput}",
        f"LATENCY={pool.latency}",
        f"byte width={pool.byte_width}",
        f"freq ratio={pool.freq_ratio:g}",
        "burst max length=MAXINT",
        "burst penalty=0",
        "pipelined=ON",
        f"cacheable={'ON' if pool.cacheable else 'OFF'}",
        f"read_power={pool.read_power:g}",
        f"write_power={pool.write_power:g}",
        f"use4initializers={'YES' if pool.constants_preferred or not pool.writable else 'NO'}",
        f"score={score(pool)} ",
    ]
    return [f"/* global pool {index} is {kilobytes(used) if used else '?'} */", f"/* {' '.join(words)} */"]


def pool_comments(emission: Emission) -> str:
    """Two lines per pool: those in use order, virtual ones, disabled ones (size 0).

    The symbol of its base stands behind an enabled relative pool: tools count the two.
    """
    lines: list[str] = []
    index = 0
    for plan in emission.plan.pools:
        virtual = bool(plan.parts)
        lines += _lines(index, plan.pool, plan.fname, plan.name, plan.size, plan.used, virtual=virtual)
        if plan.pool.relative:
            name = symbol(plan.fname, emission.name)
            lines.append(f"extern unsigned char {name}[]; /* {kilobytes(plan.used) if plan.used else '?'} */")
        index += 1
    for pool in emission.disabled():
        lines += _lines(index, pool, pool.fname, pool.name, 0, 0, virtual=False)
        index += 1
    return "\n".join(lines) + "\n"
