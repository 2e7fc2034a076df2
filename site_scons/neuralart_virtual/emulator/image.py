"""What is loaded into a machine before it starts, and how it comes to run: through the boot chain, or put in place."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neuralart import products
from neuralart.boards.types import Board, Boot
from neuralart.errors import NeuralArtError, nearest
from neuralart.flashing.nor import Nor
from neuralart.memory.regions import fold
from neuralart.text import image_header
from neuralart.text.elf import FUNCTION, UNDEFINED, Elf
from neuralart.text.image_header import BootImage
from neuralart_virtual.emulator import MachineStop


@dataclass(frozen=True)
class Load:
    """Bytes at an address."""

    name: str  # What they are, for messages
    address: int  # Where they are loaded
    data: bytes  # The bytes

    @property
    def end(self) -> int:
        """First address behind them."""
        return self.address + len(self.data)


class Symbols:
    """Names of code addresses."""

    def __init__(self, functions: Sequence[tuple[int, int, str]]) -> None:
        """Takes (address without the Thumb bit, size in bytes, name)."""
        self._functions = sorted(functions)
        self._starts = [start for start, _, _ in self._functions]

    def address_of(self, name: str) -> int | None:
        """Where a function begins; None if there is none of this name."""
        return next((start for start, _, other in self._functions if other == name), None)

    def needed(self, name: str) -> int:
        """Where a function of an epoch begins. NeuralArtError: there is none of this name."""
        address = self.address_of(name)
        if address is None:
            raise NeuralArtError(f"the image has no function {name}", hint="are its epochs loaded at run time?")
        return address

    def name_at(self, address: int) -> str:
        """``copy+0x12``; empty when no function is there."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return ""
        start, size, name = self._functions[at]
        if address >= start + max(size, 4):
            return ""
        return f"{name}+0x{address - start:x}" if address > start else name

    def describe(self, pc: int) -> str:
        """``copy+0x12 (pc 0x3400121a)`` or ``pc 0x3400121a``."""
        name = self.name_at(pc)
        return f"{name} (pc 0x{pc:08x})" if name else f"pc 0x{pc:08x}"


@dataclass(frozen=True)
class Firmware:
    """An ELF file."""

    path: str  # As named by the user
    loads: tuple[Load, ...]  # Segments with contents, by load address; one may begin with headers of the file
    symbols: Symbols  # Its functions
    sections: tuple[Load, ...] = ()  # Its sections with contents, by load address: what a binary made of it holds


def read_elf(path: Path) -> Firmware:
    """Read an executable for Arm. NeuralArtError: missing, no ELF, not for Arm, or without anything to load."""
    elf = Elf(products.read(path), str(path))
    if elf.machine != "EM_ARM" or elf.kind != "ET_EXEC":
        raise NeuralArtError(f"{elf.kind} for {elf.machine}, not an Arm executable", where=str(path))
    loads: list[Load] = []
    for number, segment in enumerate(elf.segments):
        name = f"{path.name} segment {number}"
        if segment.file_size:
            loads.append(Load(name, segment.load, elf.bytes_of(segment, name)))
        if loads and loads[-1].end > 1 << 32:
            raise NeuralArtError(f"{name} ends behind 4 GiB", where=str(path))
    if not loads:
        raise NeuralArtError("nothing in it is to be loaded", where=str(path))
    filled = [section for section in elf.sections if section.allocated and section.filled]
    places = ((section, elf.load_address(section)) for section in filled)
    sections = [Load(each.name, at, elf.bytes_of(each, each.name)) for each, at in places if at is not None]
    found = [symbol for symbol in elf.symbols if symbol.kind == FUNCTION and symbol.section != UNDEFINED]
    functions = [(symbol.value & ~1, symbol.size, symbol.name) for symbol in found]
    return Firmware(str(path), tuple(loads), Symbols(functions), tuple(sections))


def read_raw(path: Path, address: int) -> Load:
    """A raw file that is loaded to an address. NeuralArtError: missing, or it ends behind 4 GiB."""
    load = Load(path.name, address, products.read(path))
    if load.end > 1 << 32:
        raise NeuralArtError(f"{len(load.data)} bytes at 0x{address:08x} end behind 4 GiB", where=str(path))
    return load


def check_disjoint(loads: Sequence[Load]) -> None:
    """No two loads may write the same byte. NeuralArtError: two overlap."""
    ordered = sorted((load for load in loads if load.data), key=lambda load: load.address)
    for first, second in itertools.pairwise(ordered):
        if second.address < first.end:
            both = [f"{each.name} (0x{each.address:08x}..0x{each.end:08x})" for each in (first, second)]
            raise NeuralArtError(f"{both[0]} and {both[1]} overlap", hint="each must have a place of its own")


@dataclass(frozen=True)
class BootState:
    """The state in which the core is let go."""

    vectors: int  # Address of the vector table
    loads: tuple[Load, ...]  # What is in memory before; later ones overwrite earlier ones
    notes: tuple[str, ...] = ()  # What a user should know of it
    symbols_fit: bool = True  # The ELF is what runs: its symbols mean something

    @classmethod
    def direct(cls, board: Board, firmware: Firmware, loads: tuple[Load, ...] = ()) -> BootState:
        """Segments stand at load addresses, no boot chain runs. NeuralArtError: the board has no place for code."""
        if board.code is None:
            raise NeuralArtError("the board does not say where code is", where=f"board {board.name}")
        return cls(board.region(board.code.region).base + board.code.offset, (*firmware.loads, *loads))

    @classmethod
    def flash(cls, board: Board, firmware: Firmware, nor: Nor) -> BootState:
        """A stand-in for the first-stage boot loader copies from the flash what is in the slot of the application.

        It copies exactly as many bytes as the board says, whatever the image's size, and takes the vector table behind
        the header. Where the board's boot chain reads headers, an image whose header does not describe it is refused.
        The ELF gives names to addresses, no bytes. NeuralArtError: the slot is not in the flash. MachineStop: the slot
        is empty, or the boot chain does not start what is there.
        """
        contents = tuple(Load("the flash", nor.chip.base + offset, data) for offset, data in nor.runs())
        if board.boot is None:
            said = f"board {board.name} has no boot chain: {firmware.path} is loaded in place"
            return replace(cls.direct(board, firmware), loads=(*contents, *firmware.loads), notes=(said,))
        slot, image = _slot(board, board.boot, nor)
        copied = Load(f"slot {board.boot.slot} (0x{slot:08x})", board.boot.copy_to, image)
        notes, fit = _compare(board, firmware, copied)
        return cls(board.boot.copy_to + board.boot.header, (*contents, copied), notes, fit)


def _slot(board: Board, chain: Boot, nor: Nor) -> tuple[int, bytes]:
    """Address of the slot, and the bytes that are copied of it."""
    where = board.where or f"board {board.name}"
    if chain.slot not in board.slots:
        hint = nearest(chain.slot, list(board.slots))
        raise NeuralArtError(f"the boot chain starts slot '{chain.slot}'", where=where, hint=hint)
    slot = board.slots[chain.slot]
    offset = slot - nor.chip.base
    if offset < 0 or offset + chain.copy_size > nor.chip.size:
        what = f"slot {chain.slot} [0x{slot:08x}, 0x{slot + chain.copy_size:08x}) is not within the flash of {nor.chip}"
        raise NeuralArtError(what, where=where)
    image = nor.read(offset, chain.copy_size)
    vectors = image[chain.header : chain.header + 8]
    if vectors == b"\xff" * 8:
        what = f"{chain.slot} slot is empty: nothing was flashed"
        what += f" (0x{slot + chain.header:08x}, where the vector table should be, is erased)"
        raise MachineStop(what, hint="neuralart flash --plan flash_plan.json --nor FILE")
    if chain.header_version:
        _check_boot_loader(board, nor)
        _check_header(nor, offset, f"{chain.slot} slot (0x{slot:08x})")
    return slot, image


def _check_boot_loader(board: Board, nor: Nor) -> None:
    """What is in the first-stage boot loader's slot must start. MachineStop: the boot ROM does not start it."""
    slot = board.slots.get("fsbl")
    if slot is None or nor.read(slot - nor.chip.base, 4) == b"\xff" * 4:
        return
    where = f"fsbl slot (0x{slot:08x})"
    if _check_header(nor, slot - nor.chip.base, where).binary_type != image_header.TYPES["fsbl"]:
        raise MachineStop(f"{where}: its header does not say fsbl; the boot chain does not start it")


def _check_header(nor: Nor, offset: int, where: str) -> BootImage:
    """Refuse an image as the boot chain does. MachineStop: there is no header, or the image is not what it says."""
    hint = "neuralart tool sign puts the header in front of a bare image"
    rest = nor.chip.size - offset
    try:
        header = image_header.read(nor.read(offset, min(image_header.VECTOR_TABLE, rest)))
        header = image_header.read(nor.read(offset, min(header.layout.size + header.image_length, rest)))
    except NeuralArtError as error:
        raise MachineStop(f"{where}: {error.what}; the boot chain does not start it", hint=hint) from None
    wrong = image_header.problems(header)
    if wrong:
        raise MachineStop(f"{where}: {wrong[0]}; the boot chain does not start it", hint=hint)
    return header


def _compare(board: Board, firmware: Firmware, copied: Load) -> tuple[tuple[str, ...], bool]:
    """Is it this ELF that was copied, and all of it?"""
    beyond = []
    for section in firmware.sections:
        start = fold(board, section.address)
        end = start + len(section.data)
        region = board.region_at(start)
        if (start < copied.address or end > copied.end) and region is not None and region.kind != "flash":
            beyond.append(f"{section.name} [0x{start:08x}, 0x{end:08x})")
        first, last = max(start, copied.address), min(end, copied.end)
        ours = section.data[first - start : last - start] if first < last else b""
        theirs = copied.data[first - copied.address : last - copied.address] if first < last else b""
        if ours != theirs:
            at = next(n for n, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
            note = f"{copied.name} does not hold {firmware.path}: at 0x{first + at:08x} it has 0x{theirs[at]:02x}"
            note += f", the ELF 0x{ours[at]:02x}; what was flashed runs, its functions have no names"
            return (f"{note} and its cache maintenance is not checked",), False
    if not beyond:
        return (), True
    note = f"the boot chain copies {len(copied.data)} bytes, up to 0x{copied.end:08x}"
    return (f"{note}: missing, in part or all, are {', '.join(beyond)} of {firmware.path}",), True
