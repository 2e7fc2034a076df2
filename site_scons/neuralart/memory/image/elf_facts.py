"""Facts about an image from its ELF file, build attributes of the Arm compiler (``.ARM.attributes``) among them. Format
of those: "Addenda to, and Errata in, the ABI for the Arm Architecture", build attributes: a byte ``A``, then one
subsection per vendor (length, name, then sub-subsections of tag, length and attributes). Numbers are ULEB128.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.memory.image.image_facts import Attributes, ImageFacts, Part
from neuralart.text.elf import FUNCTION, NO_TYPE, OBJECT, UNDEFINED, Elf, of

_FILE = 1
_CPU_ARCH, _PROFILE, _FP_ARCH, _HARD_FP_USE, _VFP_ARGS, _MVE_ARCH = 6, 7, 10, 27, 28, 48
_TEXT = {4, 5}  # Tag_CPU_raw_name, Tag_CPU_name
_COMPATIBILITY = 32  # a number and a text


class _AttributeReader:
    """Takes values off the front; every read is bounded."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self) -> int:
        value = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 63:
                raise ValueError("a number runs over the end")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def text(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise ValueError("a text runs over the end")
        found = self.data[self.at : end].decode("latin-1")
        self.at = end + 1
        return found

    def block(self, used: int) -> bytes:
        """What follows a 32-bit length that counts itself and ``used`` bytes before it."""
        length = int.from_bytes(self.data[self.at : self.at + 4], "little")
        rest = length - used - 4
        self.at += 4
        if rest < 0 or self.at + rest > len(self.data):
            raise ValueError(f"a block of {length} bytes runs over the end")
        self.at += rest
        return self.data[self.at - rest : self.at]


def _values(data: bytes) -> Iterator[tuple[int, int]]:
    """(tag, value) of the attributes that are numbers."""
    reader = _AttributeReader(data)
    while reader.at < len(data):
        tag = reader.number()
        if tag == _COMPATIBILITY:
            reader.number()
            reader.text()
        elif tag in _TEXT or (tag > _COMPATIBILITY and tag % 2):
            reader.text()
        else:
            yield tag, reader.number()


def parse_attributes(data: bytes) -> Attributes:
    """Read the attributes that hold for the whole file. ValueError: the section is damaged."""
    if data[:1] != b"A":
        raise ValueError(f"format {data[:1]!r} instead of b'A'")
    found: dict[int, int] = {}
    reader = _AttributeReader(data[1:])
    while reader.at < len(reader.data):
        vendor = _AttributeReader(reader.block(0))
        if vendor.text() != "aeabi":
            continue
        while vendor.at < len(vendor.data):
            start = vendor.at
            tag = vendor.number()
            block = vendor.block(vendor.at - start)
            if tag == _FILE:
                found.update(_values(block))
    tags = (_CPU_ARCH, _PROFILE, _FP_ARCH, _HARD_FP_USE, _MVE_ARCH, _VFP_ARGS)
    arch, profile, fp_arch, hard_fp_use, mve, vfp_args = (found.get(tag, 0) for tag in tags)
    letter = chr(profile) if profile in b"MARS" else ""
    return Attributes(arch, letter, fp_arch, hard_fp_use == 1, mve, vfp_args)


_TOP = 1 << 32


def _parts(elf: Elf) -> list[Part]:
    """By sections, as objcopy and debuggers load: a segment may carry the file's own header along."""
    parts = []
    for section in elf.sections:
        if section.allocated and section.size:
            load = elf.load_address(section)
            data = elf.bytes_of(section, f"section {section.name}")
            load = section.address if load is None else load
            parts.append(Part(section.name, section.address, load, section.size, data, section.executable))
    if parts:
        return parts
    for number, segment in enumerate(elf.segments):
        name = f"segment {number}"
        data = elf.bytes_of(segment, name)
        parts.append(Part(name, segment.run, segment.load, segment.size, data, segment.executable))
    return parts


def _symbols(elf: Elf) -> tuple[list[tuple[int, int, str]], dict[str, int], dict[str, int], list[tuple[int, str, Any]]]:
    """Functions, values and sizes of the others, and mapping symbols with the section they belong to."""
    functions, values, sizes, mapping = [], {}, {}, []
    for symbol in elf.symbols:
        if symbol.section == UNDEFINED or not symbol.name:
            continue
        if symbol.name[:1] == "$":
            if symbol.name[:3].rstrip(".") in ("$t", "$d", "$a"):
                mapping.append((symbol.value, symbol.name[:2], symbol.section))
        elif symbol.kind == FUNCTION:
            functions.append((symbol.value & ~1, symbol.size, symbol.name))
        elif symbol.kind in (OBJECT, NO_TYPE) and (symbol.name not in values or symbol.binding == "STB_GLOBAL"):
            values[symbol.name] = symbol.value
            if symbol.size:
                sizes[symbol.name] = symbol.size
    return sorted(functions), values, sizes, mapping


def _code(elf: Elf, mapping: list[tuple[int, str, Any]]) -> tuple[tuple[int, int], ...] | None:
    """Ranges between a ``$t`` and the next mapping symbol or the end of the section; None without any."""
    if not any(mark == "$t" for _, mark, _ in mapping):
        return None
    spans = []
    for section in elf.sections:
        if not section.executable:
            continue
        marks: dict[int, str] = {}
        for value, mark, home in mapping:
            # Two at one address: code, so that nothing is overlooked.
            if home == section.index and marks.get(value) != "$t":
                marks[value] = mark
        ordered = sorted(marks)
        ends = [*ordered[1:], section.address + section.size][: len(ordered)]
        spans += [(start, stop) for start, stop in zip(ordered, ends, strict=True) if marks[start] == "$t"]
    return tuple(sorted(spans))


def _attributes(elf: Elf, where: str) -> Attributes | None:
    section = elf.section(".ARM.attributes")
    if section is None:
        return None
    data = elf.bytes_of(section, "section .ARM.attributes")
    try:
        return parse_attributes(data)
    except (ValueError, IndexError, struct.error) as error:
        raise NeuralArtError(f"damaged ELF file: {error}", where=where, hint="link it again") from error


def read(path: Path, data: bytes) -> ImageFacts:
    """Facts of an Arm executable; ``path``: for messages. NeuralArtError: no ELF, damaged, not Arm, or not linked."""
    where = str(path)
    elf = of(data, where)
    if elf.machine != "EM_ARM" or elf.bits != 32 or not elf.little_endian:
        order = "little" if elf.little_endian else "big"
        what = f"{elf.machine}, {elf.bits} bits, {order} endian: not for a 32-bit little-endian Arm core"
        raise NeuralArtError(what, where=where, hint="was it built by the host's compiler?")
    if elf.kind != "ET_EXEC":
        raise NeuralArtError(f"{elf.kind}: not a linked executable", where=where, hint="link it first")
    parts = _parts(elf)
    functions, values, sizes, mapping = _symbols(elf)
    code, attributes = _code(elf, mapping), _attributes(elf, where)
    for part in parts:
        for start, size in ((part.run, part.size), (part.load, len(part.data))):
            if start + size > _TOP:
                raise NeuralArtError(f"{part.name}: {size} bytes at 0x{start:08x} end behind 4 GiB", where=where)
    if not any(part.data for part in parts):
        hint = "was it linked with --gc-sections and no KEEP?"
        raise NeuralArtError("nothing in it is to be loaded", where=where, hint=hint)
    entry, names = elf.entry or None, tuple(functions)
    facts = ImageFacts(where, "elf", tuple(parts), entry=entry, attributes=attributes, code=code, functions=names)
    return replace(facts, symbols=values, sizes=sizes)
