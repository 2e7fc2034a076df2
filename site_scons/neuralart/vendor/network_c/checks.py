"""Computes how much of its pools a network uses, and finds contradictions in network.c and with files beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from neuralart.text.c_source import Lines
from neuralart.vendor import releases
from neuralart.vendor.network_c.read import pool_of
from neuralart.vendor.network_c.types import BufferRow, GeneratedNetwork, Pool, Problem


def rows_by_pool(network: GeneratedNetwork) -> dict[str, list[BufferRow]]:
    """Group rows by the fname of their pool; rows without one under the empty name; the application's are left out."""
    found: dict[str, list[BufferRow]] = {pool.fname: [] for pool in network.pools}
    # Rows have few bases, and nearly all rows of a base lie in the same pool.
    usual: dict[tuple[str, int], tuple[int, int, str]] = {}
    for row in sorted(network.rows, key=lambda row: row.end):
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


def _room(row: BufferRow, pool: Pool) -> int:
    """The highest end of a row of that base in a pool."""
    return pool.address + pool.size - row.base if not row.symbol else 1 << 32


def extent(pool: Pool, rows: Iterable[BufferRow]) -> int:
    """The end of a pool's last row, as an offset."""
    return max((row.end + (0 if row.symbol else row.base - pool.address) for row in rows), default=0)


def used(pool: Pool, placed: Mapping[str, Sequence[BufferRow]], pools: Sequence[Pool]) -> int:
    """Bytes in use, as exactly as the file tells.

    What a declaration says is exact; the end of the last row is, if the rounded number of the comment agrees with it
    (tables without the intermediate buffers end before). Rows of a virtual pool reach into its parts, and those of
    its parts may be what ends it. ``placed`` has the rows of each pool by its fname.
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


def _reach(pool: Pool, rows: Iterable[BufferRow]) -> int:
    """How far rows of a related pool reach into a pool."""
    end = pool.address + pool.size
    ends = (min(row.base + row.end, end) for row in rows if row.base + row.start < end)
    return max(max(ends, default=0) - pool.address, 0)


def covered(rows: Iterable[BufferRow]) -> int:
    """Bytes that rows cover, each counted once."""
    total = reached = 0
    for start, end in sorted((row.base + row.start, row.base + row.end) for row in rows):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _guard(network: GeneratedNetwork) -> Iterator[Problem]:
    branch = network.banner.branch
    if network.runtime is None:
        yield Problem(network.where, "no guard on LL_ATON_VERSION_MAJOR, MINOR, MICRO and DEV", "no-guard")
        return
    asked, written = releases.of_runtime(network.runtime), releases.of_branch(branch)
    if asked is not None and branch and branch != asked.branch and (written or branch.startswith("STAI-")):
        yield Problem(
            network.where,
            f"the guard asks for runtime {network.runtime_text} (ST Edge AI Core {asked.core}), GIT_BRANCH is {branch}",
            "guard-branch",
        )
    front_end = network.banner.front_end
    usual = asked.habits.front_end if asked is not None else ""
    if asked is not None and front_end and front_end != usual:
        what = f"the model was exported as _OE_{front_end}, ST Edge AI Core {asked.core} writes _OE_{usual}"
        yield Problem(network.where, what, "front-end")


def _rows(network: GeneratedNetwork, placed: dict[str, list[BufferRow]]) -> Iterator[Problem]:
    lines = Lines(network.text)
    outside = sorted(placed.get("", ()), key=lambda row: row.offset) if network.pools else []
    if outside:
        row, base = outside[0], outside[0].symbol or f"0x{outside[0].base:08x}"
        more = f", nor do {len(outside) - 1} others" if len(outside) > 1 else ""
        what = f"buffer {row.name} ({base} + {row.start}..{row.end}) lies in no pool{more}"
        yield Problem(f"{network.where}:{lines.of(row.offset)}", what, "outside-pools")
    for pool in network.pools:
        end, (said, precision) = extent(pool, placed[pool.fname]), pool.told
        # Buffers in a part of a virtual pool count there, too; a pool without number is used through the virtual one.
        if said and not _joined(pool, network.pools) and end > said + precision:
            what = f"pool {pool.fname} has buffers up to byte {end}, its comment says that {said} bytes are in use"
            yield Problem(f"{network.where}:{lines.of(pool.offset)}", what, "pool-use")


def _joined(pool: Pool, pools: tuple[Pool, ...]) -> bool:
    """It shares its addresses with a virtual pool, or is one."""
    end = pool.address + pool.size
    return any(other.virtual and other.address < end and pool.address < other.address + other.size for other in pools)


def raw_files(network: GeneratedNetwork, path: Path, pool: Pool) -> list[Path]:
    """Initializers of a pool beside a network.c: ``<file>_<prefix>.<fname>.raw``."""
    # A folder may hold sets of several networks; only this one's begin with its name.
    try:
        beside = sorted(path.parent.iterdir())
    except OSError:
        return []
    head, tail = f"{path.stem}_", f".{pool.fname}.raw"
    return [other for other in beside if other.name.startswith(head) and other.name.endswith(tail) and other.is_file()]


def _beside(network: GeneratedNetwork, path: Path, placed: dict[str, list[BufferRow]]) -> Iterator[Problem]:
    if network.ecblobs and not (path.parent / network.ecblobs).is_file():
        yield Problem(network.where, f"it includes {network.ecblobs}, which is not beside it", "no-ecblobs")
    for pool in network.pools:
        weights = [row for row in placed[pool.fname] if row.is_param]
        for raw in raw_files(network, path, pool) if pool.said else ():
            try:
                size = raw.stat().st_size
            except OSError:
                continue
            said, precision = pool.told
            end = extent(pool, weights)
            if abs(size - said) > precision:
                what = f"{raw.name} has {size} bytes, pool {pool.fname} of {path.name} uses {said}"
            elif size < end:
                what = f"{raw.name} has {size} bytes, weights of pool {pool.fname} end at byte {end}"
            else:
                continue
            yield Problem(network.where, what + ": of another compile?", "raw-size")


def problems(
    network: GeneratedNetwork, path: Path | None = None, placed: dict[str, list[BufferRow]] | None = None
) -> tuple[Problem, ...]:
    """List contradictions, unreadable parts first. ``path``: to check files beside it; ``placed``: rows by pool."""
    placed = rows_by_pool(network) if placed is None else placed
    found = [*network.problems, *_guard(network), *_rows(network, placed)]
    if path is not None:
        found += _beside(network, path, placed)
    return tuple(found)
