#!/usr/bin/env python3
"""How much memory activations take, against the least that any placement could need.

    python benchmarks/planner.py [--board NAME ...] [MODEL.tflite | FOLDER ...]
    python benchmarks/planner.py --core [MODEL.tflite | FOLDER ...]

Without models: every .tflite below models/. What is measured is what the product does: the stock profile of the board
with its pools, or with ``--core`` a network for a core without an NPU (target stm32h7, one buffer). Columns: calls of
kernels; what is live at once if every tensor has a memory of its own; the least that any placement needs; what the
placement takes, in all and per pool; its ratio to the least; with ``--core`` what is published for the vendor's tool,
for files that are called as in the vendor's model zoo, what ``memory: smallest`` takes, and how many times the
multiply-accumulates that needs. Exits with 1 if a ratio is above 1.10.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "site_scons"))

from neuralart import boards  # noqa: E402
from neuralart.compilers.request import BorderOptions  # noqa: E402
from neuralart.errors import NeuralArtError  # noqa: E402
from neuralart.vendor import profile  # noqa: E402
from neuralart_reference import compile as npu  # noqa: E402
from neuralart_reference.cpu import compile as cpu  # noqa: E402
from neuralart_reference.lower import lower  # noqa: E402
from neuralart_reference.model.reader import read  # noqa: E402
from neuralart_reference.planning.lifetimes import blocks, live_bytes  # noqa: E402
from neuralart_reference.planning.planner import MemoryPlan  # noqa: E402

BOARDS = ("stm32n6570-dk", "mps3-an547")
LIMIT = 1.10
COLUMNS = "model", "board", "calls", "live apart", "least", "placed", "ratio", "pools", "seconds"
CORE_COLUMNS = "model", "KiB apart", "KiB at least", "KiB", "KiB published", "KiB smallest", "work"

PUBLISHED = {
    r"(?<!fd)mobilenet_?v1_(0\.|a0)25_224": 202,
    r"(?<!fd)mobilenet_?v1_(0\.5|a050)_224": 405,
    r"(?<!fd)mobilenet_?v1_(0\.|a0)25_96": 50,
    r"mobilenet_?v2_(0\.|a0)35_128": 225,
    r"mobilenet_?v2_(0\.|a0)35_224": 687,
    r"squeezenet_?v1_?\.?1_128": 242,
    r"squeezenet_?v1_?\.?1_224": 842,
    r"^fdmobilenet_(0\.|a0)25_224": 152,
    r"^fdmobilenet_(0\.|a0)25_128": 51,
    r"st_fdmobilenet_?v1_224": 207,
    r"st_fdmobilenet_?v1_128": 71,
    r"yolo_lc(_v1)?_192": 159,
    r"yolo_lc(_v1)?_224": 211,
    r"yolo_lc(_v1)?_256": 272,
    r"resnet_?(v1_)?8_32": 45,
    r"st_efficientnet_?lc_?v1_224": 393,
}
"""What the vendor's model zoo names for its tool 8.1 and the STM32H747, in KiB, by file name."""


@dataclass(frozen=True)
class Row:
    """A model on a board."""

    cells: tuple[str, ...]
    ratio: float


def files(given: Sequence[Path]) -> Iterator[Path]:
    """The models that are named, and those below the folders that are."""
    for path in given or [REPO / "models"]:
        yield from sorted(path.rglob("*.tflite")) if path.is_dir() else [path]


def reached(placed: MemoryPlan) -> tuple[int, str]:
    """Bytes that activations ever occupy, summed over the pools, and the same per pool."""
    used = [(pool.fname, pool.activations) for pool in placed.pools if pool.activations and not pool.parts]
    return sum(size for _, size in used), " ".join(f"{fname} {size}" for fname, size in used)


def apart(path: Path) -> tuple[int, int]:
    """Calls, and bytes that are live at once, if no tensor shares memory with another."""
    program = lower(read(path, path.name), BorderOptions())
    return len(program.calls), max(live_bytes(blocks(program), len(program.calls)), default=0)


def on_board(path: Path, board: str) -> Row:
    """A model with the stock profile of a board."""
    known = boards.load(board)
    stock = profile.read(Path(known.profile), "default")
    request = npu.CompileRequest(path, stock.mpool, target=known.target, profile_options=stock.options, report=False)
    calls, before = apart(path)
    start = time.process_time()
    placed = npu.compile_network(request).plan
    seconds = time.process_time() - start
    size, per_pool = reached(placed)
    ratio = size / placed.lower_bound if placed.lower_bound else 1.0
    numbers = (str(calls), str(before), str(placed.lower_bound), str(size), f"{ratio:.3f}")
    return Row((path.stem, board, *numbers, per_pool, f"{seconds:.2f}"), ratio)


def on_core(path: Path) -> Row:
    """A model for a core without an NPU, in one buffer."""
    result, smallest = (cpu.compile_network(cpu.CpuRequest(path, report=False, memory=m)) for m in ("", "smallest"))
    size, least = sum(result.cpu.activation_sizes), result.cpu.emission.plan.lower_bound
    striped = f"{sum(smallest.cpu.activation_sizes) / 1024:.1f}", f"{smallest.network.macc / result.network.macc:.2f}"
    known = next((str(kib) for pattern, kib in PUBLISHED.items() if re.search(pattern, path.stem)), "")
    kib = (f"{number / 1024:.1f}" for number in (apart(path)[1], least, size))
    return Row((path.stem, *kib, known, *striped), size / least if least else 1.0)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--board", action="append", help=f"default: {' and '.join(BOARDS)}")
    parser.add_argument("--core", action="store_true", help="for a core without an NPU")
    parser.add_argument("models", nargs="*", type=Path)
    given = parser.parse_args()
    rows = []
    for path in files(given.models):
        for board in ("",) if given.core else given.board or BOARDS:
            try:
                rows.append(on_board(path, board) if board else on_core(path))
            except NeuralArtError as error:
                print(f"{path.name}: left out: {error.what}", file=sys.stderr)
    columns = CORE_COLUMNS if given.core else COLUMNS
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row.cells) + " |")
    worst = max((row.ratio for row in rows), default=0.0)
    print(f"\nworst ratio {worst:.3f}, limit {LIMIT:.2f}")
    return 0 if rows and worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
