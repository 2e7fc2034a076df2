"""Build attributes of Arm object files (section ``.ARM.attributes``).

Format: "Addenda to, and Errata in, the ABI for the Arm Architecture", build attributes: a byte ``A``, then one
subsection per vendor (length, name, then sub-subsections of tag, length and attributes). Numbers are ULEB128.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.memory.image.image_facts import Attributes

_FILE = 1
_CPU_ARCH, _PROFILE, _FP_ARCH, _HARD_FP_USE, _VFP_ARGS, _MVE_ARCH = 6, 7, 10, 27, 28, 48
_TEXT = {4, 5}  # Tag_CPU_raw_name, Tag_CPU_name
_COMPATIBILITY = 32  # a number and a text


class _Reader:
    """Takes values off the front; every read is bounded."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self) -> int:
        value = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 63:
                raise ValueError("a number runs over the end")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def text(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise ValueError("a text runs over the end")
        found = self.data[self.at : end].decode("latin-1")
        self.at = end + 1
        return found

    def block(self, used: int) -> bytes:
        """What follows a 32-bit length that counts itself and ``used`` bytes before it."""
        length = int.from_bytes(self.data[self.at : self.at + 4], "little")
        rest = length - used - 4
        self.at += 4
        if rest < 0 or self.at + rest > len(self.data):
            raise ValueError(f"a block of {length} bytes runs over the end")
        self.at += rest
        return self.data[self.at - rest : self.at]


def _values(data: bytes) -> Iterator[tuple[int, int]]:
    """(tag, value) of the attributes that are numbers."""
    reader = _Reader(data)
    while reader.at < len(data):
        tag = reader.number()
        if tag == _COMPATIBILITY:
            reader.number()
            reader.text()
        elif tag in _TEXT or (tag > _COMPATIBILITY and tag % 2):
            reader.text()
        else:
            yield tag, reader.number()


def parse(data: bytes) -> Attributes:
    """Attributes of the whole file.

    Raises:
        ValueError: The section is damaged.
    """
    if data[:1] != b"A":
        raise ValueError(f"format {data[:1]!r} instead of b'A'")
    found: dict[int, int] = {}
    reader = _Reader(data[1:])
    while reader.at < len(reader.data):
        vendor = _Reader(reader.block(0))
        if vendor.text() != "aeabi":
            continue
        while vendor.at < len(vendor.data):
            start = vendor.at
            tag = vendor.number()
            block = vendor.block(vendor.at - start)
            if tag == _FILE:
                found.update(_values(block))
    profile = found.get(_PROFILE, 0)
    return Attributes(
        arch=found.get(_CPU_ARCH, 0),
        profile=chr(profile) if profile in b"MARS" else "",
        fp_arch=found.get(_FP_ARCH, 0),
        single_only=found.get(_HARD_FP_USE, 0) == 1,
        mve=found.get(_MVE_ARCH, 0),
        vfp_args=found.get(_VFP_ARGS, 0),
    )
