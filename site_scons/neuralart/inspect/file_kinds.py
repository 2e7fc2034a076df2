"""Kinds of models, memory contents and images; those that only a name tells come last."""

from __future__ import annotations

import re

from neuralart.inspect.kinds import Kind
from neuralart.inspect.sniffing import is_text
from neuralart.plugins import register

_HEX_LINE = re.compile(rb"\s*:[0-9A-Fa-f]{10,}\s")
# A record of data that begins with the magic of an image header.
_HEX_IMAGE = re.compile(rb"^:[0-9A-Fa-f]{6}0053544[Dd]32", re.M)
_CONTENTS = re.compile(r".+\.raw|.+_data\.\w+\.bin", re.I)


def _relocatable(data: bytes, name: str) -> bool:
    # Something may stand in front of the image; its reader then says where it begins.
    at = data.find(b"NBIN", 0, 1 << 20)
    if at <= 0:
        return at == 0
    from neuralart.relocatable.format.container import inner_offset

    return not is_text(data) and inner_offset(data) is not None


def _boot_image(data: bytes, name: str) -> bool:
    if data.startswith(b"STM2") or _HEX_IMAGE.search(data) is not None:
        return True
    if b"STM2" not in data or is_text(data):
        return False
    from neuralart.flashing.image_header import find

    return next(find(data), None) is not None


KINDS: tuple[Kind, ...] = (
    Kind("relocatable", "a relocatable model", "neuralart.inspect.views.relocatable", _relocatable),
    Kind(
        "tflite", "a TensorFlow Lite model", "neuralart.inspect.views.tflite", lambda data, name: data[4:8] == b"TFL3"
    ),
    Kind("elf", "an ELF file", "neuralart.inspect.views.elf", lambda data, name: data[:4] == b"\x7fELF"),
    Kind(
        "stm32n6-image",
        "an image with the header of an STM32N6",
        "neuralart.inspect.views.boot_image",
        _boot_image,
    ),
    Kind(
        "ihex",
        "an Intel HEX file",
        "neuralart.inspect.views.ihex",
        lambda data, name: _HEX_LINE.match(data) is not None,
    ),
    Kind(
        "raw",
        "the contents of a memory pool",
        "neuralart.inspect.views.raw",
        lambda data, name: _CONTENTS.fullmatch(name) is not None and not data.startswith(b"version https://git-lfs"),
    ),
)

for _kind in KINDS:
    register("inspect", _kind.name, _kind, protocol=1)
