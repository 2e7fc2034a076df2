"""Virtual addresses of an image: the top four bits name a segment, the others are an offset into it."""

from __future__ import annotations

import zlib

from neuralart.relocatable.format.types import FLASH, OFFSET, PARAM_0, PARAM_1, RAM, SEGMENT, Image

SEGMENT_NAMES = {FLASH: "FLASH", RAM: "RAM", PARAM_0: "PARAM_0", PARAM_1: "PARAM_1"}
# What the linker script gives to a segment of params: the bound when the params are not at hand.
PARAMS_WINDOW = 128 << 20
RESERVED_GOT_WORDS = 3
RELOC, COPY, RESET = 1, 2, 3
PARAM, ACTIV, MIXED = 1, 2, 3
# A relocatable blob's wrapper (2.1, 2.2, from 3.0 on), a blob.
EC_BINARIES = (0xECBF0020, 0xECBF0030, 0xECBF0050)
EC_MAGICS = (*EC_BINARIES, 0xCA057A7A)


def align8(size: int) -> int:
    """The next multiple of 8."""
    return -(-size // 8) * 8


def segment_text(address: int) -> str:
    """``segment 4 (RAM)``, for messages."""
    name = SEGMENT_NAMES.get(address & SEGMENT)
    return f"segment {address >> 28:X}" + (f" ({name})" if name else "")


def stored_data(header: dict[str, int]) -> int:
    """Bytes of the RAM segment that the file holds: data, context, tables and GOT, no bss."""
    return max(header["data_end"] & OFFSET, header["got_end"] & OFFSET)


def file_offset(header: dict[str, int], address: int) -> int | None:
    """Where a FLASH or RAM address stands in the file.

    Returns:
        The offset; None if the file has no bytes of it.
    """
    ro_size, offset = header["data_data"] & OFFSET, address & OFFSET
    if address & SEGMENT == FLASH and offset < ro_size:
        return offset
    if address & SEGMENT == RAM and offset < stored_data(header):
        return ro_size + offset
    return None


def ec_front(image: Image) -> int:
    """Bytes of epoch-controller blobs in front of the raw data; 0 if the params are not at hand or too short."""
    blob, context = image.params, image.context
    front = len(blob) - context.params_bin_sz if blob is not None else 0
    if blob is None or front <= 0:
        return 0
    # Bytes that are no blobs stand behind the data, not in front: a file with something appended.
    known = int.from_bytes(blob[:4], "little") in EC_MAGICS
    return front if known or (context.params_bin_sz and zlib.crc32(blob[front:]) == context.params_bin_crc32) else 0


def raw_data(image: Image) -> bytes:
    """The memory initializers, without blobs in front and without bytes behind."""
    start = ec_front(image)
    return (image.params or b"")[start : start + image.context.params_bin_sz]


def limits(image: Image) -> dict[int, int]:
    """Bytes that exist behind offset 0 of each segment once the image is installed; without those it does not have."""
    relocated = {pool.id: pool for pool in reversed(image.pools) if pool.type == RELOC}
    found = {FLASH: image.ro_size, RAM: image.rw_size}
    if 1 in relocated:
        found[PARAM_1] = relocated[1].size
    if image.params is None:
        found[PARAM_0] = PARAMS_WINDOW
    elif 0 in relocated:
        found[PARAM_0] = max(0, len(image.params) - relocated[0].foff)
    elif ec_front(image):
        # Without a pool of its own the segment holds epoch-controller blobs alone.
        found[PARAM_0] = ec_front(image)
    return found


def word_fault(sizes: dict[int, int], value: int) -> str:
    """Why a word that the loader will rebase cannot be rebased; empty if it can.

    One past the end of a segment is a valid address, as in C.

    Args:
        sizes: What :func:`limits` says.
        value: The word.
    """
    segment, offset = value & SEGMENT, value & OFFSET
    if segment not in SEGMENT_NAMES:
        return f"points to {segment_text(value)}, which no loader knows"
    if segment not in sizes:
        return f"points to {segment_text(value)}, but no pool of the image is relocated there"
    if offset > sizes[segment]:
        return f"points behind {segment_text(value)}, which has 0x{sizes[segment]:x} bytes"
    return ""
