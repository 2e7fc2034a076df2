#!/usr/bin/env python3
"""CPU time of inferences: compiled networks run natively, against LiteRT's reference kernels, in turns.

    python benchmarks/native_speed.py [--rounds N] [--seconds S] [MODEL.tflite ...]

Without models: every .tflite below models/. Exits with 1 if LiteRT is faster on one of them, or if outputs differ.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
for folder in ("site_scons", "models", "tests"):
    sys.path.insert(0, str(REPO / folder))

import numpy as np  # noqa: E402

import oracle  # noqa: E402
import vectors as golden  # noqa: E402
from neuralart.compilers.request import CompileRequest  # noqa: E402
from neuralart_reference.compile import compile_network, write  # noqa: E402
from support.host_c import native  # noqa: E402

MPOOL = REPO / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "stm32n6570-dk.mpool"
COLUMNS = "model", "million products", "LiteRT ms", "ours ms", "ratio", "lowest", "highest", "inferences per round"
SEED = 7
DRAWN = 10

Vectors = list[list[np.ndarray]]


@dataclass(frozen=True)
class Subject:
    """A model and the inputs that both sides get.

    Attributes:
        name: Of the model.
        macc: Products per inference.
        network: Ours.
        interpreter: LiteRT's.
        inputs: For each inference of a round its inputs.
    """

    name: str
    macc: int
    network: native.NativeNetwork
    interpreter: object
    inputs: Vectors


def litert(interpreter: object, inputs: Vectors) -> tuple[float, list[list[bytes]]]:
    """CPU seconds of the inferences alone, and the outputs: copying in and out is not measured."""
    made: object = interpreter
    places = [detail["index"] for detail in made.get_input_details()]  # type: ignore[attr-defined]
    results = [detail["index"] for detail in made.get_output_details()]  # type: ignore[attr-defined]
    seconds, outputs = 0.0, []
    for vector in inputs:
        for place, value in zip(places, vector, strict=True):
            made.set_tensor(place, value)  # type: ignore[attr-defined]
        before = time.process_time()
        made.invoke()  # type: ignore[attr-defined]
        seconds += time.process_time() - before
        outputs.append([made.get_tensor(each).tobytes() for each in results])  # type: ignore[attr-defined]
    return seconds, outputs


def ours(network: native.NativeNetwork, inputs: Vectors) -> tuple[float, list[list[bytes]]]:
    """CPU seconds of a whole process: its start, loading weights, and reading and writing tensors are measured too."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    outputs = network.run(inputs)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, [[value.tobytes() for value in one] for one in outputs]


def inputs_of(path: Path, interpreter: object) -> Vectors:
    """The golden inputs beside the model, or random ones."""
    if (path.parent / "vectors" / "vectors.json").is_file():
        return golden.read(path.parent / "vectors")[0]
    rng = np.random.default_rng(SEED)
    drawn: Vectors = []
    for _ in range(DRAWN):
        one = []
        for detail in interpreter.get_input_details():  # type: ignore[attr-defined]
            shape, dtype = detail["shape"], np.dtype(detail["dtype"])
            if dtype.kind == "f":
                one.append(rng.uniform(-1, 1, shape).astype(dtype))
            else:
                one.append(rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype))
        drawn.append(one)
    return drawn


def subjects(paths: list[Path], work: Path, seconds: float) -> list[Subject]:
    """Everything compiled and built, with as many inferences per round as LiteRT does in ``seconds``."""
    folders = []
    for number, path in enumerate(paths):
        folder = work / f"model{number}"
        write(compile_network(CompileRequest(path, MPOOL, name=f"model{number}", report=False)), folder)
        folders.append(folder)
    made = []
    for path, network in zip(paths, native.build(folders, work), strict=True):
        interpreter = oracle.interpreter(path)
        inputs = inputs_of(path, interpreter)
        litert(interpreter, inputs[:1])
        once, _ = litert(interpreter, inputs)
        repeat = max(1, round(seconds / max(once, 1e-6)))
        made.append(Subject(path.stem, network.facts.macc, network, interpreter, inputs * repeat))
    return made


def measure(subject: Subject, rounds: int) -> tuple[tuple[str, ...], float]:
    """A row of the table, and the median of the ratios."""
    taken: list[tuple[float, float]] = []
    sides: list[Callable[[], tuple[float, list[list[bytes]]]]] = [
        lambda: litert(subject.interpreter, subject.inputs),
        lambda: ours(subject.network, subject.inputs),
    ]
    for number in range(rounds):
        # Every other round begins with the other side.
        order = (0, 1) if number % 2 == 0 else (1, 0)
        got = {side: sides[side]() for side in order}
        if got[0][1] != got[1][1]:
            raise SystemExit(f"{subject.name}: the outputs are not those of LiteRT")
        taken.append((got[0][0], got[1][0]))
    ratios = [theirs / own for theirs, own in taken]
    count = len(subject.inputs)
    cells = (
        subject.name,
        f"{subject.macc / 1e6:.1f}",
        f"{statistics.median(theirs for theirs, _ in taken) / count * 1e3:.3f}",
        f"{statistics.median(own for _, own in taken) / count * 1e3:.3f}",
        f"{statistics.median(ratios):.2f}",
        f"{min(ratios):.2f}",
        f"{max(ratios):.2f}",
        str(count),
    )
    return cells, statistics.median(ratios)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of LiteRT per round and model")
    parser.add_argument("models", nargs="*", type=Path)
    given = parser.parse_args()
    if why := native.unavailable():
        raise SystemExit(why)
    rows = []
    with tempfile.TemporaryDirectory(prefix="neuralart-bench-") as work:
        paths = given.models or sorted((REPO / "models").rglob("*.tflite"))
        rows = [measure(subject, given.rounds) for subject in subjects(paths, Path(work), given.seconds)]
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    print(
        f"CPU time per inference, medians of {given.rounds} rounds in turns; ratio: LiteRT / ours. "
        f"{oracle.identity()}; {compiler}; {platform.system()} {platform.machine()}, {os.cpu_count()} cores.\n"
    )
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for cells, _ in rows:
        print("| " + " | ".join(cells) + " |")
    slowest = min(ratio for _, ratio in rows)
    print(f"\nlowest ratio {slowest:.2f}, limit 1.00")
    return 0 if slowest > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
