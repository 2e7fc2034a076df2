"""How much of its pools a network uses, from all that its files say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from neuralart.vendor.network_c.ports import pool_of
from neuralart.vendor.network_c.types import GeneratedNetwork, Pool, Row


def rows_by_pool(network: GeneratedNetwork) -> dict[str, list[Row]]:
    """Rows of each pool by its fname; those that fit no pool under the empty name, the application's nowhere."""
    found: dict[str, list[Row]] = {pool.fname: [] for pool in network.pools}
    # Rows have few bases, and nearly all rows of a base lie in the same pool.
    usual: dict[tuple[str, int], tuple[int, int, str]] = {}
    for row in sorted(network.rows, key=_end):
        if row.user_allocated:
            continue
        low, high, fname = usual.get((row.symbol, row.base), (1, 0, ""))
        if not low <= row.end <= high:
            pool = pool_of(row, network.pools, network.name)
            fname = pool.fname if pool is not None else ""
            # What ends before another row's end fits where that one fits, as the smallest pool that does.
            usual[row.symbol, row.base] = (row.end, row.end if pool is None else _room(row, pool), fname)
        found.setdefault(fname, []).append(row)
    return found


def _end(row: Row) -> int:
    return row.end


def _room(row: Row, pool: Pool) -> int:
    """The highest end of a row of that base in a pool."""
    return pool.address + pool.size - row.base if not row.symbol else 1 << 32


def extent(pool: Pool, rows: Iterable[Row]) -> int:
    """The highest offset in a pool behind one of its rows."""
    return max((row.end + (0 if row.symbol else row.base - pool.address) for row in rows), default=0)


def used(pool: Pool, placed: Mapping[str, Sequence[Row]], pools: Sequence[Pool]) -> int:
    """Bytes in use, as exactly as the file tells.

    What a declaration says is exact; the end of the last row is, if the rounded number of the comment agrees with it
    (tables without the intermediate buffers end before). Rows of a virtual pool reach into its parts, and those of
    its parts may be what ends it.

    Args:
        pool: The pool.
        placed: Rows of each pool by its fname.
        pools: All pools.
    """
    if pool.exact is not None:
        return pool.exact
    own = extent(pool, placed[pool.fname])
    ends = [own, *sorted((_reach(pool, placed[other.fname]) for other in pools if _related(pool, other)), reverse=True)]
    return next((end for end in ends if abs(end - pool.said) <= pool.precision), pool.said)


def _related(pool: Pool, other: Pool) -> bool:
    """One of them is virtual, and the other a part of it."""
    if pool.virtual == other.virtual:
        return False
    whole, part = (pool, other) if pool.virtual else (other, pool)
    # A relative pool has no address of its own: the one it shows is a proposal.
    if part.relative or part.of_user or not part.size:
        return False
    return whole.address <= part.address and part.address + part.size <= whole.address + whole.size


def _reach(pool: Pool, rows: Iterable[Row]) -> int:
    """How far rows of a related pool reach into a pool."""
    end = pool.address + pool.size
    ends = (min(row.base + row.end, end) for row in rows if row.base + row.start < end)
    return max(max(ends, default=0) - pool.address, 0)


def covered(rows: Iterable[Row]) -> int:
    """Bytes that rows cover, each counted once."""
    total = reached = 0
    for start, end in sorted((row.base + row.start, row.base + row.end) for row in rows):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
