"""Compiler and linker say in one line what is wrong; all that they print is shown with VERBOSE=1."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import SCons.Errors

from neuralart.errors import NeuralArtError

_NM_SECONDS = 20


def _symbols(nm: str, files: Sequence[str], env: dict[str, str]) -> set[str]:
    """Names that objects and archives define; none if the program does not say."""
    from neuralart.applications.link_errors import symbols

    words = [nm, "--defined-only", "--extern-only", "--format=posix", *files]
    try:
        done = subprocess.run(
            words, env=env, capture_output=True, text=True, timeout=_NM_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return set()
    return symbols(done.stdout)


def _reason(words: Sequence[str], status: int, text: str, nm: str, env: dict[str, str]) -> NeuralArtError | None:
    """What to say of a command that printed something; None: it says enough itself, or nothing is wrong."""
    from neuralart.applications import link_errors

    if "-c" in words:
        return link_errors.of_compile(text) if status else None
    if not status:
        return link_errors.no_entry(text)

    def map_text() -> str:
        path = next((word.removeprefix("-Wl,-Map=") for word in words if word.startswith("-Wl,-Map=")), "")
        return Path(path).read_text("utf-8", "replace") if path and Path(path).is_file() else ""

    files = [word for word in words if word.endswith((".o", ".a")) and Path(word).is_file()]
    return link_errors.of_link(text, link_errors.ProgramFacts(lambda: _symbols(nm, files, env), map_text))


class WatchedTools:
    """What runs the commands of an environment (``SPAWN``), given that of its own.

    Attributes:
        captures: It prints what a compiler said by itself, when the compiler is done.
    """

    captures = True

    def __init__(self, made: Any, prefix: str) -> None:
        """Take over from an environment. ``prefix``: of the names of the tools that are watched."""
        self._plain, self._captured = made["SPAWN"], made["PSPAWN"]
        self._verbose = made["NEURALART_VERBOSE"]
        self._prefix = prefix

    def __call__(self, sh: str, escape: Any, cmd: str, args: list[str], env: dict[str, str]) -> int:
        """Run a command. SCons.Errors.BuildError: compiler or linker failed, in one line."""
        words = [word.strip("'\"") for word in args]
        if not words or words[0] not in (f"{self._prefix}gcc", f"{self._prefix}g++"):
            return int(self._plain(sh, escape, cmd, args, env))
        # What is printed is read: not in the language of the user.
        env = {**env, "LC_ALL": "C"}
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            status = int(self._captured(sh, escape, cmd, args, env, output, output))
            output.seek(0)
            text = output.read()
        reason = _reason(words, status, text, f"{self._prefix}nm", env) if text else None
        if text and (reason is None or self._verbose):
            sys.stderr.write(text)
            sys.stderr.flush()
        if reason is not None:
            raise SCons.Errors.BuildError(errstr=str(reason), status=status or 1, exitstatus=2)
        return status
