"""Invariants of the runtime context."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from neuralart.memory.findings import Finding, error, warning
from neuralart.relocatable.format import flags
from neuralart.relocatable.format.addresses import ACTIV, RELOC, align8, ec_front, file_offset, raw_data
from neuralart.relocatable.format.types import CONTEXT_WORDS, RAM, SEGMENT, Image
from neuralart.vendor.releases import relocatable, relocation_of

POINTERS = ("c_name", "rt_version_desc")
_FILLED_BY_LOADER = 5
# Bytes of a buffer info, and of an epoch item with and without debug information (ll_aton).
STRUCTS = {True: (0x38, 0x30), False: (0x38, 0x14)}


def words_of(image: Image) -> tuple[int, ...]:
    """The context's words as the file has them."""
    count = 16 if image.context.struct_sizes is None else 17
    return struct.unpack_from(f"<{count}I", image.data, file_offset(image.header, image.header["rt_ctx"]) or 0)


def pointer_places(image: Image) -> dict[str, int]:
    """Virtual addresses of the context's pointers, by name."""
    address, count = image.header["rt_ctx"], len(words_of(image))
    places = {name: address + 4 * CONTEXT_WORDS.index(name) for name in POINTERS}
    return {**places, "itf_network": address + 4 * (count - 1)}


def _zeros(image: Image) -> Iterator[Finding]:
    words, address = words_of(image), image.header["rt_ctx"]
    for index in (*range(_FILLED_BY_LOADER), len(words) - 2):
        if words[index]:
            name = CONTEXT_WORDS[index] if index < _FILLED_BY_LOADER else "ll_instance"
            yield error(
                "context",
                f"{name} of the context at 0x{address + 4 * index:08x} is 0x{words[index]:08x}, "
                "it must be 0 until the loader fills it",
            )


def _interface(image: Image) -> Iterator[Finding]:
    words = words_of(image)
    offset = file_offset(image.header, words[-1])
    place = f"itf_network of the context is 0x{words[-1]:08x}"
    if words[-1] & SEGMENT != RAM or offset is None or offset + 4 > len(image.data):
        yield error("context", f"{place}, where the image has no data")
        return
    name = struct.unpack_from("<I", image.data, offset)[0]
    if name != words[CONTEXT_WORDS.index("c_name")]:
        yield warning(
            "context", f"{place}, whose first word 0x{name:08x} is not the pointer to the name '{image.context.c_name}'"
        )


def _versions(image: Image) -> Iterator[Finding]:
    context, words = image.context, words_of(image)
    version = ".".join(str(number) for number in context.version)
    rt_version = words[CONTEXT_WORDS.index("rt_version")]
    if rt_version & 0xFF:
        yield error("context", f"rt_version is 0x{rt_version:08x}, its lowest 8 bits must be 0")
    form = relocation_of((*context.version, context.extra))
    context_words = 16 if context.struct_sizes is None else 17
    if form is not None:
        for part, expected, found in (
            ("context", form.context_words, context_words),
            ("header", form.header_words, image.header_words),
        ):
            if expected != found:
                yield error("context", f"the {part} of ll_aton {version} has {expected} words, this one has {found}")
    yield from _release(image)
    if context.struct_sizes is not None:
        if 0 in context.struct_sizes or context.struct_sizes[1] > 0xFF:
            yield error("context", f"rt_c_struct_sizes is {context.struct_sizes}: two sizes from 1 to 255 are needed")
        expected_sizes = STRUCTS[flags.decode(image.header["flags"]).dbg_info]
        if context.version[0] and context.struct_sizes != expected_sizes:
            yield warning(
                "context",
                f"rt_c_struct_sizes says {context.struct_sizes}, with these flags ll_aton {version} "
                f"has {expected_sizes}",
            )
    if not context.c_name:
        yield error("context", "c_name is empty")


def _release(image: Image) -> Iterator[Finding]:
    """Loaders compare the version only in parts; a runtime that nobody knows may have another table of callbacks."""
    version, extra = image.context.version, image.context.extra
    releases = [release.runtime for release in relocatable()]
    if version[0] and (*version, extra) not in releases:
        known = ", ".join(".".join(map(str, each)) for each in releases)
        yield warning("context", f"ll_aton {'.'.join(map(str, version))}.{extra} is no release known here: {known}")
    if not version[0] and extra:
        yield error("context", f"rt_version_extra is {extra}, the reference runtime has 0")


def _sizes(image: Image) -> Iterator[Finding]:
    context = image.context
    relative = next((pool for pool in image.pools if pool.type == RELOC and pool.id == 1), None)
    needed = relative.size if relative is not None else 0
    if align8(needed) != align8(context.ext_ram_sz):
        yield error(
            "context",
            f"ext_ram_sz is {context.ext_ram_sz}, the pool that is relocated to external RAM has {needed} bytes",
        )
    params = sum(pool.size for pool in image.pools if pool.data != ACTIV)
    if context.params_sz and not params:
        yield warning("context", f"params_sz is {context.params_sz}, but no pool of the table has params")


def _params(image: Image) -> Iterator[Finding]:
    context, blob = image.context, image.params
    size, crc = context.params_bin_sz, context.params_bin_crc32
    if blob is None:
        yield warning(
            "params",
            f"split: the {size} bytes of params (CRC-32 0x{crc:08x}) are in a file of their own and were not checked",
            "give it with --params",
        )
        return
    if len(blob) < size:
        yield error("params", f"params have {len(blob)} bytes, params_bin_sz says {size}", "is the file cut off?")
        return
    behind = len(blob) - ec_front(image) - size
    if behind:
        yield error(
            "params",
            f"{behind} bytes stand behind the end of the params",
            "something was appended: copy the file again",
        )
    found = zlib.crc32(raw_data(image))
    if found != crc:
        yield error(
            "params",
            f"CRC-32 of the {size} bytes of params is 0x{found:08x}, params_bin_crc32 says 0x{crc:08x}",
            "the params are damaged, or of another build",
        )


def check(image: Image) -> Iterator[Finding]:
    """All of them."""
    yield from _zeros(image)
    yield from _interface(image)
    yield from _versions(image)
    yield from _sizes(image)
    yield from _params(image)
