"""What a relocatable model says of its network without its network.c: epochs, inputs and outputs, from its tables.

The tables are found by the getters of the header: three instructions of gcc, which are compared and never run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from neuralart.relocatable.format import types as form
from neuralart.relocatable.format.types import Image, PoolDescriptor
from neuralart.vendor.network_c.banner import Banner
from neuralart.vendor.network_c.types import (
    EC,
    HW,
    HYBRID,
    SW,
    BufferRow,
    EpochBlock,
    GeneratedNetwork,
    NetworkPort,
    Pool,
)
from neuralart_virtual.npu.errors import NpuError

# ldr r3, [pc, #4]; ldr.w r0, [r9, r3]; bx lr; behind it where the table's address is in the GOT.
_GETTER = bytes.fromhex("014b59f803007047")
_ITEM_WORDS, _ROW_WORDS = 12, 14
_MOST = 4096  # Rows of a table
_BLOB, _LAST, _ENCRYPTED = 4, 8, 0x100
_KINDS = ((_BLOB, EC), (0x40, HYBRID), (0x20, SW), (0x10, HW))
_FLOAT = 1
_HINT = "give the network.c of this compile with --description"


def described(image: Image) -> GeneratedNetwork:
    """The network of an image whose epochs are all programs of the epoch controller.

    Raises NpuError: an epoch is code of the image, or a table cannot be found.
    """
    blocks = tuple(_blocks(image))
    name = image.context.c_name
    pools = tuple(_pool(number, pool) for number, pool in enumerate(image.pools) if pool.type == form.RELOC)
    inputs = tuple(_ports(image, "input"))
    outputs = tuple(_ports(image, "output"))
    rows = tuple(port.row for port in (*inputs, *outputs))
    runtime = image.version
    return GeneratedNetwork(
        image.where, "", name, Banner(), runtime, "", True, "", blocks, pools, rows, inputs, outputs, ()
    )


def _pool(index: int, pool: PoolDescriptor) -> Pool:
    """A pool that can move; of the others only their addresses count, which programs have."""
    name, size = pool.name, pool.size
    # All of it is in use, exactly; it has no score, and takes initializers.
    return Pool(index, name, name, 0, size, size, 0, size, "relative_mode", "READ_WRITE", False, None, False, True)


def _fail(image: Image, what: str) -> NpuError:
    return NpuError(what, file=image.where, hint=_HINT)


def _table(image: Image, getter: str) -> int:
    """The virtual address that a getter returns."""
    at = (image.header[getter] & form.OFFSET) - 1
    if at % 4 or image.data[at : at + len(_GETTER)] != _GETTER:
        raise _fail(image, f"{getter} is code of another form than gcc's for a table, and code is not executed")
    (place,) = struct.unpack_from("<I", image.data, at + len(_GETTER))
    return _words(image, form.RAM | place, 1, getter)[0]


def _words(image: Image, address: int, count: int, what: str) -> tuple[int, ...]:
    at = form.file_offset(image.header, address)
    if at is None or at + 4 * count > len(image.data):
        raise _fail(image, f"{what} leads to 0x{address:08x}, where the image has no {count} words")
    return struct.unpack_from(f"<{count}I", image.data, at)


def _blocks(image: Image) -> Iterator[EpochBlock]:
    if not image.flags.dbg_info:
        raise _fail(image, "its epochs have no numbers (built without debug information)")
    table = _table(image, "get_epoch_items")
    for number in range(_MOST):
        words = _words(image, table + 4 * _ITEM_WORDS * number, _ITEM_WORDS, "the table of epochs")
        flags, first, last = words[4] & 0xFFFF, words[4] >> 16, words[5] & 0xFFFF
        if flags & _LAST:
            return
        kind = next((kind for bit, kind in _KINDS if flags & bit), "")
        if kind != EC:
            how = {HW: "sets up its units by code", SW: "is computed by code", HYBRID: "is computed by code"}
            what = f"epoch {first} ({kind or 'of no kind'}) {how.get(kind, 'is unknown')} of the image"
            raise _fail(image, f"{what}, which is not executed")
        yield EpochBlock(first, last, EC, (), (), "", bool(flags & _ENCRYPTED), None, None)
    raise _fail(image, f"the table of epochs has no end within {_MOST} rows")


def _ports(image: Image, table: str) -> Iterator[NetworkPort]:
    """Buffers of a table that are no constants."""
    start, listed = _table(image, f"get_{table}_buffers_info"), set(image.relocations)
    for number in range(_MOST):
        at = start + 4 * _ROW_WORDS * number
        words = _words(image, at, _ROW_WORDS, f"the table of {table}s")
        if not words[0]:
            return
        if words[5] & 0xFF00:
            continue
        name = _text(image, words[0])
        if words[5] & 0xFF or words[3] < words[2]:
            raise _fail(image, f"{table} {name} is a buffer of the application, or has no size")
        symbol, base = "", words[1]
        if at + 4 in listed:
            wanted = (base & form.SEGMENT) - form.PARAM_0 >> 28
            pool = next((pool for pool in image.pools if pool.type == form.RELOC and pool.id == wanted), None)
            if pool is None:
                raise _fail(image, f"{table} {name} is in no pool: 0x{base:08x}")
            symbol, base = f"_mem_pool_{pool.name}_{image.context.c_name}", 0
        row = BufferRow(table, name, symbol, base, words[2], words[3], False, False, words[5] >> 16, "")
        dimensions, bits, kind = words[8] & 0xFFFF, words[10] & 0xFF, words[8] >> 24
        unsigned = words[9] >> 8 & 0xFF
        dtype = f"float{bits}" if kind == _FLOAT else f"{'u' if unsigned else ''}int{bits}"
        shape = _words(image, words[7], min(dimensions, 8), name) if words[7] else ()
        yield NetworkPort(row, base + words[2], "", shape, shape, "undefined", dtype, bits, None)


def _text(image: Image, address: int) -> str:
    at = form.file_offset(image.header, address)
    raw = image.data[at : at + 256].split(b"\0")[0] if at is not None else b""
    if not raw or not all(32 < byte < 127 for byte in raw):
        raise _fail(image, f"a buffer has no readable name at 0x{address:08x}")
    return raw.decode("ascii")
