#!/usr/bin/env python3
"""CPU time of `neuralart inspect --json` for sixty generated networks of about 2 MB.

    python benchmarks/inspect_networks.py [--rounds N]

Exits with 1 above 3 s.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO / "site_scons"), str(REPO / "tests"), str(REPO / "models")]

from support.models import vendor_network_c  # noqa: E402

LIMIT_SECONDS = 3.0
NETWORKS = 60

# A process of its own runs the command and asks what it took: what this one did does not count.
CHILD = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(status)
"""


def measure(files: list[Path]) -> tuple[float, float]:
    """CPU seconds and megabytes of one call with all files."""
    words = [sys.executable, "-c", CHILD, sys.executable, "-m", "neuralart", "inspect", "--json", *map(str, files)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(REPO / "site_scons")}
    )
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often (default 3); the median counts")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"network_{number}.c" for number in range(NETWORKS)]
        made = [vendor_network_c.large(number) for number in range(6)]
        for number, path in enumerate(files):
            path.write_bytes(made[number % len(made)])
        size = sum(path.stat().st_size for path in files) / 1e6
        results = [measure(files) for _ in range(rounds)]
    seconds, megabytes = statistics.median(result[0] for result in results), max(result[1] for result in results)
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}")
    print(f"{NETWORKS} networks, {size:.0f} MB: {seconds:.2f} s CPU, {megabytes:.0f} MB (limit {LIMIT_SECONDS} s)")
    return int(seconds > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
