"""Says whether a changed tree was answered and built rightly: as a clean build of the same sources in that folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from support.changes.rows import Row
from support.changes.tree import DATABASE, VARIANTS, Tree
from support.projects.machine_edits import Toolchain
from support.projects.sconsproject import Result, common, copy_small, once
from support.projects.torture import LONG

_SHOWN = 3


@dataclass(frozen=True)
class Verdict:
    """What became of a row.

    Attributes:
        door: What the front door did: ``up to date`` or ``asks``.
        result: What the build did, against the clean one.
        wrong: Why that is wrong; nothing: it is right.
        counted: Something was not as a clean build makes it before the build.
        output: What the build printed.
    """

    door: str
    result: str
    wrong: str
    counted: bool
    output: str

    def line(self, row: Row) -> str:
        """Of the table."""
        said = f"WRONG | {self.wrong}" if self.wrong else f"ok    | {self.result}"
        return f"{row.number:5} {row.title:75} | {self.door:10} | {said}"


def template(factory: pytest.TempPathFactory) -> Path:
    """A built tree that rows begin with copies of, in ``tree``; it is built once in a run."""

    def make(folder: Path) -> None:
        copy_small(folder / "tree", VARIANTS)
        Tree(folder, environment(factory, folder)).build()

    return once(factory, "changes", make)


def _linked(folder: Path) -> Path:
    """A folder with a link to each program of the toolchain."""
    if not folder.exists():
        folder.mkdir()
        for program in Path(shutil.which("arm-none-eabi-gcc") or "").parent.glob("arm-none-eabi-*"):
            (folder / program.name).symlink_to(program)
    return folder


def environment(factory: pytest.TempPathFactory, base: Path) -> dict[str, str]:
    """Of a shell that knows nothing but programs, a home and the compiler.

    Of the long run, the compiler is one that keeps its answers by what they depend on, for all trees of this run. Else
    it is the real one, in a folder of links: scons answers for it (:mod:`support.projects.compile_answers`), and
    starts a process where the other one starts six.
    """
    folder = common(factory) / "tools"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        tools = Toolchain(folder).folder if LONG else _linked(folder / "links")
    (base / "home").mkdir(parents=True, exist_ok=True)
    around = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
    return {**around, "HOME": str(base / "home"), "NEURALART_TOOLCHAIN": str(tools)}


def fresh(factory: pytest.TempPathFactory, base: Path) -> Tree:
    """A copy of the template, which has not been asked yet."""
    subprocess.run(["cp", "-a", template(factory) / "tree", base / "tree"], check=True)
    (base / "outside").mkdir()
    return Tree(base, environment(factory, base))


def judge(row: Row, tree: Tree, factory: pytest.TempPathFactory) -> Verdict:
    """Do what a row does, ask, build, and compare."""
    try:
        for _ in row.steps(tree):
            tree.build()
        answered = tree.ask()
        changed = tree.products()
        done = tree.scons()
        built = tree.products()
        code, clean = _clean(tree, common(factory) / "clean")
    finally:
        for end in tree.ends:
            end()
    return _verdict(row, answered, done, code, _differences(changed, clean), _differences(built, clean))


def _verdict(row: Row, answered: bool, done: Result, code: int, stale: list[str], left: list[str]) -> Verdict:
    door = "up to date" if answered else "asks"
    last = done.errors[-1] if done.errors else "without a word"
    wrong, result = [], "as clean"
    if answered and (code or stale):
        wrong.append(f"front door: up to date, {_named(stale) if not code else 'a clean build is refused'}")
    if "Traceback" in done.out + done.err:
        wrong.append(f"a traceback: {last}")
    elif done.code and not done.errors:
        wrong.append("it failed without a word")
    if done.code and code:
        result = f"both refuse: {last}"
    elif done.code and row.refusal and row.refusal in done.err:
        result = f"refused: {last}"
    elif done.code:
        wrong.append(f"refused: {last}")
    elif code:
        wrong.append("built, and a clean build is refused")
    elif left:
        wrong.append(f"built: {_named(left)}")
    return Verdict(door, result, "; ".join(wrong), bool(code or stale), done.out + done.err)


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{len(names)} differ: {', '.join(names[:_SHOWN])}{more}"


def _differences(found: dict[str, str], clean: dict[str, str]) -> list[str]:
    """What of a clean build is not so. What an earlier build has left, and no clean one makes, is nobody's."""
    return sorted(name for name in clean if found.get(name) != clean[name])


def _clean(tree: Tree, known: Path) -> tuple[int, dict[str, str]]:
    """Exit code and products of a build from scratch; rows with equal sources share it."""
    known.mkdir(exist_ok=True)
    path = known / f"{tree.identity()}.json"
    with FileLock(f"{path}.lock"):
        if path.exists() and not tree.alone:
            code, products = json.loads(path.read_bytes())
            return code, products
        tree.clear()
        done = tree.scons()
        assert "Traceback" not in done.out + done.err, f"the clean build:\n{done.out}{done.err}"
        answer = (done.code, tree.products() if done.code == 0 else {})
        assert (tree.root / DATABASE).exists() or done.code, "a build that remembers nothing"
        if not tree.alone:
            path.write_text(json.dumps(answer), "utf-8")
        return answer
