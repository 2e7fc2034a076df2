"""Contradictions inside a network.c, and between it and the files beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from neuralart.text.c_source import Lines
from neuralart.vendor import releases
from neuralart.vendor.network_c.types import GeneratedNetwork, Pool, Problem, Row
from neuralart.vendor.network_c.usage import extent, rows_by_pool


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
        yield Problem(
            network.where,
            f"the model was exported as _OE_{front_end}, ST Edge AI Core {asked.core} writes _OE_{usual}",
            "front-end",
        )


def _rows(network: GeneratedNetwork, placed: dict[str, list[Row]]) -> Iterator[Problem]:
    lines = Lines(network.text)
    outside = sorted(placed.get("", ()), key=lambda row: row.offset) if network.pools else []
    if outside:
        row, base = outside[0], outside[0].symbol or f"0x{outside[0].base:08x}"
        more = f", nor do {len(outside) - 1} others" if len(outside) > 1 else ""
        yield Problem(
            f"{network.where}:{lines.of(row.offset)}",
            f"buffer {row.name} ({base} + {row.start}..{row.end}) lies in no pool{more}",
            "outside-pools",
        )
    for pool in network.pools:
        end, (said, precision) = extent(pool, placed[pool.fname]), pool.told
        # Buffers in a part of a virtual pool count there, too; a pool without number is used through the virtual one.
        if said and not _joined(pool, network.pools) and end > said + precision:
            yield Problem(
                f"{network.where}:{lines.of(pool.offset)}",
                f"pool {pool.fname} has buffers up to byte {end}, its comment says that {said} bytes are in use",
                "pool-use",
            )


def _joined(pool: Pool, pools: tuple[Pool, ...]) -> bool:
    """It shares its addresses with a virtual pool, or is one."""
    return any(
        other.virtual and other.address < pool.address + pool.size and pool.address < other.address + other.size
        for other in pools
    )


def raw_files(network: GeneratedNetwork, path: Path, pool: Pool) -> list[Path]:
    """Initializers of a pool beside a network.c: ``<file>_<prefix>.<fname>.raw``."""
    # A folder may hold sets of several networks; only this one's begin with its name.
    try:
        beside = sorted(path.parent.iterdir())
    except OSError:
        return []
    return [
        other
        for other in beside
        if other.name.startswith(f"{path.stem}_") and other.name.endswith(f".{pool.fname}.raw") and other.is_file()
    ]


def _beside(network: GeneratedNetwork, path: Path, placed: dict[str, list[Row]]) -> Iterator[Problem]:
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
    network: GeneratedNetwork, path: Path | None = None, placed: dict[str, list[Row]] | None = None
) -> tuple[Problem, ...]:
    """All of them, what could not be read first.

    Args:
        network: What was read.
        path: Its file, if the files beside it are to be looked at.
        placed: Its rows by pool, if they are known already.
    """
    placed = rows_by_pool(network) if placed is None else placed
    found = [*network.problems, *_guard(network), *_rows(network, placed)]
    if path is not None:
        found += _beside(network, path, placed)
    return tuple(found)
