#!/usr/bin/env python3
"""How much memory activations take, against the least that any placement could need.

    python benchmarks/planner.py [--board NAME ...] [MODEL.tflite ...]

Without models: every .tflite below models/. Columns: calls and copies before and after tensors share memory; the
largest sum of tensors that are live at once, without and with sharing (the second is the lower bound of the placement);
what the placement reaches, in all and per pool; its ratio to the bound. Exits with 1 if a ratio is above 1.10.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "site_scons"))

from neuralart.compilers.reference.ir import BorderOptions, Program  # noqa: E402
from neuralart.compilers.reference.lower import lower  # noqa: E402
from neuralart.compilers.reference.planning.lifetimes import blocks, live_bytes  # noqa: E402
from neuralart.compilers.reference.planning.planner import MemoryPlan, plan  # noqa: E402
from neuralart.compilers.reference.planning.sharing import share  # noqa: E402
from neuralart.errors import NeuralArtError  # noqa: E402
from neuralart.model.tflite import read  # noqa: E402
from neuralart.vendor import mpool  # noqa: E402

BOARDS = ("stm32n6570-dk", "mps3-an547")
POOLS = REPO / "site_scons" / "neuralart" / "boards" / "data" / "pools"
LIMIT = 1.10
COLUMNS = "model", "board", "calls", "copies", "live apart", "live shared", "placed", "ratio", "pools", "seconds"


@dataclass(frozen=True)
class Row:
    """A model on a board."""

    cells: tuple[str, ...]
    ratio: float


def peak(program: Program) -> int:
    """Largest sum of blocks that are live at once."""
    return max(live_bytes(blocks(program), len(program.calls)), default=0)


def reached(placed: MemoryPlan) -> tuple[int, str]:
    """Bytes from the first to the last one that activations occupy, summed over the pools, and the same per pool."""
    ends = []
    for pool in placed.pools:
        spans = [
            (placed.tensors[b.key[1]] if b.key[0] == "tensor" else placed.scratch[b.key[1]], b) for b in placed.blocks
        ]
        inside = [(at, at + block.size) for at, block in spans if pool.address <= at < pool.address + pool.size]
        if inside and not pool.parts:
            ends.append((pool.fname, max(end for _, end in inside) - min(at for at, _ in inside)))
    return sum(size for _, size in ends), " ".join(f"{fname} {size}" for fname, size in ends)


def measure(path: Path, board: str) -> Row:
    """Lower, share and place a model."""
    model = read(path, path.name)
    program = lower(model, BorderOptions())
    pools = mpool.read(POOLS / f"{board}.mpool", f"{board}.mpool")
    start = time.process_time()
    shared = share(program, inputs_writable=True)
    try:
        placed = plan(shared, pools)
    except NeuralArtError:
        placed = plan(shared, pools, virtual=True)
    seconds = time.process_time() - start
    size, per_pool = reached(placed)
    copies = [sum(call.kernel == "na_copy_8" for call in each.calls) for each in (program, shared)]
    ratio = size / placed.lower_bound if placed.lower_bound else 1.0
    cells = (
        path.stem,
        board,
        f"{len(program.calls)} -> {len(shared.calls)}",
        f"{copies[0]} -> {copies[1]}",
        str(peak(program)),
        str(placed.lower_bound),
        str(size),
        f"{ratio:.3f}",
        per_pool,
        f"{seconds:.2f}",
    )
    return Row(cells, ratio)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--board", action="append", help=f"default: {' and '.join(BOARDS)}")
    parser.add_argument("models", nargs="*", type=Path)
    given = parser.parse_args()
    rows = []
    for path in given.models or sorted((REPO / "models").rglob("*.tflite")):
        for board in given.board or BOARDS:
            try:
                rows.append(measure(path, board))
            except NeuralArtError as error:
                print(f"{path.name}: left out: {error}", file=sys.stderr)
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for row in rows:
        print("| " + " | ".join(row.cells) + " |")
    worst = max((row.ratio for row in rows), default=0.0)
    print(f"\nworst ratio {worst:.3f}, limit {LIMIT:.2f}")
    return 0 if rows and worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
