"""Invariants of the words that the loader rebases: the GOT, and the relocation list."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from neuralart.memory.findings import Finding, error
from neuralart.relocatable.format import flags
from neuralart.relocatable.format.addresses import (
    RESERVED_GOT_WORDS,
    file_offset,
    limits,
    segment_text,
    stored_data,
    word_fault,
)
from neuralart.relocatable.format.container import POOL_BYTES
from neuralart.relocatable.format.types import CONTEXT_WORDS, FLASH, OFFSET, RAM, SEGMENT, Image
from neuralart.relocatable.verify.verify_context import pointer_places, words_of

# A damaged list has thousands of bad entries: the first ones say enough.
_SHOWN = 8


def _got(image: Image) -> Iterator[Finding]:
    start, sizes = image.header["got_start"], limits(image)
    for index, value in enumerate(image.got[: max(0, len(image.got) - RESERVED_GOT_WORDS)]):
        if value and (fault := word_fault(sizes, value)):
            yield error("got", f"GOT word {index} at 0x{start + 4 * index:08x} is 0x{value:08x}: it {fault}")


def _numbers(image: Image) -> dict[int, str]:
    """Words of context and pool table that are no pointers, by address."""
    address, pointers = image.header["rt_ctx"], set(pointer_places(image).values())
    names = (*CONTEXT_WORDS[: len(words_of(image)) - 2], "ll_instance", "itf_network")
    numbers = {address + 4 * index: f"{name} of the context" for index, name in enumerate(names)}
    numbers = {place: name for place, name in numbers.items() if place not in pointers}
    table = image.header["params_start"]
    for pool in range(len(image.pools) + 1):
        fields = (
            ("flags", "foff", "dst", "size") if pool < len(image.pools) else ("name", "flags", "foff", "dst", "size")
        )
        for index, field in enumerate(fields, 5 - len(fields)):
            numbers[table + POOL_BYTES * pool + 4 * index] = f"{field} of pool {pool}"
    return numbers


def _place_fault(image: Image, place: int, clang: bool, seen: set[int], numbers: dict[int, str]) -> str:
    """Why no word can be patched there."""
    header, offset = image.header, place & OFFSET
    if place & SEGMENT == FLASH:
        if not clang:
            return "is in code or constants, which no loader patches for GCC images"
        if not 4 * image.header_words <= offset <= image.ro_size - 4:
            return "is outside the code"
    elif place & SEGMENT != RAM:
        return f"is in {segment_text(place)}"
    elif offset > stored_data(header) - 4:
        return f"is outside the {stored_data(header)} bytes of data"
    if place % 4:
        return "is not on a multiple of 4"
    if header["got_start"] <= place < header["got_end"]:
        return "is in the GOT, which is rebased anyway"
    if place in seen:
        return "is listed twice, it would be rebased twice"
    if place in numbers:
        return f"is {numbers[place]}, a number"
    return ""


def _relocations(image: Image) -> Iterator[Finding]:
    clang, seen, numbers = flags.decode(image.header["flags"]).clang, set[int](), _numbers(image)
    start, sizes = image.header["rel_start"] & OFFSET, limits(image)
    for index, place in enumerate(image.relocations):
        who = f"relocation {index} at 0x{start + 4 * index:x}"
        if fault := _place_fault(image, place, clang, seen, numbers):
            yield error("relocations", f"{who}: place 0x{place:08x} {fault}")
            continue
        seen.add(place)
        offset = file_offset(image.header, place)
        if offset is None:
            continue
        value = struct.unpack_from("<I", image.data, offset)[0]
        if fault := word_fault(sizes, value):
            yield error("relocations", f"{who}: the word at 0x{place:08x} is 0x{value:08x}: it {fault}")


def _missing(image: Image) -> Iterator[Finding]:
    listed = set(image.relocations)
    for name, place in pointer_places(image).items():
        if place not in listed:
            yield error("relocations", f"the pointer {name} of the context at 0x{place:08x} is not in the list")


def _first(findings: Iterator[Finding]) -> Iterator[Finding]:
    rows = list(findings)
    yield from rows[:_SHOWN]
    if len(rows) > _SHOWN:
        yield error(rows[0].check, f"and {len(rows) - _SHOWN} more of this kind")


def check(image: Image) -> Iterator[Finding]:
    """All of them."""
    yield from _first(_got(image))
    yield from _first(_relocations(image))
    yield from _missing(image)
