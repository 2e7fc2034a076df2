"""From the linked ELF to what the image needs: bytes, words to fix, the places to write into."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.relocatable.format.types import FLASH, OFFSET, PARAM_0, PARAM_1, RAM, SEGMENT

_SEGMENTS = {".flash": FLASH, ".relocs": FLASH, ".data": RAM, ".bss": RAM, ".params_0": PARAM_0, ".params_1": PARAM_1}
_NEEDED = (".flash", ".data", ".bss")
_SYMBOLS = ("_network_entries", "_network_rt_ctx", "_params_desc")
_ABS32 = "R_ARM_ABS32"
# Relative to the place, or an index into the GOT: right wherever the image is.
_HARMLESS = frozenset({"R_ARM_GOT_BREL", "R_ARM_GOT_PREL", "R_ARM_THM_CALL", "R_ARM_THM_JUMP24", "R_ARM_REL32"})
# Also relative, of libgcc and of short branches; the linker has resolved them inside .flash.
_RELATIVE = frozenset({"R_ARM_THM_JUMP19", "R_ARM_THM_JUMP11", "R_ARM_THM_JUMP8", "R_ARM_THM_PC8", "R_ARM_NONE"})


@dataclass(frozen=True)
class Linked:
    """A linked model.

    Attributes:
        flash: Contents of ``.flash``: header, code, read-only data.
        data: Contents of ``.data``: data, context, pool table, GOT.
        data_offset: Offset of ``.data`` in the file.
        relocations: Virtual addresses of the words to fix, in the order of the ELF.
        blobs: Epoch-controller blobs that go in front of the params.
        symbols: Offset of the context and of the pool table in ``.data``, of the entries in ``.flash``.
        kinds: How often each kind of relocation occurs.
        bss: Bytes behind ``.data`` that are cleared.
    """

    flash: bytes = field(repr=False)
    data: bytes = field(repr=False)
    data_offset: int
    relocations: tuple[int, ...]
    blobs: bytes = field(repr=False)
    symbols: dict[str, int]
    kinds: dict[str, int]
    bss: int


class _Symbols:
    """Which symbol an address belongs to, for messages."""

    def __init__(self, table: Any) -> None:
        self.addresses: dict[str, int] = {}
        named: dict[int, str] = {}
        for symbol in table.iter_symbols():
            kind = symbol["st_info"]["type"]
            if symbol.name and kind in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE") and not symbol.name.startswith("$"):
                self.addresses[symbol.name] = symbol["st_value"]
                if kind != "STT_NOTYPE":
                    named.setdefault(symbol["st_value"] & ~1, symbol.name)
        self._starts = sorted(named)
        self._named = named

    def at(self, address: int) -> str:
        index = bisect_right(self._starts, address) - 1
        if index < 0 or (self._starts[index] ^ address) & SEGMENT:
            return f"0x{address:08x}"
        start = self._starts[index]
        return f"{self._named[start]}+0x{address - start:x}"


def _check_sections(elf: Any, where: str) -> None:
    for name in _NEEDED:
        if elf.get_section_by_name(name) is None:
            raise NeuralArtError(f"no section {name}", where=where, hint="was it linked with another script?")
    for section in elf.iter_sections():
        address, size = section["sh_addr"], section["sh_size"]
        if section["sh_type"] == "SHT_RELA":
            raise NeuralArtError(f"section {section.name} has addends (RELA)", where=where)
        if not address or not size or not section["sh_flags"] & 2:
            continue
        expected = _SEGMENTS.get(section.name)
        if expected is None:
            if address & SEGMENT != SEGMENT:  # the trash
                raise NeuralArtError(
                    f"section {section.name} at 0x{address:08x} ({size} bytes) belongs to no part of an image",
                    where=where,
                    hint="name its data otherwise, or give them no section",
                )
        elif address & SEGMENT != expected:
            raise NeuralArtError(f"section {section.name} is at 0x{address:08x}, not at 0x{expected:08x}", where=where)


def _entries_range(elf: Any, symbols: _Symbols, table: Any) -> range:
    start = symbols.addresses["_network_entries"]
    size = next(s["st_size"] for s in table.iter_symbols() if s.name == "_network_entries")
    return range(start, start + size)


def _relocations(elf: Any, symbols: _Symbols, table: Any, where: str) -> tuple[list[int], Counter[str]]:
    from elftools.elf.enums import ENUM_RELOC_TYPE_ARM

    names = {value: name for name, value in ENUM_RELOC_TYPE_ARM.items() if isinstance(value, int)}
    data, entries = elf.get_section_by_name(".data"), _entries_range(elf, symbols, table)
    words = range(data["sh_addr"], data["sh_addr"] + data["sh_size"])
    found: list[int] = []
    kinds: Counter[str] = Counter()
    for section in elf.iter_sections():
        target = elf.get_section(section["sh_info"]) if section["sh_type"] == "SHT_REL" else None
        if target is None or not target["sh_flags"] & 2:
            continue
        for relocation in section.iter_relocations():
            index, place = relocation["r_info_sym"], relocation["r_offset"]
            if not index:
                continue
            kind = names.get(relocation["r_info_type"], f"type {relocation['r_info_type']}")
            kinds[kind] += 1
            symbol = table.get_symbol(index)
            to = symbol.name or symbols.at(symbol["st_value"])
            if symbol["st_shndx"] == "SHN_UNDEF":
                raise NeuralArtError(f"symbol {to} is not resolved (used by {symbols.at(place)})", where=where)
            if kind == _ABS32:
                if place in entries:
                    continue
                if place not in words:
                    raise NeuralArtError(
                        f"{symbols.at(place)} holds the absolute address of {to} in read-only memory, which cannot be "
                        f"fixed when the model moves (0x{place:08x}, {kind})",
                        where=where,
                        hint="compile it position independent, or take the table out of sections of its own",
                    )
                if place % 4:
                    raise NeuralArtError(
                        f"{symbols.at(place)} holds an address at an odd place (0x{place:08x})", where=where
                    )
                found.append(place)
            elif kind == "R_ARM_REL32" and (place ^ symbol["st_value"]) & SEGMENT:
                raise NeuralArtError(
                    f"{symbols.at(place)} holds the distance to {to}, which lies in another part of the image",
                    where=where,
                    hint="compile with -mno-pic-data-is-text-relative",
                )
            elif kind not in _HARMLESS and kind not in _RELATIVE:
                raise NeuralArtError(
                    f"relocation {kind} of {to} at {symbols.at(place)} (0x{place:08x}) is not known to be position "
                    "independent",
                    where=where,
                    hint="compile with -fpic -msingle-pic-base -mpic-register=r9",
                )
    return found, kinds


def read(image: bytes, where: str, markers: tuple[str, ...]) -> Linked:
    """Check a linked model and take it apart.

    Args:
        image: The ELF.
        where: Its name in messages.
        markers: Symbols of the placeholders in PARAM_0: what stands in front of them is real.

    Raises:
        NeuralArtError: It is not position independent, or not laid out as an image.
    """
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(image))
    _check_sections(elf, where)
    table = elf.get_section_by_name(".symtab")
    symbols = _Symbols(table)
    for name in _SYMBOLS:
        if name not in symbols.addresses:
            raise NeuralArtError(
                f"no symbol {name}", where=where, hint="was the runtime's own file left out of the link?"
            )
    relocations, kinds = _relocations(elf, symbols, table, where)
    section: Callable[[str], Any] = elf.get_section_by_name
    flash, data, bss = (section(name) for name in _NEEDED)
    params = section(".params_0")
    blobs = b""
    if params is not None:
        fakes = [symbols.addresses[name] for name in markers if name in symbols.addresses]
        inside = [address - params["sh_addr"] for address in fakes]
        blobs = params.data()[: min(inside, default=params["sh_size"])]
    offset = _load_address(elf, data) & OFFSET
    if offset < flash["sh_size"]:
        raise NeuralArtError(
            f"data are loaded at 0x{offset:x}, inside the {flash['sh_size']} bytes of code", where=where
        )
    bytes_of = {name: symbols.addresses[name] & OFFSET for name in _SYMBOLS}
    return Linked(
        flash.data(),
        data.data(),
        offset,
        tuple(relocations),
        blobs,
        bytes_of,
        dict(sorted(kinds.items())),
        bss["sh_size"],
    )


def _load_address(elf: Any, section: Any) -> int:
    for segment in elf.iter_segments():
        if segment["p_type"] == "PT_LOAD" and segment.section_in_segment(section):
            return int(segment["p_paddr"] + section["sh_addr"] - segment["p_vaddr"])
    raise NeuralArtError("section .data is not loaded", where=section.name)
