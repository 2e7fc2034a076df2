"""Firmware images made by hand: facts, and ELF files written byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuralart.boards.types import Board, BoardSection, Boot
from neuralart.memory.image.image_facts import Attributes, ImageFacts, Part
from support.projects import smallboard

BASE, HEADER, COPY = 0x3400_0000, 0x100, 0x1000
TABLE = BASE + HEADER
STACK = 0x3001_1000  # exactly the end of the memory ALWAYS
M33 = Attributes(arch=17, profile="M", fp_arch=8, single_only=True, vfp_args=1)

# What gcc notes for -mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard: architecture, profile, FPU, its
# use, arguments.
TAGS = ((6, 17), (7, 0x4D), (10, 8), (27, 1), (28, 1))


def board(**changes: Any) -> Board:
    """The small board with a boot chain that copies 4 KiB to its BANK1."""
    from neuralart.boards.types import Machine

    flags = ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-mthumb")
    fields = {
        "machines": {"unicorn": Machine("unicorn", flags, model="cortex-m33"), "silicon": Machine("silicon", flags)},
        "boot": Boot("application", BASE, COPY, HEADER),
        "code": BoardSection("BANK1", HEADER, COPY - HEADER),
        **changes,
    }
    return smallboard.board(**fields)


def vectors(stack: int = STACK, handler: int = TABLE + 0x81, size: int = 0x40) -> bytes:
    """A vector table."""
    return struct.pack("<2I", stack, handler).ljust(size, b"\0")


def facts(*parts: Part, table: bytes | None = None, **changes: Any) -> ImageFacts:
    """A good image, with other parts behind it and some of its fields changed."""
    code = b"\x00\xbf" * 0x40
    fields: dict[str, Any] = {
        "path": "firmware.elf",
        "kind": "elf",
        "parts": (
            Part(".vectors", TABLE, TABLE, 0x40, vectors() if table is None else table),
            Part(".text", TABLE + 0x80, TABLE + 0x80, len(code), code, True),
            *parts,
        ),
        "entry": TABLE + 0x81,
        "attributes": M33,
        "code": ((TABLE + 0x80, TABLE + 0x80 + len(code)),),
        "functions": ((TABLE + 0x80, 0x20, "reset_handler"), (TABLE + 0xA0, 0x60, "main")),
        **changes,
    }
    return ImageFacts(**fields)


def attributes(tags: Sequence[tuple[int, int]] = TAGS) -> bytes:
    """A section ``.ARM.attributes``; all numbers below 128."""
    body = bytes(byte for tag in tags for byte in tag)
    file = b"\x01" + struct.pack("<I", 5 + len(body)) + body
    vendor = b"aeabi\0" + file
    return b"A" + struct.pack("<I", 4 + len(vendor)) + vendor


@dataclass(frozen=True)
class Symbol:
    """A line of the symbol table. kind: 0 none, 1 object, 2 function; section: number, from 1."""

    name: str
    value: int
    section: int = 1
    size: int = 0
    kind: int = 0


@dataclass(frozen=True)
class Sect:
    """A section with contents, or of ``size`` bytes without any."""

    name: str
    address: int
    data: bytes = b""
    flags: int = 2
    kind: int = 1  # SHT_PROGBITS
    load: int | None = None
    size: int = 0


def elf(
    sections: Sequence[Sect] | None = None,
    symbols: Sequence[Symbol] = (),
    *,
    tags: bytes | None = None,
    entry: int = TABLE + 0x81,
    machine: int = 40,
    kind: int = 2,
    table: bool = True,
) -> bytes:
    """An ELF executable for Arm, each section in a segment of its own; ``table=False``: without section headers."""
    if sections is None:
        sections = (Sect(".vectors", TABLE, vectors()), Sect(".text", TABLE + 0x80, b"\x00\xbf" * 0x40, 6))
        symbols = symbols or (Symbol("$t", TABLE + 0x80, 2), Symbol("reset_handler", TABLE + 0x81, 2, 0x20, 2))
    names = b"\0"
    strings = b"\0"
    lines = struct.pack("<IIIBBH", 0, 0, 0, 0, 0, 0)
    for symbol in symbols:
        place = len(strings)
        strings += symbol.name.encode() + b"\0"
        info = 0x10 | symbol.kind
        lines += struct.pack("<IIIBBH", place, symbol.value, symbol.size, info, 0, symbol.section)
    loaded = [section for section in sections if section.flags & 2]
    note = attributes() if tags is None else tags
    everything = [*sections, Sect(".ARM.attributes", 0, note, 0, 0x70000003)] if note else [*sections]
    count = len(everything)
    everything += [Sect(".symtab", 0, lines, 0, 2), Sect(".strtab", 0, strings, 0, 3), Sect(".shstrtab", 0, b"", 0, 3)]
    places = []
    for section in everything:
        places.append(len(names))
        names += section.name.encode() + b"\0"
    everything[-1] = Sect(".shstrtab", 0, names, 0, 3)
    at = 52 + 32 * len(loaded)
    body, headers, segments = b"", bytes(40), b""
    for number, section in enumerate(everything):
        size = section.size or len(section.data)
        link = count + 2 if section.name == ".symtab" else 0
        headers += struct.pack(
            "<10I",
            *(places[number], section.kind, section.flags, section.address, at + len(body), size, link, 0, 1),
            16 if section.name == ".symtab" else 0,
        )
        if section.flags & 2:
            load = section.address if section.load is None else section.load
            rights = 5 if section.flags & 4 else 6
            where = (at + len(body), section.address, load, len(section.data), size)
            segments += struct.pack("<8I", 1, *where, rights, 1)
        body += section.data
    shoff = at + len(body) if table else 0
    number = len(everything) + 1 if table else 0
    head = b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIIIIIHHHHHH",
        kind,
        machine,
        1,
        entry,
        52,
        shoff,
        0x5000400,
        52,
        32,
        len(loaded),
        40,
        number,
        max(number - 1, 0),
    )
    return head + segments + body + (headers if table else b"")
