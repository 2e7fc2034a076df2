"""A first-stage boot loader, as its slot holds it: from Intel HEX, a binary, or a linked program (ELF)."""

from __future__ import annotations

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.text import image_header
from neuralart.text.elf import Elf
from neuralart.text.ihex import parse


def _linked(data: bytes, where: str) -> bytes:
    """The loaded bytes of a program, from its first to its last address."""
    elf = Elf(data, where)
    parts = sorted((segment.load, elf.bytes_of(segment, "a segment")) for segment in elf.segments if segment.file_size)
    made = bytearray()
    for at, part in parts:
        offset = at - parts[0][0]
        if offset - len(made) > 1 << 20:
            raise NeuralArtError(f"a segment at 0x{at:08x} is far from the others", where=where)
        made[len(made) :] = bytes(max(0, offset - len(made)))
        made[offset : offset + len(part)] = part
    return bytes(made)


def _of_hex(data: bytes, slot: int, where: str) -> bytes:
    parts = parse(data, where).parts
    if not parts:
        raise NeuralArtError("it holds no bytes", where=where)
    if parts[0][0] != slot:
        what = f"it goes to 0x{parts[0][0]:08x}, the slot of the first-stage boot loader is at 0x{slot:08x}"
        raise NeuralArtError(what, where=where, hint="slots: {fsbl: ...} moves the slot")
    made = bytearray()
    for at, part in parts:
        if at - slot < len(made) or at - slot - len(made) > 1 << 20:
            raise NeuralArtError(f"its parts are no single image: one goes to 0x{at:08x}", where=where)
        # What is not written stays erased.
        made += b"\xff" * (at - slot - len(made)) + part
    return bytes(made)


def boot_loader(data: bytes, board: Board, slot: int, room: int, where: str) -> bytes:
    """The bytes of a slot: header, then boot loader; ``room``: bytes up to what follows the slot in flash.

    ``data``: Intel HEX or a binary with its header, a bare binary that begins with its vector table, or an ELF file.
    What has no header gets one, without a signature. NeuralArtError: the boot ROM would not start it, it is for another
    place, or does not fit.
    """
    if data[:4] == b"\x7fELF":
        data = _linked(data, where)
    elif data[:1] == b":":
        data = _of_hex(data, slot, where)
    if not data.startswith(image_header.MAGIC):
        version = board.boot.header_version if board.boot is not None else ""
        data = image_header.make(data, "fsbl", image_header.VERSIONS[version or "2.3"], where)
    image = image_header.judged(data, where)
    if image.binary_type != image_header.TYPES["fsbl"]:
        what = f"its header says binary type 0x{image.binary_type:x}, not 0x10"
        what += ": the boot ROM takes it for no first-stage boot loader"
        raise NeuralArtError(what, where=where, hint="sign it with type fsbl")
    if len(data) > room:
        raise NeuralArtError(f"{len(data)} bytes, the slot at 0x{slot:08x} has room for {room}", where=where)
    return data
