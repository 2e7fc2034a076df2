"""Writing the container: header, code, data, list of words to fix, params."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from neuralart.errors import NeuralArtError
from neuralart.relocatable.build.elf_post import Linked
from neuralart.relocatable.build.params_blob import Params, align
from neuralart.relocatable.build.pool_table import COPY, MIXED
from neuralart.relocatable.format.types import FLASH, MAGIC, OFFSET

_REL_START, _REL_END, _PARAMS_OFFSET = 9, 10, 12
_PARAMS_BIN_SIZE = 12
"""Word of the context; the CRC follows."""
_DESCRIPTOR = 20


@dataclass(frozen=True)
class Container:
    """The bytes of an image.

    Attributes:
        image: ``<n>_rel.bin``.
        params: ``<n>_rel_params.bin``; None unless split.
        notes: What is unusual about it.
    """

    image: bytes = field(repr=False)
    params: bytes | None = field(repr=False)
    notes: tuple[str, ...] = ()


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


def assemble(linked: Linked, params: Params, *, split: bool, alignment: int, where: str) -> Container:
    """Put an image together.

    Args:
        linked: From :func:`~neuralart.relocatable.build.elf_post.read`.
        params: Initial contents of the pools.
        split: The params become a file of their own.
        alignment: Of the params in the file, in bytes.
        where: Name of the image in messages.

    Raises:
        NeuralArtError: The ELF does not begin with a header.
    """
    notes = []
    if linked.flash[:4] != struct.pack("<I", MAGIC):
        raise NeuralArtError("the linked code does not begin with the header", where=where)
    gap = linked.data_offset - len(linked.flash)
    if gap >= 64:
        notes.append(f"{gap} unused bytes in front of the data")
    out = bytearray(linked.flash)
    out += bytes(gap)
    out += _patched_data(linked, params)
    out += bytes(align(len(out), 8) - len(out))
    rel_start = len(out)
    out += struct.pack(f"<{len(linked.relocations)}I", *linked.relocations)
    rel_end = len(out)
    out += bytes(align(len(out), 8) - len(out))
    blob = linked.blobs + params.data
    offset = 0
    if blob and not split:
        out += bytes(align(len(out), alignment) - len(out))
        offset = len(out)
        out += blob
    if rel_end > OFFSET:
        raise NeuralArtError(f"{rel_end:,} bytes are more than a segment holds", where=where)
    struct.pack_into("<2I", out, 4 * _REL_START, FLASH | rel_start, FLASH | rel_end)
    struct.pack_into("<I", out, 4 * _PARAMS_OFFSET, offset)
    return Container(bytes(out), blob if split else None, tuple(notes))
