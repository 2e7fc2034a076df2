"""Reads a GNU linker script: MEMORY, SECTIONS, assignments, INCLUDE; what nobody needs is stepped over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from neuralart.files import read_bytes
from neuralart.text.linker_script.parser import Parser
from neuralart.text.linker_script.tokens import Script
from neuralart.text.linker_script.types import LinkerScript


def read(path: Path, display: str = "") -> LinkerScript:
    """Read a linker script, and what it includes from its own folder. Raises NeuralArtError: it cannot be read, or is
    none.
    """

    def beside(name: str) -> bytes | None:
        found = path.parent / name
        return read_bytes(found) if found.is_file() else None

    return parse(read_bytes(path), display or str(path), beside)


def parse(data: bytes, name: str, include: Callable[[str], bytes | None] = lambda _name: None) -> LinkerScript:
    """As :func:`read`, of bytes; ``include`` gives the content of an included file, None: it is not there."""
    return Parser(Script(name, data), include).script()
