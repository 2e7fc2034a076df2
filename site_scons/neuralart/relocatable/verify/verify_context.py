"""Checks the runtime context, and the words that the loader rebases: GOT and relocation list."""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterator

from neuralart.findings import Finding, error, warning
from neuralart.relocatable.format import types as form
from neuralart.relocatable.format.container import POOL_BYTES
from neuralart.relocatable.format.types import Image
from neuralart.vendor.releases import dotted, relocatable, relocation_of

POINTERS = ("c_name", "rt_version_desc")
_FILLED_BY_LOADER = 5
# Bytes of a buffer info, and of an epoch item with and without debug information (ll_aton).
STRUCTS = {True: (0x38, 0x30), False: (0x38, 0x14)}


def words_of(image: Image) -> tuple[int, ...]:
    """The context's words as the file has them."""
    place = form.file_offset(image.header, image.header["rt_ctx"]) or 0
    return struct.unpack_from(f"<{image.context.words}I", image.data, place)


def _word(image: Image, address: int) -> int | None:
    """A word of the data; None: the image has none there."""
    offset = form.file_offset(image.header, address)
    if address & form.SEGMENT != form.RAM or offset is None or offset + 4 > len(image.data):
        return None
    return int.from_bytes(image.data[offset : offset + 4], "little")


def pointer_places(image: Image) -> dict[str, int]:
    """Virtual addresses of the words that are pointers by the format, by name."""
    address, words = image.header["rt_ctx"], words_of(image)
    indexes = {name: form.CONTEXT_WORDS.index(name) for name in POINTERS} | {"itf_network": len(words) - 1}
    places = {f"{name} of the context": address + 4 * index for name, index in indexes.items()}
    for number in range(len(image.pools)):
        places[f"name of pool {number}"] = image.header["params_start"] + POOL_BYTES * number
    if _word(image, words[-1]) == words[indexes["c_name"]]:
        places["network_name of the interface"] = words[-1]
    return places


def _zeros(image: Image) -> Iterator[Finding]:
    words, address = words_of(image), image.header["rt_ctx"]
    for index in (*range(_FILLED_BY_LOADER), len(words) - 2):
        if words[index]:
            name = form.CONTEXT_WORDS[index] if index < _FILLED_BY_LOADER else "ll_instance"
            what = f"{name} of the context at 0x{address + 4 * index:08x} is 0x{words[index]:08x}"
            yield error("context", f"{what}, it must be 0 until the loader fills it")


def _interface(image: Image) -> Iterator[Finding]:
    words = words_of(image)
    name, place = _word(image, words[-1]), f"itf_network of the context is 0x{words[-1]:08x}"
    if name is None:
        yield error("context", f"{place}, where the image has no data")
        return
    if name != words[form.CONTEXT_WORDS.index("c_name")]:
        what = f"{place}, whose first word 0x{name:08x} is not the pointer to the name '{image.context.c_name}'"
        yield warning("context", what)


def _versions(image: Image) -> Iterator[Finding]:
    context, words = image.context, words_of(image)
    version = dotted(context.version)
    rt_version = words[form.CONTEXT_WORDS.index("rt_version")]
    if rt_version & 0xFF:
        yield error("context", f"rt_version is 0x{rt_version:08x}, its lowest 8 bits must be 0")
    usual = relocation_of(image.version)
    if usual is not None:
        for part, expected, found in (
            ("context", usual.context_words, context.words),
            ("header", usual.header_words, image.header_words),
        ):
            if expected != found:
                yield error("context", f"the {part} of ll_aton {version} has {expected} words, this one has {found}")
    yield from _release(image)
    if context.struct_sizes is not None:
        if 0 in context.struct_sizes or context.struct_sizes[1] > 0xFF:
            yield error("context", f"rt_c_struct_sizes is {context.struct_sizes}: two sizes from 1 to 255 are needed")
        expected_sizes = STRUCTS[image.flags.dbg_info]
        if context.version[0] and context.struct_sizes != expected_sizes:
            what = f"rt_c_struct_sizes says {context.struct_sizes}, with these flags ll_aton {version}"
            yield warning("context", f"{what} has {expected_sizes}")
    if not context.c_name:
        yield error("context", "c_name is empty")


def _release(image: Image) -> Iterator[Finding]:
    """Loaders compare the version only in parts; an unknown runtime may have another table of callbacks."""
    version, releases = image.version, [release.runtime for release in relocatable()]
    if version[0] and version not in releases:
        known = ", ".join(map(dotted, releases))
        yield warning("context", f"ll_aton {dotted(version)} is no release known here: {known}")
    if not version[0] and version[3]:
        yield error("context", f"rt_version_extra is {version[3]}, the reference runtime has 0")


def _sizes(image: Image) -> Iterator[Finding]:
    context = image.context
    needed = image.relative_ram.size if image.relative_ram is not None else 0
    if form.align8(needed) != form.align8(context.ext_ram_sz):
        what = f"ext_ram_sz is {context.ext_ram_sz}, the pool that is relocated to external RAM has {needed} bytes"
        yield error("context", what)
    params = sum(pool.size for pool in image.pools if pool.data != form.ACTIV)
    if context.params_sz and not params:
        yield warning("context", f"params_sz is {context.params_sz}, but no pool of the table has params")


def _params(image: Image) -> Iterator[Finding]:
    context, blob = image.context, image.params
    size, crc = context.params_bin_sz, context.params_bin_crc32
    if blob is None:
        what = f"split: the {size} bytes of params (CRC-32 0x{crc:08x}) are in a file of their own and were not checked"
        yield warning("params", what, "give it with --params")
        return
    if len(blob) < size:
        yield error("params", f"params have {len(blob)} bytes, params_bin_sz says {size}", "is the file cut off?")
        return
    behind = len(blob) - form.ec_front(image) - size
    if behind:
        what = f"{behind} bytes stand behind the end of the params"
        yield error("params", what, "something was appended: copy the file again")
    found = zlib.crc32(form.raw_data(image))
    if found != crc:
        what = f"CRC-32 of the {size} bytes of params is 0x{found:08x}, params_bin_crc32 says 0x{crc:08x}"
        yield error("params", what, "the params are damaged, or of another build")


def check_context(image: Image) -> Iterator[Finding]:
    """Check the context's words, its versions and sizes, and the params that it counts."""
    yield from _zeros(image)
    yield from _interface(image)
    yield from _versions(image)
    yield from _sizes(image)
    yield from _params(image)


# A damaged list has thousands of bad entries: the first ones say enough.
_SHOWN = 8


def _got(image: Image) -> Iterator[Finding]:
    start, sizes = image.header["got_start"], form.limits(image)
    for index, value in enumerate(image.got[: max(0, len(image.got) - form.RESERVED_GOT_WORDS)]):
        if value and (fault := form.word_fault(sizes, value)):
            yield error("got", f"GOT word {index} at 0x{start + 4 * index:08x} is 0x{value:08x}: it {fault}")


def _numbers(image: Image) -> dict[int, str]:
    """Words of context and pool table that are no pointers, by address."""
    address, pointers = image.header["rt_ctx"], set(pointer_places(image).values())
    names = (*form.CONTEXT_WORDS[: len(words_of(image)) - 2], "ll_instance", "itf_network")
    numbers = {address + 4 * index: f"{name} of the context" for index, name in enumerate(names)}
    for pool in range(len(image.pools) + 1):
        for index, field in enumerate(("name", "flags", "foff", "dst", "size")):
            numbers[image.header["params_start"] + POOL_BYTES * pool + 4 * index] = f"{field} of pool {pool}"
    return {place: name for place, name in numbers.items() if place not in pointers}


def _place_fault(image: Image, place: int, clang: bool, seen: set[int], numbers: dict[int, str]) -> str:
    """Why no word can be patched there."""
    header, offset = image.header, place & form.OFFSET
    if place & form.SEGMENT == form.FLASH:
        if not clang:
            return "is in code or constants, which no loader patches for GCC images"
        if not 4 * image.header_words <= offset <= image.ro_size - 4:
            return "is outside the code"
    elif place & form.SEGMENT != form.RAM:
        return f"is in {form.segment_text(place)}"
    elif offset > form.stored_data(header) - 4:
        return f"is outside the {form.stored_data(header)} bytes of data"
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
    clang, seen, numbers = image.flags.clang, set[int](), _numbers(image)
    start, sizes = image.header["rel_start"] & form.OFFSET, form.limits(image)
    for index, place in enumerate(image.relocations):
        who = f"relocation {index} at 0x{start + 4 * index:x}"
        if fault := _place_fault(image, place, clang, seen, numbers):
            yield error("relocations", f"{who}: place 0x{place:08x} {fault}")
            continue
        seen.add(place)
        offset = form.file_offset(image.header, place)
        if offset is None:
            continue
        value = struct.unpack_from("<I", image.data, offset)[0]
        if fault := form.word_fault(sizes, value):
            yield error("relocations", f"{who}: the word at 0x{place:08x} is 0x{value:08x}: it {fault}")


def _first(findings: Iterator[Finding]) -> Iterator[Finding]:
    rows = list(findings)
    yield from rows[:_SHOWN]
    if len(rows) > _SHOWN:
        yield Finding(rows[0].check, rows[0].level, f"and {len(rows) - _SHOWN} more of this kind")


def _unlisted(image: Image, known: set[int]) -> Iterator[Finding]:
    """Words of data that are addresses of the image as it seems. Data have no types: numbers may look like this."""
    sizes, lowest = form.limits(image), {form.FLASH: 4 * image.header_words}
    if image.params is None:
        del sizes[form.PARAM_0]  # only the widest that is possible
    words = struct.unpack_from(f"<{form.stored_data(image.header) // 4}I", image.data, image.ro_size)
    known = known.union(range(image.header["got_start"], image.header["got_end"], 4))
    for place, value in zip(itertools.count(form.RAM, 4), words, strict=False):
        segment, offset = value & form.SEGMENT, value & form.OFFSET
        # A bit alone is rather a number: 2.0, -0.0, the smallest integer.
        if value.bit_count() < 2 or place in known or not lowest.get(segment, 0) <= offset <= sizes.get(segment, -1):
            continue
        what = f"the word at 0x{place:08x} is 0x{value:08x}, as an address in {form.segment_text(value)}, but not in"
        yield warning("relocations", f"{what} the list", "a relocation is lost, unless it is a number")


def check_words(image: Image) -> Iterator[Finding]:
    """Check GOT and relocation list: each word points into the image, and every pointer is in the list."""
    yield from _first(_got(image))
    yield from _first(_relocations(image))
    listed, pointers = set(image.relocations), pointer_places(image)
    for name, place in pointers.items():
        if place not in listed:
            yield error("relocations", f"the pointer {name} at 0x{place:08x} is not in the list")
    yield from _first(_unlisted(image, listed.union(pointers.values(), _numbers(image))))
