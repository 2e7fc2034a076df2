"""Describes an image, with the tables of the vendor's tool and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from neuralart.relocatable.format.container import POOL_BYTES
from neuralart.relocatable.format.types import OFFSET, Image, ec_front, file_offset, stored_data
from neuralart.relocatable.verify import ec_blobs
from neuralart.vendor.releases import dotted, of_runtime

SCHEMA = 1
_INDENT = "   "


def _size(label: str, value: int, what: str = "") -> str:
    grouped = f"{value:,}"
    return f"{_INDENT}{label:<13} = {grouped:<11} (0x{value:x}) {what}".rstrip()


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> Iterator[str]:
    """Format a table as the vendor's tool does."""
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    line = _INDENT + "+" + "+".join("-" * (width + 2) for width in widths) + "+"

    def row(cells: Sequence[str]) -> str:
        padded = (f" {cell:<{width}} " for cell, width in zip(cells, widths, strict=True))
        return f"{_INDENT}|{'|'.join(padded)}|"

    yield from (line, row(heads), line, *(row(cells) for cells in rows), line)
    yield f"{_INDENT} Table: {caption}"


def sections(image: Image) -> dict[str, tuple[int, int]]:
    """Start and end of the parts: virtual addresses, of ``rel`` file offsets with the segment's nibble."""
    header = image.header
    return {
        "header": (0x20000000, 0x20000000 + 4 * image.header_words),
        "data": (header["data_start"], header["data_end"]),
        "bss": (header["bss_start"], header["bss_end"]),
        "got": (header["got_start"], header["got_end"]),
        "rel": (header["rel_start"], header["rel_end"]),
    }


def _name_pointer(image: Image, number: int) -> int:
    offset = file_offset(image.header, image.header["params_start"] + POOL_BYTES * number) or 0
    return int.from_bytes(image.data[offset : offset + 4], "little")


def notes(image: Image) -> list[str]:
    """List what a user of the image should know."""
    found = []
    if image.flags.clang and image.copy_only:
        found.append("built by clang with absolute words in its code: works in mode COPY only")
    if image.split:
        found.append("split: the params are in a file of their own, whose address the application must give")
    if image.context.version[0] == 0:
        found.append("reference runtime: loaders of the vendor refuse it with -1")
    for number, pool in enumerate(image.pools):
        if pool.data in (2, 3) and not pool.attributes & 2:
            found.append(f"pool {number} ({pool.name}) has activations and is marked read only")
    return found


def _pool_rows(image: Image) -> list[list[str]]:
    rows = []
    for number, pool in enumerate(image.pools):
        name, flags = f"{pool.name} ({_name_pointer(image, number):08x})", f"{pool.flags:08x} {pool.notation}"
        rows.append([name, flags, str(pool.foff), f"{pool.dst:08x}", str(pool.size)])
    return [*rows, ["<undefined> (00000000)", "00000000 UNUSED", "0", "00000000", "0"]]


def _blob_rows(blobs: Sequence[ec_blobs.EcBlob]) -> list[list[str]]:
    rows = []
    for blob in blobs:
        kind = "damaged" if blob.fault else "relocatable" if blob.relocatable else "static"
        ids = ", ".join(relocation.id for relocation in blob.relocations)
        rows.append([f"{blob.place}+0x{blob.offset:x}", kind, str(blob.words), str(blob.patches), ids])
    return rows


def _context_lines(image: Image) -> Iterator[str]:
    context, head = image.context, f"{_INDENT}rt_ctx        "
    version = dotted(image.version)
    yield f"{head}c_name='{context.c_name}', rt_version_desc='{context.description}', rt_version={version}"
    yield f"{head}acts_sz={context.acts_sz:,}, params_sz={context.params_sz:,}, ext_ram_sz={context.ext_ram_sz:,}"
    yield f"{head}params_bin_sz={context.params_bin_sz:,}, params_bin_crc32=0x{context.params_bin_crc32:08x}"
    if context.struct_sizes is not None:
        info, item = context.struct_sizes
        yield f"{head}struct sizes: buffer info {info}, epoch item {item}"


def _driver_4(image: Image) -> Iterator[str]:
    """Lines of the driver that comes with ST Edge AI Core 4, which other programs search for."""
    release = of_runtime(image.version)
    if release is None or int(release.core.partition(".")[0]) < 4:
        return
    context = image.context
    yield f"{_INDENT}{'params size':<20} = {context.params_sz:,}{' not included in the binary file' * image.split}"
    yield f"{_INDENT}{'acts size':<20} = {context.acts_sz:,}"
    yield f"{_INDENT}{'binary file size':<20} = {len(image.data):,}"
    yield f"{_INDENT}{'params file size':<20} = {context.params_bin_sz if image.split else 0:,}"


def as_text(image: Image) -> str:
    """The tables; sizes from ``XIP size`` to the pools in the vendor tool's notation, which other programs search."""
    header = image.header
    rows = [[f"{index:2}", name, f"0x{header[name]:08x}"] for index, name in enumerate(image.names)]
    blobs = ec_blobs.find(image)
    what = f"relocatable model '{image.context.c_name}', {dotted(image.version)}, {len(image.data):,} bytes"
    pools = f"mempool c-descriptors (off={header['params_start']:08x}, {len(image.pools) + 1} entries, from RAM)"
    lines = [
        f"{_INDENT}{image.where}: {what}",
        f"{_INDENT}flags         0x{header['flags']:08X} {image.flags.text}",
        "",
        *table(["word", "name", "value"], rows, f"header ({image.header_words} words)"),
        "",
        _size("XIP size", image.xip_size, "data+got+bss sections"),
        _size("COPY size", image.copy_size, "+ro sections"),
        _size("RO size", image.ro_size),
        _size("RW size", image.rw_size, f"{stored_data(header):,} of them in the file"),
        _size("PARAMS offset", header["params_offset"], "in a file of its own" if image.split else ""),
        _size("PARAMS size", len(image.params) if image.params is not None else image.context.params_bin_sz),
        f"{_INDENT}GOT           = {len(image.got)} words, relocations = {len(image.relocations)}",
        *_driver_4(image),
        "",
        *table(["name (addr)", "flags", "foff", "dst", "size"], _pool_rows(image), pools),
        "",
        *_context_lines(image),
    ]
    if blobs:
        caption = f"epoch-controller blobs ({len(blobs)})"
        heads = ["place", "kind", "words", "patches", "relocated by"]
        lines += ["", *table(heads, _blob_rows(blobs), caption)]
    lines += [f"{_INDENT}note: {note}" for note in notes(image)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def image_data(image: Image) -> dict[str, Any]:
    """Make the image plain data, with the keys of the vendor tool's results file."""
    header, context, decoded = image.header, image.context, image.flags
    return {
        "flags": {"raw": header["flags"], **asdict(decoded), "text": decoded.text},
        "img_size": len(image.data),
        "params_offset": header["params_offset"],
        "params_size": len(image.params) if image.params is not None else None,
        "xip_size": image.xip_size,
        "copy_size": image.copy_size,
        "ro_size": image.ro_size,
        "rw_size": image.rw_size,
        "split": image.split,
        "header_words": image.header_words,
        "header": {name: header[name] for name in image.names},
        "sections": {
            name: {"start": start, "end": end, "size": end - start} for name, (start, end) in sections(image).items()
        },
        "got": list(image.got),
        "relocations": len(image.relocations),
        "mempool_c_descriptors": [
            {
                **{"name": pool.name, "addr": _name_pointer(image, number)},
                **{"flags_raw": pool.flags, "flags_desc": pool.notation},
                **{"foff": pool.foff, "dst": pool.dst, "size": pool.size},
            }
            for number, pool in enumerate(image.pools)
        ],
        "rt_context": {
            **asdict(context),
            "version": list(context.version),
            "struct_sizes": list(context.struct_sizes) if context.struct_sizes is not None else None,
            "addr": header["rt_ctx"],
        },
        "ec_blobs": [
            {**asdict(blob), "relocatable": blob.relocatable, "patches": blob.patches} for blob in ec_blobs.find(image)
        ],
        "ec_blobs_in_params": ec_front(image),
        "img_params_size": context.params_sz,
        "acts_size": context.acts_sz,
        "data_offset": header["data_data"] & OFFSET,
        "notes": notes(image),
    }
