"""Ask a program for its version: once, with a time limit."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

from neuralart import jsontext
from neuralart.compilers.stedgeai.places import CORE_DIR, home_of
from neuralart.compilers.stedgeai.version import parse
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.vendor.core_version import CoreVersion, parse_core

PATIENCE = "NEURALART_STEDGEAI_PATIENCE"
CACHE_DIR = "NEURALART_CACHE_DIR"
_SECONDS = 120.0
# The tool carries a Python of its own: what is meant for ours would mislead it.
_NOT_FOR_IT = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")


def child_environment(environ: Mapping[str, str], root: Path | None) -> dict[str, str]:
    """The environment of the tool: the user's, and where it is installed."""
    child = {name: value for name, value in environ.items() if name not in _NOT_FOR_IT}
    if root is not None:
        child[CORE_DIR] = str(root)
    return child


def default_cache(environ: Mapping[str, str], system: str) -> Path | None:
    """The file that remembers versions between builds; None where the user has no folder for such."""
    folder = environ.get(CACHE_DIR, "")
    if folder:
        return Path(folder) / "stedgeai.json"
    home = home_of(environ, system)
    if system == "win32":
        base = Path(environ["LOCALAPPDATA"]) if environ.get("LOCALAPPDATA") else None
    elif system == "darwin":
        base = home / "Library" / "Caches" if home is not None else None
    else:
        given = environ.get("XDG_CACHE_HOME", "")
        base = Path(given) if given else home / ".cache" if home is not None else None
    return base / "scons-neuralart" / "stedgeai.json" if base is not None else None


def _patience(environ: Mapping[str, str]) -> float:
    text = environ.get(PATIENCE, "")
    try:
        seconds = float(text) if text else _SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e6:
        raise NeuralArtError(f"'{text}' is no number of seconds", where=PATIENCE)
    return seconds


def ask(program: Path, root: Path | None, environ: Mapping[str, str]) -> CoreVersion:
    """Start the program and read its answer.

    Raises:
        NeuralArtError: It cannot be started, does not answer in time, or not with a version.
    """
    import subprocess

    seconds = _patience(environ)
    try:
        done = subprocess.run(
            [str(program), "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=child_environment(environ, root),
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NeuralArtError(
            f"does not answer '--version' within {seconds:g} seconds",
            where=str(program),
            hint=f"the first start of a new installation is slow: run it once by hand, or set {PATIENCE}",
        ) from error
    except OSError as error:
        raise NeuralArtError(f"cannot be started: {error.strerror}", where=str(program)) from error
    return parse(done.stdout.decode("utf-8", "replace"), str(program))


def _remembered(cache: Path | None) -> dict[str, str]:
    """What the cache knows; a damaged one knows nothing."""
    if cache is None:
        return {}
    try:
        known = jsontext.loads(cache.read_bytes())
        return {str(key): answer for key, answer in known.items() if isinstance(answer, str)}
    except (OSError, ValueError, AttributeError):
        return {}


def version_of(program: Path, root: Path | None, environ: Mapping[str, str], cache: Path | None) -> CoreVersion:
    """The version of a program; starting it takes seconds, so it is remembered until the file changes.

    Args:
        program: The program.
        root: Its installation.
        environ: Of the process.
        cache: File to remember it in; None: nowhere. One that cannot be written is left alone.

    Raises:
        NeuralArtError: As :func:`ask`.
    """
    stat = program.stat()
    key = f"{program}|{stat.st_size}|{stat.st_mtime_ns}"
    known = _remembered(cache)
    found = parse_core(known.get(key, ""))
    if found is not None:
        return found
    answer = ask(program, root, environ)
    if cache is not None:
        kept = {k: v for k, v in known.items() if (file := k.split("|")[0]) != str(program) and Path(file).is_file()}
        with contextlib.suppress(NeuralArtError):  # it is only asked again
            write_text(cache, json.dumps({**kept, key: answer.text}, indent=1, sort_keys=True) + "\n")
    return answer
