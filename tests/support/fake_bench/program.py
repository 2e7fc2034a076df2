"""The made-up programs as programs: a script for each, and a file that keeps the bench between calls."""

from __future__ import annotations

import os
import pickle
import shlex
import stat
import sys
from pathlib import Path

from support.fake_bench.bench import Bench
from support.fake_bench.tools import TOOLS, answer
from support.projects.sconsproject import REPO

# No interpreter in the first line: the kernel takes no path with blanks there.
_SCRIPT = """#!/bin/sh
exec {words} "$@"
"""
_CODE = """import sys
sys.path[:0] = {path!r}
from support.fake_bench.program import main
main({tool!r}, {state!r})
"""


def install(folder: Path, bench: Bench, *tools: str) -> Path:
    """Write the programs into a folder, which is then put on PATH, and the state. Returns the file of the state."""
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / "bench.state"
    save(state, bench)
    path = [str(REPO / "tests"), str(REPO / "site_scons")]
    for tool in tools:
        file = folder / tool
        code = _CODE.format(path=path, tool=tool, state=str(state))
        file.write_text(_SCRIPT.format(words=shlex.join([sys.executable, "-IB", "-c", code])), "utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return state


def save(state: Path, bench: Bench) -> None:
    """Keep a bench."""
    state.write_bytes(pickle.dumps(bench))


def load(state: Path) -> Bench:
    """The bench as the last program left it."""
    bench = pickle.loads(state.read_bytes())
    assert isinstance(bench, Bench)
    return bench


def main(tool: str, state: str) -> None:
    """One call."""
    assert tool in TOOLS and not sys.stdin.read(1), "it has nothing to read from"
    bench = load(Path(state))
    done = answer(bench, [tool, *sys.argv[1:]], Path.cwd(), float("inf"))
    save(Path(state), bench)
    sys.stdout.buffer.write(done.text.encode("latin-1", "replace"))
    sys.stdout.flush()
    os._exit(done.status)
