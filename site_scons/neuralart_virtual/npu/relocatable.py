"""A relocatable model of ST Edge AI Core on a board's memories: placed as a loader places it, its code never run.

What a loader does with pools is in docs/reference/relocatable.md. Epochs come from the programs in the image;
epochs that are code there come from the network.c that the image was built of. Without it, the tables of the image say
what its network is; they are found by the getters of the header: three instructions of gcc, which are compared and
never run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from neuralart.boards.types import Board, LoadSlots
from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import types as form
from neuralart.relocatable.format.types import Image, PoolDescriptor
from neuralart.relocatable.predict.prediction import InstallCall, Room
from neuralart.relocatable.predict.predictor import predict
from neuralart.relocatable.verify import ec_blobs
from neuralart.relocatable.verify.verifier import verify
from neuralart.vendor.network_c.banner import Banner
from neuralart.vendor.network_c.read import read
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
from neuralart_virtual.network_c.ecblobs import BlobHeader, BlobRelocation, EpochBlob
from neuralart_virtual.npu.controller import Label, decode
from neuralart_virtual.npu.dataflow import Settings
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.network_memory import LINE
from neuralart_virtual.npu.run import VirtualNetwork

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


COPY, XIP = "copy", "xip"


@dataclass(frozen=True)
class InstalledModel:
    """A model that is installed."""

    image: Image
    memory: NpuMemory
    bases: dict[str, int]  # Where each relocated pool begins, by its name
    programs: dict[int, EpochBlob]  # By the number of their first epoch; read from where they are installed
    steps: tuple[str, ...]  # What the loader did, for people


def slots_of(board: Board) -> LoadSlots:
    """Where a board keeps relocatable models. NeuralArtError: nowhere."""
    if board.relocatable is None:
        raise NeuralArtError(f"board {board.name} has no place for relocatable models", where=board.where)
    return board.relocatable


def _rooms(image: Image, board: Board, mode: str, addresses: Sequence[int]) -> InstallCall:
    """Where everything goes. NeuralArtError: the board has no place for a model, or too little memory."""
    slots = slots_of(board)
    at, params = (*addresses, *(slots.model, slots.params)[len(addresses) :])
    need = image.copy_size if mode == COPY else image.xip_size
    fixed = [Room(pool.dst, pool.size) for pool in image.pools if pool.dst]
    rooms = (Room(region.base, region.size) for region in board.memory if region.kind == "ram")
    free = (room for room in rooms if room.size >= need and not any(room.shares(other) for other in fixed))
    executive = next(free, None)
    if executive is None:
        what = f"no RAM of board {board.name} has {need} bytes for the code and data of the model beside its pools"
        raise NeuralArtError(what, where=image.where, hint="--mode xip needs less" if mode == COPY else "")
    external = board.region(slots.ext_ram) if slots.ext_ram else None
    room = Room(external.base, external.size) if external is not None else None
    return InstallCall(at, executive, room, params if image.split else 0, mode == COPY)


def install(image: Image, board: Board, mode: str, addresses: Sequence[int] = ()) -> InstalledModel:
    """Place a model on the memories of a board, in mode ``copy`` or ``xip``. ``addresses``: of the model and of its
    params in flash, as far as they are not the board's.

    Raises NeuralArtError: the image is damaged or holds other constants than it says, or a loader would refuse it.
    """
    wrong = next((finding for finding in verify(image) if finding.level == "error"), None)
    if wrong is not None:
        raise NeuralArtError(wrong.message, where=image.where, hint="copy or build it again")
    call = _rooms(image, board, mode, addresses)
    answer = predict(image, call)
    if answer.code:
        what = f"a loader answers {answer.code} ({answer.name}): {answer.reason}"
        raise NeuralArtError(what, where=image.where, hint=answer.remedy)
    params = call.params or call.at + image.header["params_offset"]
    contents = np.frombuffer(image.params or b"", np.uint8)
    memory = _memories(image, board, call)
    if mode == COPY:
        memory.view(call.ram.start, image.ro_size)[:] = np.frombuffer(image.data[: image.ro_size], np.uint8)
    bases = {}
    for pool in image.pools:
        base, external = _base(image, pool, params, call), pool.type == form.RELOC and pool.id == 1
        try:
            memory.view(base, pool.size)
        except NpuError as error:
            raise NeuralArtError(f"pool {pool.name} at 0x{base:08x}: {error.reason}", where=image.where) from None
        if pool.type == form.RELOC:
            bases[pool.name] = base
        if pool.data in (form.PARAM, form.MIXED) and (external or pool.type == form.COPY):
            # Copied by our own loader, as start-up code copies constants.
            memory.view(base, pool.size)[:] = contents[pool.foff : pool.foff + pool.size]
    code = call.ram.start if mode == COPY else call.at
    return InstalledModel(image, memory, bases, dict(_programs(image, memory, code, params)), answer.steps)


def _base(image: Image, pool: PoolDescriptor, params: int, call: InstallCall) -> int:
    if pool.type != form.RELOC:
        return pool.dst
    if pool.id and call.ext_ram is not None:
        return call.ext_ram.start
    # Programs in front of the constants are in the address range of the pool, and its offset does not count them.
    return params + pool.foff + (form.ec_front(image) if pool.data == form.PARAM else 0)


def _memories(image: Image, board: Board, call: InstallCall) -> NpuMemory:
    memory = NpuMemory()
    memory.add_merged((region.base, region.end, region.name) for region in board.memory if region.kind == "ram")
    external = image.relative_ram
    if external is not None and call.ext_ram is not None:
        memory.add("external RAM", call.ext_ram.start, np.zeros(form.align8(external.size) + LINE, np.uint8))
    flashed = [(call.at, image.data)] + ([(call.params, image.params or b"")] if image.split else [])
    for address, data in flashed:
        # Engines may touch the line behind the last byte.
        memory.add("flash", address, np.frombuffer(data + b"\xff" * LINE, np.uint8))
    return memory


def _programs(image: Image, memory: NpuMemory, code: int, params: int) -> Iterator[tuple[int, EpochBlob]]:
    """The programs of the epoch controller, from where they are installed."""
    for blob in ec_blobs.find(image):
        at = (code if blob.place == "FLASH" else params) + blob.offset + blob.blob_offset
        try:
            words = memory.words(at, 2 + memory.words(at, 2)[1])
            number = next((step.number for step in decode(words) if isinstance(step, Label)), None)
        except NpuError:
            continue  # Data that look like the head of a program; what is missing is named by its epoch
        moves = tuple(BlobRelocation(each.id, None, "", len(each.words), each.words) for each in blob.relocations)
        if number is not None:
            program, size = struct.pack(f"<{len(words)}I", *words), 4 * len(words)
            name = f"epoch {number}"
            yield number, EpochBlob(name, "", number, size, -(-size // 8), "plain", 0, moves, None, "", program)


def network_of(loaded: InstalledModel, description: Path | None, settings: Settings | None = None) -> VirtualNetwork:
    """The network of an installed model, ready to run. ``description``: network.c that it was built of; None: the
    tables of the image tell, if each of its epochs is a program.

    Raises NeuralArtError: an epoch is code of the image; the image is of another network.c.
    """
    network = described(loaded.image) if description is None else read(description, description.name)
    if network.problems:
        raise NeuralArtError(network.problems[0].what, where=network.problems[0].where)
    network, blobs = _with_programs(loaded, network)
    return VirtualNetwork(network, blobs=blobs, settings=settings, board=loaded.memory, loaded=loaded.bases)


def _with_programs(loaded: InstalledModel, network: GeneratedNetwork) -> tuple[GeneratedNetwork, BlobHeader]:
    """The network with the programs of its image. NeuralArtError: the image is of another network.c."""
    blocks, blobs = [], []
    for block in network.blocks:
        if block.kind == EC:
            blob = loaded.programs.get(block.number if block.number is not None else -1)
            if blob is None:
                what = f"has no program that begins with epoch {block.number} of {network.where}"
                raise NeuralArtError(what, where=loaded.image.where, hint="is it the image of this network.c?")
            blobs.append(blob)
            block = block._replace(blob=blob.symbol)
        blocks.append(block)
    return replace(network, blocks=tuple(blocks)), BlobHeader(loaded.image.where, network.name, tuple(blobs), ())
