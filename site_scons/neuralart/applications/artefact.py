"""What a build left: is it there, of this build, and for the right machine?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes

_ELF = b"\x7fELF"
_SHOWN = 3


@dataclass(frozen=True)
class Before:
    """What was there before the build: time and bytes; None: nothing."""

    time: int | None = None
    data: bytes | None = None


def look(path: Path) -> Before:
    """Remember a file before a build."""
    return Before(path.stat().st_mtime_ns, read_bytes(path)) if path.is_file() else Before()


def _others(folder: Path, since: int) -> list[str]:
    """Programs that a build has made, by their paths below a folder."""
    found = []
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(here) / name
            if path.is_symlink() or not path.is_file() or path.stat().st_mtime_ns < since:
                continue
            if name.endswith((".elf", ".axf", ".out")) or not path.suffix:
                with path.open("rb") as stream:
                    if stream.read(len(_ELF)) == _ELF:
                        found.append(path.relative_to(folder).as_posix())
    return found


def read_program(path: Path, shown: str, where: str) -> bytes:
    """The bytes of a linked program for an Arm core.

    Args:
        path: The file.
        shown: Its name for messages.
        where: Who names it.

    Raises:
        NeuralArtError: It is no such program.
    """
    from neuralart.memory.image import elf_facts

    data = read_bytes(path)
    if not data.startswith(_ELF):
        raise NeuralArtError(
            f"{shown} is no ELF file: it begins with {data[:4].hex(' ') or 'nothing'}",
            where=where,
            hint="name the linked program, not the .bin or .hex that is made of it",
        )
    try:
        elf_facts.read(path, data)
    except NeuralArtError as error:
        raise NeuralArtError(f"{shown}: {error.what}", where=where, hint=error.hint) from error
    return data


def judge(
    path: Path,
    before: Before,
    networks: Sequence[tuple[str, Path]],
    *,
    shown: str,
    folder: Path,
    since: int,
    where: str,
    log: str,
) -> bytes:
    """The program that a build made.

    Args:
        path: Where it must be.
        before: What was there before.
        networks: (name of a network, its C or programs in the tree): what it must not be older than.
        shown: Its name for messages.
        folder: Where to look for others if it is missing.
        since: Time at which the build began, in nanoseconds.
        where: Who names it.
        log: What the build printed.

    Raises:
        NeuralArtError: It is missing, older than the networks in it, or no program for an Arm core.
    """
    if not path.is_file():
        others = _others(folder, since)
        made = f"; it made {', '.join(others[:_SHOWN])}" if others else ""
        hint = f"artefact: {others[0]}" if others else "does the target link it?"
        raise NeuralArtError(
            f"the build ended without an error and there is no {shown}{made}", where=where, hint=f"{hint}; log: {log}"
        )
    data = read_program(path, shown, where)
    time = path.stat().st_mtime_ns
    for name, source in networks:
        if time < source.stat().st_mtime_ns and data == before.data:
            raise NeuralArtError(
                f"the build ended without an error and did not make {shown} again, which is older than "
                f"{source.name} of network {name}",
                where=where,
                hint=f"is that file compiled into it, and does the target link it? log: {log}",
            )
    return data
