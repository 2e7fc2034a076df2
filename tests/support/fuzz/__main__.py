"""Runs cases of some kinds in this one process, and prints one JSON line for each kind.

python -m support.fuzz FOLDER FIRST COUNT [KIND ... | PART/PARTS]

A case is named by kind and number, and is the same each time: FIRST is its number, COUNT is 1. What went wrong is kept
in FOLDER. A process that dies leaves the case that killed it in FOLDER/now.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import sys
import time
import traceback
from pathlib import Path

from support.fuzz import judge, warm
from support.fuzz.kinds import KINDS

LONG = 10_000
"""From so many of each kind on, those that take long are not fewer than others."""


def _limit() -> None:
    """No case may take a gigabyte."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    most = pages * resource.getpagesize() + judge.MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run(kind: judge.Kind, folder: Path, first: int, count: int) -> judge.Fates:
    """Cases of a kind."""
    fates = judge.Fates()
    place = folder / kind.name
    place.mkdir(parents=True, exist_ok=True)
    kind.prepare(place)
    # A file that is not damaged is read: otherwise all cases would test one refusal.
    for good in kind.good:
        (place / (kind.file or kind.name)).write_bytes(good)
        try:
            kind.read(place / (kind.file or kind.name))
        except Exception:
            fates.wrong.append((-1, traceback.format_exc()))
    for seed in range(first, first + count):
        if (count < LONG or kind.again) and seed % kind.cost:
            continue
        (folder / "now").write_text(f"{kind.name} {seed}")
        faulthandler.dump_traceback_later(2 * judge.WAITING, exit=True)
        judge.case(kind, seed, place, fates)
        faulthandler.cancel_dump_traceback_later()
    return fates


def main() -> None:
    """Run what the command line says."""
    folder, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    _limit()
    warm.install()
    names = sys.argv[4:] or list(KINDS)
    if "/" in names[0]:
        part, parts = map(int, names[0].split("/"))
        names = list(KINDS)[part::parts]
    for name in names:
        began = time.process_time()
        fates = run(KINDS[name], folder, first, count)
        gc.collect()
        gc.freeze()  # what stays is not looked at again for each of a hundred kinds
        row = {"kind": name, "accepted": fates.accepted, "refused": fates.refused, "wrong": fates.wrong}
        print(json.dumps({**row, "seconds": round(time.process_time() - began, 1)}), flush=True)


if __name__ == "__main__":
    main()
