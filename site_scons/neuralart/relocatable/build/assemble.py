"""From objects to the container: the script they are linked with, what the ELF must be, the bytes of the image. The
linker script gives fake addresses, whose highest digit says which part of the image is meant.
"""

from __future__ import annotations

import json
import re
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, ClassVar

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass, field
from neuralart.relocatable.build.pool_table import Params
from neuralart.relocatable.format.types import COPY, FLASH, MAGIC, MIXED, OFFSET, PARAM_0, PARAM_1, RAM, SEGMENT

if TYPE_CHECKING:
    from neuralart.text.elf import Elf, Section

# Read-only data end at a multiple of this, so that data behind them keep an alignment of as much in mode COPY.
RO_ALIGN = {"aligned": 64, "vendor": 8}


def script(layout: str, *, clang: bool = False) -> str:
    """Text of the script. ``layout``: ``aligned`` or ``vendor``; ``clang``: data and bss share a segment, whose start
    its code has in r9.
    """
    addresses = {"FLASH": FLASH, "RAM": RAM, "PARAM_0": PARAM_0, "PARAM_1": PARAM_1, "MAGIC": MAGIC}
    words = {name: f"{value:08x}" for name, value in addresses.items()}
    template = Template(Path(__file__).with_name("network_rel.ld").read_text("utf-8"))
    text = template.substitute(words, ALIGN=RO_ALIGN[layout])
    if not clang:
        return text
    segments = "".join(f"  {name} PT_LOAD;\n" for name in re.findall(r"^  (\w+) +: ORIGIN", text, re.M))
    text = re.sub(r"\} > (\w+)( AT > flash)?", r"} > \1\2 :\1", text)
    return text.replace("ENTRY(", f"PHDRS\n{{\n{segments}}}\n\nENTRY(", 1)


_SEGMENTS = {".flash": FLASH, ".relocs": FLASH, ".data": RAM, ".bss": RAM, ".params_0": PARAM_0, ".params_1": PARAM_1}
_SYMBOLS = ("_network_entries", "_network_rt_ctx", "_params_desc")
_ABS32 = "R_ARM_ABS32"
# Relative to the place, or an index into the GOT: right wherever the image is.
_HARMLESS = {"R_ARM_GOT_BREL", "R_ARM_GOT_PREL", "R_ARM_THM_CALL", "R_ARM_THM_JUMP24", "R_ARM_REL32"}
# Also relative, of libgcc and of short branches; the linker has resolved them inside .flash.
_HARMLESS |= {"R_ARM_THM_JUMP19", "R_ARM_THM_JUMP11", "R_ARM_THM_JUMP8", "R_ARM_THM_PC8", "R_ARM_NONE"}


@dataclass(frozen=True)
class Linked:
    flash: bytes = field(repr=False)  # contents of .flash: header, code, read-only data
    data: bytes = field(repr=False)  # contents of .data: data, context, pool table, GOT
    data_offset: int  # offset of .data in the file
    relocations: tuple[int, ...]  # virtual addresses of the words to fix, in the order of the ELF
    blobs: bytes = field(repr=False)  # epoch-controller blobs that go in front of the params
    symbols: dict[str, int]  # offset of the context and of the pool table in .data, of the entries in .flash
    kinds: dict[str, int]  # how often each kind of relocation occurs

    FORMAT: ClassVar[bytes] = b"1"  # another one when an ELF is taken apart otherwise

    @property
    def encoded(self) -> bytes:
        """For the store: loading what reads an ELF takes longer than all else after new weights."""
        plain = {name: each.hex() if isinstance(each, bytes) else each for name, each in vars(self).items()}
        return json.dumps(plain, sort_keys=True).encode()

    @classmethod
    def decoded(cls, text: bytes) -> Linked:
        """From the store, which has compared it with what it has stored."""
        found = jsontext.loads(text)
        found |= {name: bytes.fromhex(found[name]) for name in ("flash", "data", "blobs")}
        return cls(**{**found, "relocations": tuple(found["relocations"])})


class _Symbols:
    """Which symbol an address belongs to, for messages."""

    def __init__(self, elf: Elf) -> None:
        from neuralart.text.elf import FUNCTION, NO_TYPE, OBJECT

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
                what = f"section {section.name} at 0x{address:08x} ({size} bytes) belongs to no part of an image"
                raise NeuralArtError(what, where=where, hint="name its data otherwise, or give them no section")
        elif address & SEGMENT != expected:
            raise NeuralArtError(f"section {section.name} is at 0x{address:08x}, not at 0x{expected:08x}", where=where)


def _section(elf: Elf, name: str, where: str) -> Section:
    section = elf.section(name)
    if section is None:
        raise NeuralArtError(f"no section {name}", where=where, hint="was it linked with another script?")
    return section


# Of clang: halves of an address relative to the place, or to r9 in front of the data.
_TO_PLACE = {"R_ARM_REL32", "R_ARM_THM_MOVW_PREL_NC", "R_ARM_THM_MOVT_PREL"}
_TO_DATA = {"R_ARM_THM_MOVW_BREL_NC", "R_ARM_THM_MOVT_BREL"}
_HINTS = "compile with -fpic -msingle-pic-base -mpic-register=r9", "compile with -fropi -frwpi"


def _relocations(
    elf: Elf, symbols: _Symbols, parts: Sequence[Section], where: str, clang: bool
) -> tuple[list[int], Counter[str]]:
    from neuralart.text.elf import UNDEFINED

    start = symbols.addresses["_network_entries"]
    entries = range(start, start + symbols.sizes["_network_entries"])
    words = [range(each.address, each.address + each.size) for each in parts]
    known = _HARMLESS | (_TO_PLACE | _TO_DATA if clang else set())
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
                if not any(place in each for each in words):
                    what = f"{symbols.at(place)} holds the absolute address of {to} in read-only memory"
                    what += f", which cannot be fixed when the model moves (0x{place:08x}, {kind})"
                    hint = "compile it position independent, or take the table out of sections of its own"
                    raise NeuralArtError(what, where=where, hint=hint)
                if place % 4:
                    what = f"{symbols.at(place)} holds an address at an odd place (0x{place:08x})"
                    raise NeuralArtError(what, where=where)
                found.append(place)
            elif kind not in known:
                what = f"relocation {kind} of {to} at {symbols.at(place)} (0x{place:08x})"
                what += " is not known to be position independent"
                raise NeuralArtError(what, where=where, hint=_HINTS[clang])
            elif (kind in _TO_PLACE and (place ^ symbol.value) & SEGMENT) or (
                kind in _TO_DATA and symbol.value & SEGMENT != RAM
            ):
                what = f"{symbols.at(place)} holds the distance to {to}, which lies in another part of the image"
                hint = "take its address from a table" if clang else "compile with -mno-pic-data-is-text-relative"
                raise NeuralArtError(what, where=where, hint=hint)
    return found, kinds


def read_linked(image: bytes, where: str, markers: tuple[str, ...], *, clang: bool = False) -> Linked:
    """Check a linked model and take it apart. ``image``: the ELF; ``where``: its name in messages; ``markers``: symbols
    of the placeholders in PARAM_0: what stands in front of them is real; ``clang``: made it, so that there
    may be addresses in read-only data, which mode COPY moves. NeuralArtError: it is not position independent, or not
    laid out as an image.
    """
    from neuralart.text.elf import Elf

    elf = Elf(image, where)
    flash, data, _ = (_section(elf, name, where) for name in (".flash", ".data", ".bss"))
    _check_sections(elf, where)
    symbols = _Symbols(elf)
    for name in _SYMBOLS:
        if name not in symbols.addresses:
            hint = "was the runtime's own file left out of the link?"
            raise NeuralArtError(f"no symbol {name}", where=where, hint=hint)
    relocations, kinds = _relocations(elf, symbols, (data, flash) if clang else (data,), where, clang)
    if clang and (filled := symbols.addresses.get("__got_end", 0) - symbols.addresses.get("__got_start", 0)):
        what = f"{filled} bytes of GOT: code of clang has none"
        raise NeuralArtError(what, where=where, hint="is there an object of gcc in it, made with -fpic?")
    params = elf.section(".params_0")
    blobs = b""
    if params is not None:
        inside = [symbols.addresses[name] - params.address for name in markers if name in symbols.addresses]
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
    )


_FLAGS_BYTE = 6  # its low half is the compiler
_REL_START, _REL_END, _PARAMS_OFFSET = 9, 10, 12
_PARAMS_BIN_SIZE = 12  # word of the context; the CRC follows
_DESCRIPTOR = 20


@dataclass(frozen=True)
class Container:
    """The bytes of an image."""

    image: bytes = field(repr=False)  # <n>_rel.bin
    params: bytes | None = field(repr=False)  # <n>_rel_params.bin; None unless split
    notes: tuple[str, ...] = ()  # what is unusual about it


def _patched_data(linked: Linked, params: Params) -> bytes:
    """Data with what was not known when they were compiled: size and CRC of the params, offsets behind the blobs."""
    data = bytearray(linked.data)
    context = linked.symbols["_network_rt_ctx"]
    struct.pack_into("<2I", data, context + 4 * _PARAMS_BIN_SIZE, len(params.data), params.crc32)
    if linked.blobs:
        for index, descriptor in enumerate(params.descriptors):
            # Contents of the relative read-only pool follow the blobs in one address range with one base; whatever a
            # loader copies is found by its offset.
            if descriptor.type == COPY or descriptor.data == MIXED:
                place = linked.symbols["_params_desc"] + _DESCRIPTOR * index + 8
                struct.pack_into("<I", data, place, descriptor.foff + len(linked.blobs))
    return bytes(data)


def assemble(linked: Linked, params: Params, *, split: bool, alignment: int, toolchain: int, where: str) -> Container:
    """Put an image together. ``linked``: from :func:`~neuralart.relocatable.build.assemble.read_linked`; ``params``:
    initial contents of the pools; ``split``: the params become a file of their own; ``alignment``: of the params in the
    file, in bytes; ``toolchain``: number of the compiler in the flags; ``where``: name of the image in messages.
    NeuralArtError: the ELF does not begin with a header.
    """
    notes = []
    if linked.flash[:4] != struct.pack("<I", MAGIC):
        raise NeuralArtError("the linked code does not begin with the header", where=where)
    gap = linked.data_offset - len(linked.flash)
    if gap >= 64:
        notes.append(f"{gap} unused bytes in front of the data")
    out = bytearray(linked.flash + bytes(gap) + _patched_data(linked, params))
    out += bytes(-len(out) % 8)
    rel_start = len(out)
    out += struct.pack(f"<{len(linked.relocations)}I", *linked.relocations)
    rel_end = len(out)
    out += bytes(-len(out) % 8)
    blob = linked.blobs + params.data
    offset = 0
    if blob and not split:
        out += bytes(-len(out) % alignment)
        offset = len(out)
        out += blob
    if rel_end > OFFSET:
        raise NeuralArtError(f"{rel_end:,} bytes are more than a segment holds", where=where)
    struct.pack_into("<2I", out, 4 * _REL_START, FLASH | rel_start, FLASH | rel_end)
    struct.pack_into("<I", out, 4 * _PARAMS_OFFSET, offset)
    # Not every runtime knows all compilers.
    out[_FLAGS_BYTE] = out[_FLAGS_BYTE] & 0xF0 | toolchain
    return Container(bytes(out), blob if split else None, tuple(notes))
