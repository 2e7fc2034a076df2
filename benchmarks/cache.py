#!/usr/bin/env python3
"""What a remote cache saves: a second checkout with an empty build folder and a full cache, beside a build without one.

    python benchmarks/cache.py [--n 10,50] [--work FOLDER]

For each N a tree is made with this project's sources and N variants of `models/digits`, each with a model of its own.
It is built three times from nothing, in three folders: without a cache, into an empty cache, out of a full one. The
cache is nginx with WebDAV where it is installed, else the server of the tests; both are on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from null_build import ENV, JOBS, REPO, SCONS, children_cpu, make_tree, say


@contextlib.contextmanager
def server(work: Path) -> Iterator[tuple[str, str]]:
    """Name and URL of an empty cache."""
    sys.path.insert(0, str(REPO / "tests"))
    from support.servers.cache_server import nginx, serving

    if shutil.which("nginx"):
        with nginx(work) as url:
            yield "nginx", url
    else:
        with serving() as running:
            yield "the server of the tests", running.url


def build(top: Path, names: list[str], url: str) -> tuple[float, float, str]:
    """Seconds, CPU seconds and output of a build from nothing."""
    make_tree(top, names)
    env = {**ENV, "PYTHONPATH": str(top / "site_scons"), "NEURALART_CACHE": url}
    began, cpu = time.monotonic(), children_cpu()
    done = subprocess.run([*SCONS, "-Q", JOBS], cwd=top, env=env, check=True, capture_output=True, text=True)
    return time.monotonic() - began, children_cpu() - cpu, done.stdout


def steps(text: str) -> dict[str, int]:
    """Compiles and links that ran, and steps that were found."""
    lines = [line.partition("] ")[2] for line in text.splitlines()]
    ran = [line for line in lines if line.startswith(("NETWORK ", "CC ", "LINK ", "AS ", "OBJCOPY "))]
    return {"programs": len(ran), "found": sum(line.startswith("CACHED ") for line in lines), "all": len(lines)}


def measure(n: int, work: Path) -> list[str]:
    names = [f"v{number:04d}" for number in range(n)]
    rows = []
    with server(work / "server") as (name, url):
        for title, place in (("no cache", "off"), (f"empty cache ({name})", url), (f"full cache ({name})", url)):
            say(f"N={n}: {title}")
            top = work / title.split()[0] / f"tree-{n}"
            wall, cpu, text = build(top, names, place)
            count = steps(text)
            made = [path for path in (top / "build").rglob("*") if path.is_file()]
            each = f"{cpu / len(made) * 1000:.1f}"
            rows.append(
                f"| {n} | {title} | {wall:.1f} | {cpu:.1f} | {len(made)} | {each} | "
                f"{count['programs']} | {count['found']} |"
            )
            print(next((line for line in text.splitlines() if line.startswith("cache ")), ""), file=sys.stderr)
        images = [
            (work / each / f"tree-{n}" / "build" / names[-1] / "firmware.bin").read_bytes() for each in ("no", "full")
        ]
        if images[0] != images[1]:
            raise SystemExit("the cache gave another image")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", default="10,50", help="numbers of variants (default: %(default)s)")
    parser.add_argument("--work", type=Path, help="folder for the trees (default: a temporary one)")
    arguments = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print(
        "| N | | s | CPU s | files | CPU ms per file | programs run | steps found |\n|---|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        for number in arguments.n.split(","):
            for row in measure(int(number), Path(folder) / number):
                print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
