"""A run that waits for gdb, and gdb with a script."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from neuralart.resources import package_parent

PATIENCE = 60


def command(board: str, elf: Path, network: Path, vectors: Path, *more: str) -> list[str]:
    """``neuralart run --gdb`` of an image."""
    words = [sys.executable, "-m", "neuralart", "run", "--board", board, "--elf", str(elf), "--gdb", ":0"]
    return [*words, "--network", str(network), "--vectors", str(vectors), *more]


class Debugged:
    """A run that waits for a debugger, and what one said and what the run said."""

    def __init__(self, command: Sequence[str], cwd: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(package_parent())}
        self.cwd = cwd
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Tests that run in the background of a shell ignore SIGINT, and so their children.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("gdb: gdb-multiarch "), line + self.end()[2]
        self.call = shlex.split(line)[1:]

    def gdb(self, *script: str) -> str:
        """Type what the run said, and the lines of a script. Returns all that gdb said."""
        typed = [text for line in ("set pagination off", "set confirm off", *script) for text in ("-ex", line)]
        done = subprocess.run(
            [*self.call[:1], "-q", "-nx", "-batch", *self.call[1:], *typed],
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.stdout + done.stderr

    def end(self) -> tuple[int, str, str]:
        """Wait for the end of the run: status, standard output and errors."""
        out, error = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, error

    def kill(self) -> None:
        """End it, whatever state it is in."""
        if self.process.poll() is None:
            self.process.kill()
        with self.process:
            pass


def in_order(text: str, *parts: str) -> None:
    """They follow each other in a text."""
    at = 0
    for part in parts:
        assert part in text[at:], f"{part!r} is not in\n{text[at:]}"
        at = text.index(part, at) + len(part)
