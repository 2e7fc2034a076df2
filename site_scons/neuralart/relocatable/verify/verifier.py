"""Checks a relocatable model and lists all findings (docs/reference/relocatable.md)."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator

from neuralart.findings import Finding, error, warning
from neuralart.relocatable.format import types as form
from neuralart.relocatable.format.container import POOL_BYTES
from neuralart.relocatable.format.types import Image
from neuralart.relocatable.verify import ec_blobs, verify_context, verify_pools
from neuralart.relocatable.verify.verify_context import words_of

_ENTRY_WORDS = 13
# Compilers fold functions with equal code: in networks that need no more, the first two return true, the others 0.
_FOLDED = (
    {"ec_network_init", "ec_inference_init"},
    {
        *("input_setter", "input_getter", "output_setter", "output_getter"),
        *("weight_encryption_info", "blob_encryption_info", "get_internal_buffers_info"),
    },
)


def _entries(image: Image) -> dict[str, int]:
    """Entry points by name."""
    return {name: image.header[name] for name in image.names[_ENTRY_WORDS:-1]}


def check_flags(image: Image) -> Iterator[Finding]:
    """Check the flags: what the image was built for."""
    word = image.header["flags"]
    decoded = form.decode_flags(word)
    if decoded.api[0] != form.LOADER_API[0]:
        yield error("flags", f"flags 0x{word:08X} at 0x4: API major {decoded.api[0]}, all known images have 8")
    elif decoded.api[1] != form.LOADER_API[1]:
        yield warning("flags", f"flags 0x{word:08X} at 0x4: API minor {decoded.api[1]}, all known images have 0")
    if decoded.reserved:
        bits = ", ".join(str(bit) for bit in (23, 15) if decoded.reserved >> bit & 1)
        yield error("flags", f"flags 0x{word:08X} at 0x4: reserved bit {bits} is set")
    if decoded.toolchain not in form.TOOLCHAINS:
        yield error("flags", f"flags 0x{word:08X} at 0x4: unknown toolchain {decoded.toolchain}, known are 8, 9 and 10")
    if decoded.float_abi != 2:
        name = form.FLOAT_ABIS.get(decoded.float_abi, "none")
        what = f"flags 0x{word:08X} at 0x4: float ABI {decoded.float_abi} ({name}), only 2 (hard) can be built"
        yield error("flags", what)
    elif not decoded.fpu:
        yield error("flags", f"flags 0x{word:08X} at 0x4: the hard float ABI without an FPU")
    if decoded.cpuid not in form.CPUS:
        yield warning("flags", f"flags 0x{word:08X} at 0x4: unknown CPUID part number 0x{decoded.cpuid:03X}")


def _sections(image: Image) -> Iterator[Finding]:
    header = image.header
    if header["data_start"] != form.RAM:
        yield error("sections", f"data_start at 0x8 is 0x{header['data_start']:08x} instead of 0x{form.RAM:08x}")
    for name in ("data_end", "bss_start"):
        if header[name] % 4:
            what = f"{name} at 0x{4 * image.names.index(name):x} is 0x{header[name]:08x}, not a multiple of 4"
            yield error("sections", what)
    if image.ro_size % 8:
        level = warning if image.context.struct_sizes is None else error
        text = f"data_data at 0x10: {image.ro_size} bytes precede the data, not a multiple of 8:"
        yield level("sections", f"{text} in mode COPY the data would stand on a wrong alignment")
    if header["got_start"] < header["data_end"]:
        what = f"got_start at 0x1c is 0x{header['got_start']:08x}, inside data, which end at 0x{header['data_end']:08x}"
        yield error("sections", what)
    end = form.stored_data(header)
    if header["bss_end"] < header["bss_start"]:
        what = f"bss_end at 0x18 is 0x{header['bss_end']:08x}, below bss_start 0x{header['bss_start']:08x}"
        yield error("sections", what)
    elif header["bss_start"] & form.OFFSET < end:
        text = f"bss_start at 0x14 is 0x{header['bss_start']:08x}, inside data and GOT, "
        text += f"which end at 0x{form.RAM + end:08x}:"
        yield error("sections", f"{text} the loader would clear them")


def _got(image: Image) -> Iterator[Finding]:
    got, start = image.got, image.header["got_start"]
    if got and len(got) < form.RESERVED_GOT_WORDS:
        yield error("got", f"the GOT has {len(got)} words, it must end with {form.RESERVED_GOT_WORDS} reserved ones")
    for index in range(max(0, len(got) - form.RESERVED_GOT_WORDS), len(got)):
        if got[index]:
            what = f"reserved GOT word {index} at 0x{start + 4 * index:08x} is 0x{got[index]:08x} instead of 0"
            yield error("got", what)


def _list_place(image: Image) -> Iterator[Finding]:
    header = image.header
    start, end = header["rel_start"] & form.OFFSET, header["rel_end"] & form.OFFSET
    data_end = image.ro_size + form.stored_data(header)
    if start % 8:
        yield error("sections", f"rel_start at 0x24 is 0x{header['rel_start']:08x}, not a multiple of 8")
    elif start != form.align8(data_end):
        text = f"{start - form.align8(data_end)} bytes between data, which end at 0x{data_end:x}, and the"
        yield warning("sections", f"{text} relocation list at 0x{start:x}")
    if any(image.data[data_end:start]):
        yield warning("sections", f"the padding from 0x{data_end:x} to 0x{start:x} is not zero")
    offset = header["params_offset"]
    if offset % 8:
        yield error("sections", f"params_offset at 0x30 is 0x{offset:x}, not a multiple of 8")
    if offset and any(image.data[end:offset]):
        text = f"the padding from 0x{end:x} to 0x{offset:x} is not zero"
        words = struct.unpack_from(f"<{(offset - end) // 4}I", image.data, end)
        lost = next((word for word in words if word & form.SEGMENT == form.RAM), None)
        # The driver pads with zeros: an address there is a relocation that the list has lost.
        if lost is None:
            yield warning("sections", text)
        else:
            yield error("relocations", f"{text}: 0x{lost:08x} is a place, does rel_end at 0x28 come too early?")
    if not offset and len(image.data) > form.align8(end):
        what = f"{len(image.data) - form.align8(end)} bytes behind the end of the image at 0x{form.align8(end):x}"
        yield error("sections", what)


def _equal_entries(image: Image) -> Iterator[Finding]:
    """Two names for one function, where one of the two cannot do what it is for."""
    for (first, one), (second, other) in itertools.combinations(_entries(image).items(), 2):
        if one == other and not any({first, second} <= group for group in _FOLDED):
            yield error("entries", f"entries {first} and {second} are both 0x{one:08x}")


def check_entries(image: Image) -> Iterator[Finding]:
    """Check that entry points are code."""
    for position, (name, value) in enumerate(_entries(image).items(), _ENTRY_WORDS):
        place = f"entry {name} at 0x{4 * position:x} is 0x{value:08x}"
        if value & form.SEGMENT != form.FLASH:
            yield error("entries", f"{place}, in {form.segment_text(value)} instead of {form.segment_text(form.FLASH)}")
        elif not value & 1:
            yield error("entries", f"{place}, without its Thumb bit")
        elif not 4 * image.header_words <= value & form.OFFSET < image.ro_size:
            what = f"{place}, outside the code from 0x{4 * image.header_words:x} to 0x{image.ro_size:x}"
            yield error("entries", what)


def check_header(image: Image) -> Iterator[Finding]:
    """Check sections, GOT, the place of the relocation list, and entry points."""
    yield from _sections(image)
    yield from _got(image)
    yield from _list_place(image)
    yield from _equal_entries(image)
    yield from check_entries(image)


def _check_apart(image: Image) -> Iterator[Finding]:
    """Context and pool table lie below data_end, apart from each other."""
    header = image.header
    context = (header["rt_ctx"], header["rt_ctx"] + 4 * len(words_of(image)))
    table = (header["params_start"], header["params_start"] + POOL_BYTES * (len(image.pools) + 1))
    for name, (_, end) in (("the context", context), ("the pool table", table)):
        if end > header["data_end"]:
            yield error("sections", f"{name} ends at 0x{end:08x}, behind data_end 0x{header['data_end']:08x}")
    if context[0] < table[1] and table[0] < context[1]:
        yield error("sections", f"the context at 0x{context[0]:08x} and the pool table at 0x{table[0]:08x} share bytes")


CHECKS = ("flags", "sections", "entries", "context", "pools", "params", "got", "relocations", "ec-blob")


def verify(image: Image, memories: verify_pools.WritableMemories | None = None) -> tuple[Finding, ...]:
    """All findings, in the order of :data:`CHECKS`; errors of a check before its warnings. ``image``: what
    :func:`neuralart.relocatable.format.container.parse` read; ``memories``: where pools with fixed destinations may be;
    None: that is not looked at.
    """
    found = [
        *check_flags(image),
        *check_header(image),
        *_check_apart(image),
        *verify_context.check_context(image),
        *verify_pools.check_table(image),
        *(verify_pools.check_memories(image, memories) if memories is not None else ()),
        *verify_pools.check_sums(image),
        *verify_context.check_words(image),
        *ec_blobs.check(image),
    ]
    return tuple(sorted(found, key=lambda finding: (CHECKS.index(finding.check), finding.level)))
