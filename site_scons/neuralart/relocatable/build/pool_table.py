"""From the pools of network.c to the memory-pool table of the image, and to the params: their initial contents.

What is done with a pool at install, first match wins:

==========  =========================  ============
base        contents                   descriptor
==========  =========================  ============
relative    constants, read-only       RELOC.PARAM, id 0
relative    activations, read/write    RELOC.ACTIV, id 1
relative    both, read/write           RELOC.MIXED, id 1
absolute    constants, read/write      COPY.MIXED
absolute    activations                RESET.ACTIV
==========  =========================  ============

Everything else is refused; constants in an absolute read-only pool would be copied onto flash.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.targets import relative_symbol
from neuralart.relocatable.build.network_source import NetworkSource
from neuralart.relocatable.format import types as form
from neuralart.relocatable.format.types import PoolDescriptor, align8
from neuralart.vendor.network_c.types import BufferRow, Pool

# On-chip memories exist twice: secure accesses with bit 28 set, non-secure ones without it.
_ALIASED = 0x20000000, 0x40000000
_SECURE_BIT = 0x10000000


class SourcePoolUse(NamedTuple):
    """A physical pool, and what the network keeps in it."""

    pool: Pool
    size: int  # bytes that the descriptor covers
    params: int  # bytes of constants, 0 without any
    activations: int  # bytes of activations, 0 without any


class TableEntry(NamedTuple):
    """A pool with its descriptor."""

    use: SourcePoolUse
    descriptor: PoolDescriptor  # without the offset of its initial contents in the params


def _span(spans: Sequence[tuple[int, int]]) -> int:
    return max(end for _, end in spans) - min(start for start, _ in spans) if spans else 0


def _inside(pool: Pool, buffer: BufferRow, c_name: str) -> tuple[int, int] | None:
    """The part of a buffer that lies in a pool, as offsets from the pool's base."""
    if pool.relative or buffer.symbol:
        matches = pool.relative and buffer.symbol == relative_symbol(pool.fname, c_name)
        return (buffer.start, buffer.end) if matches and buffer.start < buffer.end <= pool.size else None
    start = max(buffer.base + buffer.start - pool.address, 0)
    end = min(buffer.base + buffer.end - pool.address, pool.size)
    return (start, end) if start < end else None


def _said(source: NetworkSource, pool: Pool) -> int:
    """Bytes in use as the comments say, no less. NeuralArtError: a loader is told so, and they are not exact."""
    if pool.exact is not None:
        return pool.exact
    if pool.relative and pool.writable and pool.precision:
        what = "was compiled without --all-buffers-info: which memory its activations use is unknown"
        hint = 'add --all-buffers-info to "options" of the profile and compile again'
        raise NeuralArtError(f"{what} of pool {pool.fname}", where=str(source.path), hint=hint)
    return min(pool.said + pool.precision, pool.size)


def uses(source: NetworkSource, *, as_vendor: bool, known: Mapping[str, tuple[int, int]]) -> tuple[SourcePoolUse, ...]:
    """What is in each physical pool, highest base first.

    Args:
        source: The network.
        as_vendor: Sizes as the vendor's tool counts them: from the lowest byte in use, and from the comment where no
            buffer is known. Else from the base, and nothing for a pool that is not used.
        known: fname -> (highest offset used, bytes of activations) from a compile that keeps count itself; working
            memory of kernels is in no table.

    Raises:
        NeuralArtError: A buffer lies in no pool, or a relative pool has no symbol.
    """
    found = []
    covered: dict[int, int] = {}
    for pool in source.pools:
        if pool.virtual:
            continue
        parts = {index: _inside(pool, buffer, source.c_name) for index, buffer in enumerate(source.buffers)}
        spans = {index: span for index, span in parts.items() if span is not None}
        for index, (start, end) in spans.items():
            covered[index] = covered.get(index, 0) + end - start
        params = [span for index, span in spans.items() if source.buffers[index].is_param]
        activations = [span for index, span in spans.items() if not source.buffers[index].is_param]
        highest = max((end for _, end in spans.values()), default=0)
        used, live = known.get(pool.fname, (0, 0))
        # Without the option, tables do not list all. The vendor's driver takes them for all: for pools inside the chip
        # a loader only clears less, but too little external memory would be written behind its end.
        least = _said(source, pool) if pool.writable and not source.all_buffers and not known else 0
        if as_vendor:
            size = _span(list(spans.values())) or pool.said
            size = max(size, least) if pool.relative and pool.writable else size
            active = size - _span(params) if spans else pool.said
        else:
            size = max(highest, used, least)
            active = max(_span(activations), live, least - _span(params))
        found.append(SourcePoolUse(pool, size, _span(params), active))
    for index, buffer in enumerate(source.buffers):
        if covered.get(index, 0) < buffer.end - buffer.start:
            base = buffer.symbol or f"0x{buffer.base:08x}"
            what = f"buffer {buffer.name} ({base} + {buffer.start}..{buffer.end}) lies in no pool of the comments"
            raise NeuralArtError(what, where=buffer.where, hint="was network.c edited?")
    return tuple(found)


def _entry(use: SourcePoolUse) -> TableEntry:
    pool = use.pool
    attributes = (form.WRITE if pool.writable else form.READ) | (form.CACHEABLE if pool.cacheable else 0)

    def make(kind: int, data: int, number: int = 0) -> TableEntry:
        flags = kind << 24 | data << 16 | attributes << 8 | number
        return TableEntry(
            use, PoolDescriptor(pool.fname, flags, 0, 0 if kind == form.RELOC else pool.address, use.size)
        )

    if pool.relative:
        if pool.address < form.EXTERNAL:
            what = f"pool {pool.fname} is relative and lies at 0x{pool.address:08x}: only external memory, from"
            hint = "USEMODE_ABSOLUTE for pools inside the chip"
            raise NeuralArtError(f"{what} 0x{form.EXTERNAL:08x}, can move", where=pool.where, hint=hint)
        if not pool.writable:
            if use.activations:
                raise NeuralArtError(f"pool {pool.fname} is READ_ONLY and holds activations", where=pool.where)
            return make(form.RELOC, form.PARAM)
        return make(form.RELOC, form.MIXED if use.params else form.ACTIV, 1)
    if use.params and not pool.writable:
        raise NeuralArtError(
            f"pool {pool.fname} holds {use.params:,} bytes of constants at the fixed flash address "
            f"0x{pool.address:08x}: installing would copy them onto flash",
            where=pool.where,
            hint='give it "mode": "USEMODE_RELATIVE" in the .mpool and compile again',
        )
    if not pool.writable:
        raise NeuralArtError(f"pool {pool.fname} is READ_ONLY and holds activations", where=pool.where)
    return make(form.COPY, form.MIXED) if use.params else make(form.RESET, form.ACTIV)


def _check_alias(pool: Pool, *, secure: bool) -> None:
    low, high = _ALIASED
    if pool.relative or not low <= pool.address < high:
        return
    if bool(pool.address & _SECURE_BIT) != secure:
        right = pool.address ^ _SECURE_BIT
        state = "secure" if secure else "non-secure"
        raise NeuralArtError(
            f"pool {pool.fname} lies at 0x{pool.address:08x}, but the model is made for the {state} state, where that "
            f"memory is at 0x{right:08x}",
            where=pool.where,
            hint="change the .mpool and compile again, or "
            + ("add --no-secure" if secure else "leave out --no-secure"),
        )


def table(source: NetworkSource, found: Sequence[SourcePoolUse], *, secure: bool) -> tuple[TableEntry, ...]:
    """The entries of the table. ``source``: the network, for messages; ``found``: from :func:`uses`. NeuralArtError: a
    pool cannot be part of a relocatable model, or there are too many.
    """
    entries = []
    for use in found:
        if not use.size:
            continue
        if use.size > form.PARAMS_WINDOW:
            what = (
                f"{use.size:,} bytes are in use in pool {use.pool.fname}, an image has room for {form.PARAMS_WINDOW:,}"
            )
            raise NeuralArtError(what, where=use.pool.where)
        _check_alias(use.pool, secure=secure)
        entries.append(_entry(use))
    for number, text in ((0, "read-only"), (1, "read/write")):
        same = [e.use.pool for e in entries if e.descriptor.type == form.RELOC and e.descriptor.id == number]
        if len(same) > 1:
            names = " and ".join(f"{pool.fname} at 0x{pool.address:08x}" for pool in same)
            what = f"two relative {text} pools ({names}): a loader moves one of each kind"
            hint = "make one of them USEMODE_ABSOLUTE, or disable it with size 0"
            raise NeuralArtError(what, where=same[1].where, hint=hint)
    if len(entries) > form.MOST_POOLS:
        what = f"{len(entries)} pools in use, a loader takes {form.MOST_POOLS}"
        raise NeuralArtError(what, where=str(source.path), hint="disable pools with size 0")
    return tuple(entries)


_OTHER_FORMATS = {".hex": "FORMAT_HEX", ".c": "FORMAT_C", ".h": "FORMAT_C", ".bin": "FORMAT_BIN", ".txt": "FORMAT_TXT"}


class Params(NamedTuple):
    """The initial contents of the pools, one after the other."""

    data: bytes
    descriptors: tuple[PoolDescriptor, ...]  # the table, in its order

    @property
    def crc32(self) -> int:
        """zlib CRC-32."""
        return zlib.crc32(self.data)


def find_raw(source: NetworkSource, fname: str, where: str) -> Path:
    """The initializer of a pool, beside network.c. ``<network>_atonbuf.<fname>.raw`` or another name that starts with
    the network's; else the only ``.raw`` for this pool in the folder. NeuralArtError: it is missing, written in another
    format, or cannot be told from others.
    """
    folder, stem = source.path.parent, source.path.stem
    files = sorted(path for path in folder.iterdir() if path.is_file())
    own = [path for path in files if path.name.startswith((f"{stem}_", f"{source.c_name}_"))]
    ours = [path for path in own if path.name.endswith(f".{fname}.raw")]
    found = ours or [path for path in files if path.name.endswith(f".{fname}.raw")]
    exact = folder / f"{stem}_atonbuf.{fname}.raw"
    if exact in found:
        return exact
    if len(found) > 1:
        what = f"{len(found)} files could be the initializer of pool {fname}: {', '.join(path.name for path in found)}"
        raise NeuralArtError(what, where=str(folder), hint="delete those of earlier compiles")
    if found:
        return found[0]
    for path in own:
        kind = _OTHER_FORMATS.get(path.suffix)
        if kind and path.name.removesuffix(path.suffix).endswith(f".{fname}"):
            what = f"pool {fname} was written as {kind} ({path.name}), a relocatable model takes raw bytes"
            hint = 'give it "fformat": "FORMAT_RAW" in the .mpool and compile again'
            raise NeuralArtError(what, where=where, hint=hint)
    what = f"pool {fname} holds constants, but there is no {exact.name}"
    raise NeuralArtError(what, where=str(folder), hint="copy the raw files beside network.c")


def collect(source: NetworkSource, entries: Sequence[TableEntry], *, alignment: int, moved_first: bool) -> Params:
    """Read all initializers and give each its place. ``alignment``: of each pool's contents, in bytes; ``moved_first``:
    the contents of the relative read-only pool come first: what stands in front of all contents (the epoch-controller
    blobs) then has the same base as they. NeuralArtError: an initializer is missing, or too large.
    """
    order = [entry for entry in entries if entry.descriptor.data in (form.PARAM, form.MIXED)]
    if moved_first:
        order.sort(key=lambda entry: (entry.descriptor.type, entry.descriptor.data) != (form.RELOC, form.PARAM))
    data = bytearray()
    offsets: dict[str, int] = {}
    for entry in order:
        pool, size = entry.use.pool, entry.use.size
        path = find_raw(source, pool.fname, pool.where)
        raw = read_bytes(path)
        if len(raw) > pool.size:
            raise NeuralArtError(f"{len(raw):,} bytes, pool {pool.fname} has {pool.size:,}", where=str(path))
        if len(raw) < entry.use.params:
            what = f"{len(raw):,} bytes, network.c keeps {entry.use.params:,} bytes of constants in pool {pool.fname}"
            raise NeuralArtError(what, where=str(path), hint="it is of another compile, or cut off")
        data += bytes(-len(data) % alignment)
        offsets[pool.fname] = len(data)
        data += raw.ljust(align8(max(len(raw), size)), b"\0")
    descriptors = (replace(entry.descriptor, foff=offsets.get(entry.use.pool.fname, 0)) for entry in entries)
    return Params(bytes(data), tuple(descriptors))
