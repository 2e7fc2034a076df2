"""Finds semihosting instructions: they ask a debugger for a service, and stop the core if there is none."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from neuralart.memory.image.image_facts import ImageFacts, Part

# Thumb encodings of the semihosting traps (Semihosting for AArch32 and AArch64, release 2.0).
TRAPS = {0xBEAB: "BKPT 0xAB", 0xDFAB: "SVC 0xAB", 0xBABC: "HLT 0x3C"}
_WIDE = 0xE800  # a first halfword from here on has a second one


def _in_code(data: bytes, base: int) -> Iterator[tuple[int, int]]:
    """(address, instruction) of the traps in straight Thumb code."""
    halves = struct.unpack(f"<{len(data) // 2}H", data[: len(data) // 2 * 2])
    at = 0
    while at < len(halves):
        if halves[at] in TRAPS:
            yield base + 2 * at, halves[at]
        at += 2 if halves[at] >= _WIDE else 1


def _anywhere(data: bytes, base: int) -> Iterator[tuple[int, int]]:
    """Every halfword that looks like BKPT 0xAB, be it code, data, or the second half of an instruction."""
    pattern = struct.pack("<H", 0xBEAB)
    at = data.find(pattern)
    while at >= 0:
        if (base + at) % 2 == 0:
            yield base + at, 0xBEAB
        at = data.find(pattern, at + 1)


def _slice(parts: Sequence[Part], start: int, end: int) -> bytes:
    for part in parts:
        if part.run <= start < part.run + len(part.data):
            return part.data[start - part.run : end - part.run]
    return b""


def traps(image: ImageFacts) -> list[tuple[int, int]]:
    """(address, instruction) of each semihosting trap.

    Certain where mapping symbols tell code from data (``image.code``); else possible ones, BKPT only, in what holds
    code: a constant may look the same.
    """
    if image.code is not None:
        parts = [part for part in image.loaded if part.executable]
        return [hit for start, end in image.code for hit in _in_code(_slice(parts, start, end), start)]
    return [hit for part in image.loaded if part.executable for hit in _anywhere(part.data, part.run)]


def names(hits: Sequence[tuple[int, int]]) -> str:
    """Kinds of trap among some hits: ``BKPT 0xAB and SVC 0xAB``."""
    return " and ".join(text for code, text in TRAPS.items() if any(hit[1] == code for hit in hits))
