"""From the linked ELF to what the image needs: bytes, words to fix, the places to write into."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from neuralart.errors import NeuralArtError
from neuralart.relocatable.format.types import FLASH, OFFSET, PARAM_0, PARAM_1, RAM, SEGMENT
from neuralart.text.elf import FUNCTION, NO_TYPE, OBJECT, UNDEFINED, Elf, Section

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

    def __init__(self, elf: Elf) -> None:
        self.addresses: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        named: dict[int, str] = {}
        for symbol in elf.symbols:
            if symbol.name and symbol.kind in (FUNCTION, OBJECT, NO_TYPE) and not symbol.name.startswith("$"):
                self.addresses[symbol.name] = symbol.value
                self.sizes.setdefault(symbol.name, symbol.size)
                if symbol.kind != NO_TYPE:
                    named.setdefault(symbol.value & ~1, symbol.name)
        self._starts = sorted(named)
        self._named = named

    def at(self, address: int) -> str:
        index = bisect_right(self._starts, address) - 1
        if index < 0 or (self._starts[index] ^ address) & SEGMENT:
            return f"0x{address:08x}"
        start = self._starts[index]
        return f"{self._named[start]}+0x{address - start:x}"


def _check_sections(elf: Elf, where: str) -> None:
    for section in elf.sections:
        address, size = section.address, section.size
        if section.kind == "SHT_RELA":
            raise NeuralArtError(f"section {section.name} has addends (RELA)", where=where)
        if not address or not size or not section.allocated:
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


def _needed(elf: Elf, name: str, where: str) -> Section:
    section = elf.section(name)
    if section is None:
        raise NeuralArtError(f"no section {name}", where=where, hint="was it linked with another script?")
    return section


def _relocations(elf: Elf, symbols: _Symbols, data: Section, where: str) -> tuple[list[int], Counter[str]]:
    start = symbols.addresses["_network_entries"]
    entries = range(start, start + symbols.sizes["_network_entries"])
    words = range(data.address, data.address + data.size)
    found: list[int] = []
    kinds: Counter[str] = Counter()
    for section in elf.sections:
        if section.kind != "SHT_REL" or not elf.sections[section.about].allocated:
            continue
        for relocation in elf.relocations(section):
            place, kind, symbol = relocation.place, relocation.kind, relocation.symbol
            if symbol is None:
                continue
            kinds[kind] += 1
            to = symbol.name or symbols.at(symbol.value)
            if symbol.section == UNDEFINED:
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
            elif kind == "R_ARM_REL32" and (place ^ symbol.value) & SEGMENT:
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
    elf = Elf(image, where)
    flash, data, bss = (_needed(elf, name, where) for name in _NEEDED)
    _check_sections(elf, where)
    symbols = _Symbols(elf)
    for name in _SYMBOLS:
        if name not in symbols.addresses:
            raise NeuralArtError(
                f"no symbol {name}", where=where, hint="was the runtime's own file left out of the link?"
            )
    relocations, kinds = _relocations(elf, symbols, data, where)
    params = elf.section(".params_0")
    blobs = b""
    if params is not None:
        fakes = [symbols.addresses[name] for name in markers if name in symbols.addresses]
        inside = [address - params.address for address in fakes]
        blobs = elf.bytes_of(params, params.name)[: min(inside, default=params.size)]
    loaded = elf.load_address(data)
    if loaded is None:
        raise NeuralArtError("section .data is not loaded", where=where)
    offset = loaded & OFFSET
    if offset < flash.size:
        raise NeuralArtError(f"data are loaded at 0x{offset:x}, inside the {flash.size} bytes of code", where=where)
    return Linked(
        elf.bytes_of(flash, flash.name),
        elf.bytes_of(data, data.name),
        offset,
        tuple(relocations),
        blobs,
        {name: symbols.addresses[name] & OFFSET for name in _SYMBOLS},
        dict(sorted(kinds.items())),
        bss.size,
    )
