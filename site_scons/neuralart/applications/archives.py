"""The library of a vendor's network runtime: its version by its name, its C library by its symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text.elf import UNDEFINED, Elf

NAME = re.compile(r"NetworkRuntime(\d{3,6})_(CM\w+?)_(GCC|IAR|Keil|ARM)(_PIC)?(\w*)\.(?:a|lib)")
_MAGIC, _THIN = b"!<arch>\n", b"!<thin>\n"
_HEADER = 60
# ST Edge AI Core 2.0 has component 10.0.
_OFFSET = 8
_OLDEST = 10
NEWLIB, PICOLIBC = "newlib", "picolibc"
# What only one of them has: newlib keeps errno and the standard streams in a structure that it reaches through these,
# picolibc has them as variables (errno of each thread).
_SYMBOLS = {
    **dict.fromkeys(("_impure_ptr", "_global_impure_ptr", "__errno", "__getreent", "__sinit", "__swbuf_r"), NEWLIB),
    **dict.fromkeys(("errno", "stdout", "stderr", "stdin", "__aeabi_read_tp"), PICOLIBC),
}


@dataclass(frozen=True)
class ArchiveName:
    """What ``NetworkRuntime1201_CM55_GCC.a`` says."""

    text: str  # the name
    cube: tuple[int, int, int]  # version of the component (STM32Cube.AI): major, minor, patch
    core: str  # ``CM55``, ``CM7``...
    compiler: str  # ``GCC``, ``IAR``...
    pic: bool  # for relocatable models

    @property
    def release(self) -> tuple[int, int, int] | None:
        """Version of ST Edge AI Core; None for those before 2.0, which count differently."""
        major, minor, patch = self.cube
        return (major - _OFFSET, minor, patch) if major >= _OLDEST else None

    @property
    def said(self) -> str:
        """For people."""
        if self.release is None:
            return f"{self.text} (STM32Cube.AI {'.'.join(map(str, self.cube))}, before ST Edge AI Core 2.0)"
        return f"{self.text} (ST Edge AI Core {'.'.join(map(str, self.release))})"


def parse_name(name: str) -> ArchiveName | None:
    """Understand a file name; None if it is no library of the runtime."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    digits = found[1]
    cube = (int(digits[:-2]), int(digits[-2]), int(digits[-1]))
    return ArchiveName(name, cube, found[2], found[3], found[4] is not None)


def members(data: bytes, where: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of an archive's members, without its tables.

    Format: the common ``ar`` with the extension of System V and GNU for long names.

    Raises:
        NeuralArtError: It is none, or damaged.
    """
    if data[:8] == _THIN:
        raise NeuralArtError("is a thin archive: its members are elsewhere", where=where)
    if data[:8] != _MAGIC:
        raise NeuralArtError("is no archive", where=where, hint="a pointer of Git LFS? then: git lfs pull")
    at = len(_MAGIC)
    long_names = b""
    while at + _HEADER <= len(data):
        header = data[at : at + _HEADER]
        size = header[48:58].strip()
        body = at + _HEADER
        if header[58:] != b"`\n" or not size.isdigit() or body + int(size) > len(data):
            raise NeuralArtError("damaged: the header of a member is none", where=f"{where}@0x{at:x}")
        content = data[body : body + int(size)]
        name = header[:16].rstrip()
        if name == b"//":
            long_names = content
        elif name not in (b"/", b"/SYM64/"):
            if name[:1] == b"/" and name[1:].isdigit():
                name = long_names[int(name[1:]) :].partition(b"\n")[0]
            yield name.removesuffix(b"/").decode("utf-8", "replace"), content
        at = body + int(size) + int(size) % 2


def _symbols(content: bytes, where: str) -> tuple[set[str], set[str]]:
    """Undefined and defined symbols of an object."""
    undefined: set[str] = set()
    defined: set[str] = set()
    for symbol in Elf(content, where).symbols:
        if symbol.name and symbol.binding != "STB_LOCAL":
            (undefined if symbol.section == UNDEFINED else defined).add(symbol.name)
    return undefined, defined


@dataclass(frozen=True)
class LibraryNeed:
    """The C library that an archive was compiled for."""

    libc: str  # ``newlib`` or ``picolibc``
    symbol: str  # that gives it away
    member: str  # the object that needs the symbol


def needed_library(path: Path) -> LibraryNeed | None:
    """The C library that an archive was compiled for; None if nothing in it tells.

    Raises:
        NeuralArtError: It cannot be read, or is damaged.
    """
    where = str(path)
    wanted: dict[str, str] = {}
    has: set[str] = set()
    for name, content in members(read_bytes(path), where):
        if content[:4] != b"\x7fELF":
            continue
        undefined, defined = _symbols(content, f"{where}: member {name}")
        has |= defined
        for symbol in undefined & _SYMBOLS.keys():
            wanted.setdefault(symbol, name)
    missing = sorted(symbol for symbol in wanted if symbol not in has)
    if not missing:
        return None
    symbol = missing[0]
    return LibraryNeed(_SYMBOLS[symbol], symbol, wanted[symbol])
