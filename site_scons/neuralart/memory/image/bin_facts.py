"""Facts about an image from a raw binary: no symbols, one part, and what may stand in front of it."""

from __future__ import annotations

from pathlib import Path

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.memory.image.image_facts import ImageFacts, Part

HEADER = 0x400
MAGIC = b"STM2"
_PAYLOAD, _ENTRY = 0x6C, 0x70  # words of the signed header: length of what follows it, and where it begins to run
SMALLEST = 8  # initial stack pointer and reset handler


def _code_start(board: Board) -> int | None:
    if board.boot is not None:
        return board.boot.copy_to + board.boot.header
    if board.code is None:
        return None
    return board.region(board.code.region).base + board.code.offset


def read(path: Path, data: bytes, board: Board, address: int | None = None) -> ImageFacts:
    """Facts of a binary.

    Args:
        path: Name of the file, for messages.
        data: Its bytes.
        board: Says where a binary goes that is not told.
        address: Where the byte of the vector table goes; None: where the board's boot chain expects it.

    Raises:
        NeuralArtError: It is empty, or another kind of file.
    """
    where = str(path)
    header = board.boot.header if board.boot is not None else HEADER
    start = address if address is not None else _code_start(board)
    if not data:
        raise NeuralArtError("the file is empty", where=where, hint="build it again")
    if data[:1] == b":" and data[1:9].isalnum() and data[:9].isascii():
        raise NeuralArtError(
            "an Intel HEX file, not a binary", where=where, hint="give the ELF file or the .bin it was made of"
        )
    if start is None:
        raise NeuralArtError(
            f"board {board.name} does not say where a binary goes", where=where, hint="say it with --address"
        )
    kind, skip = "bin", 0
    entry = payload = None
    if data[: len(MAGIC)] == MAGIC:
        kind, skip = "signed", header
        entry = int.from_bytes(data[_ENTRY : _ENTRY + 4], "little")
        payload = int.from_bytes(data[_PAYLOAD : _PAYLOAD + 4], "little")
    elif len(data) >= header and data[:header].count(0xFF) == header:
        kind, skip = "application", header
    if len(data) < skip + SMALLEST:
        behind = f" behind a header of {skip}" if skip else ""
        raise NeuralArtError(
            f"{len(data)} bytes: not even a stack pointer and a reset handler ({SMALLEST} bytes){behind}",
            where=where,
            hint="build it again",
        )
    body = data[skip:]
    if start + len(body) > 1 << 32:
        raise NeuralArtError(f"{len(body)} bytes at 0x{start:08x} end behind 4 GiB", where=where)
    part = Part("the image", start, start, len(body), body, True)
    return ImageFacts(where, kind, (part,), slot_bytes=len(data) if skip else 0, entry=entry, payload=payload)
