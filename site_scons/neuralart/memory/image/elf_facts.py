"""Facts about an image from its ELF file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.memory.image import arm_attributes
from neuralart.memory.image.image_facts import Attributes, ImageFacts, Part

_ALLOC, _EXECUTABLE = 0x2, 0x4  # SHF_ALLOC, SHF_EXECINSTR
_SEGMENT_EXECUTABLE = 0x1  # PF_X
_TOP = 1 << 32


def _segments(elf: Any) -> list[Any]:
    return [segment for segment in elf.iter_segments() if segment["p_type"] == "PT_LOAD" and segment["p_memsz"]]


def _load_address(section: Any, segments: list[Any]) -> int:
    """Where a loader puts a section: its segment's physical address, moved on as the section is in the segment."""
    address = int(section["sh_addr"])
    for segment in segments:
        if segment["p_vaddr"] <= address and address + section["sh_size"] <= segment["p_vaddr"] + segment["p_memsz"]:
            return address - int(segment["p_vaddr"]) + int(segment["p_paddr"])
    return address


def _parts(elf: Any) -> list[Part]:
    """By sections, as objcopy and debuggers load: a segment may carry the file's own header along."""
    segments = _segments(elf)
    parts = []
    for section in elf.iter_sections():
        if section["sh_flags"] & _ALLOC and section["sh_size"]:
            empty = section["sh_type"] == "SHT_NOBITS"
            address, size = int(section["sh_addr"]), int(section["sh_size"])
            data = b"" if empty else _bytes(elf, section["sh_offset"], size, f"section {section.name}")
            executable = bool(section["sh_flags"] & _EXECUTABLE)
            parts.append(Part(section.name, address, _load_address(section, segments), size, data, executable))
    if parts:
        return parts
    for number, segment in enumerate(segments):
        name = f"segment {number}"
        data = _bytes(elf, segment["p_offset"], int(segment["p_filesz"]), name)
        executable = bool(segment["p_flags"] & _SEGMENT_EXECUTABLE)
        addresses = int(segment["p_vaddr"]), int(segment["p_paddr"])
        parts.append(Part(name, *addresses, int(segment["p_memsz"]), data, executable))
    return parts


def _bytes(elf: Any, offset: int, size: int, name: str) -> bytes:
    stream = elf.stream
    stream.seek(0, 2)
    if offset + size > stream.tell():
        raise ValueError(f"{name} ends at byte {offset + size}, the file has {stream.tell()}")
    stream.seek(offset)
    return bytes(stream.read(size))


def _symbols(elf: Any) -> tuple[list[tuple[int, int, str]], dict[str, int], dict[str, int], list[tuple[int, str, Any]]]:
    """Functions, values and sizes of the others, and mapping symbols with the section they belong to."""
    functions, values, sizes, mapping = [], {}, {}, []
    table = elf.get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if table is not None and hasattr(table, "iter_symbols") else ():
        name, value, home = symbol.name, int(symbol["st_value"]), symbol["st_shndx"]
        if home == "SHN_UNDEF" or not name:
            continue
        kind = symbol["st_info"]["type"]
        if name[:1] == "$":
            if name[:3].rstrip(".") in ("$t", "$d", "$a"):
                mapping.append((value, name[:2], home))
        elif kind == "STT_FUNC":
            functions.append((value & ~1, int(symbol["st_size"]), name))
        elif kind in ("STT_OBJECT", "STT_NOTYPE") and (name not in values or symbol["st_info"]["bind"] == "STB_GLOBAL"):
            values[name] = value
            if symbol["st_size"]:
                sizes[name] = int(symbol["st_size"])
    return sorted(functions), values, sizes, mapping


def _code(elf: Any, mapping: list[tuple[int, str, Any]]) -> tuple[tuple[int, int], ...] | None:
    """Ranges between a ``$t`` and the next mapping symbol or the end of the section; None without any."""
    if not any(mark == "$t" for _, mark, _ in mapping):
        return None
    spans = []
    for number, section in enumerate(elf.iter_sections()):
        if not section["sh_flags"] & _EXECUTABLE:
            continue
        end = int(section["sh_addr"] + section["sh_size"])
        marks: dict[int, str] = {}
        for value, mark, home in mapping:
            # Two at one address: code, so that nothing is overlooked.
            if home == number and marks.get(value) != "$t":
                marks[value] = mark
        ordered = sorted(marks)
        ends = [*ordered[1:], end]
        spans += [(start, stop) for start, stop in zip(ordered, ends, strict=True) if marks[start] == "$t"]
    return tuple(sorted(spans))


def _attributes(elf: Any) -> Attributes | None:
    section = elf.get_section_by_name(".ARM.attributes")
    if section is None:
        return None
    return arm_attributes.parse(_bytes(elf, section["sh_offset"], int(section["sh_size"]), "section .ARM.attributes"))


def read(path: Path, data: bytes) -> ImageFacts:
    """Facts of an Arm executable.

    Args:
        path: Name of the file, for messages.
        data: Its bytes.

    Raises:
        NeuralArtError: No ELF file, damaged, not for Arm, not linked, or without anything to load.
    """
    import io

    from elftools.elf.elffile import ELFFile

    where = str(path)
    try:
        elf: Any = ELFFile(io.BytesIO(data))
        if elf["e_machine"] != "EM_ARM" or elf.elfclass != 32 or not elf.little_endian:
            order = "little" if elf.little_endian else "big"
            raise NeuralArtError(
                f"{elf['e_machine']}, {elf.elfclass} bits, {order} endian: not for a 32-bit little-endian Arm core",
                where=where,
                hint="was it built by the host's compiler?",
            )
        if elf["e_type"] != "ET_EXEC":
            raise NeuralArtError(f"{elf['e_type']}: not a linked executable", where=where, hint="link it first")
        parts = _parts(elf)
        functions, values, sizes, mapping = _symbols(elf)
        code, attributes, entry = _code(elf, mapping), _attributes(elf), int(elf["e_entry"])
    except NeuralArtError:
        raise
    # A damaged file may fail in every way that the reader's code has; none of them is worth a traceback.
    except Exception as error:
        text = f"{error}" or type(error).__name__
        raise NeuralArtError(f"damaged ELF file: {text}", where=where, hint="link it again") from error
    for part in parts:
        for start, size in ((part.run, part.size), (part.load, len(part.data))):
            if start + size > _TOP:
                raise NeuralArtError(f"{part.name}: {size} bytes at 0x{start:08x} end behind 4 GiB", where=where)
    if not any(part.data for part in parts):
        raise NeuralArtError(
            "nothing in it is to be loaded", where=where, hint="was it linked with --gc-sections and no KEEP?"
        )
    return ImageFacts(
        where,
        "elf",
        tuple(parts),
        entry=entry or None,
        attributes=attributes,
        code=code,
        functions=tuple(functions),
        symbols=values,
        sizes=sizes,
    )
