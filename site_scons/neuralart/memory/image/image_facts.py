"""Facts about a firmware image, and how a raw binary gives them."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from pathlib import Path

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.memory.regions import fold
from neuralart.quick import dataclass, field, replace
from neuralart.text import image_header
from neuralart.text.image_header import MAGIC, VECTOR_TABLE, BootImage

_SMALLEST = 8  # initial stack pointer and reset handler


@dataclass(frozen=True)
class Part:
    """A range of memory that the image fills or claims."""

    name: str  # section of an ELF file, segment 0 of one without sections, or what a binary is
    run: int  # address where the firmware uses it
    load: int  # address where a loader puts its bytes; equals run unless start-up code copies it
    size: int  # bytes it has in memory
    data: bytes = b""  # the bytes that a loader writes; empty for .bss and the like
    executable: bool = False  # it holds code

    @property
    def load_end(self) -> int:
        """First load address behind its bytes."""
        return self.load + len(self.data)


@dataclass(frozen=True)
class Attributes:
    """What the compiler noted about the instructions it used (Arm ABI addenda, build attributes)."""

    arch: int = 0  # Tag_CPU_arch
    profile: str = ""  # M, A, R, S or empty
    fp_arch: int = 0  # Tag_FP_arch; 0: no FPU instruction
    single_only: bool = False  # Tag_ABI_HardFP_use says single precision only
    mve: int = 0  # Tag_MVE_arch: 0 none, 1 integer, 2 integer and floating point
    vfp_args: int = 0  # Tag_ABI_VFP_args: 0 floats in core registers, 1 in FPU registers


@dataclass(frozen=True)
class ImageFacts:
    path: str  # as the user named it
    kind: str  # elf, bin, application (room for a header in front) or signed (a header in front)
    parts: tuple[Part, ...]  # in the order of the file
    slot_bytes: int = 0  # bytes of the file as the boot loader sees it, header included; 0: to be computed
    entry: int | None = None  # entry point of the ELF file or of the signed header; None: there is none
    header: BootImage | None = None  # the header of a signed image, and what stands behind it
    attributes: Attributes | None = None  # None: the file has none
    # (start, end) of Thumb code, known by mapping symbols; None: unknown.
    code: tuple[tuple[int, int], ...] | None = None
    functions: tuple[tuple[int, int, str], ...] = ()  # (address without the Thumb bit, size, name), sorted
    symbols: Mapping[str, int] = field(default_factory=dict)  # values of other symbols by name
    sizes: Mapping[str, int] = field(default_factory=dict)  # sizes of those symbols that have one

    @property
    def loaded(self) -> tuple[Part, ...]:
        """Parts whose bytes a loader writes."""
        return tuple(part for part in self.parts if part.data)

    def span(self, start: int, end: int) -> tuple[int, bytes]:
        """Address and bytes of what is loaded in [start, end), joined with 0xFF; no bytes: nothing is."""
        inside = [part for part in self.loaded if start <= part.load < end]
        first = min((part.load for part in inside), default=start)
        data = bytearray(b"\xff" * (max((part.load_end for part in inside), default=start) - first))
        for part in inside:
            data[part.load - first : part.load_end - first] = part.data
        return first, bytes(data)

    def read(self, address: int, count: int) -> bytes | None:
        """Read bytes after loading; None unless one part has them all."""
        for part in self.loaded:
            if part.load <= address and address + count <= part.load_end:
                return part.data[address - part.load :][:count]
        return None

    def word(self, address: int) -> int | None:
        """Read a little-endian word after loading."""
        data = self.read(address, 4)
        return None if data is None else int.from_bytes(data, "little")

    def text(self, address: int) -> str | None:
        """Read a C string of printable ASCII."""
        for part in self.loaded:
            if part.load <= address < part.load_end:
                found, end, _ = part.data[address - part.load :][:256].partition(b"\0")
                return found.decode("ascii") if end and found.isascii() and found.decode().isprintable() else None
        return None

    def place(self, address: int) -> str:
        """Name an address: ``copy+0x12 (0x3400121a)``, or ``0x3400121a``."""
        at = bisect.bisect_right(self.functions, (address, 1 << 32, "")) - 1
        if at >= 0:
            start, size, name = self.functions[at]
            if address < start + max(size, 4):
                return f"{name}{f'+0x{address - start:x}' if address > start else ''} (0x{address:08x})"
        return f"0x{address:08x}"


def folded(board: Board, image: ImageFacts) -> ImageFacts:
    """The same image with the addresses of its parts, code and functions in the alias of the board's security state.
    Symbols keep their values: not every one is an address.
    """
    return replace(
        image,
        parts=tuple(replace(part, run=fold(board, part.run), load=fold(board, part.load)) for part in image.parts),
        functions=tuple(sorted((fold(board, start), size, name) for start, size, name in image.functions)),
        code=None if image.code is None else tuple((fold(board, a), fold(board, a) + b - a) for a, b in image.code),
    )


def expected_table(board: Board) -> int | None:
    """The address where the core or the boot loader takes the vector table from; None: unknown."""
    if board.boot is not None:
        return board.boot.copy_to + board.boot.header
    if board.code is None:
        return None
    return board.region(board.code.region).base + board.code.offset


def read_binary(path: Path, data: bytes, board: Board, address: int | None = None) -> ImageFacts:
    """Facts of a raw binary: no symbols, one part, and what may stand in front of it. ``address``: where the first byte
    of the vector table goes; None: where the board's boot chain expects it. NeuralArtError: it is empty, or another
    kind of file.
    """
    where = str(path)
    header = board.boot.header if board.boot is not None else VECTOR_TABLE
    start = address if address is not None else expected_table(board)
    if not data:
        raise NeuralArtError("the file is empty", where=where, hint="build it again")
    if data[:1] == b":" and data[1:9].isalnum() and data[:9].isascii():
        hint = "give the ELF file or the .bin it was made of"
        raise NeuralArtError("an Intel HEX file, not a binary", where=where, hint=hint)
    if start is None:
        what = f"board {board.name} does not say where a binary goes"
        raise NeuralArtError(what, where=where, hint="say it with --address")
    kind, skip = "bin", 0
    signed = None
    if data[: len(MAGIC)] == MAGIC:
        signed = image_header.read(data, where=where)
        kind, skip = "signed", signed.vector_table or header
    elif len(data) >= header and data[:header].count(0xFF) == header:
        kind, skip = "application", header
    if len(data) < skip + _SMALLEST:
        behind = f" behind a header of {skip}" if skip else ""
        what = f"{len(data)} bytes: not even a stack pointer and a reset handler ({_SMALLEST} bytes){behind}"
        raise NeuralArtError(what, where=where, hint="build it again")
    body = data[skip:]
    if start + len(body) > 1 << 32:
        raise NeuralArtError(f"{len(body)} bytes at 0x{start:08x} end behind 4 GiB", where=where)
    entry = signed.entry_point if signed is not None else None
    part = Part("the image", start, start, len(body), body, True)
    return ImageFacts(where, kind, (part,), slot_bytes=len(data) if skip else 0, entry=entry, header=signed)
