"""Ask a program which version it is: with a time limit, in an empty folder, with nothing to read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from neuralart.errors import NeuralArtError

SECONDS = 10.0
_MOST = 1 << 16
# What is meant for our Python would mislead another one's programs, and make would take options from there.
_NOT_FOR_THEM = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "MAKEFLAGS", "SCONSFLAGS")


def ask(program: Path, words: Sequence[str], environ: Mapping[str, str], seconds: float = SECONDS) -> str:
    """Start a program with words that make it say something of itself, and return what it prints: both streams, 64 KiB
    at most. Its environment loses what is not meant for it. Raises NeuralArtError: it cannot be started, or does not
    end in ``seconds``.
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
            # A program that it leaves behind may hold its output open: nobody waits for that one.
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
        raise NeuralArtError(
            f"does not answer '{' '.join(words)}' within {seconds:g} seconds", where=str(program), hint="is it hanging?"
        )
    return said[0].decode("utf-8", "replace") if said else ""
