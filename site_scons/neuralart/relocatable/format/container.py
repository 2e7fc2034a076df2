"""Reads ``network_rel.bin`` into an :class:`~neuralart.relocatable.format.types.Image`. It refuses files whose parts
cannot be found; the verifier finds all else.
"""

from __future__ import annotations

import struct
import zlib

from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import types as form
from neuralart.relocatable.format.types import Context, Image, PoolDescriptor
from neuralart.text.filekind import describe

_MAGIC_BYTES = form.MAGIC.to_bytes(4, "little")
SHORTEST = 96
_SEARCHED = 1 << 20


def inner_offset(data: bytes) -> int | None:
    """Find an image behind something else (within the first MiB, on a multiple of 4)."""
    at = data.find(_MAGIC_BYTES, 4, _SEARCHED)
    while at >= 0:
        if at % 4 == 0 and len(data) - at >= SHORTEST and struct.unpack_from("<I", data, at + 8)[0] == form.RAM:
            return at
        at = data.find(_MAGIC_BYTES, at + 1, _SEARCHED)
    return None


def refuse(data: bytes, where: str) -> None:
    """Say what a file is that is no image. NeuralArtError: the bytes do not begin with the header of an image."""
    what = "not a relocatable model: "
    place = f"{where}@0x0"
    if not data:
        raise NeuralArtError(f"{what}an empty file", where=where)
    if data[:4] == b"\x7fELF":
        text = f"{what}an ELF file, the linked model before it is made into an image"
        raise NeuralArtError(text, where=place, hint="give the network_rel.bin that the same build writes")
    if data[4:8] == b"TFL3":
        hint = "compile it (neuralart compile), then build the image (neuralart relocatable build)"
        raise NeuralArtError(f"{what}a TensorFlow Lite model", where=place, hint=hint)
    if data[:4] != _MAGIC_BYTES:
        at = inner_offset(data)
        if at is not None:
            text = f"{at} bytes of something else stand in front of the image, which begins at 0x{at:x}"
            hint = f"inspect it with --offset 0x{at:x}; a loader must be given its address plus 0x{at:x}"
            raise NeuralArtError(text, where=place, hint=hint)
        if not data.strip(b"\xff") or not data.strip(b"\0"):
            text = f"{what}{len(data)} bytes of 0x{data[0]:02X}, as of an erased or unmapped memory"
            raise NeuralArtError(text, where=place)
        text = f"{what}{describe(data)} instead of 'NBIN' (4e 42 49 4e)"
        raise NeuralArtError(text, where=place, hint="give a network_rel.bin")
    if len(data) < SHORTEST:
        text = f"too short: {len(data)} bytes, the header alone has {SHORTEST} or {SHORTEST + 8}"
        raise NeuralArtError(text, where=where, hint="the file is cut off; copy it again")


_IN_FLASH = ("data_data", "rel_start", "rel_end")  # of the addresses in the header; the others are in RAM
_LONGEST_NAME = 255
POOL_BYTES = 20


class _WordReader:
    """Words and texts by virtual address."""

    def __init__(self, data: bytes, where: str, header: dict[str, int]) -> None:
        self.data, self.where, self.header = data, where, header

    def fail(self, what: str, offset: int, hint: str = "") -> NeuralArtError:
        return NeuralArtError(what, where=f"{self.where}@0x{offset:x}", hint=hint)

    def words(self, address: int, count: int, what: str) -> tuple[int, ...]:
        """Words of the RAM segment."""
        offset = form.file_offset(self.header, address)
        if offset is None or (address & form.OFFSET) + 4 * count > form.stored_data(self.header):
            text = f"{what} at 0x{address:08x} is not inside the {form.stored_data(self.header)} bytes of data"
            raise NeuralArtError(text, where=f"{self.where}@0x{self.header['data_data'] & form.OFFSET:x}")
        return struct.unpack_from(f"<{count}I", self.data, offset)

    def text(self, address: int, what: str, place: int) -> str:
        """A name; ``place`` is the file offset of the pointer to it."""
        offset = form.file_offset(self.header, address)
        if offset is None:
            raise self.fail(f"{what} is a pointer to 0x{address:08x}, where the image has no bytes", place)
        end = self.data.find(b"\0", offset, offset + _LONGEST_NAME + 1)
        raw = self.data[offset : end if end >= 0 else offset]
        if end < 0 or not all(32 <= byte < 127 for byte in raw):
            raise self.fail(f"{what} at 0x{address:08x} is no readable text of at most {_LONGEST_NAME} bytes", offset)
        return raw.decode("ascii")


def read_header(data: bytes, where: str) -> tuple[dict[str, int], int]:
    """Read the words of the header by name, and their number. NeuralArtError: no image, or a header of unknown size."""
    refuse(data, where)
    words = struct.unpack_from(f"<{26 if len(data) >= 104 else 24}I", data)
    if words[23] & form.SEGMENT == form.RAM:
        return dict(zip(form.WORDS_24, words, strict=False)), 24
    if words[23] & form.SEGMENT == form.FLASH and len(words) == 26 and words[25] & form.SEGMENT == form.RAM:
        return dict(zip(form.WORDS_26, words, strict=True)), 26
    last = f", word 25 is 0x{words[25]:08x}" if len(words) == 26 else ""
    what = "the header has neither 24 nor 26 words: its last one must point to the context in RAM (0x4…)"
    raise NeuralArtError(f"{what}, word 23 is 0x{words[23]:08x}{last}", where=f"{where}@0x5c")


def _check_sections(reader: _WordReader, names: tuple[str, ...]) -> None:
    header, data = reader.header, reader.data
    for number in (*range(names.index("data_end"), names.index("params_offset")), len(names) - 1):
        name, value = names[number], header[names[number]]
        segment = form.FLASH if name in _IN_FLASH else form.RAM
        if value & form.SEGMENT != segment:
            what = f"{name} is 0x{value:08x}, in {form.segment_text(value)} instead of {form.segment_text(segment)}"
            raise reader.fail(what, 4 * number)
    ro_size, stored = header["data_data"] & form.OFFSET, form.stored_data(header)
    if not 4 * len(names) <= ro_size <= len(data) or ro_size % 4:
        what = f"data_data says that {ro_size} bytes precede the data: it must be a multiple of 4 between"
        raise reader.fail(f"{what} the header's {4 * len(names)} and the file's {len(data)} bytes", 0x10)
    if ro_size + stored > len(data):
        what = f"cut off: data and GOT end at 0x{ro_size + stored:x}, the file at 0x{len(data):x}"
        raise reader.fail(what, len(data))
    if header["got_end"] < header["got_start"] or (header["got_start"] | header["got_end"]) % 4:
        what = f"the GOT from 0x{header['got_start']:08x} to 0x{header['got_end']:08x} is not a row of words"
        raise reader.fail(what, 0x1C)


def _relocations(reader: _WordReader) -> tuple[int, ...]:
    header, data = reader.header, reader.data
    start, end = header["rel_start"], header["rel_end"]
    if start == end:
        if header["params_offset"] == 0:
            what = "an .elf.bin, the linked model before its relocation list is added: no loader can use it"
            raise reader.fail(what, 0x24, "give the network_rel.bin that the same build writes")
        raise reader.fail("the relocation list is empty, every image has at least the context's three entries", 0x24)
    if end < start or (start | end) % 4:
        raise reader.fail(f"the relocation list from 0x{start:08x} to 0x{end:08x} is not a row of words", 0x24)
    if end & form.OFFSET > len(data):
        what = f"cut off: the relocation list ends at 0x{end & form.OFFSET:x}, the file at 0x{len(data):x}"
        raise reader.fail(what, len(data))
    first = (header["data_data"] & form.OFFSET) + form.stored_data(header)
    if start & form.OFFSET < first:
        what = f"the relocation list at 0x{start & form.OFFSET:x} begins inside data, which end at 0x{first:x}"
        raise reader.fail(what, 0x24)
    return struct.unpack_from(f"<{(end - start) // 4}I", data, start & form.OFFSET)


def _context(reader: _WordReader, relocations: tuple[int, ...]) -> Context:
    address = reader.header["rt_ctx"]
    if address % 4:
        raise reader.fail(f"the context at 0x{address:08x} is not on a multiple of 4", 4 * (len(reader.header) - 1))
    short = reader.words(address, 16, "the context")
    # The pointer to the interface is the last word and always relocated; in the longer context a number has its place.
    long, version = address + 60 not in relocations, short[10]
    words = reader.words(address, 17, "the context") if long else short
    place = form.file_offset(reader.header, address) or 0
    return Context(
        c_name=reader.text(words[5], "c_name", place + 20),
        acts_sz=words[6],
        params_sz=words[7],
        ext_ram_sz=words[8],
        description=reader.text(words[9], "rt_version_desc", place + 36),
        version=(version >> 24, version >> 16 & 0xFF, version >> 8 & 0xFF),
        extra=words[11],
        params_bin_sz=words[12],
        params_bin_crc32=words[13],
        struct_sizes=(words[14] & 0xFF, words[14] >> 8) if long else None,
    )


def _pools(reader: _WordReader) -> tuple[PoolDescriptor, ...]:
    address = reader.header["params_start"]
    if address % 4:
        raise reader.fail(f"the pool table at 0x{address:08x} is not on a multiple of 4", 0x2C)
    pools: list[PoolDescriptor] = []
    while True:
        if (address & form.OFFSET) + POOL_BYTES > form.stored_data(reader.header):
            raise reader.fail(f"the pool table has no end: {len(pools)} entries reach the end of data", 0x2C)
        name, *rest = reader.words(address, 5, "the pool table")
        if not name and not any(rest):
            return tuple(pools)
        place = form.file_offset(reader.header, address) or 0
        pools.append(PoolDescriptor(reader.text(name, f"the name of pool {len(pools)}", place), *rest))
        address += POOL_BYTES


def _params(reader: _WordReader, given: bytes | None) -> bytes | None:
    data, offset, end = reader.data, reader.header["params_offset"], reader.header["rel_end"] & form.OFFSET
    if offset == 0:
        if given is not None and given[:4] == _MAGIC_BYTES:
            hint = "give the _rel_params.bin as --params"
            raise NeuralArtError("the params file is an image itself", where=reader.where, hint=hint)
        return given
    if given is not None:
        what = f"a file of params is given, but the image holds its params itself at 0x{offset:x}"
        raise reader.fail(what, 0x30, "leave --params away; ext_param_addr must be NULL for this image")
    if offset > len(data):
        raise reader.fail(f"cut off: the params begin at 0x{offset:x}, the file ends at 0x{len(data):x}", len(data))
    if offset < end:
        raise reader.fail(f"the params at 0x{offset:x} begin inside the relocation list, which ends at 0x{end:x}", 0x30)
    return data[offset:]


def parse(data: bytes, where: str, params: bytes | None = None) -> Image:
    """Read an image. ``params``: the separate file of params of a split model; None: not given. NeuralArtError: it is
    another kind of file, or a part of the image cannot be found.
    """
    header, count = read_header(data, where)
    names = form.WORDS_24 if count == 24 else form.WORDS_26
    reader = _WordReader(data, where, header)
    _check_sections(reader, names)
    relocations = _relocations(reader)
    context = _context(reader, relocations)
    pools = _pools(reader)
    blob = _params(reader, params)
    got_count = (header["got_end"] - header["got_start"]) // 4
    got = reader.words(header["got_start"], got_count, "the GOT") if got_count else ()
    split = header["params_offset"] == 0 and (
        params is not None
        or context.params_bin_sz > 0
        or any(pool.data in (form.PARAM, form.MIXED) for pool in pools)
        or any(pool.type == form.RELOC and pool.id == 0 for pool in pools)
        or any(word & form.SEGMENT == form.PARAM_0 for word in got)
    )
    if blob is None and not split:
        blob = b""
    return Image(where, data, header, count, context, pools, got, relocations, blob, split)


def stamp_of(image: Image) -> str:
    """Compute a model's stamp as the loading application does (``firmware/app_loader/image_stamp.c``): CRC-32 of the
    file without its params, then of these, as hex. NeuralArtError: its params are missing or too short.
    """
    end, size = image.header["rel_end"] & form.OFFSET, image.context.params_bin_sz
    if image.params is None:
        what = f"a split model: its {size} bytes of params are in a file of their own"
        raise NeuralArtError(what, where=image.where, hint="give its _rel_params.bin as well")
    if len(image.params) < size:
        what = f"{size} bytes of params belong to it, {len(image.params)} are there"
        raise NeuralArtError(what, where=image.where, hint="the file is cut off, or its params are of another model")
    return f"{zlib.crc32(image.data[:end]):08x}{zlib.crc32(image.params[:size]):08x}"
