"""How a board comes to run an image: from its flash through the boot chain, or put in place as a debugger does."""

from __future__ import annotations

from dataclasses import dataclass, replace

from neuralart.boards.types import Board
from neuralart.boards.types import Boot as Chain
from neuralart.emulator.coherency import canonical
from neuralart.emulator.image import Firmware, Load
from neuralart.emulator.stops import MachineStop
from neuralart.errors import NeuralArtError, nearest
from neuralart.flashing.nor import Nor


@dataclass(frozen=True)
class Boot:
    """The state in which the core is let go."""

    vectors: int  # Address of the vector table
    loads: tuple[Load, ...]  # What is in memory before; later ones overwrite earlier ones
    notes: tuple[str, ...] = ()  # What a user should know of it
    symbols_fit: bool = True  # The ELF is what runs: its symbols mean something

    @classmethod
    def direct(cls, board: Board, firmware: Firmware, loads: tuple[Load, ...] = ()) -> Boot:
        """The ELF's segments stand at their load addresses, raw files where they belong; no boot chain runs.
        NeuralArtError: the board does not say where code is.
        """
        if board.code is None:
            raise NeuralArtError("the board does not say where code is", where=f"board {board.name}")
        return cls(board.region(board.code.region).base + board.code.offset, (*firmware.loads, *loads))

    @classmethod
    def flash(cls, board: Board, firmware: Firmware, nor: Nor) -> Boot:
        """A stand-in for the first-stage boot loader copies from the flash what is in the slot of the application.

        It copies exactly as many bytes as the board says, whatever the image's size, looks at nothing in them, and
        takes the vector table behind the room for the header. The ELF gives names to addresses, no bytes.
        NeuralArtError: the slot is not in the flash. MachineStop: the slot is empty.
        """
        contents = tuple(Load("the flash", nor.chip.base + offset, data) for offset, data in nor.runs())
        if board.boot is None:
            return replace(
                cls.direct(board, firmware),
                loads=(*contents, *firmware.loads),
                notes=(f"board {board.name} has no boot chain: {firmware.path} is loaded in place",),
            )
        slot, image = _slot(board, board.boot, nor)
        copied = Load(f"slot {board.boot.slot} (0x{slot:08x})", board.boot.copy_to, image)
        notes, fit = _compare(board, firmware, copied)
        return cls(board.boot.copy_to + board.boot.header, (*contents, copied), notes, fit)


def _slot(board: Board, chain: Chain, nor: Nor) -> tuple[int, bytes]:
    """Address of the slot, and the bytes that are copied of it."""
    where = board.where or f"board {board.name}"
    if chain.slot not in board.slots:
        raise NeuralArtError(
            f"the boot chain starts slot '{chain.slot}'", where=where, hint=nearest(chain.slot, list(board.slots))
        )
    slot = board.slots[chain.slot]
    offset = slot - nor.chip.base
    if offset < 0 or offset + chain.copy_size > nor.chip.size:
        raise NeuralArtError(
            f"slot {chain.slot} [0x{slot:08x}, 0x{slot + chain.copy_size:08x}) is not within the flash of {nor.chip}",
            where=where,
        )
    image = nor.read(offset, chain.copy_size)
    vectors = image[chain.header : chain.header + 8]
    if vectors == b"\xff" * 8:
        raise MachineStop(
            f"{chain.slot} slot is empty: nothing was flashed "
            f"(0x{slot + chain.header:08x}, where the vector table should be, is erased)",
            hint="neuralart flash --plan flash_plan.json --nor FILE",
        )
    return slot, image


def _compare(board: Board, firmware: Firmware, copied: Load) -> tuple[tuple[str, ...], bool]:
    """Is it this ELF that was copied, and all of it?"""
    beyond = []
    for section in firmware.sections:
        start = canonical(board, section.address)
        end = start + len(section.data)
        region = board.region_at(start)
        if (start < copied.address or end > copied.end) and region is not None and region.kind != "flash":
            beyond.append(f"{section.name} [0x{start:08x}, 0x{end:08x})")
        first, last = max(start, copied.address), min(end, copied.end)
        ours = section.data[first - start : last - start] if first < last else b""
        theirs = copied.data[first - copied.address : last - copied.address] if first < last else b""
        if ours != theirs:
            at = next(n for n, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
            return (
                f"{copied.name} does not hold {firmware.path}: at 0x{first + at:08x} it has 0x{theirs[at]:02x}, "
                f"the ELF 0x{ours[at]:02x}; what was flashed runs, its functions have no names and "
                "nobody watches its cache maintenance",
            ), False
    if not beyond:
        return (), True
    return (
        f"the boot chain copies {len(copied.data)} bytes, up to 0x{copied.end:08x}: "
        f"missing, in part or all, are {', '.join(beyond)} of {firmware.path}",
    ), True
