#!/usr/bin/env python3
"""How long a new relocatable model takes after new weights or new network code, against compiling everything.

    python benchmarks/relocatable.py [--rounds 9] [--models digits,mobilenet] [--work FOLDER] [--keep] [--command]

A repository with one `env.NetworkRel` is built for each model. In every round each case changes something and calls
`scons`; the order is rotated from round to round. Figures are CPU seconds (user and system, of SCons and all that it
starts) as medians, and the ratio to compiling everything as the median of the ratios within the rounds. With
--command it is `neuralart relocatable build` alone: of the models, and of a network for the made-up pack of the tests.
See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "site_scons"))

from neuralart_reference.model import tflite  # noqa: E402

BOARD = "stm32n6570-dk"
POOLS = REPO / "site_scons" / "neuralart" / "boards" / "data" / "pools" / f"{BOARD}-relocatable.mpool"
SCONS = [sys.executable, "-m", "SCons", "-Q", "-s"]
SCONSTRUCT = """\
env = Environment(tools=[])
env.Tool("neuralart", toolpath=["site_scons"])
net = env.Network("{name}", model="{name}.tflite", board="{board}", mpool="pools.mpool")
Default(env.NetworkRel(net).image)
"""
EVERYTHING = "everything: nothing is built"
# As users have it: what Python has compiled stays compiled.
ENV = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}


PACK = "made-up pack"
COMMAND = [sys.executable, "-m", "neuralart"]
COMMAND_ENV = {**ENV, "PYTHONPATH": str(REPO / "site_scons")}


def cpu_seconds(line: list[str], folder: Path, env: dict[str, str]) -> float:
    """Of a command and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(line, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@dataclass
class Tree:
    """A repository with one relocatable model, and the ways to change it."""

    top: Path
    name: str
    weight: int
    changes: int = 0

    @property
    def store(self) -> Path:
        return self.top / "build" / "relocatable" / "objects"

    def new_weights(self) -> None:
        """Equal quantization, so that the network's code stays."""
        path = self.top / f"{self.name}.tflite"
        data = bytearray(path.read_bytes())
        self.changes += 1
        data[self.weight] = (data[self.weight] + 1) & 0xFF
        path.write_bytes(data)

    def new_code(self) -> None:
        """A figure that stands in a comment of network.c: the network's object is another one, pools stay."""
        path = self.top / "pools.mpool"
        self.changes += 1
        text = re.sub(r'"read_power": 18\.\d+', f'"read_power": 18.{500 + self.changes}', path.read_text("utf-8"))
        path.write_text(text, "utf-8")

    def forget_objects(self) -> None:
        shutil.rmtree(self.store)

    def forget_all(self) -> None:
        shutil.rmtree(self.top / "build")
        (self.top / ".sconsign.dblite").unlink()

    def image(self) -> bytes:
        (path,) = self.top.glob(f"build/relocatable/*/{self.name}_rel.bin")
        return path.read_bytes()

    def build(self) -> float:
        """CPU seconds of a build."""
        return cpu_seconds(SCONS, self.top, ENV)


def make_tree(work: Path, name: str) -> Tree:
    top = work / name
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in ("site_scons", "firmware"):
        shutil.copytree(REPO / folder, top / folder, ignore=ignore)
    shutil.copy2(POOLS, top / "pools.mpool")
    model = REPO / "models" / name / f"{name}.tflite"
    shutil.copy2(model, top / model.name)
    (top / "SConstruct").write_text(SCONSTRUCT.format(name=name, board=BOARD), "utf-8")
    constants = [t.data for t in tflite.read(model).tensors if t.data and t.dtype == "int8"]
    largest = max(constants, key=len)
    return Tree(top, name, model.read_bytes().index(largest) + len(largest) // 2)


def compiled(tree: Tree, before: dict[Path, int]) -> int:
    """Objects that are new in the store."""
    now = {path: path.stat().st_mtime_ns for path in tree.store.glob("*.o")}
    return sum(1 for path, time in now.items() if before.get(path) != time)


def cases(tree: Tree) -> dict[str, Callable[[], None]]:
    def cold(change: Callable[[], None]) -> Callable[[], None]:
        def both() -> None:
            change()
            tree.forget_objects()

        return both

    return {
        EVERYTHING: tree.forget_all,
        "new network code, no object remembered": cold(tree.new_code),
        "new network code": tree.new_code,
        "new weights, no object remembered": cold(tree.new_weights),
        "new weights": tree.new_weights,
        "nothing": lambda: None,
    }


def measure(tree: Tree, rounds: int) -> list[list[str]]:
    tree.build()
    todo = cases(tree)
    names = list(todo)
    spent: dict[str, list[float]] = {name: [] for name in names}
    objects: dict[str, int] = {}
    for number in range(rounds):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            image = tree.image()
            todo[name]()
            known = {path: path.stat().st_mtime_ns for path in tree.store.glob("*.o")}
            spent[name].append(tree.build())
            objects[name] = compiled(tree, known)
            if (tree.image() == image) == ("weights" in name):
                raise SystemExit(f"{tree.name}, {name}: the image is {'the same' if 'weights' in name else 'another'}")
    rows = []
    for name in names:
        ratios = [all_ / one for all_, one in zip(spent[EVERYTHING], spent[name], strict=True)]
        rows.append(
            [
                tree.name,
                name,
                str(objects[name]),
                f"{statistics.median(spent[name]):.2f}",
                f"{statistics.median(ratios):.1f}",
            ]
        )
    return rows


def made(work: Path, name: str) -> list[str]:
    """A network in a folder, and words of the command for it. ``made-up pack``: one for that runtime."""
    folder = work / name / "network"
    if name == PACK:
        sys.path.insert(0, str(REPO / "tests"))
        from support.relocatable import fake_pack

        fake_pack.network(folder, raw=bytes(range(250)) * 4000)
        return ["-i", str(folder), "--pack-dir", str(fake_pack.make(work / name / "pack"))]
    model = REPO / "models" / name / f"{name}.tflite"
    words = ["-m", str(model), "--target", "stm32n6", "-n", name, "--st-neural-art", "profile-relocatable", "--quiet"]
    subprocess.run([*COMMAND, "compile", *words, "-o", str(folder)], check=True, env=COMMAND_ENV)
    (folder / "manifest.json").unlink()  # it holds the hashes of the weights that are changed here
    return ["-i", str(folder)]


def measure_command(work: Path, name: str, rounds: int) -> list[list[str]]:
    """CPU seconds of the command: after nothing, and after new weights."""
    words, out = made(work, name), work / name / "out"
    (raw,) = (work / name / "network").glob("*.xSPI2.raw")
    line = [*COMMAND, "relocatable", "build", "-v", "0", *words, "-o", str(out)]
    spent: dict[str, list[float]] = {EVERYTHING: [], "new weights": []}
    for number in range(rounds):
        for case, figures in spent.items():
            if case == EVERYTHING:
                shutil.rmtree(out, ignore_errors=True)
            else:
                data = bytearray(raw.read_bytes())
                data[len(data) // 2] = number
                raw.write_bytes(data)
            figures.append(cpu_seconds(line, work, COMMAND_ENV))
    full = spent[EVERYTHING]
    return [
        [
            name,
            case,
            f"{statistics.median(figures):.2f}",
            f"{statistics.median(a / b for a, b in zip(full, figures, strict=True)):.1f}",
        ]
        for case, figures in spent.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--models", default="digits,mobilenet", help="of this repository, with commas")
    parser.add_argument("--work", type=Path, help="an empty folder to work in; default: a temporary one")
    parser.add_argument("--keep", action="store_true", help="leave the trees there")
    parser.add_argument("--command", action="store_true", help="neuralart relocatable build alone, without SCons")
    args = parser.parse_args()
    work = args.work or Path(tempfile.mkdtemp(prefix="neuralart-bench-"))
    work.mkdir(parents=True, exist_ok=True)
    if any(work.iterdir()):
        parser.error(f"{work} is not empty")
    try:
        rows = []
        for name in [*args.models.split(","), *([PACK] if args.command else [])]:
            print(f"{name}: {args.rounds} rounds", file=sys.stderr, flush=True)
            one = measure_command(work, name, args.rounds) if args.command else None
            rows += measure(make_tree(work, name), args.rounds) if one is None else one
    finally:
        if not args.keep:
            shutil.rmtree(work)
    gcc = subprocess.run(["arm-none-eabi-gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
    print(
        f"CPU seconds, medians of {args.rounds} rounds in turns; arm-none-eabi-gcc {gcc.strip()}, Python "
        f"{platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores.\n"
    )
    head = ["model", "changed", *([] if args.command else ["objects compiled"]), "CPU s", "everything / this"]
    print("\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
