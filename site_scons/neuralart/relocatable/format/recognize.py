"""What a file is that is not a relocatable model, and what to do about it."""

from __future__ import annotations

import struct

from neuralart.errors import NeuralArtError
from neuralart.model.filekind import describe
from neuralart.relocatable.format.types import MAGIC, RAM

_MAGIC_BYTES = MAGIC.to_bytes(4, "little")
SHORTEST = 96
_SEARCHED = 1 << 20


def inner_offset(data: bytes) -> int | None:
    """Where an image begins that has something else in front of it (in its first MiB, on a multiple of 4)."""
    at = data.find(_MAGIC_BYTES, 4, _SEARCHED)
    while at >= 0:
        if at % 4 == 0 and len(data) - at >= SHORTEST and struct.unpack_from("<I", data, at + 8)[0] == RAM:
            return at
        at = data.find(_MAGIC_BYTES, at + 1, _SEARCHED)
    return None


def refuse(data: bytes, where: str) -> None:
    """Name what is no image.

    Raises:
        NeuralArtError: The bytes do not begin with the header of an image.
    """
    what = "not a relocatable model: "
    place = f"{where}@0x0"
    if not data:
        raise NeuralArtError(f"{what}an empty file", where=where)
    if data[:4] == b"\x7fELF":
        raise NeuralArtError(
            f"{what}an ELF file, the linked model before it is made into an image",
            where=place,
            hint="give the network_rel.bin that the same build writes",
        )
    if data[4:8] == b"TFL3":
        raise NeuralArtError(
            f"{what}a TensorFlow Lite model",
            where=place,
            hint="compile it (neuralart compile), then build the image (neuralart relocatable build)",
        )
    if data[:4] != _MAGIC_BYTES:
        at = inner_offset(data)
        if at is not None:
            raise NeuralArtError(
                f"{at} bytes of something else stand in front of the image, which begins at 0x{at:x}",
                where=place,
                hint=f"inspect it with --offset 0x{at:x}; a loader must be given its address plus 0x{at:x}",
            )
        if not data.strip(b"\xff") or not data.strip(b"\0"):
            raise NeuralArtError(
                f"{what}{len(data)} bytes of 0x{data[0]:02X}, as of an erased or unmapped memory", where=place
            )
        raise NeuralArtError(
            f"{what}{describe(data)} instead of 'NBIN' (4e 42 49 4e)", where=place, hint="give a network_rel.bin"
        )
    if len(data) < SHORTEST:
        raise NeuralArtError(
            f"too short: {len(data)} bytes, the header alone has {SHORTEST} or {SHORTEST + 8}",
            where=where,
            hint="the file is cut off; copy it again",
        )
