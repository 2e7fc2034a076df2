"""Reads ELF files: sections, segments, symbols and relocations. pyelftools fails on damaged files in many ways; here
that is one line.
"""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Iterator
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass

_WRITE, _ALLOC, _EXECUTABLE = 0x1, 0x2, 0x4  # SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR
_SEGMENT_EXECUTABLE = 0x1  # PF_X
UNDEFINED = "SHN_UNDEF"
FUNCTION, OBJECT, NO_TYPE = "STT_FUNC", "STT_OBJECT", "STT_NOTYPE"


@dataclass(frozen=True)
class Section:
    index: int  # Its number in the file
    name: str  # Its name
    kind: str  # ``SHT_PROGBITS``, ``SHT_NOBITS``, ``SHT_REL``...
    address: int  # Where it is while the program runs
    size: int  # Bytes
    offset: int  # In the file
    allocated: bool  # It is in memory while the program runs
    executable: bool  # It holds code
    about: int = 0  # Number of the section that relocations are for
    writable: bool = False  # The program may write it

    @property
    def filled(self) -> bool:
        """Whether the file has its bytes."""
        return self.kind != "SHT_NOBITS" and self.size > 0


@dataclass(frozen=True)
class Segment:
    """A segment that is loaded: run and load address, bytes in memory and in the file, offset in the file."""

    run: int
    load: int
    size: int
    file_size: int
    offset: int
    executable: bool


@dataclass(frozen=True)
class Symbol:
    """A symbol; ``section`` is the number of its section or a word such as :data:`UNDEFINED`."""

    name: str
    value: int
    size: int
    kind: str
    binding: str
    section: int | str


@dataclass(frozen=True)
class Relocation:
    """A word that the linker has resolved: place, kind (``R_ARM_ABS32``...), symbol or None."""

    place: int
    kind: str
    symbol: Symbol | None


def _section(index: int, found: Any) -> Section:
    kind, flags = str(found["sh_type"]), found["sh_flags"]
    address, size, offset = (int(found[key]) for key in ("sh_addr", "sh_size", "sh_offset"))
    allocated, executable = bool(flags & _ALLOC), bool(flags & _EXECUTABLE)
    about, writable = int(found["sh_info"]), bool(flags & _WRITE)
    return Section(index, found.name, kind, address, size, offset, allocated, executable, about, writable)


def _segment(found: Any) -> Segment:
    run, load, size, file_size = (int(found[key]) for key in ("p_vaddr", "p_paddr", "p_memsz", "p_filesz"))
    return Segment(run, load, size, file_size, int(found["p_offset"]), bool(found["p_flags"] & _SEGMENT_EXECUTABLE))


def _symbols(data: bytes, table: Any) -> Iterator[Symbol]:
    """Symbols of a table. The library knows where they are, and takes eight times as long to read one."""
    from elftools.elf import enums

    tables = (enums.ENUM_ST_INFO_TYPE, enums.ENUM_ST_INFO_BIND, enums.ENUM_ST_SHNDX)
    kinds, bindings, places = ({number: name for name, number in each.items()} for each in tables)
    file, step, at, names = table.elffile, table["sh_entsize"], table["sh_offset"], table.stringtable["sh_offset"]
    form, order = ("IBBHQQ", (0, 4, 5, 1, 3)) if file.elfclass == 64 else ("IIIBBH", (0, 1, 2, 3, 5))
    layout, chosen = struct.Struct(("<" if file.little_endian else ">") + form), itemgetter(*order)
    for place in range(at, at + table["sh_size"], step):
        name, value, size, info, section = chosen(layout.unpack_from(data, place))
        text = data[names + name : max(data.find(0, names + name), 0)].decode("utf-8", "replace")
        kind, binding = kinds.get(info & 15, str(info & 15)), bindings.get(info >> 4, str(info >> 4))
        yield Symbol(text, value, size, kind, binding, places.get(section, section))


class Elf:
    """An ELF file. NeuralArtError: it is none, or damaged."""

    def __init__(self, data: bytes, where: str) -> None:
        from elftools.elf.elffile import ELFFile

        self._data, self._where = data, where
        with self._guarded():
            self._elf: Any = ELFFile(io.BytesIO(data))
            self.machine, self.kind = str(self._elf["e_machine"]), str(self._elf["e_type"])  # EM_ARM, ET_EXEC...
            self.bits, self.little_endian = int(self._elf.elfclass), bool(self._elf.little_endian)
            self.entry = int(self._elf["e_entry"])  # 0 if there is none
            self.sections = tuple(_section(index, each) for index, each in enumerate(self._elf.iter_sections()))
            segments = (each for each in self._elf.iter_segments() if each["p_type"] == "PT_LOAD" and each["p_memsz"])
            self.segments = tuple(map(_segment, segments))

    def __del__(self) -> None:
        """What the library makes of a file holds itself, and the file, until garbage is looked for."""
        if elf := vars(self).get("_elf"):
            vars(elf.structs).clear()
            vars(elf).clear()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except NeuralArtError:
            raise
        # None of the ways in which the library fails is worth a traceback.
        except Exception as error:
            said = f"{error}" or type(error).__name__
            raise NeuralArtError(f"damaged ELF file: {said}", where=self._where, hint="link it again") from error

    def section(self, name: str) -> Section | None:
        return next((section for section in self.sections if section.name == name), None)

    def bytes_of(self, part: Section | Segment, name: str) -> bytes:
        """Bytes of a section or segment; ``name``: for messages. NeuralArtError: they end behind the file."""
        size = part.file_size if isinstance(part, Segment) else part.size if part.filled else 0
        if size and part.offset + size > len(self._data):
            what = f"{name} ends at byte {part.offset + size}, the file has {len(self._data)}"
            raise NeuralArtError(f"damaged ELF file: {what}", where=self._where, hint="link it again")
        return self._data[part.offset : part.offset + size]

    def load_address(self, section: Section) -> int | None:
        """Where a loader puts a section: from its segment's load address on; None: nowhere."""
        for segment in self.segments:
            if segment.run <= section.address and section.address + section.size <= segment.run + segment.size:
                return section.address - segment.run + segment.load
        return None

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbol table with its empty first entry; empty if the file has none."""
        with self._guarded():
            table = self._elf.get_section_by_name(".symtab")
            return tuple(_symbols(self._data, table) if hasattr(table, "iter_symbols") else ())

    def relocations(self, section: Section) -> list[Relocation]:
        from elftools.elf.enums import ENUM_RELOC_TYPE_ARM

        names = {value: name for name, value in ENUM_RELOC_TYPE_ARM.items() if isinstance(value, int)}
        with self._guarded():
            found = []
            for entry in self._elf.get_section(section.index).iter_relocations():
                kind = names.get(entry["r_info_type"], f"type {entry['r_info_type']}")
                index = entry["r_info_sym"]
                found.append(Relocation(int(entry["r_offset"]), kind, self.symbols[index] if index else None))
            return found


of = lru_cache(maxsize=4)(Elf)
"""A file whose sections and symbols several steps of a build ask for, one after the other."""
