"""The header that the boot ROM of an STM32N6 wants in front of an image: read, made and judged.

Two versions are in the field, 2.1 and 2.3; all numbers are little-endian words. Where each field stands is in
:data:`LAYOUTS`. Format: ST's wiki, "STM32 header for binary files", compared with 51 published images. The header made
here is the one of an image without a signature ("-nk"); padding is zero, so that equal images have equal bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass, field

MAGIC = b"STM2"
#: Distance from the start of the file to the vector table, in bytes. The boot chain knows no other.
VECTOR_TABLE = 0x400
#: Binary types by the words of the vendor's signing tool.
TYPES = {"fsbl": 0x10, "ssbl": 0x00, "application": 0x00}
_NOT_RELOCATED = 0xFFFFFFFF
_PADDING_EXTENSION = 0xFFFF5453
_EXTENSION_FLAGS = 0x80000000
_ALIGNMENT = 32
_ENTRY_WORD = VECTOR_TABLE + 4
# Vectors of the core: stack pointer, reset and the system exceptions; the rest are interrupts.
_CORE_VECTORS = 16
_STACKS = ((0x20000000, 0x40000000), (0x90000000, 0xA0000000))
_CODE = ((0x00000000, 0x40000000), (0x60000000, 0xA0000000))


@dataclass(frozen=True)
class HeaderLayout:
    """The offsets of a header version's fields."""

    version: int  # The version word
    size: int  # Length of the header in bytes, the padding extension included
    signature: int  # Length of the room for the signature, in bytes
    # Offset of the checksum; version, image length, entry point, a reserved word, load address, a reserved word, image
    # version, extension flags and the length of what follows stand behind it, word by word
    checksum: int
    binary_type: int  # Offset of the binary type
    extension: int  # Offset of the padding extension


LAYOUTS = {
    0x00020300: HeaderLayout(0x00020300, 0x240, 96, 0x64, 0x8C, 0xA0),
    0x00020100: HeaderLayout(0x00020100, 0x200, 64, 0x44, 0x70, 0x80),
}
DEFAULT_VERSION = 0x00020300
#: Header versions by the words of boards and command lines.
VERSIONS = {"2.3": 0x00020300, "2.1": 0x00020100}


@dataclass(frozen=True)
class BootImage:
    """An image as the boot ROM reads it."""

    layout: HeaderLayout  # Where its header's fields stand
    at: int  # Offset of the header in the bytes it was read from
    checksum: int  # Sum of the payload's bytes, modulo 2**32, as the header says
    image_length: int  # Bytes behind the header, as the header says
    entry_point: int  # Address of the first instruction, bit 0 set
    load_address: int  # 0xFFFFFFFF: the boot ROM does not move the image
    image_version: int  # For anti-rollback; 0 in images without a signature
    binary_type: int  # 0x10: first-stage boot loader; 0: anything else
    signed: bool  # The room of the signature is not all zeros
    data: bytes = field(repr=False)  # From the header to the end of the image or of the file

    @property
    def payload(self) -> bytes:
        """What the checksum is of: the bytes behind the header."""
        return self.data[self.layout.size :]

    @property
    def complete(self) -> bool:
        """Whether the file has all bytes that the header announces."""
        return len(self.payload) == self.image_length

    @property
    def checksum_ok(self) -> bool:
        """Whether the whole payload is there and has the header's checksum."""
        return self.complete and sum(self.payload) & 0xFFFFFFFF == self.checksum

    @property
    def counts_padding(self) -> bool:
        """Whether the header announces more bytes, as some tools do that count its padding, though none is lost."""
        missing = self.image_length - len(self.payload)
        return 0 < missing <= VECTOR_TABLE and sum(self.payload) & 0xFFFFFFFF == self.checksum

    @property
    def vector_table(self) -> int | None:
        """Offset of the vector table from the header; None: neither at 0x400 nor right behind the header."""
        return next((at for at in (VECTOR_TABLE, self.layout.size) if _is_vector_table(self.data, at)), None)

    def vector(self, number: int) -> int:
        """Read a word of the vector table: 0 is the stack pointer, 1 the reset handler."""
        table = self.vector_table
        return 0 if table is None else _word(self.data, table + 4 * number)


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little") if len(data) >= at + 4 else 0


def _within(value: int, ranges: tuple[tuple[int, int], ...], end: int = 0) -> bool:
    return any(first <= value < last + end for first, last in ranges)


def _is_vector_table(data: bytes, at: int) -> bool:
    """A stack pointer in RAM (its end included), then an odd address of code."""
    stack, reset = _word(data, at), _word(data, at + 4)
    return stack % 4 == 0 and _within(stack, _STACKS, 1) and bool(reset & 1) and _within(reset, _CODE)


def header_at(data: bytes, at: int) -> HeaderLayout | None:
    """Find the layout of the header at an offset; None: no known version."""
    if data[at : at + 4] != MAGIC:
        return None
    return next((each for each in LAYOUTS.values() if _word(data, at + each.checksum + 4) == each.version), None)


def read(data: bytes, at: int = 0, where: str = "") -> BootImage:
    """Read an image with its header; :func:`problems` judges it. NeuralArtError: no header of a known version."""
    layout = header_at(data, at)
    if layout is None:
        if data[at : at + 4] == MAGIC:
            seen = " or ".join(f"0x{_word(data, at + each.checksum + 4):08x}" for each in LAYOUTS.values())
            hint = "versions 2.1 and 2.3 are known"
            raise NeuralArtError(f"header of unknown version at 0x{at:x} ({seen})", where=where, hint=hint)
        raise NeuralArtError(f"no image header at 0x{at:x}: it does not begin with STM2", where=where)
    if len(data) < at + layout.size:
        what = f"the file ends inside the image header: {len(data) - at} of {layout.size} bytes"
        raise NeuralArtError(what, where=where, hint="the file is cut off")
    checksum, _, length, entry, _, load, _, version = struct.unpack_from("<8I", data, at + layout.checksum)
    kind, signed = _word(data, at + layout.binary_type), any(data[at + 4 : at + 4 + layout.signature])
    body = data[at : at + layout.size + length]
    return BootImage(layout, at, checksum, length, entry, load, version, kind, signed, body)


def find(data: bytes) -> Iterator[int]:
    """Find the offsets of all image headers, without those inside an image."""
    at = data.find(MAGIC)
    while at >= 0:
        layout = header_at(data, at)
        if layout is not None and len(data) >= at + layout.size:
            yield at
            at += max(len(read(data, at).data), 4)
        else:
            at += 4
        at = data.find(MAGIC, at)


def problems(image: BootImage) -> list[str]:
    """What keeps an image from starting, in words; empty: nothing was found. Checked are what the boot ROM and the
    first-stage boot loader take for granted: length, checksum, type, load address, the place of the vector table, and
    that the entry point is the reset handler.
    """
    found: list[str] = []
    if not image.complete:
        have = len(image.payload)
        found.append(f"truncated: {have:,} of {image.image_length:,} bytes are there")
    elif not image.checksum_ok:
        found.append(f"checksum 0x{image.checksum:08x}, the payload has 0x{sum(image.payload) & 0xFFFFFFFF:08x}")
    if image.image_length % _ALIGNMENT:
        found.append(f"image length {image.image_length:,} is not a multiple of {_ALIGNMENT}")
    if image.binary_type not in TYPES.values():
        found.append(f"binary type 0x{image.binary_type:x} is neither 0x10 (fsbl) nor 0 (anything else)")
    if image.load_address != _NOT_RELOCATED:
        found.append(f"load address 0x{image.load_address:08x}, not 0xffffffff: the boot ROM would move the image")
    extension = _word(image.data, image.layout.extension)
    if extension != _PADDING_EXTENSION:
        found.append(f"extension 0x{extension:08x} instead of the padding extension 0x{_PADDING_EXTENSION:08x}")
    return [*found, *_start_problems(image)]


def _start_problems(image: BootImage) -> list[str]:
    """What is wrong with vector table and entry point."""
    table, entry = image.vector_table, f"0x{image.entry_point:08x}"
    if table is None:
        if not image.complete and len(image.data) < VECTOR_TABLE + 8:
            return []  # What would tell is not there.
        return [f"no vector table at 0x{VECTOR_TABLE:x}, where the boot chain looks for it; entry {entry}"]
    if table != VECTOR_TABLE:
        number = (_ENTRY_WORD - table) // 4
        which = f"interrupt vector {number}" if number >= _CORE_VECTORS else f"vector {number}"
        taken = f"entry {entry} is {which}" if image.vector(number) == image.entry_point else f"entry {entry}"
        return [f"vector table at 0x{table:x}, not 0x{VECTOR_TABLE:x}; {taken} (signed without -align)"]
    if image.vector(1) != image.entry_point:
        return [f"entry {entry} is not the reset handler 0x{image.vector(1):08x}"]
    return []


def make(program: bytes, binary_type: str, version: int = DEFAULT_VERSION, where: str = "") -> bytes:
    """Put a header without a signature in front of a program that begins with its vector table.

    The vector table comes to :data:`VECTOR_TABLE`, whatever the version; the entry point is its reset handler. All
    padding is zero. ``where`` names the program in messages. NeuralArtError: the program does not begin with a vector
    table, or a header stands there already.
    """
    layout = LAYOUTS[version]
    if program.startswith(MAGIC):
        raise NeuralArtError("it has an image header already", where=where, hint="sign the bare image, firmware.bin")
    if not _is_vector_table(program, 0):
        what = f"it does not begin with a vector table: words 0x{_word(program, 0):08x} 0x{_word(program, 4):08x}"
        hint = "give the image from its vector table on, as objcopy -O binary writes it"
        raise NeuralArtError(what, where=where, hint=hint)
    payload = bytes(VECTOR_TABLE - layout.size) + program
    payload += bytes(-len(payload) % _ALIGNMENT)
    header = bytearray(layout.size)
    header[:4] = MAGIC
    rest = layout.size - layout.extension
    words = (sum(payload) & 0xFFFFFFFF, version, len(payload), _word(program, 4), 0, _NOT_RELOCATED, 0, 0)
    struct.pack_into("<8I", header, layout.checksum, *words)
    struct.pack_into("<2I", header, layout.checksum + 32, _EXTENSION_FLAGS, rest)
    struct.pack_into("<I", header, layout.binary_type, TYPES[binary_type])
    struct.pack_into("<2I", header, layout.extension, _PADDING_EXTENSION, rest)
    return bytes(header) + payload


def judged(data: bytes, where: str) -> BootImage:
    """Read an image of a tool. NeuralArtError: it would not start; the first reason is named."""
    image = read(data, where=where)
    wrong = problems(image)
    if wrong:
        raise NeuralArtError(f"the signed image is wrong: {wrong[0]}", where=where, hint="sign the bare image again")
    return image


def vectors_behind_room(data: bytes) -> tuple[int, int] | None:
    """Stack pointer and reset handler of an image that has only room for its header, as erased flash; else None."""
    if data[:VECTOR_TABLE] != b"\xff" * VECTOR_TABLE or not _is_vector_table(data, VECTOR_TABLE):
        return None
    return _word(data, VECTOR_TABLE), _word(data, _ENTRY_WORD)


def record(image: BootImage, at: int) -> dict[str, object]:
    """Describe an image for ``neuralart inspect``; ``at``: address (HEX file) or offset in the file."""
    return {
        **{"at": at, "header_version": image.layout.version, "image_length": image.image_length},
        **{"entry_point": image.entry_point, "vector_table_offset": image.vector_table},
        **{"stack_pointer": image.vector(0), "reset_handler": image.vector(1), "binary_type": image.binary_type},
        **{"load_address": image.load_address, "checksum": image.checksum, "checksum_ok": image.checksum_ok},
        **{"signed": image.signed, "problems": problems(image)},
    }
