#!/usr/bin/env python3
"""From saving a model to bit-exact on the virtual board: `neuralart watch --run` against calls of SCons.

    python benchmarks/watch.py [--variant digits-n6] [--rounds 7] [--work FOLDER]

In a copy of this tree, the model is saved again with another byte behind its end in each round: everything that is made
of it is made anew, and the results stay. The time is taken from the rename of the file to the line that says how the
run ended: seconds of a clock, on a machine that should do nothing else. The same is done with a call of `scons`.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
MODEL = "models/digits/digits.tflite"
JOBS = f"-Qj{os.cpu_count() or 1}"


def save(top: Path, number: int) -> float:
    """Give the model another byte at its end; the time at which it has its name."""
    new = top / MODEL.replace("digits.tflite", ".new")
    new.write_bytes((REPO / MODEL).read_bytes() + bytes([number]))
    new.rename(top / MODEL)
    return time.monotonic()


def rounds(top: Path, count: int, first: int, answer: Callable[[], str]) -> list[float]:
    """Seconds of each round; every one must be bit-exact."""
    found = []
    for number in range(count):
        since = save(top, first + number)
        text = answer()
        found.append(time.monotonic() - since)
        if "bit-exact" not in text or "NETWORK" not in text:
            raise SystemExit(f"not built, or not bit-exact:\n{text}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", default="digits-n6")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--work", type=Path)
    args = parser.parse_args()
    top = Path(tempfile.mkdtemp(prefix="neuralart-watch-", dir=args.work))
    try:
        for name in ("site_scons", "firmware", "models"):
            shutil.copytree(REPO / name, top / name)
        for name in ("SConstruct", "variants.yaml"):
            shutil.copy2(REPO / name, top / name)
        env = {**os.environ, "PYTHONPATH": str(top / "site_scons"), "PYTHONUNBUFFERED": "1"}
        scons = [sys.executable, "-m", "SCons", JOBS, args.variant, f"run-{args.variant}"]

        def call() -> str:
            return subprocess.run(scons, cwd=top, env=env, check=True, capture_output=True, text=True).stdout

        call()
        words = [sys.executable, "-m", "neuralart", "watch", args.variant, "--run"]
        watcher = subprocess.Popen(words, cwd=top, env=env, stdout=subprocess.PIPE, text=True)

        def told() -> str:
            assert watcher.stdout is not None
            text = ""
            for line in watcher.stdout:
                text += line
                if line.startswith(("watch: good", "watch: failed")):
                    return text
            raise SystemExit(f"the watcher has ended:\n{text}")

        told()
        time.sleep(1)
        watched = rounds(top, args.rounds, 1, told)
        watcher.send_signal(signal.SIGINT)
        watcher.wait(30)
        called = rounds(top, args.rounds, 101, call)
    finally:
        shutil.rmtree(top)
    print(f"{args.variant}, {args.rounds} rounds, Python {platform.python_version()}, {os.cpu_count()} cores")
    print("| | median | best | worst |\n|---|---|---|---|")
    for name, times in (("neuralart watch --run", watched), ("scons", called)):
        print(f"| {name} | {statistics.median(times):.2f} s | {min(times):.2f} s | {max(times):.2f} s |")


if __name__ == "__main__":
    main()
