"""Two ``neuralart tool patch`` of one tree at the same time, many times; started as a program of its own.

    patch_pairs.py FOLDER FIRST COUNT

Each pair is two processes forked from this one (nothing is imported twice) that begin after random delays. Prints one
JSON line for each pair: what the two said, which version the tree has, and whether ``--restore`` brought it back.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from neuralart import cli
from neuralart_bring.patching import inplace
from support.boards.h747_app import FILES, App, FakeNetwork, FakePool

THREE = (FakePool("DTCMRAM", 18428, 1), FakePool("AXIRAM", 311996, 2), FakePool("SDRAM", 266256, 3))
MODES = ("crop", "padding")


def _sources(app: App) -> dict[str, bytes]:
    return {path: (app.root / path).read_bytes() for path in FILES}


def _words(app: App, mode: str) -> list[str]:
    return ["tool", "patch", str(app.folder), "--network", str(app.network), "--aspect-ratio", mode, "--in-place"]


def _forked(words: list[str], delay: float, said: Path) -> int:
    """Start a command in a process of its own."""
    child = os.fork()
    if child:
        return child
    status = 99
    try:
        time.sleep(delay)
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            status = cli.main(words)
        said.write_text(text.getvalue(), "utf-8")
    finally:
        os._exit(status)


def pair(folder: Path, number: int, versions: dict[str, dict[str, bytes]]) -> dict[str, object]:
    """One pair, on a tree of its own; every second on a tree that was patched before."""
    chance = random.Random(number)
    app = App(folder, FakeNetwork(THREE))
    if number % 2:
        inplace.patch(app.request("fit"))
    modes = MODES if chance.random() < 0.5 else MODES[::-1]
    said = [folder / f"said{n}" for n in range(2)]
    children = [
        _forked(_words(app, mode), chance.random() * 0.02, path) for mode, path in zip(modes, said, strict=True)
    ]
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    now = _sources(app)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as problems:
        restored = cli.main(["tool", "patch", str(app.folder), "--restore"])
    return {
        "ends": ends,
        "said": [path.read_text("utf-8") for path in said if path.exists()],
        "version": next((mode for mode, bytes_ in versions.items() if bytes_ == now), "a mixture"),
        "restored": restored == 0 and _sources(app) == versions["original"],
        "problems": problems.getvalue(),
        "left": sorted(path.name for path in app.root.iterdir() if path.name.startswith(".")),
    }


def main() -> None:
    """Run the pairs."""
    folder, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.fsync = lambda _file: None  # type: ignore[assignment]
    app = App(folder / "versions", FakeNetwork(THREE))
    versions = {"original": _sources(app)}
    for mode in MODES:
        inplace.patch(app.request(mode))
        versions[mode] = _sources(app)
    for number in range(first, first + count):
        place = folder / str(number)
        print(json.dumps(pair(place, number, versions)), flush=True)
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
