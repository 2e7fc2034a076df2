"""What compilers and linkers print is shown whole, as editors find it; what is wrong and what to do, in one line."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

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
        path = next((word.removeprefix("-Map=") for word in words if word.startswith("-Map=")), "")
        return Path(path).read_text("utf-8", "replace") if path and Path(path).is_file() else ""

    files = [word for word in words if word.endswith((".o", ".a")) and Path(word).is_file()]
    return link_errors.of_link(text, link_errors.ProgramFacts(lambda: _symbols(nm, files, env), map_text))


def run_watched(words: list[str], captured: Callable[[TextIO], int], nm: str, env: dict[str, str]) -> int:
    """Run a compiler or linker, whose output ``captured`` writes to a file. SCons.Errors.BuildError: it failed; one
    line says why.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        status = captured(output)
        output.seek(0)
        text = output.read()
    reason = _reason(words, status, text, nm, env) if text else None
    if text:
        sys.stderr.write(text)
        sys.stderr.flush()
    if reason is not None:
        raise SCons.Errors.BuildError(errstr=str(reason), status=status or 1, exitstatus=2)
    return status
