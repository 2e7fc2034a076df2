#!/usr/bin/env python3
"""From saving a model to bit-exact on the virtual board: `neuralart watch --run` against calls of SCons.

    python benchmarks/watch.py [--variant digits-n6] [--rounds 7] [--work FOLDER]

In a copy of this tree, the model is saved again with another byte behind its end in each round: everything that is made
of it is made anew, and the results stay. The time is taken from the rename of the file to the line that says how the
run ended: seconds of a clock, on a machine that should do nothing else, and CPU seconds of all processes, which other
work disturbs little. The same is done with a call of `scons`. It reads /proc, so it needs Linux.
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


def used(pid: int) -> float:
    """CPU seconds of a process, of all that it has waited for, and of its processes that live."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    alive = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    return own + (sum(map(used, map(int, alive))) if pid != os.getpid() else 0)


def rounds(top: Path, count: int, first: int, answer: Callable[[], str], pid: int) -> list[tuple[float, float]]:
    """Seconds, and CPU seconds, of each round; every one must be bit-exact. ``pid``: whose children do the work."""
    found = []
    for number in range(count):
        before, since = used(pid), save(top, first + number)
        text = answer()
        found.append((time.monotonic() - since, used(pid) - before))
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
        watched = rounds(top, args.rounds, 1, told, watcher.pid)
        watcher.send_signal(signal.SIGINT)
        watcher.wait(30)
        called = rounds(top, args.rounds, 101, call, os.getpid())
    finally:
        shutil.rmtree(top)
    print(f"{args.variant}, {args.rounds} rounds, Python {platform.python_version()}, {os.cpu_count()} cores")
    print("| | median | best | worst | CPU, median |\n|---|---|---|---|---|")
    for name, pairs in (("neuralart watch --run", watched), ("scons", called)):
        times, cpu = zip(*pairs, strict=True)
        row = [statistics.median(times), min(times), max(times), statistics.median(cpu)]
        print(f"| {name} | {' | '.join(f'{each:.2f} s' for each in row)} |")


if __name__ == "__main__":
    main()
