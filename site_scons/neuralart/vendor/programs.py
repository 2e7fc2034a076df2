"""Finds programs of others, asks for their versions, and compares these with wanted ranges."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.errors import NeuralArtError

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_NUMBERS = re.compile(r"\d{1,18}(?:\.\d{1,18})*", re.ASCII)
_MOST = 1 << 16
# What is meant for our Python would mislead another one's programs, and make would take options from there.
_NOT_FOR_THEM = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "MAKEFLAGS", "SCONSFLAGS")


def check_range(wanted: str, where: str) -> SpecifierSet:
    """Read a range of versions. NeuralArtError: a part of it is none."""
    # Imported late: every command line of ours would pay for it.
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    found = SpecifierSet()
    for part in (part.strip() for part in wanted.split(",")):
        # A number without a sign means itself and everything that begins with it.
        bare = _NUMBERS.fullmatch(part.removesuffix(".*"))
        try:
            if not part:
                raise InvalidSpecifier(part)
            found &= SpecifierSet("" if part == "*" else f"=={bare[0]}.*" if bare else part)
        except InvalidSpecifier:
            hint = '">=2.21", "4.0.*", "!=1.1", "*"'
            raise NeuralArtError(f"'{part}' is no range of versions", where=where, hint=hint) from None
    return found


def fits(version: str, wanted: str) -> bool:
    """Whether a version is in a range. The numbers that the version begins with count (``7.2.22`` of ``7.2.22
    (Debian)``). Ranges are those of pip (PEP 440), separated by commas, and all must hold; a number without a sign
    means itself and everything that begins with it, ``*`` any version. Raises NeuralArtError: the range is none.
    """
    found = _NUMBERS.match(version.strip())
    return found is not None and check_range(wanted, "").contains(found[0])


def end_tree(process: Any) -> None:
    """Kill a process (a Popen that leads a session) and its children, which write to the same pipe."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.kill(-process.pid, signal.SIGKILL)  # The group that it leads
        else:
            import subprocess

            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()


def folders(environ: Mapping[str, str]) -> list[Path]:
    """The folders of PATH, each once."""
    return [Path(entry) for entry in dict.fromkeys(environ.get("PATH", "").split(os.pathsep)) if entry]


def _names(program: str, environ: Mapping[str, str], system: str) -> list[str]:
    if system != "windows" or Path(program).suffix:
        return [program]
    endings = environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";")
    return [program + ending.lower() for ending in endings if ending]


def _executable(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except OSError:  # a folder that may not be looked into
        return False


def on_path(programs: tuple[str, ...], environ: Mapping[str, str], system: str) -> list[Path]:
    """List all hits on PATH, in its order, each file once. Of several names of a program, a folder's first counts.
    ``system``: ``windows``, ``linux`` or ``mac``.
    """
    names = [name for program in programs for name in _names(program, environ, system)]
    found: dict[Path, Path] = {}
    for folder in folders(environ):
        hit = next((folder / name for name in names if _executable(folder / name)), None)
        if hit is not None:
            found.setdefault(hit.resolve(), hit.absolute())
    return list(found.values())


def in_places(patterns: tuple[str, ...], environ: Mapping[str, str], system: str) -> Iterator[Path]:
    """Find programs where installers put them, newest name first; ``~`` in a pattern is the user's folder."""
    home = environ.get("USERPROFILE" if system == "windows" else "HOME", "")
    for pattern in patterns:
        if pattern.startswith("~"):
            if not home:
                continue
            pattern = home.replace("\\", "/") + pattern[1:]
        parts = Path(pattern).parts
        star = next((number for number, part in enumerate(parts) if "*" in part), len(parts) - 1)
        try:
            hits = sorted(Path(*parts[:star]).glob("/".join(parts[star:])), key=_newest)
        except (OSError, ValueError):
            continue
        yield from (hit for hit in hits if hit.is_file())


def _newest(path: Path) -> tuple[list[int], str]:
    return [-int(number[:18]) for number in re.findall(r"\d+", path.as_posix())], path.as_posix()


def ask(program: Path, words: Sequence[str], environ: Mapping[str, str], seconds: float = 10.0) -> str:
    """Run a program that describes itself, in an empty folder and without input. Returns both output streams, at most
    64 KiB. NeuralArtError: it cannot be started, or does not end in time.
    """
    import subprocess
    import tempfile
    import threading

    child = {name: value for name, value in environ.items() if name not in _NOT_FOR_THEM}
    said: list[bytes] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            process = subprocess.Popen(
                [str(program), *words],
                cwd=folder,
                env=child,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise NeuralArtError(f"cannot be started: {reason}", where=str(program)) from error

        def listen() -> None:
            # A program that it leaves behind may hold its output open: that one is not waited for.
            assert process.stdout is not None
            with process.stdout as stream:
                said.append(stream.read(_MOST))

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        listener.join(seconds)
        late = listener.is_alive()
        process.kill()
        process.wait()
    if late:
        what = f"does not answer '{' '.join(words)}' within {seconds:g} seconds"
        raise NeuralArtError(what, where=str(program), hint="is it hanging?")
    return said[0].decode("utf-8", "replace") if said else ""
